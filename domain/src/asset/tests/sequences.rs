//! What holds after any sequence of commands from anybody.

use proptest::prelude::*;

use super::*;

fn any_command() -> impl Strategy<Value = Command> {
    let revision = || proptest::option::of(0..5_u32);
    let reason = || prop_oneof![Just("a".to_owned()), Just("b\0".to_owned())];
    let clearance = proptest::sample::select(Clearance::ALL.to_vec());
    prop_oneof![
        2 => Just(create()),
        1 => Just(create_with("ddh", map(json!({"dataset_id": "other"})))),
        1 => Just(Command::SoftDelete),
        2 => Just(Command::Restore),
        3 => revision().prop_map(|revision| Command::Approve { revision }),
        2 => (revision(), reason())
            .prop_map(|(revision, reason)| Command::Reject { revision, reason }),
        2 => (revision(), reason())
            .prop_map(|(revision, reason)| Command::Revoke { revision, reason }),
        2 => clearance.prop_map(|clearance| Command::SetClearance { clearance }),
        6 => (0..4_u8).prop_map(begin),
        6 => (0..4_u8).prop_map(complete),
        2 => (0..4_u8).prop_map(fail),
        2 => (0..5_u32, reason(), any_look(), any::<bool>()).prop_map(
            |(to, reason, check, accept_unverified)| Command::Rollback(Box::new(Rollback {
                to, reason, check, accept_unverified,
            }))
        ),
    ]
}

fn any_look() -> impl Strategy<Value = Option<Check>> {
    let verdict = proptest::sample::select(Verdict::ALL.to_vec());
    proptest::option::of((0..4_u8, verdict).prop_map(|(n, verdict)| look_that_found(n, verdict)))
}

fn fold(state: State, events: &[Event]) -> State {
    events.iter().fold(state, evolve)
}

/// Checks the invariants of one state against the state before it.
fn hold(before: &State, now: &State) -> Result<(), TestCaseError> {
    let numbers = now.revisions().iter().map(|r| r.number);
    prop_assert!(numbers.eq(1..=u32::try_from(now.revisions().len()).unwrap_or(0)));
    if before.asset().is_some() {
        prop_assert_eq!(before.platform_refs(), now.platform_refs());
    }
    let content = |state: &State| -> Vec<(String, Vec<Artifact>)> {
        let parts = |r: &Revision| (r.content_hash.clone(), r.artifacts.clone());
        state.revisions().iter().map(parts).collect()
    };
    prop_assert!(
        content(now).starts_with(&content(before)),
        "history was changed"
    );
    if now.is_public() {
        prop_assert_eq!(now.approval(), Approval::Approved);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_sequence_keeps_refs_and_history_and_folds_in_any_two_parts(
        commands in proptest::collection::vec((any_command(), any::<bool>()), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut state = State::default();
        let mut log: Vec<Event> = Vec::new();
        for (command, own_role) in commands {
            let outcome = if own_role {
                decide_own(&state, command.clone())
            } else {
                decide(&state, command.clone(), &testing::from(Role::Orchestrator))
            };
            let Ok(decision) = outcome else { continue };
            let events = decision.into_events();
            let next = fold(state.clone(), &events);
            hold(&state, &next)?;
            // What was granted is not granted a second time.
            let again = decide_own(&next, command).map(Decision::into_events);
            prop_assert!(again.is_err() || again == Ok(Vec::new()), "{:?}", again);
            for event in &events {
                prop_assert_eq!(&evolve(next.clone(), event), &next);
            }
            state = next;
            log.extend(events);
        }
        let (prefix, rest) = log.split_at(cut.index(log.len() + 1));
        let in_two_parts = fold(fold(State::default(), prefix), rest);
        prop_assert_eq!(&in_two_parts, &state);
        // What is carried stands in for everything before it, of which a part may still be read.
        let then = fold(State::default(), prefix);
        let context = testing::from(Role::Orchestrator);
        let carried = decide(&then, Command::Carry, &context).map(Decision::into_events);
        let carried = carried.expect("nobody is refused");
        let left = prefix.get(prefix.len() / 2..).unwrap_or_default();
        let again = [left, &carried, rest].concat();
        if then.asset().is_some() {
            prop_assert_eq!(&fold(State::default(), &again), &state);
        }
        for event in &carried {
            prop_assert_eq!(&evolve(then.clone(), event), &then);
        }
        prop_assert_eq!(fold(State::default(), &log), state);
    }

    #[test]
    fn events_in_any_order_never_panic(
        commands in proptest::collection::vec(any_command(), 0..30),
        order in any::<prop::sample::Index>(),
    ) {
        let mut state = State::default();
        let mut log = Vec::new();
        for command in commands {
            if let Ok(decision) = decide_own(&state, command) {
                let events = decision.into_events();
                state = fold(state, &events);
                log.extend(events);
            }
        }
        let middle = order.index(log.len() + 1);
        log.rotate_left(middle);
        hold(&State::default(), &fold(State::default(), &log))?;
        log.reverse();
        hold(&State::default(), &fold(State::default(), &log))?;
    }
}
