//! The events that a log is mostly made of, read straight from their bytes.
//!
//! An enum that has its tag among its fields is buffered by serde before it is known what it is. Here that is known from
//! the row. Whatever does not begin as [`super::encode`] writes it, or cannot be read, is left to the general way.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::kind::Kind;
use crate::id::{NodeId, RunId};
use crate::job::Event;

/// The fields of [`Event::NodeStarted`].
#[derive(Deserialize)]
struct NodeStarted {
    node: NodeId,
    attempt: u32,
    epoch: u32,
    run: RunId,
    worker: String,
    deadline_at: DateTime<Utc>,
}

impl From<NodeStarted> for Event {
    fn from(fields: NodeStarted) -> Self {
        let NodeStarted {
            node,
            attempt,
            epoch,
            run,
            worker,
            deadline_at,
        } = fields;
        Self::NodeStarted {
            node,
            attempt,
            epoch,
            run,
            worker,
            deadline_at,
        }
    }
}

/// The event, or `None` if it must be read the general way.
pub(super) fn read(kind: &Kind, payload: &[u8]) -> Option<Event> {
    let tag = payload.strip_prefix(br#"{"type":""#)?;
    tag.strip_prefix(kind.name.as_bytes())?
        .strip_prefix(b"\",")?;
    // The tag is one more field, which nothing asks for.
    match kind.name {
        "node_dispatched" => fields(payload).map(Event::NodeDispatched),
        "node_started" => fields::<NodeStarted>(payload).map(Event::from),
        "node_completed" => fields(payload).map(Event::NodeCompleted),
        "node_failed" => fields(payload).map(Event::NodeFailed),
        "job_created" => fields(payload).map(Event::JobCreated),
        _ => None,
    }
}

fn fields<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Option<T> {
    serde_json::from_slice(payload).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RUN: &str = "00000000-0000-0000-0000-000000000007";
    const AT: &str = "2026-01-02T03:04:05.000006Z";

    #[track_caller]
    fn check(fields: serde_json::Value) {
        let name = fields["type"].as_str().unwrap();
        let event: Event = serde_json::from_value(fields.clone()).unwrap();
        let written = serde_json::to_vec(&event).unwrap();
        let read = read(Kind::find(name).unwrap(), &written);
        assert_eq!(read, Some(event), "{name}");
    }

    #[test]
    fn events_are_read_straight_as_they_are_read_the_general_way() {
        check(
            json!({"type": "node_dispatched", "node": "a__1", "attempt": 1, "epoch": 2, "handler": "echo",
            "queue": "q", "priority": "high", "params": {"type": "x", "n": 1.5}, "timeout_seconds": 3, "deadline_at": AT}),
        );
        check(
            json!({"type": "node_started", "node": "a", "attempt": 1, "epoch": 2, "run": RUN, "worker": "w",
            "deadline_at": AT}),
        );
        check(
            json!({"type": "node_completed", "node": "a", "attempt": 1, "epoch": 2, "run": RUN, "worker": "w",
            "output": [1, {"type": "y"}], "metrics": {"m": 1}}),
        );
        check(
            json!({"type": "node_failed", "node": "a", "attempt": 1, "epoch": 2, "retry_at": AT,
            "failure": crate::failure::Failure::new(crate::failure::FailureClass::Cancelled, "c", "m")}),
        );
        check(
            json!({"type": "job_created", "job_id": "job_00000000000000000000000000000007",
            "request_id": "req_00000000000000000000000000000007",
            "workflow": {"id": "w", "version": 1, "hash": "h"}, "inputs": {"type": "z"}, "priority": "low"}),
        );
    }

    #[test]
    fn what_is_written_otherwise_is_left_to_the_general_way() {
        let kind = Kind::find("node_started").unwrap();
        for payload in [
            &br#"{"node":"a","type":"node_started"}"#[..],
            br#"{"type":"node_completed","node":"a"}"#,
            br#"{"type":"node_started","node":"a"}"#,
            br#"{"type":"node_started"}"#,
            b"\xff",
        ] {
            assert_eq!(read(kind, payload), None);
        }
    }
}
