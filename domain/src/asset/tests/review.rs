//! Approval, clearance and rollback.

use super::*;

const APPROVE: Command = Command::Approve { revision: None };

fn reject(reason: &str) -> Command {
    Command::Reject {
        revision: None,
        reason: reason.into(),
    }
}

fn revoke(reason: &str) -> Command {
    Command::Revoke {
        revision: None,
        reason: reason.into(),
    }
}

fn clear(clearance: Clearance) -> Command {
    Command::SetClearance { clearance }
}

/// A rollback to what the job of this number made, after a look at it.
fn roll_back(to: u32) -> Command {
    let number = u8::try_from(to).unwrap_or(0);
    super::roll_back(to, Some(look(number)))
}

/// The commands that bring a fresh revision into each state of review.
fn path_to(approval: Approval) -> Vec<Command> {
    match approval {
        Approval::PendingReview => vec![],
        Approval::Approved => vec![APPROVE],
        Approval::Rejected => vec![reject("blurred")],
        Approval::Revoked => vec![APPROVE, revoke("withdrawn")],
    }
}

#[test]
fn a_review_goes_only_the_legal_ways() {
    let wishes = [
        (Approval::Approved, APPROVE),
        (Approval::Rejected, reject("other")),
        (Approval::Revoked, revoke("other")),
    ];
    for from in Approval::ALL {
        let given = then(with_revisions(1), &path_to(from));
        assert_eq!(after(&given).approval(), from);
        for (to, wish) in &wishes {
            let outcome = decide_own(&after(&given), wish.clone());
            let legal = matches!(
                (from, to),
                (
                    Approval::PendingReview,
                    Approval::Approved | Approval::Rejected
                ) | (Approval::Approved, Approval::Revoked)
            );
            let (revision, to) = (1, *to);
            let illegal = Rejection::IllegalApproval { revision, from, to };
            match outcome {
                Ok(Decision::Accepted(events)) => assert!(legal, "{from} to {to}: {events:?}"),
                // The same word with another reason is another command, and refused.
                Ok(Decision::AlreadyApplied) => assert_eq!((from, to), (to, Approval::Approved)),
                Err(rejection) => assert_eq!((rejection, legal), (illegal, false)),
            }
        }
    }
}

#[test]
fn the_same_review_again_is_already_applied() {
    let reviewed = |approval| then(with_revisions(1), &path_to(approval));
    check(&reviewed(Approval::Approved), APPROVE, APPLIED);
    check(&reviewed(Approval::Rejected), reject("blurred"), APPLIED);
    check(&reviewed(Approval::Revoked), revoke("withdrawn"), APPLIED);
}

#[test]
fn an_approval_that_is_read_again_after_its_revocation_changes_nothing() {
    let revoked = after(&then(with_revisions(1), &path_to(Approval::Revoked)));
    let (revision, at) = (1, testing::now());
    let late = Event::AssetApproved { revision, at };
    assert_eq!(evolve(revoked.clone(), &late), revoked);
}

#[test]
fn a_review_keeps_its_reason() {
    let state = after(&then(with_revisions(1), &[reject("blurred\0")]));
    let reason = state.current().and_then(|r| r.approval_reason.clone());
    assert_eq!(reason.as_deref(), Some("blurred"));
}

#[test]
fn a_new_revision_goes_back_to_pending_review_and_the_old_review_stays() {
    for from in Approval::ALL {
        let given = then(with_revisions(1), &path_to(from));
        let state = after(&then(given, &[begin(2), complete(2)]));
        assert_eq!(state.approval(), Approval::PendingReview);
        assert_eq!(state.revisions()[0].approval, from);
    }
}

#[test]
fn a_review_of_a_revision_that_was_overtaken_is_refused() {
    let approve = |number| Command::Approve {
        revision: Some(number),
    };
    let (revision, current) = (1, 2);
    let overtaken = Rejection::NotCurrentRevision { revision, current };
    refused(&with_revisions(2), approve(1), overtaken);
    for revision in [0, 3] {
        let unknown = Rejection::UnknownRevision { revision, current };
        refused(&with_revisions(2), approve(revision), unknown);
    }
    let approved = Event::AssetApproved {
        revision: 2,
        at: testing::now(),
    };
    check(&with_revisions(2), approve(2), accepted(approved));
    let approved_before = then(with_revisions(1), &[approve(1), begin(2), complete(2)]);
    check(&approved_before, approve(1), APPLIED);
}

#[test]
fn an_asset_without_a_revision_is_not_reviewed_made_public_or_rolled_back() {
    let public = clear(Clearance::Public);
    for when in [APPROVE, reject("x"), revoke("x"), public, roll_back(1)] {
        refused(&[create()], when, Rejection::NoRevision);
    }
}

#[test]
fn only_an_approved_revision_may_be_public() {
    for approval in Approval::ALL {
        let given = then(with_revisions(1), &path_to(approval));
        let outcome = decide_own(&after(&given), clear(Clearance::Public));
        let revision = 1;
        let expected = match approval {
            Approval::Approved => accepted(Event::AssetClearanceSet {
                clearance: Clearance::Public,
                at: testing::now(),
            }),
            _ => Err(Rejection::NotApproved { revision, approval }),
        };
        assert_eq!(outcome, expected);
    }
}

#[test]
fn clearance_below_public_needs_no_review_and_is_idempotent() {
    let ouo = clear(Clearance::Ouo);
    assert_eq!(after(&[create(), ouo.clone()]).clearance(), Clearance::Ouo);
    check(&[create(), ouo.clone()], ouo, APPLIED);
    let public = then(with_revisions(1), &[APPROVE, clear(Clearance::Public)]);
    check(&public, clear(Clearance::Public), APPLIED);
    let back = then(public, &[clear(Clearance::Uncleared)]);
    assert_eq!(after(&back).clearance(), Clearance::Uncleared);
}

#[test]
fn what_is_not_approved_any_more_is_not_public_whatever_its_clearance() {
    let public = then(with_revisions(1), &[APPROVE, clear(Clearance::Public)]);
    assert!(after(&public).is_public());
    for more in [
        vec![revoke("mistake")],
        vec![begin(2), complete(2)],
        vec![Command::SoftDelete],
    ] {
        let state = after(&then(public.clone(), &more));
        assert!(!state.is_public());
        assert_eq!(state.clearance(), Clearance::Public);
    }
}

#[test]
fn rolling_back_3_to_2_gives_revision_4_with_the_artifacts_of_2() {
    let state = after(&then(with_revisions(3), &[APPROVE, roll_back(2)]));
    assert_eq!((state.revision(), state.revisions().len()), (Some(4), 4));
    let current = state.current().expect("a revision");
    assert_eq!(
        (&current.content_hash, &current.artifacts),
        (&hash(2), &artifacts(2))
    );
    let (to, reason) = (2, "stripes".into());
    let basis = Some(Basis {
        checked_by: Some(job(200)),
        intact: 1,
        unverified: 0,
    });
    assert_eq!(current.origin, Origin::Rollback { to, reason, basis });
    assert_eq!(state.approval(), Approval::PendingReview);
    assert_eq!(state.platform_refs(), Some(&refs()));
    // The status of processing is not the platform's to change.
    assert_eq!(
        state.processing(),
        &Processing::Completed { job_id: job(3) }
    );
}

#[test]
fn the_same_rollback_again_is_already_applied() {
    let rolled_back = then(with_revisions(3), &[roll_back(2)]);
    check(&rolled_back, roll_back(2), APPLIED);
}

#[test]
fn a_rollback_to_the_current_or_an_unknown_revision_is_refused() {
    let revision = 3;
    let already = Rejection::AlreadyCurrent { revision };
    refused(&with_revisions(3), roll_back(3), already);
    for revision in [0, 4, u32::MAX] {
        let current = 3;
        let unknown = Rejection::UnknownRevision { revision, current };
        refused(&with_revisions(3), roll_back(revision), unknown);
    }
}

#[test]
fn a_job_that_runs_during_a_rollback_still_makes_the_next_revision() {
    let state = after(&then(
        with_revisions(2),
        &[begin(3), roll_back(1), complete(3)],
    ));
    let hashes: Vec<&str> = state.revisions().iter().map(|r| &*r.content_hash).collect();
    assert_eq!(hashes, [hash(1), hash(2), hash(1), hash(3)]);
}

#[test]
fn the_words_of_review_are_those_on_the_wire() {
    for approval in Approval::ALL {
        assert_eq!(
            serde_json::to_value(approval).ok(),
            Some(json!(approval.as_str()))
        );
    }
    for clearance in Clearance::ALL {
        assert_eq!(
            serde_json::to_value(clearance).ok(),
            Some(json!(clearance.as_str()))
        );
    }
    assert_eq!(
        Approval::ALL.map(Approval::as_str),
        ["pending_review", "approved", "rejected", "revoked"]
    );
    assert_eq!(
        Clearance::ALL.map(Clearance::as_str),
        ["uncleared", "ouo", "public"]
    );
}
