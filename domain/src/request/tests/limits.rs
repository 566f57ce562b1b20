//! What a submission may look like.

use super::*;
use crate::json::TEXT_BYTES_MAX;

/// A submission changed by `change` is refused.
#[track_caller]
fn refused(change: impl FnOnce(&mut Submission), then: Rejection) {
    check(&[], Role::Platform, submit(change), Err(then));
}

#[test]
fn the_reason_of_a_withdrawal_is_cut_and_freed_of_zeros() {
    let reason = format!("a\0{}", "b".repeat(TEXT_BYTES_MAX));
    let ctx = testing::from(Role::Platform);
    let decision = decide(&fold(&[submitted()]), Command::Withdraw { reason }, &ctx);
    let events = decision.expect("accepted").into_events();
    let Some(Event::RequestWithdrawn { reason, .. }) = events.first() else {
        panic!("{events:?}")
    };
    assert!(reason.starts_with("ab") && reason.len() < TEXT_BYTES_MAX);
}

#[test]
fn inputs_are_freed_of_zeros_and_limited_to_one_mebibyte() {
    let when = submit(|s| s.inputs = map(json!({"k\0": ["a\0b"]})));
    let events = decide(&State::default(), when, &testing::from(Role::Platform));
    let state = fold(&events.expect("accepted").into_events());
    let inputs = state.submission().map(|s| s.inputs.clone());
    assert_eq!(inputs, Some(map(json!({"k": ["ab"]}))));

    // `{"k":""}` takes 8 bytes.
    let of = |size_bytes: usize| map(json!({"k": "x".repeat(size_bytes - 8)}));
    let largest = submit(|s| s.inputs = of(INPUT_BYTES_MAX));
    assert!(decide(&State::default(), largest, &testing::from(Role::Platform)).is_ok());
    let size_bytes = INPUT_BYTES_MAX + 1;
    refused(
        |s| s.inputs = of(size_bytes),
        Rejection::InputsTooLarge { size_bytes },
    );
}

#[test]
fn a_request_has_at_most_eight_callbacks() {
    let of = |count| vec![callback("http://example.org"); count];
    let most = submit(|s| s.callbacks = of(CALLBACKS_MAX));
    assert!(decide(&State::default(), most, &testing::from(Role::Platform)).is_ok());
    let count = CALLBACKS_MAX + 1;
    refused(
        |s| s.callbacks = of(count),
        Rejection::TooManyCallbacks { count },
    );
}

#[test]
fn a_callback_is_a_web_address_without_credentials() {
    let long = format!("https://example.org/{}", "a".repeat(URL_BYTES_MAX));
    for url in [
        "",
        "example.org",
        "ftp://example.org",
        "https://",
        "https:///path",
        "https://user:secret@example.org/",
        "https://token@example.org",
        "https://example.org/a b",
        "https://example.org/\n",
        &long,
    ] {
        let index = 0;
        refused(
            |s| s.callbacks = vec![callback(url)],
            Rejection::InvalidCallback { index },
        );
    }
    let at_in_path = submit(|s| s.callbacks = vec![callback("https://example.org/@x?y=a@b")]);
    assert!(
        decide(
            &State::default(),
            at_in_path,
            &testing::from(Role::Platform)
        )
        .is_ok()
    );
}

#[test]
fn a_refusal_never_repeats_the_credentials_of_a_callback() {
    let when = submit(|s| s.callbacks = vec![callback("https://user:hunter2@example.org/")]);
    let refusal = decide(&State::default(), when, &testing::from(Role::Platform));
    assert!(!format!("{refusal:?}").contains("hunter2"));
}

#[test]
fn the_asset_must_be_that_of_the_refs() {
    let given = AssetId::derive("arcgis", &submission().refs);
    let expected = AssetId::derive("ddh", &submission().refs);
    refused(
        |s| s.asset_id = Some(given),
        Rejection::OtherAsset { given, expected },
    );
    let without = submit(|s| s.asset_id = None);
    assert!(decide(&State::default(), without, &testing::from(Role::Platform)).is_ok());
}

#[test]
fn names_versions_hashes_and_refs_are_bounded() {
    let invalid = |field| Rejection::InvalidName { field };
    refused(|s| s.org_id = String::new(), invalid("org_id"));
    refused(|s| s.org_id = "a\nb".into(), invalid("org_id"));
    refused(|s| s.workflow_id = "w".repeat(65), invalid("workflow_id"));
    refused(
        |s| s.callbacks[0].secret_ref = Some(String::new()),
        invalid("secret_ref"),
    );
    let platform_id = "Ddh".to_owned();
    refused(
        |s| s.platform_id = "Ddh".into(),
        Rejection::InvalidPlatform { platform_id },
    );
    refused(|s| s.workflow_version = Some(0), Rejection::VersionZero);
    refused(|s| s.body_hash = "abc".into(), Rejection::InvalidHash);
    let size_bytes = REFS_BYTES_MAX + 1;
    let refs = map(json!({"k": "x".repeat(size_bytes - 8)}));
    refused(|s| s.refs = refs, Rejection::RefsTooLarge { size_bytes });
}

#[test]
fn the_patience_with_a_receiver_is_bounded() {
    let then = || Rejection::InvalidPatience { index: 0 };
    refused(|s| s.callbacks[0].retry_count = Some(21), then());
    refused(|s| s.callbacks[0].timeout_seconds = Some(0), then());
    refused(|s| s.callbacks[0].timeout_seconds = Some(61), then());
    let given = submit(|s| {
        s.callbacks[0].retry_count = Some(20);
        s.callbacks[0].timeout_seconds = Some(60);
    });
    assert!(decide(&State::default(), given, &testing::from(Role::Platform)).is_ok());
}
