//! What callbacks are signed with: kept beside the log, and rotated without a gap.

use std::time::Duration;

use commands::secrets::{DEFAULT, OVERLAP, SecretError};
use domain::request::CallbackRef;

use super::receiver::{Mood, Receiver};
use super::stage::{ORG, Stage, run_python};

#[tokio::test]
async fn during_a_rotation_both_secrets_verify_and_after_it_only_the_new_one() {
    let mut stage = Stage::new("callback_rotation").await;
    let options = stage.options();
    stage.send(options);
    let secrets = stage.secrets();
    let old = secrets.ensure_default(ORG).await.unwrap();
    assert_eq!(secrets.ensure_default(ORG).await.unwrap(), old);
    let new = secrets.rotate(ORG, DEFAULT, OVERLAP).await.unwrap();
    assert_ne!(old, new);
    let receiver = Receiver::start(Mood::Always(200)).await;
    let submitted = stage
        .submit("nothing", vec![CallbackRef::to(receiver.url())])
        .await;
    stage.all_are(&submitted, "delivered").await;
    let received = receiver.received().remove(0);
    assert_eq!(
        received.signature.split(' ').count(),
        2,
        "{}",
        received.signature
    );
    let file = stage.rig.dir.join("rotation.jsonl");
    std::fs::write(&file, receiver.dump()).unwrap();
    let path = file.to_str().unwrap();
    // The body itself is signed by the newest, so the whole check holds for that one;
    let found = run_python("verify_webhooks.py", &[path, new.reveal()]).await;
    assert_eq!(found["lines"], 1);
    // the header holds for the old one too.
    let found = run_python("verify_header.py", &[path, old.reveal()]).await;
    assert_eq!(found["lines"], 1);

    // Without an overlap the one before is gone at once, and two rotations leave no third.
    let newest = secrets.rotate(ORG, DEFAULT, Duration::ZERO).await.unwrap();
    let live = secrets.live(ORG, &[DEFAULT.to_owned()]).await.unwrap();
    assert_eq!(live, [(DEFAULT.to_owned(), newest)]);
    let unknown = secrets.rotate(ORG, "given-x", OVERLAP).await;
    assert!(matches!(unknown, Err(SecretError::NoSecret(_))));
    stage.stop().await;
}

#[tokio::test]
async fn a_secret_that_a_caller_brings_signs_and_is_nowhere_in_the_log() {
    let mut stage = Stage::new("callback_given").await;
    let options = stage.options();
    stage.send(options);
    let secrets = stage.secrets();
    let given = "canary-8f2b1c-not-in-the-log";
    let name = secrets.keep_given(ORG, given).await.unwrap();
    assert_eq!(secrets.keep_given(ORG, given).await.unwrap(), name);
    assert_ne!(secrets.keep_given("other", given).await.unwrap(), name);
    assert!(matches!(
        secrets.keep_given(ORG, "short").await,
        Err(SecretError::Form)
    ));
    let receiver = Receiver::start(Mood::Always(500)).await;
    let to = CallbackRef {
        secret_ref: Some(name),
        retry_count: Some(1),
        ..CallbackRef::to(receiver.url())
    };
    let submitted = stage.submit("nothing", vec![to]).await;
    stage.all_are(&submitted, "given_up").await;
    let file = stage.rig.dir.join("given.jsonl");
    std::fs::write(&file, receiver.dump()).unwrap();
    let path = file.to_str().unwrap();
    let found = run_python("verify_header.py", &[path, given]).await;
    assert_eq!(found["lines"], 2);
    let leaked = "select (select count(*) from dagapp.events e
                          where position('canary-8f2b1c'::bytea in e.payload) > 0
                             or position('canary-8f2b1c'::bytea in e.meta) > 0)
                       + (select count(*) from dagapp.callback_outbox o where o::text like '%canary-8f2b1c%')
                       + (select count(*) from dagapp.callback_deliveries d where d::text like '%canary-8f2b1c%')
                       + (select count(*) from dagapp.requests r where r::text like '%canary-8f2b1c%')";
    assert_eq!(stage.rig.count(leaked).await, 0);
    stage.stop().await;
}

#[tokio::test]
async fn whoever_may_only_read_may_not_read_secrets() {
    let stage = Stage::new("callback_grants").await;
    let may = "select (has_table_privilege('strata_read', 'dagapp.callback_secrets', 'select')::int * 10
                       + has_table_privilege('strata_read', 'dagapp.callback_outbox', 'select')::int)::bigint";
    assert_eq!(stage.rig.count(may).await, 1);
}
