//! Jobs make revisions; only the current job counts.

use super::*;

#[test]
fn a_job_begins_completes_and_makes_revision_1() {
    let at = testing::now();
    let began = Event::AssetProcessingBegan { job_id: job(1), at };
    check(&[create()], begin(1), accepted(began));
    let completed = Event::AssetProcessingCompleted {
        job_id: job(1),
        revision: 1,
        content_hash: hash(1),
        artifacts: artifacts(1),
        at,
    };
    check(&[create(), begin(1)], complete(1), accepted(completed));
    let state = after(&with_revisions(1));
    assert_eq!(
        state.processing(),
        &Processing::Completed { job_id: job(1) }
    );
    assert_eq!(state.revision(), Some(1));
    let current = state.current().expect("a revision");
    assert_eq!(
        (&current.content_hash, &current.artifacts),
        (&hash(1), &artifacts(1))
    );
    assert_eq!(current.origin, Origin::Job { job_id: job(1) });
}

#[test]
fn reprocessing_twice_gives_revision_3() {
    let state = after(&with_revisions(3));
    assert_eq!(state.revision(), Some(3));
    let numbers: Vec<u32> = state.revisions().iter().map(|r| r.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn the_status_follows_the_job() {
    for (given, status, current) in [
        (vec![create()], "pending", None),
        (vec![create(), begin(1)], "processing", Some(job(1))),
        (with_revisions(1), "completed", Some(job(1))),
        (vec![create(), begin(1), fail(1)], "failed", Some(job(1))),
        (
            then(with_revisions(1), &[begin(2)]),
            "processing",
            Some(job(2)),
        ),
    ] {
        let state = after(&given);
        assert_eq!(state.processing().as_str(), status);
        assert_eq!(state.processing().job_id(), current);
        let json = serde_json::to_value(state.processing()).expect("plain data");
        assert_eq!(json["status"], status);
    }
}

#[test]
fn a_failed_job_makes_no_revision_and_keeps_the_reason() {
    let state = after(&then(with_revisions(1), &[begin(2), fail(2)]));
    assert_eq!(state.revision(), Some(1));
    let (job_id, failure) = (job(2), failure());
    assert_eq!(state.processing(), &Processing::Failed { job_id, failure });
}

#[test]
fn the_result_of_a_job_that_is_not_current_is_refused() {
    let not_current = |number, current: Option<u8>| Rejection::NotCurrentJob {
        job_id: job(number),
        current: current.map(job),
    };
    refused(&[create()], complete(1), not_current(1, None));
    refused(&[create()], fail(1), not_current(1, None));
    let overtaken = [create(), begin(1), begin(2)];
    refused(&overtaken, complete(1), not_current(1, Some(2)));
    refused(&overtaken, fail(1), not_current(1, Some(2)));
    refused(&with_revisions(2), fail(1), not_current(1, Some(2)));
}

#[test]
fn the_same_job_completing_twice_is_already_applied_even_much_later() {
    check(&with_revisions(1), complete(1), APPLIED);
    check(&with_revisions(3), complete(1), APPLIED);
}

#[test]
fn the_same_job_beginning_or_failing_twice_is_already_applied() {
    check(&[create(), begin(1)], begin(1), APPLIED);
    check(&with_revisions(1), begin(1), APPLIED);
    check(&[create(), begin(1), fail(1)], fail(1), APPLIED);
}

#[test]
fn a_late_repetition_of_a_begin_does_not_take_the_asset_over_again() {
    check(&[create(), begin(1), begin(2)], begin(1), APPLIED);
    let state = after(&[create(), begin(1), begin(2)]);
    let late = Event::AssetProcessingBegan {
        job_id: job(1),
        at: testing::now(),
    };
    assert_eq!(evolve(state.clone(), &late), state);
}

#[test]
fn a_job_that_ended_does_not_end_in_another_way() {
    let ended = |status| Rejection::JobEnded {
        job_id: job(1),
        status,
    };
    refused(&with_revisions(1), fail(1), ended("completed"));
    refused(&[create(), begin(1), fail(1)], complete(1), ended("failed"));
}

#[test]
fn a_result_needs_a_content_hash_and_well_formed_artifacts() {
    let result = |content_hash: String, artifacts| Command::CompleteProcessing {
        job_id: job(1),
        content_hash,
        artifacts,
    };
    let given = [create(), begin(1)];
    refused(&given, result("abc".into(), vec![]), Rejection::InvalidHash);
    let changes: [fn(&mut Artifact); 4] = [
        |a| a.name.clear(),
        |a| a.uri.clear(),
        |a| a.uri = "x".repeat(URI_BYTES_MAX + 1),
        |a| a.sha256 = Some("abc".into()),
    ];
    for change in changes {
        let mut list = artifacts(1);
        change(&mut list[0]);
        let name = list[0].name.clone();
        refused(
            &given,
            result(hash(1), list),
            Rejection::InvalidArtifact { name },
        );
    }
    let name = "cog".to_owned();
    let twice = [artifacts(1), artifacts(2)].concat();
    refused(
        &given,
        result(hash(1), twice),
        Rejection::InvalidArtifact { name },
    );
    let many = vec![artifacts(1).remove(0); ARTIFACTS_MAX + 1];
    let outcome = decide_own(&after(&given), result(hash(1), many));
    assert!(matches!(
        outcome,
        Err(Rejection::TooManyArtifacts { count: 1001, .. })
    ));
}

#[test]
fn the_texts_of_a_failure_are_cut() {
    let mut long = failure();
    long.message = "m\0".repeat(TEXT_BYTES_MAX);
    let when = Command::FailProcessing {
        job_id: job(1),
        failure: long,
    };
    let state = after(&[create(), begin(1), when]);
    let Processing::Failed { failure, .. } = state.processing() else {
        panic!("{:?}", state.processing())
    };
    assert_eq!(failure.message, "m".repeat(TEXT_BYTES_MAX / 2));
}
