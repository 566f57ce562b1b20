//! The rules of workflow definitions, one sentence each.

use super::*;
use crate::context::{Role, testing};
use crate::handler::Pins;
use crate::outcome::Decision;

#[track_caller]
fn check(given: &[Event], when: Command, then: Result<Decision<Event>, Rejection>) {
    let state = fold(given);
    assert_eq!(decide(&state, when, &testing::from(Role::Platform)), then);
}

fn fold(events: &[Event]) -> State {
    events.iter().fold(State::default(), evolve)
}

fn hash(digit: char) -> String {
    digit.to_string().repeat(64)
}

fn register(version: u32, digit: char) -> Command {
    Command::Register {
        version,
        hash: hash(digit),
        source: format!("version: {version} # {digit}"),
        handlers: Pins::new(),
    }
}

fn registered(version: u32, digit: char) -> Event {
    Event::WorkflowRegistered {
        handlers: Pins::new(),
        version,
        hash: hash(digit),
        source: format!("version: {version} # {digit}"),
        at: testing::now(),
    }
}

fn accepted(event: Event) -> Result<Decision<Event>, Rejection> {
    Ok(Decision::Accepted(vec![event]))
}

#[test]
fn a_first_version_is_registered() {
    check(&[], register(1, 'a'), accepted(registered(1, 'a')));
}

#[test]
fn a_new_version_is_registered_beside_the_old_one() {
    let first = [registered(1, 'a')];
    check(&first, register(2, 'b'), accepted(registered(2, 'b')));
}

#[test]
fn what_is_carried_stands_in_for_all_versions_before_it() {
    let all = [registered(1, 'a'), registered(2, 'b')];
    let ctx = testing::from(Role::Platform);
    let carried = decide(&fold(&all), Command::Carry, &ctx).expect("nobody is refused");
    let carried = carried.into_events();
    assert_eq!(carried.len(), 2, "one for each version");
    assert_eq!(fold(&carried), fold(&all));
    assert_eq!(fold(&[&all[..], &carried].concat()), fold(&all));
    assert_eq!(
        decide(&State::default(), Command::Carry, &ctx),
        Ok(Decision::Accepted(vec![]))
    );
}

#[test]
fn the_same_version_with_the_same_content_is_already_applied() {
    let first = [registered(1, 'a')];
    check(&first, register(1, 'a'), Ok(Decision::AlreadyApplied));
}

#[test]
fn the_same_content_in_another_spelling_is_already_applied() {
    let respelled = Command::Register {
        version: 1,
        hash: hash('a'),
        source: "# a comment\nversion: 1".into(),
        handlers: Pins::new(),
    };
    check(
        &[registered(1, 'a')],
        respelled,
        Ok(Decision::AlreadyApplied),
    );
}

#[test]
fn the_same_version_with_other_content_is_refused_with_both_hashes_and_the_remedy() {
    let taken = Rejection::VersionTaken {
        version: 1,
        registered: hash('a'),
        given: hash('b'),
    };
    let text = taken.to_string();
    check(&[registered(1, 'a')], register(1, 'b'), Err(taken));
    for part in [hash('a'), hash('b'), "raise `version:`".into()] {
        assert!(text.contains(&part), "{text}");
    }
}

#[test]
fn version_0_is_refused() {
    check(&[], register(0, 'a'), Err(Rejection::VersionZero));
}

#[test]
fn an_empty_source_is_refused() {
    for source in ["", " \n\t"] {
        let when = Command::Register {
            version: 1,
            hash: hash('a'),
            source: source.into(),
            handlers: Pins::new(),
        };
        check(&[], when, Err(Rejection::SourceEmpty));
    }
}

#[test]
fn a_source_of_one_mebibyte_is_the_longest() {
    let of = |size_bytes: usize| Command::Register {
        version: 1,
        hash: hash('a'),
        source: "x".repeat(size_bytes),
        handlers: Pins::new(),
    };
    let ctx = testing::from(Role::Platform);
    assert!(decide(&State::default(), of(SOURCE_BYTES_MAX), &ctx).is_ok());
    let size_bytes = SOURCE_BYTES_MAX + 1;
    check(
        &[],
        of(size_bytes),
        Err(Rejection::SourceTooLong { size_bytes }),
    );
}

#[test]
fn a_hash_that_is_not_64_lower_case_hex_digits_is_refused() {
    for hash in ["", "abc", &hash('A'), &hash('g'), &"a".repeat(65)] {
        let when = Command::Register {
            version: 1,
            hash: hash.into(),
            source: "x".into(),
            handlers: Pins::new(),
        };
        check(&[], when, Err(Rejection::InvalidHash { hash: hash.into() }));
    }
}

#[test]
fn the_latest_version_is_the_highest_whatever_the_order() {
    let state = fold(&[registered(2, 'b'), registered(10, 'c'), registered(1, 'a')]);
    assert_eq!(state.latest().map(|v| v.number), Some(10));
    let all: Vec<u32> = state.versions().map(|v| v.number).collect();
    assert_eq!(all, [1, 2, 10]);
    assert_eq!(State::default().latest(), None);
}

#[test]
fn versions_are_found_by_number_and_by_hash() {
    let state = fold(&[registered(1, 'a'), registered(2, 'b'), registered(3, 'a')]);
    assert_eq!(state.find(2).map(|v| v.hash.clone()), Some(hash('b')));
    assert_eq!(state.find(4), None);
    assert_eq!(state.find_by_hash(&hash('a')).map(|v| v.number), Some(3));
    assert_eq!(state.find_by_hash(&hash('f')), None);
}

#[test]
fn a_repeated_event_changes_nothing_and_the_first_content_stays() {
    let once = fold(&[registered(1, 'a')]);
    assert_eq!(evolve(once.clone(), &registered(1, 'a')), once);
    assert_eq!(evolve(once.clone(), &registered(1, 'b')), once);
}

#[test]
fn events_are_tagged_in_snake_case() {
    let json = serde_json::to_value(registered(1, 'a')).expect("plain data");
    assert_eq!(json["type"], "workflow_registered");
    assert_eq!(
        serde_json::from_value::<Event>(json).ok(),
        Some(registered(1, 'a'))
    );
}
