//! What workers report, and what has no effect.

use serde_json::json;

use super::rig::{Rig, chain, completed, failure, graph, names, run};
use crate::failure::FailureClass;
use crate::id::OwnerId;
use crate::job::checkpoint::Checkpoint;
use crate::job::command::Outcome;
use crate::job::{Command, Event, Fence, JobStatus, NodeStatus, Rejection};
use crate::outcome::Decision;

fn checkpoint(seq: u64) -> Outcome {
    Outcome::Checkpoint(Checkpoint {
        seq,
        phase: format!("p{seq}"),
        phase_index: 1,
        phases_total: 3,
        progress: None,
        state: json!({"done": seq}),
        artifacts: Vec::new(),
        is_final: false,
    })
}

fn dispatched() -> Rig {
    let mut rig = Rig::new(chain(&["a"]));
    rig.dispatch();
    rig
}

#[test]
fn a_started_task_runs_and_its_result_completes_it() {
    let mut rig = dispatched();
    assert_eq!(rig.status("a"), NodeStatus::Dispatched);
    rig.start("a");
    assert_eq!(rig.status("a"), NodeStatus::Running);
    rig.report("a", completed(json!({"x": 1})))
        .expect("completed");
    assert_eq!(rig.status("a"), NodeStatus::Completed);
}

#[test]
fn the_same_report_twice_is_already_applied() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    rig.dispatch();
    rig.start("a");
    assert_eq!(
        rig.report("a", Outcome::Started),
        Ok(Decision::AlreadyApplied)
    );
    rig.report("a", completed(json!({}))).expect("completed");
    assert_eq!(
        rig.report("a", completed(json!({}))),
        Ok(Decision::AlreadyApplied)
    );
    rig.fail("b", FailureClass::Transient);
    let again = Outcome::Failed(failure(FailureClass::Transient));
    assert_eq!(rig.report("b", again), Ok(Decision::AlreadyApplied));
}

#[test]
fn a_late_result_of_an_older_attempt_is_recorded_once_and_changes_nothing() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    rig.fail("a", FailureClass::Transient);
    rig.wait(5);
    rig.dispatch();
    let before = rig
        .state
        .node(&"a".into())
        .map(|n| (n.status, n.attempt, n.epoch));
    let late = rig
        .report_as("a", 1, 1, run(1), completed(json!({"wrong": true})))
        .expect("recorded");
    assert_eq!(names(&late.into_events()), ["report_ignored"]);
    assert_eq!(
        rig.state
            .node(&"a".into())
            .map(|n| (n.status, n.attempt, n.epoch)),
        before
    );
    let again = rig.report_as("a", 1, 1, run(1), completed(json!({})));
    assert_eq!(again, Ok(Decision::AlreadyApplied));
    let late = rig.report_as(
        "a",
        1,
        1,
        run(1),
        Outcome::Failed(failure(FailureClass::Permanent)),
    );
    assert_eq!(
        names(&late.expect("recorded").into_events()),
        ["report_ignored"]
    );
    assert_eq!(rig.job(), JobStatus::Running);
}

#[test]
fn reports_of_another_run_have_no_effect() {
    let mut rig = dispatched();
    rig.start("a");
    let second = rig.report_as("a", 1, 1, run(2), Outcome::Started);
    assert_eq!(
        second,
        Err(Rejection::AlreadyRunning {
            node: "a".into(),
            run: run(1)
        })
    );
    for outcome in [
        completed(json!({})),
        checkpoint(1),
        Outcome::Failed(failure(FailureClass::Permanent)),
    ] {
        let events = rig
            .report_as("a", 1, 1, run(2), outcome)
            .expect("recorded")
            .into_events();
        assert_eq!(names(&events), ["report_ignored"]);
    }
    assert_eq!(rig.status("a"), NodeStatus::Running);
}

#[test]
fn a_report_about_what_was_never_sent_is_refused() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    assert!(matches!(
        rig.report_as("a", 1, 1, run(1), Outcome::Started),
        Err(Rejection::NotDispatched { .. })
    ));
    rig.dispatch();
    assert!(matches!(
        rig.report_as("a", 2, 1, run(1), Outcome::Started),
        Err(Rejection::NotDispatched { .. })
    ));
    for node in ["START", "END", "nope", "a__0"] {
        let answer = rig.report_as(node, 1, 1, run(1), Outcome::Started);
        assert!(
            matches!(answer, Err(Rejection::NoTask { .. })),
            "{node}: {answer:?}"
        );
    }
}

#[test]
fn only_an_idempotent_handler_may_start_and_end_in_one_report() {
    let mut rig = dispatched();
    assert_eq!(
        rig.report("a", completed(json!({}))),
        Err(Rejection::NotStarted { node: "a".into() })
    );
    let nodes = json!({"START": {"type": "start", "next": "a"}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "work", "next": "END"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    rig.report("a", completed(json!({}))).expect("completed");
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn checkpoints_are_kept_for_the_next_attempt_and_never_go_back() {
    let mut rig = dispatched();
    rig.start("a");
    rig.report("a", checkpoint(2)).expect("saved");
    assert_eq!(
        rig.status("a"),
        NodeStatus::Running,
        "a checkpoint is not a result"
    );
    assert_eq!(rig.report("a", checkpoint(2)), Ok(Decision::AlreadyApplied));
    assert_eq!(rig.report("a", checkpoint(1)), Ok(Decision::AlreadyApplied));
    rig.report("a", Outcome::Failed(failure(FailureClass::Transient)))
        .expect("failed");
    rig.wait(5);
    rig.dispatch();
    let view = rig.state.node(&"a".into()).expect("there");
    assert_eq!(view.checkpoint.map(|c| c.seq), Some(2));
    assert_eq!(view.attempt, 2);
    let huge = Outcome::Checkpoint(Checkpoint {
        state: json!("x".repeat(70_000)),
        ..match checkpoint(3) {
            Outcome::Checkpoint(c) => c,
            _ => unreachable!(),
        }
    });
    rig.start("a");
    assert!(matches!(
        rig.report("a", huge),
        Err(Rejection::CheckpointTooLarge { .. })
    ));
}

#[test]
fn a_lost_run_is_sent_again_in_the_same_attempt_and_three_fail_it() {
    let mut rig = dispatched();
    for lost in 1..=3 {
        assert_eq!(
            rig.state.node(&"a".into()).map(|n| (n.attempt, n.epoch)),
            Some((1, lost))
        );
        rig.start("a");
        let gone = Command::RunLost {
            node: "a".into(),
            attempt: 1,
            epoch: lost,
            run: run(1),
        };
        let events = rig.accept(gone.clone());
        assert_eq!(
            names(&events),
            [if lost < 3 { "run_lost" } else { "node_failed" }]
        );
        assert_eq!(rig.send(gone), Ok(Decision::AlreadyApplied));
        rig.dispatch();
    }
    assert_eq!(rig.status("a"), NodeStatus::Failed);
    let view = rig.state.node(&"a".into()).expect("there");
    assert_eq!(
        view.failure.map(|f| (f.class, f.code.as_str())),
        Some((FailureClass::Transient, "runs_lost"))
    );
    rig.wait(5);
    assert_eq!(
        rig.state.node(&"a".into()).map(|n| (n.status, n.attempt)),
        Some((NodeStatus::Ready, 2))
    );
}

#[test]
fn a_run_that_is_handed_back_is_sent_again_and_never_fails_the_attempt() {
    let mut rig = dispatched();
    for epoch in 1..=10 {
        rig.report("a", Outcome::Released)
            .expect("nothing to give back yet");
        assert_eq!(rig.status("a"), NodeStatus::Dispatched);
        rig.start("a");
        let released = rig
            .report("a", Outcome::Released)
            .expect("handed back")
            .into_events();
        assert_eq!(names(&released), ["run_released"]);
        assert_eq!(
            rig.report_as("a", 1, epoch, run(1), Outcome::Released),
            Ok(Decision::AlreadyApplied),
            "its answer was lost"
        );
        assert_eq!(rig.status("a"), NodeStatus::Ready);
        rig.dispatch();
        let view = rig.state.node(&"a".into()).expect("there");
        assert_eq!((view.attempt, view.epoch), (1, epoch + 1));
    }
}

#[test]
fn a_superseded_run_changes_nothing_when_it_comes_back() {
    let mut rig = dispatched();
    rig.start("a");
    rig.accept(Command::RunLost {
        node: "a".into(),
        attempt: 1,
        epoch: 1,
        run: run(1),
    });
    rig.dispatch();
    rig.report_as("a", 1, 2, run(2), Outcome::Started)
        .expect("started");
    let zombie = rig
        .report_as("a", 1, 1, run(1), completed(json!({"zombie": true})))
        .expect("recorded");
    assert_eq!(names(&zombie.into_events()), ["report_ignored"]);
    rig.report_as("a", 1, 2, run(2), completed(json!({"ok": true})))
        .expect("completed");
    assert_eq!(rig.output("a"), json!({"ok": true}));
}

#[test]
fn a_lost_message_is_sent_again_under_a_new_epoch() {
    let mut rig = dispatched();
    let lost = Command::MessageLost {
        node: "a".into(),
        attempt: 1,
        epoch: 1,
    };
    assert_eq!(names(&rig.accept(lost.clone())), ["node_redispatched"]);
    assert_eq!(rig.send(lost), Ok(Decision::AlreadyApplied));
    let old = rig.report_as("a", 1, 1, run(1), Outcome::Started);
    assert!(
        matches!(old, Err(Rejection::Superseded { .. })),
        "a stale start must not look like one"
    );
    rig.report_as("a", 1, 2, run(2), Outcome::Started)
        .expect("started");
    assert_eq!(rig.status("a"), NodeStatus::Running);
}

#[test]
fn a_task_whose_message_is_lost_every_time_fails_its_attempt() {
    let mut rig = dispatched();
    for epoch in 1..=20 {
        let lost = Command::MessageLost {
            node: "a".into(),
            attempt: 1,
            epoch,
        };
        let events = rig.accept(lost);
        let expected = match epoch {
            20 => "node_failed",
            _ => "node_redispatched",
        };
        assert_eq!(names(&events), [expected], "{epoch}");
    }
    assert_eq!(rig.status("a"), NodeStatus::Failed);
}

#[test]
fn an_output_that_breaks_the_contract_fails_its_task() {
    for (output, code) in [
        (json!([1]), "output_not_an_object"),
        (json!({"x": "y".repeat(70_000)}), "output_too_large"),
    ] {
        let mut rig = dispatched();
        rig.start("a");
        rig.report("a", completed(output))
            .expect("accepted as a failure");
        let (_, failure) = rig.state.failure().expect("failed");
        assert_eq!(
            (failure.class, failure.code.as_str()),
            (FailureClass::Contract, code)
        );
    }
}

#[test]
fn a_template_that_fails_is_never_sent_half_filled() {
    let nodes = json!({"START": {"type": "start", "next": "a"}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "work", "params": {"p": "{{ inputs.gone }}"}, "next": "END"}});
    let mut rig = Rig::new(graph(nodes));
    assert_eq!(
        names(&rig.dispatch()),
        ["node_failed", "job_started", "job_failed"]
    );
    assert_eq!(
        (rig.status("a"), rig.job()),
        (NodeStatus::Failed, JobStatus::Failed)
    );
    let (_, failure) = rig.state.failure().expect("failed");
    assert!(
        failure.message.contains("`inputs.gone` is not defined"),
        "{failure:?}"
    );
}

#[test]
fn text_from_outside_is_cut_and_freed_of_zeros() {
    let mut rig = dispatched();
    rig.start("a");
    let failure = crate::failure::Failure {
        class: FailureClass::Permanent,
        code: "c".into(),
        message: format!("a\0{}", "b".repeat(100_000)),
        detail: Some(json!({"t": "x".repeat(100_000)})),
    };
    rig.report("a", Outcome::Failed(failure)).expect("failed");
    let (_, failure) = rig.state.failure().expect("failed");
    assert!(failure.message.len() <= 16 * 1024 && !failure.message.contains('\0'));
    assert_eq!(failure.detail, None);
}

#[test]
fn late_results_of_an_ended_job_are_recorded_without_effect() {
    let mut rig = Rig::new(graph(json!({
        "START": {"type": "start", "next": ["a", "b"]}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "careful", "next": "END"},
        "b": {"type": "task", "handler": "careful", "next": "END"}})));
    rig.dispatch();
    rig.start("a");
    rig.start("b");
    rig.report("a", Outcome::Failed(failure(FailureClass::Permanent)))
        .expect("failed");
    assert_eq!(
        (rig.job(), rig.status("b")),
        (JobStatus::Failed, NodeStatus::Failed)
    );
    let late = rig
        .report("b", completed(json!({})))
        .expect("recorded")
        .into_events();
    assert_eq!(names(&late), ["report_ignored"]);
    assert_eq!(rig.status("b"), NodeStatus::Failed);
}

#[test]
fn a_zombie_owner_cannot_write() {
    let mut rig = dispatched();
    let old = rig.fence;
    rig.fence = Fence {
        owner: OwnerId(uuid::Uuid::from_u128(2)),
        epoch: 2,
    };
    rig.accept(Command::Claim);
    rig.fence = old;
    let fenced = Err(Rejection::Fenced {
        owner: OwnerId(uuid::Uuid::from_u128(2)),
        epoch: 2,
    });
    assert_eq!(rig.report("a", Outcome::Started), fenced);
    for command in [
        Command::TimePassed,
        Command::Advance,
        Command::Dispatch(Default::default()),
        Command::RunLost {
            node: "a".into(),
            attempt: 1,
            epoch: 1,
            run: run(1),
        },
    ] {
        assert_eq!(rig.send(command), fenced);
    }
    assert!(matches!(
        rig.log.last(),
        Some(Event::JobClaimed { epoch: 2, .. })
    ));
}

#[test]
fn metrics_are_kept_while_they_are_small_and_freed_of_zeros() {
    for (metrics, kept) in [
        (json!({"a\0": "x\0y"}), json!({"a": "xy"})),
        (json!({"a": "x".repeat(20_000)}), json!({})),
    ] {
        let mut rig = dispatched();
        rig.start("a");
        let metrics = metrics.as_object().cloned().expect("an object");
        rig.report(
            "a",
            Outcome::Completed {
                output: json!({}),
                external: None,
                metrics,
            },
        )
        .expect("completed");
        let found = rig.log.iter().find_map(|e| match e {
            Event::NodeCompleted(c) => Some(json!(c.metrics)),
            _ => None,
        });
        assert_eq!(found, Some(kept));
    }
}
