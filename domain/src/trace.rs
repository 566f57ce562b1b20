//! W3C trace context: which trace a piece of work belongs to, and which span led to it.
//!
//! It comes from outside, so it is read here, once, and only a valid one goes any further: into the log,
//! into task messages, into the spans of workers. It never decides anything.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A `traceparent` of version 00, as a header, the log and messages carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

/// Why a text is no trace context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a traceparent: write 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, no id all zeros"
)]
pub struct InvalidTraceParent;

impl TraceParent {
    /// The name of the header that carries it.
    pub const HEADER: &'static str = "traceparent";

    /// A sampled one; ids of zero mean "none" and are refused.
    pub const fn new(trace_id: u128, span_id: u64) -> Result<Self, InvalidTraceParent> {
        Self::with_flags(trace_id, span_id, 1)
    }

    /// The same with flags as they came.
    pub const fn with_flags(
        trace_id: u128,
        span_id: u64,
        flags: u8,
    ) -> Result<Self, InvalidTraceParent> {
        if trace_id == 0 || span_id == 0 {
            return Err(InvalidTraceParent);
        }
        Ok(Self {
            trace_id,
            span_id,
            flags,
        })
    }

    /// The trace.
    #[must_use]
    pub const fn trace_id(self) -> u128 {
        self.trace_id
    }

    /// The span that led here.
    #[must_use]
    pub const fn span_id(self) -> u64 {
        self.span_id
    }

    /// Whether whoever sent it records the trace.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }

    /// The trace as 32 hex digits, as people look for it.
    #[must_use]
    pub fn trace_hex(self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let part = parts.next().ok_or(InvalidTraceParent)?;
            // The standard wants small letters; a sign would be taken by the parser.
            let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            if part.len() != digits || !part.bytes().all(plain) {
                return Err(InvalidTraceParent);
            }
            u128::from_str_radix(part, 16).map_err(|_| InvalidTraceParent)
        };
        let (version, trace_id, span_id, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        if version != 0 || parts.next().is_some() {
            return Err(InvalidTraceParent);
        }
        let span_id = u64::try_from(span_id).map_err(|_| InvalidTraceParent)?;
        let flags = u8::try_from(flags).map_err(|_| InvalidTraceParent)?;
        Self::with_flags(trace_id, span_id, flags)
    }
}

impl TryFrom<String> for TraceParent {
    type Error = InvalidTraceParent;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(trace: TraceParent) -> Self {
        trace.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_context_is_read_and_written_unchanged() {
        let trace: TraceParent = GOOD.parse().unwrap();
        assert_eq!(trace.to_string(), GOOD);
        assert_eq!(trace.trace_hex(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.span_id(), 0x00f0_67aa_0ba9_02b7);
        assert!(trace.is_sampled());
        let unsampled = GOOD.replace("-01", "-00");
        assert!(!unsampled.parse::<TraceParent>().unwrap().is_sampled());
    }

    #[test]
    fn everything_else_is_refused() {
        let zero_trace = GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let zero_span = GOOD.replace("00f067aa0ba902b7", &"0".repeat(16));
        let upper = GOOD.to_uppercase();
        let longer = format!("{GOOD}-00");
        let newer = GOOD.replacen("00", "01", 1);
        let signed = GOOD.replacen("4b", "+b", 1);
        let cut = GOOD.replace("-01", "");
        for bad in [
            "",
            "00",
            "----",
            &zero_trace,
            &zero_span,
            &upper,
            &longer,
            &newer,
            &signed,
            &cut,
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(InvalidTraceParent), "{bad}");
        }
    }
}
