//! Create, claim, cancel, pause, resume.

use serde_json::json;

use super::rig::{Rig, chain, completed, create, job_created, names};
use crate::id::OwnerId;
use crate::job::command::Window;
use crate::job::{Command, Context, Fence, JobStatus, NodeStatus, Rejection, State, handle};
use crate::outcome::Decision;

fn owner(n: u128, epoch: u64) -> Fence {
    Fence {
        owner: OwnerId(uuid::Uuid::from_u128(n)),
        epoch,
    }
}

fn cancel() -> Command {
    Command::Cancel {
        reason: "not needed".into(),
    }
}

#[test]
fn of_two_that_create_one_wins_and_a_repeat_is_already_applied() {
    let mut rig = Rig::new(chain(&["a"]));
    let job = job_created(&rig.state.graph, json!({}));
    assert_eq!(rig.send(create(job.clone())), Ok(Decision::AlreadyApplied));
    rig.fence = owner(2, 1);
    assert!(matches!(
        rig.send(create(job.clone())),
        Err(Rejection::Fenced { .. })
    ));
    let mut other = job;
    other.inputs.insert("x".into(), json!(1));
    assert_eq!(rig.send(create(other)), Err(Rejection::JobExists));
}

#[test]
fn a_job_runs_only_the_definition_it_pins() {
    let graph = chain(&["a"]);
    let mut job = job_created(&graph, json!({}));
    job.workflow.hash = "another".into();
    let mut state = State::new(graph);
    let ctx = Context {
        now: chrono::DateTime::UNIX_EPOCH,
        fence: Some(owner(1, 1)),
        policy: Default::default(),
    };
    assert!(matches!(
        handle(&mut state, create(job), &ctx),
        Err(Rejection::WrongDefinition { .. })
    ));
}

#[test]
fn a_later_claim_carries_the_next_epoch_and_one_wins() {
    let mut rig = Rig::new(chain(&["a"]));
    rig.fence = owner(2, 3);
    assert_eq!(
        rig.send(Command::Claim),
        Err(Rejection::WrongEpoch {
            expected: 2,
            found: 3
        })
    );
    rig.fence = owner(2, 2);
    assert_eq!(names(&rig.accept(Command::Claim)), ["job_claimed"]);
    assert_eq!(rig.send(Command::Claim), Ok(Decision::AlreadyApplied));
    rig.fence = owner(3, 2);
    assert!(matches!(
        rig.send(Command::Claim),
        Err(Rejection::WrongEpoch { expected: 3, .. })
    ));
    assert_eq!(rig.state.claim(), Some(owner(2, 2)));
}

#[test]
fn cancel_ends_a_job_in_each_open_status_and_at_once() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    assert_eq!(names(&rig.accept(cancel())), ["job_cancelled"]);
    assert_eq!(
        (rig.job(), rig.status("a")),
        (JobStatus::Cancelled, NodeStatus::Skipped)
    );
    assert_eq!(rig.send(cancel()), Ok(Decision::AlreadyApplied));

    let mut rig = Rig::new(chain(&["a", "b"]));
    rig.dispatch();
    rig.start("a");
    rig.accept(cancel());
    let view = rig.state.node(&"a".into()).expect("there");
    assert_eq!(view.status, NodeStatus::Failed);
    assert_eq!(
        view.failure.map(|f| f.class),
        Some(crate::failure::FailureClass::Cancelled)
    );
    assert_eq!(rig.status("b"), NodeStatus::Skipped);
    assert_eq!(rig.state.next_due(), None);
    let ended = Err(Rejection::Ended {
        status: JobStatus::Cancelled,
    });
    assert_eq!(rig.send(Command::Dispatch(Window::default())), ended);
    assert_eq!(rig.send(Command::Claim), ended);
}

#[test]
fn an_ended_job_refuses_everything() {
    let mut rig = Rig::new(chain(&["a"]));
    rig.complete("a", json!({}));
    let ended = Err(Rejection::Ended {
        status: JobStatus::Completed,
    });
    for command in [
        cancel(),
        Command::Pause {
            reason: String::new(),
        },
        Command::Resume,
        Command::TimePassed,
        Command::Advance,
        Command::Claim,
    ] {
        assert_eq!(rig.send(command), ended);
    }
}

#[test]
fn every_event_after_the_end_changes_nothing() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    rig.complete("a", json!({}));
    rig.complete("b", json!({}));
    let ended = rig.state.clone();
    for event in rig.log.clone() {
        crate::job::apply(&mut rig.state, &event);
    }
    assert_eq!(rig.state, ended);
}

#[test]
fn a_paused_job_dispatches_nothing_but_takes_reports() {
    let mut rig = Rig::new(chain(&["a", "b"]));
    rig.dispatch();
    rig.start("a");
    rig.accept(Command::Pause {
        reason: "maintenance".into(),
    });
    assert_eq!(
        rig.send(Command::Pause {
            reason: String::new()
        }),
        Ok(Decision::AlreadyApplied)
    );
    rig.report("a", completed(json!({}))).expect("completed");
    assert_eq!(
        (rig.status("b"), rig.job()),
        (NodeStatus::Ready, JobStatus::Running)
    );
    assert!(rig.dispatch().is_empty());
    rig.accept(Command::Resume);
    assert_eq!(rig.send(Command::Resume), Ok(Decision::AlreadyApplied));
    assert_eq!(rig.dispatch().len(), 1);
}

#[test]
fn cancel_pause_and_resume_need_no_owner_and_everything_else_does() {
    let rig = Rig::new(chain(&["a"]));
    let ctx = Context {
        fence: None,
        ..rig.context()
    };
    for command in [
        Command::Pause {
            reason: String::new(),
        },
        Command::Resume,
        cancel(),
    ] {
        assert!(handle(&mut rig.state.clone(), command, &ctx).is_ok());
    }
    for command in [
        Command::Claim,
        Command::TimePassed,
        Command::Advance,
        Command::Dispatch(Window::default()),
    ] {
        assert_eq!(
            handle(&mut rig.state.clone(), command, &ctx),
            Err(Rejection::NoFence)
        );
    }
    let mut empty = State::new(chain(&["a"]));
    assert_eq!(handle(&mut empty, cancel(), &ctx), Err(Rejection::NoJob));
}
