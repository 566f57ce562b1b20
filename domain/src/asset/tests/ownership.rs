//! Each role writes its own fields only (O-24, C-19), and nothing happens to what is not there.

use std::collections::BTreeSet;

use super::*;

/// One command of every kind that writes something.
fn one_of_each() -> Vec<Command> {
    let (revision, reason) = (None, || "because".to_owned());
    vec![
        create(),
        Command::SoftDelete,
        Command::Restore,
        Command::Approve { revision },
        Command::Reject {
            revision,
            reason: reason(),
        },
        Command::Revoke {
            revision,
            reason: reason(),
        },
        Command::SetClearance {
            clearance: Clearance::Ouo,
        },
        begin(1),
        complete(1),
        fail(1),
        roll_back(1, Some(look(1))),
    ]
}

/// A number per kind; a new kind of command does not compile until it is in this list.
fn kind(command: &Command) -> usize {
    match command {
        Command::Create { .. } => 0,
        Command::SoftDelete => 1,
        Command::Restore => 2,
        Command::Approve { .. } => 3,
        Command::Reject { .. } => 4,
        Command::Revoke { .. } => 5,
        Command::SetClearance { .. } => 6,
        Command::BeginProcessing { .. } => 7,
        Command::CompleteProcessing { .. } => 8,
        Command::FailProcessing { .. } => 9,
        Command::Rollback(_) => 10,
        // It writes nothing that is new, so nobody owns it, and it is not in the list.
        Command::Carry => 11,
    }
}

fn states() -> Vec<State> {
    vec![
        State::default(),
        after(&[create()]),
        after(&then(with_revisions(1), &[begin(2)])),
        after(&with_revisions(3)),
        after(&[create(), Command::SoftDelete]),
    ]
}

#[test]
fn every_command_from_the_wrong_role_is_refused_in_every_state() {
    let kinds: Vec<usize> = one_of_each().iter().map(kind).collect();
    assert_eq!(kinds, Vec::from_iter(0..=10));
    for command in one_of_each() {
        let owners: BTreeSet<Role> = FIELD_OWNERS
            .into_iter()
            .filter(|(concern, _)| command.concerns().contains(concern))
            .map(|(_, owner)| owner)
            .collect();
        assert_eq!(owners.len(), 1, "{command:?} has one owner");
        for role in Role::ALL.into_iter().filter(|role| !owners.contains(role)) {
            for state in states() {
                let outcome = decide(&state, command.clone(), &testing::from(role));
                let wrong_role = matches!(
                    outcome,
                    Err(Rejection::WrongRole { role: refused, .. }) if refused == role
                );
                assert!(wrong_role, "{command:?} from the {role}: {outcome:?}");
            }
        }
    }
}

#[test]
fn every_concern_has_exactly_one_owner_and_a_command() {
    let concerns: BTreeSet<Concern> = FIELD_OWNERS.iter().map(|(concern, _)| *concern).collect();
    assert_eq!(concerns.len(), FIELD_OWNERS.len());
    let written: BTreeSet<Concern> = one_of_each()
        .iter()
        .flat_map(|command| command.concerns().iter().copied())
        .collect();
    assert_eq!(written, concerns);
}

#[test]
fn the_six_concerns_of_the_seed_belong_to_the_roles_it_names() {
    let (platform, orchestrator) = (Role::Platform, Role::Orchestrator);
    for row in [
        (Concern::Creation, platform),
        (Concern::Deletion, platform),
        (Concern::Approval, platform),
        (Concern::ProcessingStatus, orchestrator),
        (Concern::ContentHash, orchestrator),
        (Concern::JobLinkage, orchestrator),
    ] {
        assert!(FIELD_OWNERS.contains(&row), "{row:?}");
    }
}

#[test]
fn nothing_but_creation_happens_to_an_asset_that_does_not_exist() {
    for command in one_of_each() {
        if command != create() {
            refused(&[], command, Rejection::NotFound);
        }
    }
}

#[test]
fn a_deleted_asset_refuses_everything_but_its_restoration() {
    let deleted = then(with_revisions(2), &[begin(3), Command::SoftDelete]);
    let asset_id = asset_id();
    for command in one_of_each() {
        match command {
            // The one is the way back, the other has been done.
            Command::Restore | Command::SoftDelete => {}
            other => refused(&deleted, other, Rejection::Deleted { asset_id }),
        }
    }
}
