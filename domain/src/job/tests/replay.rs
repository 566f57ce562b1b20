//! Replay: what it confirms, and what it names. Every other test of jobs replays its log as well, in the rig.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::{Value, json};
use uuid::Uuid;

use super::rig::{Rig, completed, graph, run, workflow};
use crate::definition::Graph;
use crate::definition::model::Workflow;
use crate::failure::FailureClass;
use crate::job::command::Outcome;
use crate::job::replay::{Divergence, Entry, Kind, Rules, Verdict, replay};
use crate::job::{APPEND_EVENTS_MAX, Command, Event, Policy};

/// One careful task with this retry block.
fn one(retry: &Value) -> Arc<Graph> {
    let task = json!({"type": "task", "handler": "careful", "next": "END", "retry": retry});
    graph(json!({"START": {"type": "start", "next": "a"}, "a": task, "END": {"type": "end"}}))
}

fn retry(delay_s: u32) -> Value {
    json!({"max_attempts": 3, "backoff": "fixed", "initial_delay_seconds": delay_s})
}

/// A task that fails once, and then does not.
fn failed_once() -> Rig {
    let mut rig = Rig::new(one(&retry(10)));
    rig.fail("a", FailureClass::Transient);
    rig.now += TimeDelta::milliseconds(10_250);
    rig.accept(Command::TimePassed);
    rig.complete("a", json!({}));
    rig
}

fn verdict(graph: &Arc<Graph>, history: Vec<Entry>) -> Verdict {
    let rules = Rules::pinned(Arc::clone(graph), Policy::default());
    replay(&rules, history.into_iter())
}

fn diverged(verdict: Verdict) -> Divergence {
    verdict.divergence.expect("it differs")
}

fn place(history: &[Entry], of: impl Fn(&Event) -> bool) -> usize {
    let found = history.iter().position(|entry| of(&entry.event));
    found.expect("the event is there")
}

fn is_failure(event: &Event) -> bool {
    matches!(event, Event::NodeFailed(_))
}

#[test]
fn another_retry_block_differs_at_the_first_failure_by_exactly_its_delay() {
    let rig = failed_once();
    let nodes = json!({"START": {"type": "start", "next": "a"}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "careful", "next": "END", "retry": retry(11)}});
    let other = json!({"workflow_id": "w", "name": "W", "version": 2, "nodes": nodes});
    let graph = workflow(other.clone());
    let other: Workflow = serde_json::from_value(other).expect("a workflow");
    let pinned = Arc::clone(rig.state.graph());
    let rules = Rules::with(pinned, &other, &graph, Policy::default());
    let found = replay(&rules, rig.history.iter().cloned());
    let at = place(&rig.history, is_failure);
    assert_eq!(found.events, at as u64, "it is the same up to there");
    let divergence = diverged(found);
    assert_eq!(
        (divergence.kind, divergence.version),
        (Kind::Different, at as u64 + 1)
    );
    assert_eq!(divergence.command, "report `failed` of a, attempt 1");
    let [field] = divergence.differences.as_slice() else {
        panic!("one field differs: {:?}", divergence.differences);
    };
    assert_eq!(field.pointer, "/retry_at");
    assert_eq!(field.recorded, Some(json!("1970-01-12T13:46:50Z")));
    assert_eq!(field.replayed, Some(json!("1970-01-12T13:46:51Z")));
}

#[test]
fn a_rule_of_other_code_differs_however_little_where_the_log_says_when_it_was_decided() {
    let rig = failed_once();
    let mut history = rig.history.clone();
    let at = place(&history, is_failure);
    if let Event::NodeFailed(failed) = &mut history[at].event {
        failed.retry_at = failed.retry_at.map(|at| at + TimeDelta::milliseconds(1));
    }
    let divergence = diverged(verdict(rig.state.graph(), history));
    assert_eq!(divergence.version, at as u64 + 1);
    assert_eq!(divergence.differences[0].pointer, "/retry_at");
}

#[test]
fn a_failure_of_an_older_build_does_not_say_when_it_was_and_is_confirmed_within_bounds() {
    let rig = failed_once();
    let mut history = rig.history.clone();
    let at = place(&history, is_failure);
    let mut set = |change: i64| {
        if let Event::NodeFailed(failed) = &mut history[at].event {
            failed.failed_at = None;
            failed.retry_at = failed.retry_at.map(|at| at + TimeDelta::seconds(change));
        }
        // An event without the moment is compared with one without it.
        verdict(rig.state.graph(), history.clone())
    };
    assert_eq!(set(0).divergence, None);
    let later = diverged(set(60));
    assert_eq!(
        (later.version, later.kind),
        (at as u64 + 1, Kind::Different)
    );
    let earlier = diverged(set(-120));
    assert_eq!(
        (earlier.version, earlier.kind),
        (at as u64 + 1, Kind::Different)
    );
}

#[test]
fn an_event_that_was_left_out_or_put_in_or_changed_is_named_at_its_place() {
    let rig = failed_once();
    let graph = rig.state.graph();
    let passed = |event: &Event| matches!(event, Event::NodePassed { .. });
    let at = place(&rig.history, passed);
    let mut without = rig.history.clone();
    let removed = without.remove(at);
    let found = diverged(verdict(graph, without));
    assert_eq!(
        (found.kind, found.version),
        (Kind::Missing, removed.version + 1)
    );
    assert_eq!(found.replayed.as_ref().unwrap()["type"], "node_passed");

    let mut twice = rig.history.clone();
    twice.insert(at + 1, removed.clone());
    let found = diverged(verdict(graph, twice));
    assert_eq!(
        (found.kind, found.version),
        (Kind::Missing, removed.version)
    );
    assert_eq!(found.recorded.unwrap()["type"], "node_passed");

    let mut changed = rig.history.clone();
    let last = changed.last_mut().unwrap();
    if let Event::JobCompleted { result } = &mut last.event {
        result["a/b~"] = json!([1]);
    }
    let found = diverged(verdict(graph, changed));
    assert_eq!(found.differences[0].pointer, "/result/a~1b~0");
    assert_eq!(found.differences[0].replayed, None);

    let mut unfinished = rig.history.clone();
    let end = unfinished.pop().unwrap();
    let found = diverged(verdict(graph, unfinished));
    assert_eq!(
        (found.kind, found.version, found.pos),
        (Kind::Missing, end.version, None)
    );
}

#[test]
fn a_report_of_a_node_that_another_definition_does_not_have_is_named() {
    let rig = failed_once();
    let other = graph(json!({"START": {"type": "start", "next": "END"}, "END": {"type": "end"}}));
    let found = diverged(verdict(&other, rig.history.clone()));
    assert_eq!(found.kind, Kind::Missing, "{found:?}");
    let nodes = json!({"START": {"type": "start", "next": "b"}, "END": {"type": "end"},
        "b": {"type": "task", "handler": "careful", "next": "END"}});
    let found = diverged(verdict(&graph(nodes), rig.history));
    assert_eq!(
        (found.kind, found.version),
        (Kind::Different, 4),
        "{found:?}"
    );
    assert_eq!(found.differences[0].pointer, "/nodes/0");
}

/// A fan-out of so many children, all handed out.
fn fan(children: u32) -> Rig {
    let task = json!({"handler": "work", "params": {"i": "{{ index }}"}});
    let fan = json!({"type": "fan_out", "source": children, "task": task, "next": "END"});
    let mut rig = Rig::new(graph(
        json!({"START": {"type": "start", "next": "f"}, "f": fan, "END": {"type": "end"}}),
    ));
    rig.dispatch();
    rig
}

/// The same history, appended in parts as an orchestrator does it: as much as one append takes.
fn in_appends(history: &[Entry]) -> Vec<Entry> {
    let mut all = history.to_vec();
    for (nth, part) in all.chunks_mut(APPEND_EVENTS_MAX).enumerate() {
        for entry in part {
            entry.append = Some(Uuid::from_u128(nth as u128));
        }
    }
    all
}

fn wish(event: Event, after: &Entry) -> Entry {
    Entry {
        append: Some(Uuid::from_u128(77)),
        event,
        ..after.clone()
    }
}

#[test]
fn a_decision_may_end_only_where_its_append_was_full() {
    let rig = fan(600);
    let history = in_appends(&rig.history);
    let graph = rig.state.graph();
    assert!(history.len() > 2 * APPEND_EVENTS_MAX);
    for length in [APPEND_EVENTS_MAX, 2 * APPEND_EVENTS_MAX, history.len()] {
        let found = verdict(graph, history[..length].to_vec());
        assert_eq!(found.divergence, None, "{length}");
        assert_eq!(found.events, length as u64);
    }
    // START passed, and the fan-out was never expanded: no orchestrator stops there.
    let expanded = place(&history, |event| {
        matches!(event, Event::FanOutExpanded { .. })
    });
    let found = diverged(verdict(graph, history[..expanded].to_vec()));
    assert_eq!((found.kind, found.pos), (Kind::Missing, None));
}

#[test]
fn what_an_owner_decided_before_it_heard_of_a_pause_is_confirmed_and_nothing_later() {
    let rig = fan(600);
    let mut history = in_appends(&rig.history);
    let pause = Event::JobPaused {
        reason: String::new(),
    };
    let first = history[APPEND_EVENTS_MAX - 1].clone();
    history.insert(APPEND_EVENTS_MAX, wish(pause, &first));
    let graph = rig.state.graph();
    assert_eq!(verdict(graph, history.clone()).divergence, None);
    // The last append was not full, so the owner has read on: it cannot hand out any more.
    let mut late = Rig::new(Arc::clone(graph));
    late.dispatch_up_to(2);
    late.accept(Command::Pause {
        reason: String::new(),
    });
    late.state.paused = false;
    late.now += TimeDelta::seconds(1);
    let known = late.history.clone();
    let handed_out = {
        let lanes: Vec<_> = late
            .state
            .ready_lanes()
            .map(|(q, p)| (Arc::clone(q), p))
            .collect();
        let window = crate::job::command::Window {
            slots: lanes.into_iter().map(|lane| (lane, 1)).collect(),
        };
        let ctx = late.context();
        crate::job::decide(&late.state, Command::Dispatch(window), &ctx)
            .expect("decided")
            .into_events()
    };
    let at = |nth: u128, event: &Event| Entry {
        version: known.len() as u64 + 1,
        append: Some(Uuid::from_u128(1_000 + nth)),
        recorded_at: Some(late.now),
        event: event.clone(),
        ..known[0].clone()
    };
    let mut unheard = known.clone();
    unheard.extend(handed_out.iter().map(|event| at(0, event)));
    assert_eq!(verdict(graph, unheard).divergence, None);
    // A word of a worker comes in between, so it is the second append.
    let started = started(&late);
    let mut heard = known.clone();
    heard.push(at(0, &started));
    heard.extend(handed_out.iter().map(|event| at(1, event)));
    let found = diverged(verdict(graph, heard));
    assert_eq!(found.kind, Kind::Unexpected);
    assert_eq!(found.reason.as_deref(), Some("nothing follows from it"));
}

/// The event of a start of the first child.
fn started(rig: &Rig) -> Event {
    let report = crate::job::command::Report {
        node: "f__0".into(),
        attempt: 1,
        epoch: 1,
        run: run(1),
        worker: "w".into(),
        outcome: Outcome::Started,
    };
    let decided = crate::job::decide(
        &rig.state,
        Command::Report(Box::new(report)),
        &rig.context(),
    );
    decided.expect("decided").into_events().remove(0)
}

#[test]
fn an_event_of_an_older_claim_is_refused() {
    let mut rig = Rig::new(one(&retry(10)));
    rig.dispatch();
    let old = rig.fence;
    rig.fence.epoch += 1;
    rig.accept(Command::Claim);
    rig.start("a");
    rig.report("a", completed(json!({}))).expect("completed");
    let mut history = rig.history.clone();
    let done = place(&history, |event| matches!(event, Event::NodeCompleted(_)));
    history[done].fence = Some(old);
    let found = diverged(verdict(rig.state.graph(), history));
    assert_eq!(
        (found.kind, found.version),
        (Kind::Unexpected, done as u64 + 1)
    );
    assert!(
        found
            .reason
            .is_some_and(|reason| reason.contains("epoch 2"))
    );
}

#[test]
fn two_dispatches_of_one_instant_are_told_apart_also_by_a_pause_between() {
    let task = json!({"handler": "work", "params": {"i": "{{ index }}"}});
    let fan = json!({"type": "fan_out", "source": 3, "task": task, "next": "END"});
    let both = json!({"START": {"type": "start", "next": ["f", "g"]}, "f": fan, "g": fan, "END": {"type": "end"}});
    // The rig replays after each command.
    let mut rig = Rig::new(graph(both));
    rig.dispatch_up_to(1);
    rig.accept(Command::Pause {
        reason: String::new(),
    });
    rig.accept(Command::Resume);
    rig.dispatch_up_to(1);
    rig.dispatch_up_to(3);
    assert_eq!(
        rig.history.len() as u64,
        rig.replay_under(rig.state.graph()).events
    );
}
