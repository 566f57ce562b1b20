//! The rules of callbacks, one sentence each.

use core::net::IpAddr;
use std::time::Duration;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::context::{Role, testing};
use crate::id::{CallbackId, JobId, RequestId};
use crate::outcome::Decision;

#[track_caller]
fn check(given: &[Event], when: Command, then: Result<Decision<Event>, Rejection>) {
    let state = fold(given);
    assert_eq!(
        decide(&state, when, &testing::from(Role::Orchestrator)),
        then
    );
}

fn fold(events: &[Event]) -> State {
    events.iter().fold(State::default(), evolve)
}

fn job() -> JobId {
    JobId::of_request(RequestId::from_key("acme", "k1"))
}

fn deliver(round: u32) -> Command {
    Command::RecordDelivered {
        job_id: job(),
        round,
        attempts: 2,
        status_code: 204,
    }
}

fn delivered(round: u32) -> Event {
    Event::CallbackDelivered {
        job_id: job(),
        round,
        attempts: 2,
        status_code: 204,
        at: testing::now(),
    }
}

fn give_up(round: u32) -> Command {
    Command::RecordGivenUp {
        job_id: job(),
        round,
        attempts: 12,
        code: "timeout".into(),
        message: "no answer\0".into(),
    }
}

fn given_up(round: u32) -> Event {
    Event::CallbackGivenUp {
        job_id: job(),
        round,
        attempts: 12,
        code: "timeout".into(),
        message: "no answer".into(),
        at: testing::now(),
    }
}

fn requested(round: u32) -> Event {
    Event::CallbackRedeliveryRequested {
        job_id: job(),
        round,
        at: testing::now(),
    }
}

fn accepted(event: Event) -> Result<Decision<Event>, Rejection> {
    Ok(Decision::Accepted(vec![event]))
}

const APPLIED: Result<Decision<Event>, Rejection> = Ok(Decision::AlreadyApplied);

#[test]
fn a_callback_is_delivered_once_however_often_it_is_reported() {
    check(&[], deliver(0), accepted(delivered(0)));
    check(&[delivered(0)], deliver(0), APPLIED);
}

#[test]
fn a_callback_is_given_up_once_and_a_delivery_stands_over_it() {
    check(&[], give_up(0), accepted(given_up(0)));
    check(&[given_up(0)], give_up(0), APPLIED);
    check(&[delivered(0)], give_up(0), Err(Rejection::Delivered));
    check(&[given_up(0)], deliver(0), accepted(delivered(0)));
    let both = fold(&[given_up(0), delivered(0), given_up(0)]);
    assert_eq!(both.progress(), Progress::Delivered);
}

#[test]
fn redelivery_begins_a_new_round_and_only_when_nothing_is_on_its_way() {
    let again = Command::RequestRedelivery;
    check(&[], again.clone(), Err(Rejection::OnItsWay));
    check(&[delivered(0)], again.clone(), accepted(requested(1)));
    check(&[given_up(0)], again.clone(), accepted(requested(1)));
    let twice = [delivered(0), requested(1)];
    check(&twice, again.clone(), Err(Rejection::OnItsWay));
    let settled = [delivered(0), requested(1), given_up(1)];
    check(&settled, again, accepted(requested(2)));
    assert_eq!(fold(&settled).round(), 1);
}

#[test]
fn a_sender_of_an_older_round_changes_nothing() {
    let given = [given_up(0), requested(1)];
    let over = Rejection::RoundOver {
        given: 0,
        current: 1,
    };
    check(&given, deliver(0), Err(over.clone()));
    check(&given, give_up(0), Err(over));
    let state = fold(&given);
    assert_eq!(evolve(state.clone(), &delivered(0)), state);
    assert_eq!(evolve(state.clone(), &requested(1)), state);
}

#[test]
fn the_id_follows_from_job_and_place_and_never_changes() {
    // Computed apart from this code: receivers know callbacks by it.
    let job: JobId = "job_00000000000000000000000000000007"
        .parse()
        .expect("an id");
    let id = CallbackId::of_job(job, 0);
    assert_eq!(id.to_string(), "msg_e5421ed3992e592789a929a187e64b26");
    assert_ne!(id, CallbackId::of_job(job, 1));
    assert_eq!(id.to_string().parse(), Ok(id));
}

#[test]
fn pauses_double_up_to_a_bound_and_are_spread() {
    let backoff = Backoff::default();
    let middle: Vec<u64> = (1..=11).map(|n| backoff.pause(n, 250).as_secs()).collect();
    assert_eq!(middle, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800]);
    assert_eq!(backoff.pause(1, 0), Duration::from_millis(3_750));
    assert_eq!(backoff.pause(1, 500), Duration::from_millis(6_250));
    assert_eq!(backoff.pause(u32::MAX, 500), backoff.max);
}

proptest! {
    #[test]
    fn a_pause_is_never_longer_than_its_bound_nor_shorter_than_most_of_the_first(
        failures in any::<u32>(), chance in any::<u32>(),
    ) {
        let backoff = Backoff::default();
        let pause = backoff.pause(failures, chance);
        prop_assert!(pause <= backoff.max && pause >= backoff.first * 3 / 4);
    }
}

#[test]
fn a_breaker_opens_after_five_failures_lets_one_probe_through_and_doubles() {
    let policy = BreakerPolicy::default();
    let start = testing::now();
    let after = |seconds: i64| start + TimeDelta::seconds(seconds);
    let fail = |breaker: Breaker, at: i64| breaker.record(false, after(at), &policy);
    let mut breaker = Breaker::default();
    for _ in 0..4 {
        breaker = fail(breaker, 0);
        assert_eq!(breaker.admit(after(0)), Admission::Free);
    }
    breaker = fail(breaker, 0);
    assert_eq!(breaker.admit(after(29)), Admission::Closed);
    // One that was under way when it opened does not make it longer.
    breaker = fail(breaker, 10);
    assert_eq!(breaker.open_until, Some(after(30)));
    assert_eq!(breaker.admit(after(30)), Admission::Probe);
    let probing = breaker.probing(after(30), Duration::from_secs(60));
    assert_eq!(probing.admit(after(31)), Admission::Closed);
    // A probe whose sender died is taken for lost.
    assert_eq!(probing.admit(after(90)), Admission::Probe);
    let again = fail(probing, 40);
    assert_eq!(again.open_until, Some(after(100)));
    assert_eq!(again.admit(after(99)), Admission::Closed);
    let mut worst = again;
    for _ in 0..10 {
        let until = worst.open_until.expect("open");
        worst = worst.record(false, until, &policy);
        let pause = worst.open_until.expect("open") - until;
        assert!(pause <= TimeDelta::seconds(600));
    }
    assert_eq!(worst.record(true, after(0), &policy), Breaker::default());
}

const FORBIDDEN: &str = "
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.8.9.10 169.254.169.254 168.63.129.16
    172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
    198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 64:ff9b:1::a00:1 100::1 2001::1 2001:2::1
    2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe:: 3fff::1 3ffe::1 fc00::1 fd00:ec2::254
    fe80::1 febf::1 fec0::1 ff02::1 5f00::1 4000::1";

const PUBLIC: &str = "
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 169.253.255.255
    169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255
    2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 2001:200::1 3fff:1000::1";

#[test]
fn addresses_that_are_not_public_hosts_are_forbidden() {
    for (texts, expected) in [(FORBIDDEN, true), (PUBLIC, false)] {
        for text in texts.split_whitespace() {
            let address: IpAddr = text.parse().expect(text);
            assert_eq!(is_forbidden(address), expected, "{text}");
        }
    }
}

#[test]
fn events_are_flat_objects_tagged_in_snake_case() {
    for (event, tag) in [
        (delivered(0), "callback_delivered"),
        (given_up(0), "callback_given_up"),
        (requested(1), "callback_redelivery_requested"),
    ] {
        let json = serde_json::to_value(&event).expect("plain data");
        assert_eq!(json["type"], tag);
        assert_eq!(serde_json::from_value::<Event>(json).ok(), Some(event));
    }
}
