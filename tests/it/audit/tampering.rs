//! What a superuser of the database can do to the log, and that all of it is found and named.

use std::sync::Arc;

use domain::event::checkpoint::{Signed, SigningKey};
use projections::audit::{Finding, What};
use projections::notary::{LATEST, Notary, Options as Signing};
use sqlx::AssertSqlSafe;

use super::stage::{BATCHES, Stage, UNSIGNED, key};

/// What is done (`#7` is the seventh of our positions), what it is found as, and which of our positions are
/// named, the first and the last. A last of 0 means: as closely as checkpoints tell.
struct Case(&'static str, &'static str, What, u64, u64);

const LAST: u64 = BATCHES * 10;
const SIGNED: u64 = (BATCHES - UNSIGNED) * 10;

const CASES: &[Case] = &[
    Case("a changed payload", "update dagapp.events set payload = payload || ' ' where pos = #123", What::Leaf, 123, 123),
    Case(
        "a changed actor",
        "update dagapp.events set meta = convert_to(replace(convert_from(meta, 'UTF8'), 'test', 'eve'), 'UTF8')
         where pos = #57",
        What::Leaf, 57, 57,
    ),
    Case("another organisation", "update dagapp.events set org_id = 'eve' where pos = #200", What::Leaf, 200, 200),
    Case("another type", "update dagapp.events set type = 'job_resumed' where pos = #77", What::Leaf, 77, 77),
    Case("another schema version", "update dagapp.events set schema_ver = 2 where pos = #78", What::Leaf, 78, 78),
    Case("another version", "update dagapp.events set version = 900 where pos = #79", What::Leaf, 79, 79),
    Case("an event of another job", "update dagapp.events set stream_id = 'job:other' where pos = #80", What::Leaf, 80, 80),
    Case("a changed leaf", "update dagapp.events set leaf = sha256(leaf) where pos = #81", What::Leaf, 81, 81),
    Case("an event of the unsigned end", "update dagapp.events set payload = '{}' where pos = #599", What::Leaf, 599, 599),
    Case(
        "a payload with its leaf",
        "update dagapp.events set payload = payload || ' ' where pos = #123; select forge.leaves()",
        What::Batch, 121, 130,
    ),
    Case(
        "a payload with its leaf and its batch",
        "update dagapp.events set payload = payload || ' ' where pos = #123; select forge.leaves();
         update dagapp.log_batches set hash = forge.batch(first_pos) where first_pos = #121",
        What::Batch, 131, 140,
    ),
    Case(
        "a payload with everything that follows from it",
        "update dagapp.events set payload = payload || ' ' where pos = #123; select forge.leaves();
         select forge.chain()",
        What::History,
        123,
        0,
    ),
    Case(
        "a deleted event", "delete from dagapp.events where pos = #150", What::Position, 150, 150),
    Case(
        "a deleted event, and all later ones moved up",
        "delete from dagapp.events where pos = #150;
         update dagapp.events set pos = pos + 1000000 where pos > #150;
         update dagapp.events set pos = pos - 1000001 where pos > 1000000;
         update dagapp.log_batches set last_pos = last_pos - 1 where first_pos = #141;
         update dagapp.streams set version = 4 where stream_id = 'request:r14';
         update dagapp.streams set first_pos = first_pos - 1 where first_pos > #141;
         update dagapp.log_batches set first_pos = first_pos - 1, last_pos = last_pos - 1 where first_pos > #141;
         select forge.chain()",
        What::History,
        150,
        0,
    ),
    Case(
        "two events of a job in the other order",
        "update dagapp.events set pos = 1000000 where pos = #161; update dagapp.events set pos = #161 where pos = #162;
         update dagapp.events set pos = #162 where pos = 1000000",
        What::Stream, 161, 161,
    ),
    Case(
        "two events of different streams in the other order",
        "update dagapp.events set pos = 1000000 where pos = #165; update dagapp.events set pos = #165 where pos = #166;
         update dagapp.events set pos = #166 where pos = 1000000",
        What::Batch, 161, 170,
    ),
    Case(
        "another time of an event",
        "update dagapp.events set recorded_at = recorded_at - interval '1 day' where pos = #171",
        What::Time, 171, 171,
    ),
    Case(
        "another time of a batch and its events",
        "update dagapp.events set recorded_at = recorded_at + interval '1 us' where pos between #181 and #190;
         update dagapp.log_batches set recorded_at = recorded_at + interval '1 us' where first_pos = #181",
        What::Batch, 181, 190,
    ),
    Case(
        "a time that goes back, chained anew",
        "update dagapp.events set recorded_at = 'epoch' where pos between #181 and #190;
         update dagapp.log_batches set recorded_at = 'epoch' where first_pos = #181; select forge.chain()",
        What::Time, 181, 190,
    ),
    Case("a deleted batch", "delete from dagapp.log_batches where first_pos = #191", What::Batch, 191, 191),
    Case(
        "two batches made one",
        "delete from dagapp.log_batches where first_pos = #191;
         update dagapp.log_batches set last_pos = last_pos + 10 where first_pos = #181;
         update dagapp.events set recorded_at =
             (select recorded_at from dagapp.log_batches where first_pos = #181) where pos between #191 and #200",
        What::Batch, 181, 200,
    ),
    Case("another hash of the head", "update dagapp.log_head set hash = sha256(hash)", What::Head, LAST, LAST),
    Case("a head that is set back", "update dagapp.log_head set pos = pos - 10", What::Position, LAST - 9, LAST - 9),
    Case(
        "an event behind the end",
        "insert into dagapp.events select pos + 1, 'job:eve', 1, type, schema_ver, org_id, payload, meta, recorded_at,
         leaf from dagapp.events where pos = #600",
        What::Position, LAST + 1, LAST + 1,
    ),
    Case("the end cut off, with its checkpoints", "select forge.cut(#400)", What::History, 401, SIGNED),
    Case(
        "the end replaced, without any checkpoint in the database",
        "update dagapp.events set payload = payload || ' ' where pos > #500; select forge.leaves(); select forge.chain();
         delete from dagapp.log_checkpoints; delete from dagapp.log_subtrees",
        What::History,
        501,
        0,
    ),
    Case(
        "an event that is there twice",
        "do $$ begin execute 'alter table dagapp.events_1 drop constraint events_1_pkey';
             execute 'drop index dagapp.events_1_stream'; end $$;
         insert into dagapp.events select * from dagapp.events where pos = #300",
        What::Position, 300, 300,
    ),
    Case("a stream that is forgotten", "delete from dagapp.streams where stream_id = 'job:j5'", What::Stream, 151, 151),
    Case("a stream with a higher version", "update dagapp.streams set version = 99 where stream_id = 'request:r7'", What::Stream, 80, 80),
    Case("a stream that begins later", "update dagapp.streams set first_pos = #500 where stream_id = 'job:j4'", What::Stream, 121, 121),
    Case("a job that is open again", "update dagapp.streams set closed = false where stream_id = 'job:j0'", What::Stream, 25, 25),
    Case("a stream of nothing", "insert into dagapp.streams values ('job:eve', 3, #222)", What::Stream, 222, 222),
    Case("another history", "update dagapp.log_head set incarnation = gen_random_uuid()", What::Head,
        0,
        0),
    Case(
        "a checkpoint with another root",
        "update dagapp.log_checkpoints set note = regexp_replace(note, '\\n[A-Za-z0-9+/]{43}=', E'\\n' || repeat('A', 43)
         || '=') where size = (select min(size) from dagapp.log_checkpoints)",
        What::Checkpoint,
        0,
        0,
    ),
];

/// Where checkpoints are depends on what was in the log before ours.
fn named(stage: &Stage, sizes: &[u64], case: &Case, finding: &Finding) {
    let Case(name, _, what, from, upto) = case;
    let wanted = match (*from, *upto) {
        // The first checkpoint.
        (0, 0) => (sizes[0], sizes[0]),
        // Between the last checkpoint before it and the first one after it.
        (changed, 0) => {
            let next = sizes.partition_point(|size| *size < stage.base + changed);
            let before = next.checked_sub(1).map_or(0, |last| sizes[last]);
            (before + 1, sizes[next])
        }
        (from, upto) => (stage.base + from, stage.base + upto),
    };
    assert_eq!(
        (finding.what, finding.pos, finding.upto),
        (*what, wanted.0, wanted.1),
        "{name}: {finding:?}"
    );
}

#[tokio::test]
async fn everything_that_a_superuser_changes_is_found_and_named() {
    let mut stage = Stage::new("tampering").await;
    let sizes: Vec<u64> = stage
        .known()
        .await
        .iter()
        .map(|s| s.checkpoint.size)
        .collect();
    assert_eq!(sizes.last(), Some(&stage.signed));
    assert!(CASES.len() >= 20);
    for case in CASES {
        let pool = stage.copy().await;
        let sql = stage.sql(case.1);
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&pool)
            .await
            .unwrap_or_else(|e| panic!("{}: {e}", case.0));
        let report = stage.verify(&pool, 1).await;
        let Some(finding) = &report.finding else {
            panic!("{}: not found: {report:?}", case.0);
        };
        named(&stage, &sizes, case, finding);
        if matches!(
            finding.what,
            What::Leaf | What::Batch | What::Time | What::History
        ) {
            let vouched = report.signed_upto;
            assert!(vouched < finding.upto, "{}: {report:?}", case.0);
        }
        stage.remove(pool).await;
    }
}

#[tokio::test]
async fn a_log_that_nobody_touched_verifies_also_from_any_position() {
    let mut stage = Stage::new("untouched").await;
    let pool = stage.copy().await;
    let whole = stage.verify(&pool, 1).await;
    assert_eq!(whole.finding, None);
    assert_eq!(
        (whole.from_pos, whole.upto_pos, whole.events),
        (1, stage.head, stage.head)
    );
    assert_eq!(whole.signed_upto, stage.signed);
    assert_eq!(whole.checkpoints, stage.known().await.len() as u64);
    for since in [
        stage.base + 1,
        stage.base + 257,
        stage.signed,
        stage.head,
        stage.head + 9,
    ] {
        let report = stage.verify(&pool, since).await;
        assert_eq!(report.finding, None, "{since}: {report:?}");
        assert!(report.from_pos <= since, "{since}: {report:?}");
        assert_eq!(report.upto_pos - report.from_pos + 1, report.events);
        assert!(
            since < stage.signed || report.events < whole.events / 2,
            "{report:?}"
        );
    }
    stage.remove(pool).await;
}

#[tokio::test]
async fn a_checkpoint_of_another_key_and_a_wrong_subtree_are_found() {
    let mut stage = Stage::new("other_key").await;
    let pool = stage.copy().await;
    let last = stage.known().await.pop().unwrap();
    let forged = last.checkpoint.clone().sign(&SigningKey::new(&[1; 32]));
    sqlx::query("update dagapp.log_checkpoints set note = $1 where size = (select max(size) from dagapp.log_checkpoints)")
        .bind(forged.note())
        .execute(&pool)
        .await
        .unwrap();
    let finding = stage.verify(&pool, 1).await.finding.unwrap();
    assert_eq!(
        (finding.what, finding.pos),
        (What::Checkpoint, stage.signed)
    );
    assert!(Signed::parse(&forged.note()).is_ok_and(|s| s.verify(&key().public()).is_err()));
    stage.remove(pool).await;
    let pool = stage.copy().await;
    sqlx::query("update dagapp.log_subtrees set hash = sha256(hash) where level = 8 and nth = 1")
        .execute(&pool)
        .await
        .unwrap();
    let finding = stage.verify(&pool, 1).await.finding.unwrap();
    assert_eq!(
        (finding.what, finding.pos, finding.upto),
        (What::Subtree, 257, 512)
    );
    stage.remove(pool).await;
}

#[tokio::test]
async fn a_log_that_was_cut_or_rewritten_is_signed_no_more() {
    let mut stage = Stage::new("no_more").await;
    for forged in [
        "select forge.cut(#400)",
        "update dagapp.events set leaf = sha256(leaf) where pos = #577",
    ] {
        let pool = stage.copy().await;
        sqlx::raw_sql(AssertSqlSafe(stage.sql(forged)))
            .execute(&pool)
            .await
            .unwrap();
        let signing = Signing {
            key: key(),
            file: stage.file.clone(),
            every: 100,
            latest: LATEST,
        };
        let before = stage.known().await;
        let mut notary = Notary::new(Arc::new(signing), pool.clone(), commands::write::fresh_id());
        let refused = notary.catch_up().await;
        assert!(
            matches!(refused, Err(projections::Error::Rewritten(_))),
            "{forged}: {refused:?}"
        );
        assert_eq!(stage.known().await, before);
        stage.remove(pool).await;
    }
}
