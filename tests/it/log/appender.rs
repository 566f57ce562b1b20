//! Group commit: many callers, few commits, and every caller gets its own answer.

use std::sync::Arc;

use commands::appender::{AppendError, Appender};
use commands::log::{Expected, Log};
use tokio_util::sync::CancellationToken;

use super::contract::to;
use crate::system::rig::Rig;

#[tokio::test]
async fn many_callers_share_commits_and_each_gets_its_own_answer() {
    let rig = Rig::new("appender").await;
    let log: Arc<dyn Log> = Arc::clone(&rig.writer.log);
    let before = rig.count("select count(*) from dagapp.log_batches").await;
    let (appender, task) = Appender::start(Arc::clone(&log), CancellationToken::new(), |_| {});
    let callers = (0..500).map(|n| {
        let appender = appender.clone();
        async move {
            // Every tenth is wrong.
            let seen = if n % 10 == 0 { 5 } else { 0 };
            let stream = format!("job:caller-{n}");
            (
                n,
                appender
                    .append(&[to(&stream, Expected::Version(seen), 3)])
                    .await,
            )
        }
    });
    for (n, result) in futures_util::future::join_all(callers).await {
        match result {
            Ok(done) => {
                assert_ne!(n % 10, 0);
                assert_eq!(done.versions, [3]);
                let read = log.read_stream(&format!("job:caller-{n}"), 0, 10).await;
                assert_eq!(read.unwrap().last().unwrap().pos, done.pos);
            }
            Err(AppendError::Conflict { versions }) => {
                assert_eq!((n % 10, versions), (0, vec![0]));
            }
            Err(other) => panic!("{other}"),
        }
    }
    let commits = rig.count("select count(*) from dagapp.log_batches").await - before;
    assert!(commits <= 100, "{commits} commits for 500 callers");
    drop(appender);
    task.await.unwrap();
}

#[tokio::test]
async fn appends_to_one_stream_keep_their_order() {
    let rig = Rig::new("order").await;
    let appender = &rig.writer.appender;
    let mut waiting = Vec::new();
    for version in 0..50 {
        let append = to("job:order", Expected::Version(version), 1);
        waiting.push(appender.enqueue(&[append]).await.unwrap());
    }
    for (answer, version) in waiting.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap().unwrap().versions, [version]);
    }
}
