//! Whoever archives or restores may be killed anywhere: nothing is lost, and the next one finishes.

use commands::log::Expected;

use super::{done, floor, head, with, with_small_partitions};
use crate::log::contract::to;
use crate::system::rig::Rig;

const POINTS: [&str; 6] = [
    "archive-carried",
    "archive-exported",
    "archive-uploaded",
    "archive-checked",
    "archive-recorded",
    "archive-detached",
];

/// Jobs that have ended, over several small partitions.
pub(super) async fn full(name: &str, size: u32, jobs: u32) -> Rig {
    let rig = Rig::new(name).await;
    with_small_partitions(&rig, size).await;
    for n in 0..jobs {
        let stream = format!("job:j{n}");
        let mut append = to(&stream, Expected::Version(0), 7);
        append.closes = true;
        rig.writer.appender.append(&[append]).await.unwrap();
    }
    rig
}

#[tokio::test]
async fn whoever_is_killed_while_archiving_or_restoring_is_followed_by_one_who_finishes() {
    let rig = full("archive_kills", 50, 60).await;
    let sum =
        "select ('x' || substr(md5(string_agg(e::text, '' order by pos)), 1, 15))::bit(60)::bigint
               from dagapp.events e where pos <= 400";
    let was = rig.count(sum).await;
    let before = head(&rig).await;
    let make = ["archive", "make", "--before", &before];
    for (nth, point) in POINTS.iter().enumerate() {
        let (code, _, talk) = with(&rig, &make, &[("STRATA_FAULT", point)]).await;
        assert_eq!(code, None, "{point}: it dies: {talk}");
        // What is said to be archived can be read from the archive, and everything else from here.
        let floor = floor(&rig).await;
        let read = rig
            .writer
            .log
            .read_log(u64::try_from(floor).unwrap(), 1)
            .await
            .unwrap();
        assert_eq!(read[0].pos, u64::try_from(floor).unwrap() + 1, "{point}");
        done(&rig, &["archive", "verify"]).await;
        let report = done(&rig, &["audit", "verify", "--archive"]).await;
        assert_eq!(report["ok"], true, "{point} ({nth}): {report}");
    }
    let made = done(&rig, &[&make[..], &["--drop"]].concat()).await;
    assert!(!made["archived"].as_array().unwrap().is_empty(), "{made}");
    let archived = floor(&rig).await;
    assert!(archived >= 400, "{archived}");
    let left = rig
        .count("select count(*) from dagapp.events where pos <= 400")
        .await;
    assert_eq!(left, 0);
    assert_eq!(
        rig.count(
            "select count(*) from pg_class where relnamespace = 'dagapp_archived'::regnamespace"
        )
        .await,
        0
    );

    // Half of one partition is copied, and then it dies.
    let restore = ["archive", "restore", "1"];
    let (code, ..) = with(&rig, &restore, &[("STRATA_FAULT", "archive-copied:3")]).await;
    assert_eq!(code, None);
    assert!(floor(&rig).await > 0);
    done(&rig, &restore).await;
    assert_eq!(floor(&rig).await, 0);
    assert_eq!(rig.count(sum).await, was, "every byte is there");
    assert_eq!(done(&rig, &["audit", "verify"]).await["ok"], true);

    // Tables that were kept are attached again as they are, and archiving again makes the same files.
    let files = files(&rig);
    done(&rig, &make).await;
    assert_eq!(floor(&rig).await, archived);
    assert!(files.iter().all(|file| file.exists()));
    assert_eq!(
        super::files::archives(&rig, "events.parquet").len(),
        files.len()
    );
    done(&rig, &restore).await;
    assert_eq!(rig.count(sum).await, was);
}

fn files(rig: &Rig) -> Vec<std::path::PathBuf> {
    super::files::archives(rig, "events.parquet")
}

#[tokio::test]
async fn the_role_of_the_app_can_neither_archive_nor_touch_a_part_of_the_log() {
    let rig = full("archive_role", 50, 20).await;
    let before = head(&rig).await;
    done(&rig, &["archive", "make", "--before", &before]).await;
    let mut connect = commands::log::Connect::parse(&rig.database_url, 2).unwrap();
    connect.options = connect.options.options([("role", "strata_app")]);
    let log = commands::log::PostgresLog::connect(&connect).await.unwrap();
    let last = floor(&rig).await + 1;
    for forbidden in [
        "delete from dagapp.archives".to_owned(),
        "update dagapp.archives set restored_at = now()".to_owned(),
        "delete from dagapp.carried_streams".to_owned(),
        "select count(*) from dagapp_archived.events_1".to_owned(),
        format!("delete from dagapp.events_{last}"),
        format!("alter table dagapp.events detach partition dagapp.events_{last}"),
    ] {
        let tried = sqlx::raw_sql(sqlx::AssertSqlSafe(forbidden.clone()))
            .execute(log.pool())
            .await;
        let error = tried.expect_err(&forbidden).to_string();
        assert!(
            error.contains("permission denied") || error.contains("must be owner"),
            "{forbidden}: {error}"
        );
    }
    // And it reads on behind the archive as before.
    let fresh = Rig::new("archive_role_fresh").await;
    for part in ["events_1", "events_4000001"] {
        let mut of = commands::log::Connect::parse(&fresh.database_url, 1).unwrap();
        of.options = of.options.options([("role", "strata_app")]);
        let log = commands::log::PostgresLog::connect(&of).await.unwrap();
        let delete = format!("delete from dagapp.{part}");
        let error = sqlx::raw_sql(sqlx::AssertSqlSafe(delete))
            .execute(log.pool())
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("permission denied"),
            "{part}: {error}"
        );
    }
    // What every command of an operator reads first.
    sqlx::raw_sql("grant select on _sqlx_migrations to strata_app")
        .execute(&rig.pool)
        .await
        .unwrap();
    let more = if rig.database_url.contains('?') {
        '&'
    } else {
        '?'
    };
    let as_app = format!("{}{more}options=-c%20role%3Dstrata_app", rig.database_url);
    let command = ["archive", "restore", "1"];
    let (code, _, talk) = with(&rig, &command, &[("STRATA_DATABASE_URL", &as_app)]).await;
    assert_eq!(code, Some(2), "{talk}");
    assert!(talk.contains("only the owner of the schema"), "{talk}");
    assert_eq!(floor(&rig).await, last - 1);
}
