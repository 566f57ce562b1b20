//! What every log promises. Each promise is tested on Postgres and in memory.

use std::sync::Arc;
use std::time::Duration;

use commands::log::{
    Append, Batch, CommandOutcome, Committed, Encoding, Expected, Log, MemoryLog, Meta, OpenJob,
};
use commands::write::fresh_id;
use domain::event::Event;
use domain::id::{JobId, OwnerId};
use domain::job;

use crate::system::rig::Rig;

macro_rules! promises {
    ($($name:ident),* $(,)?) => {
        mod in_memory {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::memory()).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                let rig = crate::system::rig::Rig::new(stringify!($name)).await;
                super::$name(std::sync::Arc::clone(&rig.writer.log)).await;
            })*
        }
    };
}

promises!(
    a_stream_grows_only_from_the_version_that_was_seen,
    a_group_stands_or_falls_together_and_others_are_not_touched,
    an_intent_goes_after_whatever_is_there_and_not_after_the_end,
    the_same_batch_again_is_answered_as_before,
    positions_have_no_gaps_and_times_never_go_back,
    leaves_are_those_of_the_domain_also_for_intents,
    open_jobs_follow_their_events,
    leases_are_taken_by_the_clock_of_the_log,
);

fn memory() -> Arc<dyn Log> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a log in memory for a test that has no clock of its own"
    )]
    let clock = Arc::new(chrono::Utc::now);
    Arc::new(MemoryLog::new(clock))
}

pub(super) fn events(count: usize) -> Vec<Event> {
    let event = |n: usize| {
        Event::Job(job::Event::JobPaused {
            reason: format!("for reason {n}"),
        })
    };
    (0..count).map(event).collect()
}

pub(crate) fn to(stream: &str, expected: Expected, count: usize) -> Append {
    Append {
        stream: stream.to_owned(),
        expected,
        org_id: "acme".to_owned(),
        meta: Meta {
            actor: "test".to_owned(),
            command_id: fresh_id(),
            correlation: None,
            causation: None,
            trace: None,
        },
        events: events(count),
        open_job: None,
        closes: false,
    }
}

fn batch(groups: &[&[Append]]) -> Batch {
    let mut batch = Batch::new(fresh_id());
    for group in groups {
        batch.push(Encoding::of(group).unwrap());
    }
    batch
}

async fn append(log: &Arc<dyn Log>, groups: &[&[Append]]) -> Committed {
    log.append(&batch(groups)).await.unwrap()
}

fn appended(version: u64) -> CommandOutcome {
    CommandOutcome::Appended { version }
}

fn conflict(version: u64) -> CommandOutcome {
    CommandOutcome::Conflict { version }
}

/// A name that no test on the same log uses.
fn name(kind: &str) -> String {
    format!("{kind}:{}", fresh_id().simple())
}

async fn a_stream_grows_only_from_the_version_that_was_seen(log: Arc<dyn Log>) {
    let stream = name("job");
    let first = append(&log, &[&[to(&stream, Expected::Version(0), 2)]]).await;
    assert_eq!(first.outcomes, [appended(2)]);
    let late = append(&log, &[&[to(&stream, Expected::Version(0), 1)]]).await;
    assert_eq!(late.outcomes, [conflict(2)]);
    let early = append(&log, &[&[to(&stream, Expected::Version(3), 1)]]).await;
    assert_eq!(early.outcomes, [conflict(2)]);
    let next = append(&log, &[&[to(&stream, Expected::Version(2), 1)]]).await;
    assert_eq!(next.outcomes, [appended(3)]);
    let read = log.read_stream(&stream, 1, 10).await.unwrap();
    assert_eq!(read.iter().map(|r| r.version).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(log.read_stream(&stream, 0, 2).await.unwrap().len(), 2);
    let decoded: Vec<_> = read.iter().map(|r| r.decode().unwrap()).collect();
    assert_eq!(decoded[0], events(2)[1]);
}

async fn a_group_stands_or_falls_together_and_others_are_not_touched(log: Arc<dyn Log>) {
    let (a, b, c) = (name("job"), name("job"), name("job"));
    append(&log, &[&[to(&b, Expected::Version(0), 1)]]).await;
    let torn = [
        to(&a, Expected::Version(0), 2),
        to(&b, Expected::Version(0), 1),
    ];
    let done = append(&log, &[&torn, &[to(&c, Expected::Version(0), 3)]]).await;
    assert_eq!(done.outcomes, [conflict(0), conflict(1), appended(3)]);
    assert!(log.read_stream(&a, 0, 10).await.unwrap().is_empty());
    assert_eq!(log.read_stream(&c, 0, 10).await.unwrap().len(), 3);
    let all = log.read_streams(&[b, c]).await.unwrap();
    assert_eq!(all.len(), 4);
}

async fn an_intent_goes_after_whatever_is_there_and_not_after_the_end(log: Arc<dyn Log>) {
    let (stream, nobody) = (name("job"), name("job"));
    append(&log, &[&[to(&stream, Expected::Version(0), 4)]]).await;
    let done = append(&log, &[&[to(&stream, Expected::Any, 1)]]).await;
    assert_eq!(done.outcomes, [appended(5)]);
    let done = append(&log, &[&[to(&nobody, Expected::Any, 1)]]).await;
    assert_eq!(done.outcomes, [conflict(0)], "an intent needs a stream");
    let end = Append {
        closes: true,
        ..to(&stream, Expected::Version(5), 1)
    };
    assert_eq!(append(&log, &[&[end]]).await.outcomes, [appended(6)]);
    let late = append(
        &log,
        &[
            &[to(&stream, Expected::Any, 1)],
            &[to(&nobody, Expected::Version(0), 1)],
        ],
    )
    .await;
    assert_eq!(late.outcomes, [conflict(6), appended(1)]);
    let late = append(&log, &[&[to(&stream, Expected::Version(6), 1)]]).await;
    assert_eq!(late.outcomes, [conflict(6)], "closed");
}

async fn the_same_batch_again_is_answered_as_before(log: Arc<dyn Log>) {
    let (a, b) = (name("job"), name("job"));
    append(&log, &[&[to(&b, Expected::Version(0), 1)]]).await;
    let sent = batch(&[
        &[to(&a, Expected::Version(0), 2)],
        &[to(&b, Expected::Version(0), 1)],
    ]);
    let first = log.append(&sent).await.unwrap();
    let second = log.append(&sent).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(log.read_stream(&a, 0, 10).await.unwrap().len(), 2);
}

async fn positions_have_no_gaps_and_times_never_go_back(log: Arc<dyn Log>) {
    let writers = (0..8).map(|_| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let stream = name("job");
            for version in 0..10 {
                append(&log, &[&[to(&stream, Expected::Version(version), 1)]]).await;
            }
        })
    });
    futures_util::future::join_all(writers).await;
    let all = log.read_log(0, 10_000).await.unwrap();
    for (recorded, pos) in all.iter().zip(1..) {
        assert_eq!(recorded.pos, pos);
    }
    assert!(all.windows(2).all(|p| p[0].recorded_at <= p[1].recorded_at));
    assert!(all.len() >= 80);
    let after = log.read_log(5, 3).await.unwrap();
    assert_eq!(after.iter().map(|r| r.pos).collect::<Vec<_>>(), [6, 7, 8]);
}

async fn leaves_are_those_of_the_domain_also_for_intents(log: Arc<dyn Log>) {
    let stream = name("job");
    append(&log, &[&[to(&stream, Expected::Version(0), 1)]]).await;
    append(&log, &[&[to(&stream, Expected::Any, 2)]]).await;
    for recorded in log.read_stream(&stream, 0, 10).await.unwrap() {
        let leaf = domain::event::leaf_hash(&domain::event::Leaf {
            stream_id: &recorded.stream_id,
            version: recorded.version,
            kind: &recorded.kind,
            schema_ver: recorded.schema_ver,
            org_id: &recorded.org_id,
            meta: &recorded.meta,
            payload: &recorded.payload,
        });
        assert_eq!(leaf, recorded.leaf);
    }
}

async fn open_jobs_follow_their_events(log: Arc<dyn Log>) {
    let (job, owner) = (JobId::new(fresh_id()), OwnerId(fresh_id()));
    let (job_id, request_id) = (job.to_string(), "req_1".to_owned());
    let opened = Append {
        open_job: Some(OpenJob::Open {
            job_id: job_id.clone(),
            request_id,
        }),
        ..to(&name("request"), Expected::Version(0), 1)
    };
    append(&log, &[&[opened]]).await;
    let waiting = log.unclaimed(Duration::ZERO, 3, 100).await.unwrap();
    assert!(waiting.iter().any(|row| row.job_id == job));
    for (tries, may) in [(1, true), (2, true), (3, false)] {
        let tried = log.count_tries(&[job], 2).await.unwrap();
        assert_eq!(tried == [job], may, "try {tries}");
    }
    let waiting = log.unclaimed(Duration::ZERO, 2, 100).await.unwrap();
    assert!(waiting.is_empty(), "in quarantine");
    log.forgive(job).await.unwrap();
    let waiting = log.unclaimed(Duration::ZERO, 2, 100).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let claim = |expected, epoch| Append {
        open_job: Some(OpenJob::Claim {
            job_id: job_id.clone(),
            owner: owner.0,
            epoch,
            weight: Some(3),
        }),
        ..to(&format!("job:{job}"), expected, 1)
    };
    append(&log, &[&[claim(Expected::Version(0), 1)]]).await;
    // Lost: nothing of it happens.
    let lost = append(&log, &[&[claim(Expected::Version(0), 7)]]).await;
    assert_eq!(lost.outcomes, [conflict(1)]);
    let row = log.open_job(job).await.unwrap().unwrap();
    assert_eq!((row.owner, row.epoch, row.claims), (Some(owner), 1, 0));
    assert_eq!(row.version, 1);
    append(&log, &[&[claim(Expected::Version(1), 2)]]).await;
    log.count_claims(&[job]).await.unwrap();
    assert_eq!(log.open_job(job).await.unwrap().unwrap().claims, 2);
    let tried = log.count_tries(&[job], 9).await.unwrap();
    assert!(tried.is_empty(), "it has an owner");
    log.settle(OwnerId(fresh_id()), &[job]).await.unwrap();
    assert_eq!(log.open_job(job).await.unwrap().unwrap().claims, 2);
    log.settle(owner, &[job]).await.unwrap();
    assert_eq!(log.open_job(job).await.unwrap().unwrap().claims, 0);
    let settled = Append {
        open_job: Some(OpenJob::Settle {
            job_id: job_id.clone(),
            weight: 9,
            due: None,
        }),
        ..to(&format!("job:{job}"), Expected::Version(2), 1)
    };
    append(&log, &[&[settled]]).await;
    let row = log.open_job(job).await.unwrap().unwrap();
    assert_eq!((row.claims, row.weight), (0, 9));
    assert_eq!(log.owned(owner).await.unwrap().len(), 1);
    let end = Append {
        open_job: Some(OpenJob::Close { job_id }),
        closes: true,
        ..to(&format!("job:{job}"), Expected::Version(3), 1)
    };
    append(&log, &[&[end]]).await;
    assert_eq!(log.open_job(job).await.unwrap(), None);
    assert!(!log.release(job).await.unwrap());
}

async fn orphans(
    log: &Arc<dyn Log>,
    caller: OwnerId,
    stale: Option<Duration>,
) -> Result<Vec<commands::log::JobRow>, commands::log::LogError> {
    let wanted = commands::log::Orphans {
        stale,
        due_within: Duration::from_secs(60),
        claims_max: 3,
        limit: 10,
    };
    log.orphans(caller, wanted).await
}

async fn leases_are_taken_by_the_clock_of_the_log(log: Arc<dyn Log>) {
    let (mine, other) = (OwnerId(fresh_id()), OwnerId(fresh_id()));
    let stale = Duration::from_millis(50);
    let job = JobId::new(fresh_id());
    let (job_id, request_id) = (job.to_string(), "req_2".to_owned());
    let opened = Append {
        open_job: Some(OpenJob::Open {
            job_id: job_id.clone(),
            request_id,
        }),
        ..to(&name("request"), Expected::Version(0), 1)
    };
    let claimed = Append {
        open_job: Some(OpenJob::Claim {
            job_id,
            owner: other.0,
            epoch: 1,
            weight: None,
        }),
        ..to(&format!("job:{job}"), Expected::Version(0), 1)
    };
    append(&log, &[&[opened]]).await;
    append(&log, &[&[claimed]]).await;
    let long = Duration::from_secs(60);
    log.beat(other, "there", long).await.unwrap();
    assert!(log.beat(mine, "here", long).await.unwrap() >= 2);
    assert!(orphans(&log, mine, Some(long)).await.unwrap().is_empty());
    // Its lease runs out.
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    while orphans(&log, mine, Some(stale)).await.unwrap().is_empty() {
        assert!(tokio::time::Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let left = orphans(&log, mine, None).await.unwrap();
    assert!(left.is_empty(), "its owner is late, but has not left");
    // Renewed, it holds again; given up, the jobs are free at once.
    log.beat(other, "there", long).await.unwrap();
    assert!(orphans(&log, mine, Some(long)).await.unwrap().is_empty());
    log.leave(other).await.unwrap();
    assert_eq!(orphans(&log, mine, None).await.unwrap().len(), 1);
    assert!(orphans(&log, other, Some(long)).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_role_of_the_app_appends_for_ever_and_changes_nothing_that_is_written() {
    let rig = Rig::new("role").await;
    sqlx::query("update dagapp.log_head set partition_size = 50")
        .execute(&rig.pool)
        .await
        .unwrap();
    let mut connect = commands::log::Connect::parse(&rig.database_url, 2).unwrap();
    connect.options = connect.options.options([("role", "strata_app")]);
    let log = commands::log::PostgresLog::connect(&connect).await.unwrap();
    let pool = log.pool().clone();
    let log: Arc<dyn Log> = Arc::new(log);
    // As if the partitions of the first migration were full.
    sqlx::query("update dagapp.log_head set pos = 7999990")
        .execute(&rig.pool)
        .await
        .unwrap();
    for version in 0..20 {
        let expected = Expected::Version(version * 10);
        let done = append(&log, &[&[to("job:app", expected, 10)]]).await;
        assert_eq!(done.outcomes, [appended(version * 10 + 10)]);
    }
    for forbidden in [
        "update dagapp.events set payload = ''",
        "delete from dagapp.events",
        "update dagapp.log_head set pos = 0",
        "delete from dagapp.log_batches",
        "select dagapp.make_partitions(1)",
    ] {
        let done = sqlx::query(forbidden).execute(&pool).await;
        let error = done.expect_err(forbidden).to_string();
        assert!(error.contains("permission denied"), "{forbidden}: {error}");
    }
}

#[tokio::test]
async fn partitions_are_made_ahead_of_the_events() {
    let rig = Rig::new("partitions").await;
    let partitions = async || {
        rig.count("select count(*) from pg_inherits where inhparent = 'dagapp.events'::regclass")
            .await
    };
    assert_eq!(partitions().await, 2, "two from the first migration on");
    // As if the first one were nearly full.
    sqlx::query("update dagapp.log_head set pos = 3999995")
        .execute(&rig.pool)
        .await
        .unwrap();
    let done = append(
        &rig.writer.log,
        &[&[to("job:across", Expected::Version(0), 10)]],
    )
    .await;
    assert_eq!(done.first_pos, 3_999_996);
    assert!(partitions().await >= 3, "two ahead of what is written");
    let read = rig.writer.log.read_stream("job:across", 0, 20).await;
    assert_eq!(read.unwrap().len(), 10);
}
