//! From an older version of an event to the current one, step by step.

use serde_json::Value;

use super::codec::DecodeError;
use super::kind::Kind;

/// One step: from a version of a kind of event to the next.
#[derive(Debug, Clone, Copy)]
pub struct Upcast {
    pub kind: &'static str,
    /// The version it reads; it makes the next one.
    pub from: u16,
    /// Changes the payload. It is total: what it cannot use, it leaves.
    pub apply: fn(Value) -> Value,
}

/// All steps that exist. Every event is in its first version so far.
pub const UPCASTS: &[Upcast] = &[];

/// Brings a payload from version `from` to the current version of its kind.
pub fn upcast(
    steps: &[Upcast],
    kind: &Kind,
    from: u16,
    payload: Value,
) -> Result<Value, DecodeError> {
    (from..kind.schema_ver).try_fold(payload, |payload, version| {
        let step = steps
            .iter()
            .find(|s| s.kind == kind.name && s.from == version);
        let missing = || DecodeError::NoUpcast {
            kind: kind.name.to_owned(),
            from: version,
        };
        step.map(|step| (step.apply)(payload)).ok_or_else(missing)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Aggregate;
    use serde_json::json;

    #[test]
    fn an_old_event_takes_every_step_in_order() {
        let steps = [
            Upcast {
                kind: "thing_done",
                from: 2,
                apply: |p| json!({"two": p}),
            },
            Upcast {
                kind: "thing_done",
                from: 1,
                apply: |p| json!({"one": p}),
            },
            Upcast {
                kind: "other",
                from: 1,
                apply: |_| json!("wrong"),
            },
        ];
        let kind = Kind {
            name: "thing_done",
            aggregate: Aggregate::Job,
            schema_ver: 3,
        };
        let done = |from| upcast(&steps, &kind, from, json!(0)).expect("all steps are there");
        assert_eq!(done(1), json!({"two": {"one": 0}}));
        assert_eq!(done(2), json!({"two": 0}));
        assert_eq!(done(3), json!(0));
    }

    #[test]
    fn a_missing_step_is_an_error_that_names_it() {
        let kind = Kind {
            name: "thing_done",
            aggregate: Aggregate::Job,
            schema_ver: 2,
        };
        let error = upcast(&[], &kind, 1, json!(0))
            .expect_err("no step")
            .to_string();
        assert_eq!(
            error,
            "event `thing_done` has no upcast from schema version 1"
        );
    }
}
