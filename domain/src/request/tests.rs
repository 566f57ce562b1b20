//! The rules of requests, one sentence each.

mod limits;

use serde_json::{Value, json};

use super::*;
use crate::asset::AssetId;
use crate::context::{Role, testing};
use crate::id::{JobId, RequestId};
use crate::outcome::Decision;
use crate::platform::Refs;
use crate::priority::Priority;

type Outcome = Result<Decision<Event>, Rejection>;

#[track_caller]
fn check(given: &[Event], role: Role, when: Command, then: Outcome) {
    assert_eq!(decide(&fold(given), when, &testing::from(role)), then);
}

fn fold(events: &[Event]) -> State {
    events.iter().fold(State::default(), evolve)
}

fn map(value: Value) -> Refs {
    value.as_object().cloned().expect("an object")
}

fn submission() -> Submission {
    let refs = map(json!({"dataset_id": "1", "resource_id": "2", "version_id": "3"}));
    let mut submission = Submission {
        request_id: RequestId::from_key("acme", "k1"),
        org_id: "acme".into(),
        platform_id: "ddh".into(),
        asset_id: Some(AssetId::derive("ddh", &refs)),
        refs,
        workflow_id: "hello_world".into(),
        workflow_version: None,
        inputs: map(json!({"name": "Ada"})),
        priority: Priority::Normal,
        retry_of: None,
        forked_from: None,
        callbacks: vec![callback("https://example.org/done")],
        body_hash: String::new(),
    };
    submission.body_hash = body_hash(&submission);
    submission
}

fn callback(url: &str) -> CallbackRef {
    CallbackRef {
        secret_ref: Some("callback-1".into()),
        ..CallbackRef::to(url)
    }
}

fn submit(change: impl FnOnce(&mut Submission)) -> Command {
    let mut submission = submission();
    change(&mut submission);
    Command::Submit(Box::new(submission))
}

fn submitted() -> Event {
    Event::RequestSubmitted {
        submission: Box::new(submission()),
        at: testing::now(),
    }
}

fn job() -> JobId {
    JobId::of_request(submission().request_id)
}

fn assigned() -> Event {
    Event::JobAssigned {
        job_id: job(),
        at: testing::now(),
    }
}

fn withdraw() -> Command {
    Command::Withdraw {
        reason: "wrong file".into(),
    }
}

fn withdrawn() -> Event {
    Event::RequestWithdrawn {
        reason: "wrong file".into(),
        at: testing::now(),
    }
}

fn accepted(event: Event) -> Outcome {
    Ok(Decision::Accepted(vec![event]))
}

const APPLIED: Outcome = Ok(Decision::AlreadyApplied);

#[test]
fn a_request_exists_without_a_job() {
    check(&[], Role::Platform, submit(|_| {}), accepted(submitted()));
    let state = fold(&[submitted()]);
    assert_eq!(state.submission(), Some(&submission()));
    assert_eq!(state.submitted_at(), Some(testing::now()));
    assert_eq!(
        (state.progress(), state.job_id()),
        (&Progress::Waiting, None)
    );
}

#[test]
fn the_same_submission_again_is_already_applied_however_far_it_has_come() {
    check(&[submitted()], Role::Platform, submit(|_| {}), APPLIED);
    check(
        &[submitted(), assigned()],
        Role::Platform,
        submit(|_| {}),
        APPLIED,
    );
    check(
        &[submitted(), withdrawn()],
        Role::Platform,
        submit(|_| {}),
        APPLIED,
    );
}

#[test]
fn another_body_under_the_same_id_is_a_conflict() {
    let other = submit(|s| {
        s.inputs = map(json!({"name": "Bob"}));
        s.body_hash = body_hash(s);
    });
    let Command::Submit(changed) = &other else {
        unreachable!("a submission")
    };
    let then = Rejection::Conflict {
        request_id: submission().request_id,
        submitted: submission().body_hash,
        given: changed.body_hash.clone(),
    };
    check(&[submitted()], Role::Platform, other.clone(), Err(then));
}

#[test]
fn the_body_hash_covers_what_the_caller_chose_and_nothing_else() {
    let changes: [fn(&mut Submission); 12] = [
        |s| s.org_id.push('x'),
        |s| s.platform_id.push('x'),
        |s| s.workflow_id.push('x'),
        |s| s.workflow_version = Some(2),
        |s| s.priority = Priority::High,
        |s| s.inputs = map(json!({"name": 1})),
        |s| s.refs = map(json!({})),
        |s| s.callbacks.clear(),
        |s| s.callbacks[0].retry_count = Some(3),
        |s| s.callbacks[0].timeout_seconds = Some(3),
        |s| s.forked_from = Some(fork(&[])),
        |s| s.forked_from = Some(fork(&["a"])),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut other = submission();
        change(&mut other);
        assert_ne!(body_hash(&other), submission().body_hash, "change {index}");
    }
    let mut same = submission();
    same.request_id = RequestId::from_key("acme", "k2");
    same.asset_id = None;
    same.callbacks[0].secret_ref = None;
    assert_eq!(body_hash(&same), submission().body_hash);
    let at = |names| {
        let mut forked = submission();
        forked.forked_from = Some(fork(names));
        body_hash(&forked)
    };
    assert_ne!(at(&["a"]), at(&["b"]), "where it starts again counts");
}

fn fork(at: &[&str]) -> Fork {
    let job_id = JobId::of_request(RequestId::from_key("acme", "older"));
    let at = at.iter().map(|name| (*name).to_owned()).collect();
    Fork { job_id, at }
}

#[test]
fn the_body_hash_of_a_known_submission_never_changes() {
    // Computed apart from this code: requests in the log are compared with it after an upgrade.
    assert_eq!(
        submission().body_hash,
        "05b0d25a4c9a230e1e1b4b9c09832ea2e8c1fedb8f3c8be2b7be22804d1e2a6e"
    );
}

#[test]
fn the_orchestrator_assigns_the_job_that_follows_from_the_request() {
    let when = Command::AssignJob { job_id: job() };
    check(
        &[submitted()],
        Role::Orchestrator,
        when.clone(),
        accepted(assigned()),
    );
    check(
        &[submitted(), assigned()],
        Role::Orchestrator,
        when,
        APPLIED,
    );
    assert_eq!(fold(&[submitted(), assigned()]).job_id(), Some(job()));
}

#[test]
fn any_other_job_is_refused() {
    let given = JobId::of_request(RequestId::from_key("acme", "k2"));
    let then = Rejection::OtherJob {
        given,
        expected: job(),
    };
    let when = Command::AssignJob { job_id: given };
    check(
        &[submitted()],
        Role::Orchestrator,
        when.clone(),
        Err(then.clone()),
    );
    check(
        &[submitted(), assigned()],
        Role::Orchestrator,
        when,
        Err(then),
    );
}

#[test]
fn a_withdrawn_request_gets_no_job() {
    let then = Rejection::Withdrawn {
        reason: "wrong file".into(),
    };
    let when = Command::AssignJob { job_id: job() };
    check(
        &[submitted(), withdrawn()],
        Role::Orchestrator,
        when,
        Err(then),
    );
}

#[test]
fn a_request_without_a_job_is_withdrawn_once() {
    check(
        &[submitted()],
        Role::Platform,
        withdraw(),
        accepted(withdrawn()),
    );
    check(
        &[submitted(), withdrawn()],
        Role::Platform,
        withdraw(),
        APPLIED,
    );
}

#[test]
fn a_request_with_a_job_is_not_withdrawn_and_the_job_is_named() {
    let then = Rejection::JobExists { job_id: job() };
    assert!(then.to_string().contains(&job().to_string()));
    assert!(then.to_string().contains("cancel the job instead"));
    check(
        &[submitted(), assigned()],
        Role::Platform,
        withdraw(),
        Err(then),
    );
}

#[test]
fn each_role_keeps_to_its_own_commands() {
    let assign = Command::AssignJob { job_id: job() };
    for given in [&[][..], &[submitted()], &[submitted(), assigned()]] {
        let wrong = |action, role, needed| {
            Err(Rejection::WrongRole {
                action,
                role,
                needed,
            })
        };
        let (platform, orchestrator) = (Role::Platform, Role::Orchestrator);
        let then = wrong("assign a job to", platform, orchestrator);
        check(given, platform, assign.clone(), then);
        let then = wrong("withdraw", orchestrator, platform);
        check(given, orchestrator, withdraw(), then);
    }
}

#[test]
fn nothing_can_be_done_with_a_request_that_does_not_exist() {
    let assign = Command::AssignJob { job_id: job() };
    check(&[], Role::Orchestrator, assign, Err(Rejection::NotFound));
    check(&[], Role::Platform, withdraw(), Err(Rejection::NotFound));
}

#[test]
fn the_parameters_key_ignores_key_order_and_knows_the_job_type() {
    let parse = |text: &str| map(serde_json::from_str(text).expect("valid JSON"));
    let key = parameters_key("h3", &parse(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#));
    // Computed apart from this code; a change would break the keys that are in use.
    assert_eq!(
        key,
        "00e13e9c6eb3428ffdcb5482e1d6e0a35d7ac7a53e9942749fcc314385656fbe"
    );
    assert_eq!(
        key,
        parameters_key("h3", &parse(r#"{"b": {"d": 3, "c": 2}, "a": 1}"#))
    );
    assert_ne!(
        key,
        parameters_key("h4", &parse(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#))
    );
    assert_ne!(
        key,
        parameters_key("h3", &parse(r#"{"a": 1, "b": {"c": 2, "d": 4}}"#))
    );
    // Two submissions with one key are one request, and so one job.
    let request = |key: &str| RequestId::from_key("acme", key);
    assert_eq!(
        JobId::of_request(request(&key)),
        JobId::of_request(request(&key))
    );
}

#[test]
fn a_repeated_event_changes_nothing_and_the_first_of_job_and_withdrawal_stands() {
    for events in [
        vec![submitted()],
        vec![submitted(), assigned()],
        vec![submitted(), withdrawn()],
    ] {
        let state = fold(&events);
        for event in &events {
            assert_eq!(evolve(state.clone(), event), state);
        }
    }
    let assigned_first = fold(&[submitted(), assigned()]);
    assert_eq!(evolve(assigned_first.clone(), &withdrawn()), assigned_first);
    let withdrawn_first = fold(&[submitted(), withdrawn()]);
    assert_eq!(
        evolve(withdrawn_first.clone(), &assigned()),
        withdrawn_first
    );
}

#[test]
fn events_are_flat_objects_tagged_in_snake_case() {
    for (event, tag) in [
        (submitted(), "request_submitted"),
        (assigned(), "job_assigned"),
        (withdrawn(), "request_withdrawn"),
    ] {
        let json = serde_json::to_value(&event).expect("plain data");
        assert_eq!(json["type"], tag);
        assert_eq!(serde_json::from_value::<Event>(json).ok(), Some(event));
    }
    let json = serde_json::to_value(submitted()).expect("plain data");
    assert_eq!(json["workflow_id"], "hello_world");
}
