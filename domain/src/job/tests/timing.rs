//! Retries, backoff, timeouts: all by virtual time.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::rig::{Rig, chain, completed, graph, job_created, names};
use crate::definition::model::{Backoff, Retry};
use crate::failure::FailureClass;
use crate::job::command::Outcome;
use crate::job::{Command, Event, Fence, JobStatus, NodeStatus, attempts_max, delay};

fn one(task: Value) -> std::sync::Arc<crate::definition::Graph> {
    let mut node = json!({"type": "task", "handler": "careful", "next": "END"});
    node.as_object_mut()
        .expect("object")
        .extend(task.as_object().cloned().unwrap_or_default());
    graph(json!({"START": {"type": "start", "next": "a"}, "a": node, "END": {"type": "end"}}))
}

#[test]
fn delays_grow_as_the_backoff_says_up_to_the_limit() {
    let delays = |backoff, n| {
        let retry = Retry {
            backoff,
            max_attempts: 10,
            ..Retry::default()
        };
        (1..=n)
            .map(|attempt| delay(&retry, attempt, "s").num_seconds())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        delays(Backoff::Exponential, 8),
        [5, 10, 20, 40, 80, 160, 300, 300]
    );
    assert_eq!(delays(Backoff::Linear, 4), [5, 10, 15, 20]);
    assert_eq!(delays(Backoff::Fixed, 3), [5, 5, 5]);
    let far = Retry {
        max_attempts: 10,
        max_delay_seconds: 86_400,
        ..Retry::default()
    };
    assert_eq!(
        delay(&far, u32::MAX, "s").num_seconds(),
        86_400,
        "no overflow"
    );
}

#[test]
fn jitter_is_off_by_default_and_deterministic_when_on() {
    let retry = Retry {
        jitter: true,
        initial_delay_seconds: 100,
        ..Retry::default()
    };
    let delays: Vec<_> = ["a", "b", "c", "d"]
        .map(|s| delay(&retry, 1, s).num_milliseconds())
        .to_vec();
    assert!(
        delays.iter().all(|d| (50_000..=100_000).contains(d)),
        "{delays:?}"
    );
    assert!(delays.windows(2).any(|p| p[0] != p[1]));
    assert_eq!(delay(&retry, 1, "a"), delay(&retry, 1, "a"));
}

#[test]
fn the_number_of_executions_follows_the_class_unless_a_retry_block_governs() {
    use FailureClass as C;
    let block = Retry {
        max_attempts: 7,
        ..Retry::default()
    };
    for (class, without, with) in [
        (C::Transient, 3, 7),
        (C::Timeout, 3, 7),
        (C::Throttling, 5, 7),
        (C::Permanent, 1, 1),
        (C::Contract, 1, 1),
        (C::Cancelled, 1, 1),
    ] {
        assert_eq!(attempts_max(None, class, false), without, "{class:?}");
        assert_eq!(attempts_max(Some(&block), class, false), with, "{class:?}");
        assert_eq!(attempts_max(Some(&block), class, true), 1, "{class:?}");
    }
}

#[test]
fn a_failed_node_waits_and_runs_exactly_max_attempts_times() {
    let mut rig = Rig::new(one(json!({"retry": {"max_attempts": 3}})));
    for attempt in 1..=3_u32 {
        assert_eq!(
            rig.state.node(&"a".into()).map(|n| n.attempt),
            Some(attempt)
        );
        rig.fail("a", FailureClass::Transient);
        if attempt < 3 {
            assert_eq!(rig.status("a"), NodeStatus::Failed);
            let pause = 5 * i64::from(attempt);
            assert_eq!(
                rig.state.next_due(),
                Some(rig.now + TimeDelta::seconds(pause))
            );
            assert!(rig.wait(pause - 1).is_empty(), "not before its time");
            assert!(rig.dispatch().is_empty());
            assert_eq!(names(&rig.wait(1)), ["nodes_ready"]);
        }
    }
    assert_eq!(rig.job(), JobStatus::Failed);
    let runs = names(&rig.log)
        .iter()
        .filter(|n| *n == "node_dispatched")
        .count();
    assert_eq!(runs, 3);
}

#[test]
fn a_failure_with_successors_fails_the_job_and_leaves_no_node_open() {
    let mut rig = Rig::new(chain(&["a", "b", "c"]));
    rig.fail("a", FailureClass::Permanent);
    assert_eq!(rig.job(), JobStatus::Failed);
    assert_eq!(rig.status("b"), NodeStatus::Skipped);
    let open = rig.state.counts();
    assert_eq!(
        (open.pending, open.ready, open.dispatched, open.running),
        (0, 0, 0, 0)
    );
}

#[test]
fn fail_fast_makes_every_limit_one() {
    let graph = one(json!({"retry": {"max_attempts": 5}}));
    let mut job = job_created(&graph, json!({}));
    job.fail_fast = true;
    let mut rig = Rig::with_job(graph, job);
    rig.fail("a", FailureClass::Transient);
    assert_eq!(rig.job(), JobStatus::Failed);
}

#[test]
fn waiting_for_a_worker_and_executing_have_limits_of_their_own() {
    let task = json!({"timeout_seconds": 100, "dispatch_timeout_seconds": 30, "retry": {"max_attempts": 2}});
    let mut rig = Rig::new(one(task));
    rig.dispatch();
    assert!(rig.wait(29).is_empty());
    assert!(
        matches!(&rig.wait(1)[0], Event::NodeFailed(f) if f.failure.code == "dispatch_timeout")
    );
    rig.wait(5);
    rig.dispatch();
    assert!(rig.wait(29).is_empty());
    rig.start("a");
    assert!(rig.wait(102).is_empty(), "the wait before does not count");
    let events = rig.wait(1);
    assert!(matches!(&events[0], Event::NodeFailed(f) if f.failure.code == "execution_timeout"));
    assert_eq!(rig.job(), JobStatus::Failed);
    let mut rig = Rig::new(one(json!({"timeout_seconds": 100})));
    rig.dispatch();
    assert!(
        rig.wait(99).is_empty(),
        "the dispatch limit defaults to timeout_seconds"
    );
    assert_eq!(names(&rig.wait(1)), ["node_failed"]);
}

#[test]
fn ready_nodes_never_time_out() {
    let mut rig = Rig::new(one(json!({"timeout_seconds": 10})));
    assert!(rig.wait(100_000).is_empty());
    rig.complete("a", json!({}));
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn after_a_claim_timeouts_wait_but_due_retries_do_not() {
    let two = json!({"START": {"type": "start", "next": ["a", "b"]}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "careful", "next": "END"},
        "b": {"type": "task", "handler": "careful", "timeout_seconds": 20, "next": "END"}});
    let mut rig = Rig::new(graph(two));
    rig.fail("a", FailureClass::Transient);
    rig.start("b");
    rig.now += TimeDelta::seconds(100);
    rig.fence = Fence {
        epoch: 2,
        ..rig.fence
    };
    rig.accept(Command::Claim);
    assert!(rig.state.next_due() <= Some(rig.now), "the retry is due");
    assert_eq!(names(&rig.wait(0)), ["nodes_ready"]);
    assert_eq!(
        rig.state.next_due(),
        Some(rig.now + TimeDelta::seconds(10)),
        "the end of the grace"
    );
    assert_eq!(rig.status("b"), NodeStatus::Running);
    assert_eq!(names(&rig.wait(10)), ["node_failed"]);
}

#[test]
fn a_report_stops_the_clock() {
    let mut rig = Rig::new(one(json!({"timeout_seconds": 10})));
    rig.dispatch();
    rig.start("a");
    rig.report("a", completed(json!({}))).expect("completed");
    assert_eq!(rig.state.next_due(), None);
    let mut rig = Rig::new(one(json!({})));
    rig.dispatch();
    rig.start("a");
    rig.report(
        "a",
        Outcome::Failed(super::rig::failure(FailureClass::Permanent)),
    )
    .expect("failed");
    assert_eq!(rig.state.next_due(), None);
}

#[test]
fn a_due_retry_is_not_hidden_behind_hundreds_of_timeouts_that_wait_for_the_grace() {
    let nodes = json!({"START": {"type": "start", "next": ["a", "out"]}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "careful", "retry": {"initial_delay_seconds": 90}, "next": "END"},
        "out": {"type": "fan_out", "source": 300, "next": "END",
                "task": {"handler": "work", "timeout_seconds": 5}}});
    let mut rig = Rig::new(graph(nodes));
    rig.fail("a", FailureClass::Transient);
    rig.now += TimeDelta::seconds(100);
    rig.fence = Fence {
        epoch: 2,
        ..rig.fence
    };
    rig.accept(Command::Claim);
    assert_eq!(names(&rig.wait(0)), ["nodes_ready"]);
    assert_eq!(rig.status("a"), NodeStatus::Ready);
}
