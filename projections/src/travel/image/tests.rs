//! A job by hand, stopped at every event, kept as bytes, and gone on with.

use super::*;
use crate::read_models::graphs::Graphs;
use crate::store::log::Entry;
use domain::handler::{Catalog, Pins};
use domain::job::Event;
use serde_json::{Value, json};

const HASH: &str = "h";

fn life() -> Vec<Event> {
    let run = "00000000-0000-0000-0000-00000000000a";
    let failure = json!({"class": "transient", "code": "c", "message": "m"});
    let at = "2026-11-18T00:00:00Z";
    let started = |node: &str, attempt: u32| {
        json!({"type": "node_started", "node": node, "attempt": attempt, "epoch": 1, "run": run, "worker": "w",
               "deadline_at": at})
    };
    let sent = |node: &str, attempt: u32| {
        json!({"type": "node_dispatched", "node": node, "attempt": attempt, "epoch": 1, "handler": "echo",
               "queue": "q", "priority": "normal", "params": {}, "timeout_seconds": 1, "deadline_at": at})
    };
    let events = json!([
        {"type": "job_created", "job_id": "job_00000000000000000000000000000007",
         "request_id": "req_00000000000000000000000000000007", "inputs": {"a": 1}, "priority": "normal",
         "workflow": {"id": "w", "version": 1, "hash": HASH},
         "origin": {"kind": "retry_of", "job_id": "job_00000000000000000000000000000008"}},
        {"type": "job_claimed", "owner": run, "epoch": 1, "grace_until": at},
        {"type": "node_passed", "node": "START"},
        {"type": "job_started"},
        {"type": "fan_out_expanded", "node": "fan", "items": {"count": 6}},
        {"type": "job_paused", "reason": "r"},
        sent("fan__1", 1),
        started("fan__1", 1),
        {"type": "checkpoint_saved", "node": "fan__1", "attempt": 1, "epoch": 1, "run": run,
         "checkpoint": {"seq": 1, "phase": "p", "phase_index": 0, "phases_total": 1, "is_final": false, "state": {},
          "artifacts": []}},
        {"type": "node_failed", "node": "fan__1", "attempt": 1, "epoch": 1, "run": run, "failure": failure,
         "retry_at": at},
        {"type": "nodes_ready", "nodes": ["fan__1"]},
        sent("fan__1", 2),
        sent("fan__4", 1),
        started("fan__4", 1),
        {"type": "node_completed", "node": "fan__4", "attempt": 1, "epoch": 1, "run": run, "worker": "w",
         "output": {"x": [1]}},
        {"type": "job_cancelled", "reason": "enough"},
        {"type": "report_ignored", "node": "fan__1", "attempt": 2, "epoch": 1, "run": run, "report": "completed",
         "reason": "late"}
    ]);
    let events = events.as_array().unwrap().iter().cloned();
    events
        .map(|event: Value| serde_json::from_value(event).unwrap())
        .collect()
}

fn entry(nth: i64) -> Entry {
    Entry {
        pos: 100 + 3 * nth,
        stream_id: "job:job_00000000000000000000000000000007".to_owned(),
        version: nth + 1,
        kind: String::new(),
        schema_ver: 1,
        org_id: "o".to_owned(),
        payload: Vec::new(),
        recorded_at: DateTime::from_timestamp_micros(1_800_000_000_000_001 + nth * 777).unwrap(),
    }
}

fn take(whole: &mut Option<Whole>, nth: i64, event: &Event) {
    let entry = entry(nth);
    let Some(whole) = whole else {
        let source = json!({"workflow_id": "w", "name": "W", "version": 1, "nodes": {
            "START": {"type": "start", "next": "fan"},
            "fan": {"type": "fan_out", "source": 6, "task": {"handler": "echo"}, "next": "END"},
            "END": {"type": "end"},
        }});
        let mut graphs = Graphs::new(std::sync::Arc::new(Catalog::shipped()));
        graphs.add(HASH, &source.to_string(), &Pins::default());
        let compiled = graphs.get(HASH).unwrap();
        let Event::JobCreated(created) = event else {
            panic!("{event:?}");
        };
        *whole = Some(Whole::begin(&entry, created, Some(&compiled)).unwrap());
        return;
    };
    let place = Place {
        pos: entry.pos,
        at: entry.recorded_at,
    };
    whole.apply(event, place, entry.version).unwrap();
}

#[test]
fn a_job_goes_on_from_its_image_as_if_it_had_never_stopped() {
    let life = life();
    let mut straight = None;
    for (event, nth) in life.iter().zip(0..) {
        take(&mut straight, nth, event);
    }
    let straight = straight.unwrap();
    let last = write(&straight);
    let counts = straight.child_counts(straight.group("fan").unwrap());
    let counts: Vec<_> = counts.into_iter().collect();
    let wanted = [
        (NodeStatus::Completed, 1),
        (NodeStatus::Failed, 1),
        (NodeStatus::Skipped, 4),
    ];
    assert_eq!(counts, wanted);
    for stop in 1..life.len() {
        let mut whole = None;
        for (nth, event) in life.iter().enumerate() {
            if nth == stop {
                let image = write(whole.as_ref().unwrap());
                whole = read(&image);
                assert_eq!(write(whole.as_ref().unwrap()), image, "{stop}");
            }
            take(&mut whole, i64::try_from(nth).unwrap(), event);
        }
        assert_eq!(write(&whole.unwrap()), last, "stopped before {stop}");
    }
}

#[test]
fn bytes_that_are_no_image_are_none() {
    let mut whole = None;
    for (event, nth) in life().iter().zip(0..) {
        take(&mut whole, nth, event);
    }
    let image = write(&whole.unwrap());
    for cut in 0..image.len() {
        assert!(read(&image[..cut]).is_none(), "{cut}");
    }
}
