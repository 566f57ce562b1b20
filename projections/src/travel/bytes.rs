//! How values become bytes and values again: small numbers small, nothing named, nothing aligned.
//!
//! It reads only what it wrote itself; what does not fit is none.

use domain::job::{JobStatus, NodeStatus};

/// A value that can be written.
pub(super) trait Bytes: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// Writes and reads the named fields of a struct, one after another.
macro_rules! layout {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl Bytes for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = Bytes::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    };
}
pub(super) use layout;

fn byte(from: &mut &[u8]) -> Option<u8> {
    let (first, rest) = from.split_first()?;
    *from = rest;
    Some(*first)
}

impl Bytes for u64 {
    /// Seven bits at a time, the lowest first.
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
            rest >>= 7;
        }
        out.push(u8::try_from(rest).unwrap_or(0));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let next = byte(from)?;
            value |= Self::from(next & 0x7f) << shift;
            if next < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Bytes for i64 {
    /// Near zero is small on both sides.
    fn put(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let value = u64::take(from)?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

impl Bytes for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Bytes for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        i64::from(*self).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        i64::take(from)?.try_into().ok()
    }
}

impl Bytes for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match byte(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Bytes for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let len = usize::try_from(u64::take(from)?).ok()?;
        let (text, rest) = from.split_at_checked(len)?;
        *from = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Bytes for [u8; 16] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(*bytes)
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match bool::take(from)? {
            true => Some(Some(T::take(from)?)),
            false => Some(None),
        }
    }
}

impl<T: Bytes> Bytes for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let len = usize::try_from(u64::take(from)?).ok()?;
        // Everything has a byte at least: a length that cannot be is no reason to take memory.
        let mut all = Self::with_capacity(len.min(from.len()));
        for _ in 0..len {
            all.push(T::take(from)?);
        }
        Some(all)
    }
}

impl<A: Bytes, B: Bytes, C: Bytes> Bytes for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?, C::take(from)?))
    }
}

/// A few values of one kind.
macro_rules! few {
    ($kind:ty, $n:literal) => {
        impl Bytes for [$kind; $n] {
            fn put(&self, out: &mut Vec<u8>) {
                self.iter().for_each(|value| value.put(out));
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let mut all = [<$kind>::default(); $n];
                for value in &mut all {
                    *value = Bytes::take(from)?;
                }
                Some(all)
            }
        }
    };
}
few!(i32, 7);
few!(Option<i64>, 4);

/// A word by its place among all of its kind.
macro_rules! words {
    ($kind:ty) => {
        impl Bytes for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let place = byte(from)?;
                Self::ALL.into_iter().find(|word| *word as u8 == place)
            }
        }
    };
}
words!(JobStatus);
words!(NodeStatus);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round<T: Bytes + PartialEq + std::fmt::Debug>(value: &T) {
        let mut out = Vec::new();
        value.put(&mut out);
        let mut from = out.as_slice();
        assert_eq!(T::take(&mut from).as_ref(), Some(value));
        assert!(from.is_empty());
        for cut in 0..out.len() {
            assert_eq!(T::take(&mut &out[..cut]), None, "{value:?} without its end");
        }
    }

    proptest! {
        #[test]
        fn values_come_back_and_their_parts_are_nothing(
            a in any::<i64>(), b in any::<u64>(), c in any::<Option<i32>>(), d in ".{0,9}", e in any::<[u8; 16]>(),
        ) {
            round(&a);
            round(&b);
            round(&(c, d.clone(), e));
            round(&vec![Some(d), None]);
        }
    }

    #[test]
    fn small_numbers_are_small() {
        for (number, bytes) in [
            (0, 1),
            (-1, 1),
            (63, 1),
            (-64, 1),
            (64, 2),
            (i64::MAX, 10),
            (i64::MIN, 10),
        ] {
            let mut out = Vec::new();
            number.put(&mut out);
            assert_eq!(out.len(), bytes, "{number}");
        }
    }
}
