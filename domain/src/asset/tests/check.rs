//! What a rollback rests on: a look at the very artifacts that it brings back.

use super::*;
use serde_json::json;

/// Rolls back 3 to 2 with this look.
fn with(check: Option<Check>, accept_unverified: bool) -> Outcome {
    let wish = Command::Rollback(Box::new(Rollback {
        to: 2,
        reason: "stripes".into(),
        check,
        accept_unverified,
    }));
    decide_own(&after(&with_revisions(3)), wish)
}

fn basis_of(outcome: Outcome) -> Basis {
    match outcome.expect("a rollback").into_events().remove(0) {
        Event::AssetRolledBack { basis, .. } => basis.expect("a basis"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rollback_without_a_look_at_its_artifacts_is_refused() {
    let revision = 2;
    assert_eq!(with(None, false), Err(Rejection::NotChecked { revision }));
    assert_eq!(with(None, true), Err(Rejection::NotChecked { revision }));
    let basis = basis_of(with(Some(look(2)), false));
    assert_eq!(
        (basis.checked_by, basis.intact, basis.unverified),
        (Some(job(200)), 1, 0)
    );
}

#[test]
fn what_is_missing_or_changed_is_never_brought_back() {
    for accept in [false, true] {
        let refusal = with(Some(look_that_found(2, Verdict::Missing)), accept).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "artifact `cog` (s3://silver/2.tif) is missing"
        );
        let refusal = with(Some(look_that_found(2, Verdict::Changed)), accept).unwrap_err();
        let (found, expected) = (hash(99), hash(2));
        assert_eq!(
            refusal.to_string(),
            format!(
                "artifact `cog` (s3://silver/2.tif) has changed: its SHA-256 is {found}, not {expected}"
            )
        );
    }
}

#[test]
fn what_nobody_can_verify_is_brought_back_only_if_somebody_accepts_that() {
    let found = || Some(look_that_found(2, Verdict::Unverifiable));
    let refusal = with(found(), false).unwrap_err();
    assert!(
        refusal.to_string().contains("is not verifiable"),
        "{refusal}"
    );
    let basis = basis_of(with(found(), true));
    assert_eq!((basis.intact, basis.unverified), (0, 1));
}

#[test]
fn a_look_at_something_else_does_not_count() {
    let other = |change: &dyn Fn(&mut Check)| {
        let mut check = look(2);
        change(&mut check);
        with(Some(check), true)
    };
    let refs = map(json!({"dataset_id": "9", "resource_id": "9", "version_id": "9"}));
    let others: [&dyn Fn(&mut Check); 5] = [
        &|check| check.asset_id = AssetId::derive("ddh", &refs),
        &|check| check.findings.clear(),
        &|check| check.findings[0].artifact.uri.push('x'),
        &|check| check.findings[0].artifact.sha256 = None,
        &|check| check.made_by = Some(job(3)),
    ];
    for change in others {
        let refusal = other(change).unwrap_err();
        assert!(
            matches!(refusal, Rejection::OtherCheck { .. }),
            "{refusal:?}"
        );
    }
    let old = other(&|check| check.ended_at -= CHECK_AGE_MAX + chrono::TimeDelta::seconds(1));
    assert!(matches!(old, Err(Rejection::CheckTooOld { .. })), "{old:?}");
}

#[test]
fn a_revision_that_lists_nothing_needs_no_look_and_is_not_verifiable() {
    let bare = |number: u8| Command::CompleteProcessing {
        job_id: job(number),
        content_hash: hash(number),
        artifacts: vec![],
    };
    let given = [create(), begin(1), bare(1), begin(2), complete(2)];
    refused(
        &given,
        roll_back(1, None),
        Rejection::NothingListed { revision: 1 },
    );
    let accepted = Command::Rollback(Box::new(Rollback {
        to: 1,
        reason: "stripes".into(),
        check: None,
        accept_unverified: true,
    }));
    let state = after(&then(given.to_vec(), &[accepted]));
    assert_eq!(state.current().expect("a revision").content_hash, hash(1));
    let asset = state.asset().expect("an asset");
    assert!(check_may_begin(asset.find(1).expect("revision 1")).is_err());
}

#[test]
fn a_rollback_needs_a_reason() {
    let wish = Command::Rollback(Box::new(Rollback {
        to: 2,
        reason: " \0\n".into(),
        check: Some(look(2)),
        accept_unverified: true,
    }));
    refused(&with_revisions(3), wish, Rejection::NoReason);
}

#[test]
fn the_maker_of_what_was_brought_back_twice_is_the_first_job() {
    let given = then(
        with_revisions(2),
        &[
            roll_back(1, Some(look(1))),
            begin(3),
            complete(3),
            roll_back(3, Some(look(1))),
        ],
    );
    let state = after(&given);
    let asset = state.asset().expect("an asset");
    let makers: Vec<_> = (1..=5).map(|number| asset.maker(number)).collect();
    assert_eq!(makers, [1, 2, 1, 3, 1].map(|number| Some(job(number))));
    assert_eq!(asset.maker(6), None);
}

#[test]
fn a_look_is_read_back_from_what_its_job_was_given_and_found() {
    let state = after(&with_revisions(2));
    let asset = state.asset().expect("an asset");
    let revision = asset.find(2).expect("revision 2");
    let inputs = check_inputs(asset, revision);
    let result = json!({"verdicts": ["intact"], "bytes_read": 2, "_provenance": {}});
    let read = Check::read(job(200), &inputs, &result, testing::now());
    assert_eq!(read, Some(look(2)));
    let found = hash(99);
    let result = json!({"verdicts": ["changed"], "details": [{"index": 0, "found": found}]});
    let read = Check::read(job(200), &inputs, &result, testing::now());
    assert_eq!(read, Some(look_that_found(2, Verdict::Changed)));
    for nonsense in [
        json!(null),
        json!({"verdicts": []}),
        json!({"verdicts": ["intact", "intact"]}),
        json!({"verdicts": ["fine"]}),
    ] {
        let read = Check::read(job(200), &inputs, &nonsense, testing::now());
        assert_eq!(read, None, "{nonsense}");
    }
    for verdict in Verdict::ALL {
        assert_eq!(
            serde_json::to_value(verdict).ok(),
            Some(json!(verdict.as_str()))
        );
    }
}
