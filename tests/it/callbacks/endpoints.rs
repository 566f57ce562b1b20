//! Slow, dead and forbidden receivers are their own trouble.

use std::time::Duration;

use domain::callback::BreakerPolicy;
use domain::request::CallbackRef;
use projections::callbacks::Options;
use projections::read;
use tokio::time::Instant;

use super::receiver::{Mood, Receiver};
use super::stage::{DEADLINE, Stage};

#[tokio::test]
async fn a_slow_receiver_delays_neither_jobs_nor_other_receivers() {
    const JOBS: usize = 60;
    let mut stage = Stage::new("callback_slow").await;
    let options = Options {
        per_endpoint: 4,
        concurrency: 8,
        ..stage.options()
    };
    stage.send(options);
    let slow = Receiver::start(Mood::Slow(Duration::from_secs(30))).await;
    let quick = Receiver::start(Mood::Always(200)).await;
    // All of the slow one's come first in the log.
    for _ in 0..JOBS {
        stage
            .submit("nothing", vec![CallbackRef::to(slow.url())])
            .await;
    }
    let busy = async || slow.count() == 4;
    stage
        .rig
        .eventually("the slow one is busy", DEADLINE, busy)
        .await;
    let began = Instant::now();
    for _ in 0..JOBS {
        stage
            .submit("nothing", vec![CallbackRef::to(quick.url())])
            .await;
    }
    stage.rig.all_ended(DEADLINE).await;
    let arrived = async || quick.count() == JOBS;
    stage
        .rig
        .eventually("the quick one gets all", DEADLINE, arrived)
        .await;
    // Far less than one answer of the slow one takes.
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        slow.count(),
        4,
        "and no more than its share goes to the slow one"
    );
    stage.stop().await;
}

#[tokio::test]
async fn a_dead_endpoint_is_left_alone_without_using_up_tries_and_comes_back_by_a_probe() {
    const JOBS: usize = 40;
    let mut stage = Stage::new("callback_breaker").await;
    let options = Options {
        per_endpoint: 1,
        breaker: BreakerPolicy {
            failures_max: 5,
            open_first: Duration::from_secs(2),
            open_max: Duration::from_secs(2),
        },
        ..stage.options()
    };
    stage.send(options);
    let receiver = Receiver::start(Mood::Always(503)).await;
    let to = CallbackRef {
        retry_count: Some(2),
        ..CallbackRef::to(receiver.url())
    };
    for _ in 0..JOBS {
        stage.submit("nothing", vec![to.clone()]).await;
    }
    let open = async || {
        let backlog = read::callback_backlog(&stage.rig.pool).await.unwrap();
        backlog.open_endpoints == 1
    };
    stage
        .rig
        .eventually("the breaker opens", DEADLINE, open)
        .await;
    assert_eq!(receiver.count(), 5);
    stage.rig.all_ended(DEADLINE).await;
    let waits = async || {
        let backlog = read::callback_backlog(&stage.rig.pool).await.unwrap();
        backlog.count >= 35 && backlog.oldest_s > 0.0
    };
    stage
        .rig
        .eventually("the others wait", DEADLINE, waits)
        .await;
    receiver.set(Mood::Always(200));
    let delivered = "select count(*) from dagapp.callback_outbox where status = 'delivered'";
    let all = async || stage.rig.count(delivered).await == JOBS as i64;
    stage
        .rig
        .eventually("all are delivered", DEADLINE, all)
        .await;
    assert_eq!(stage.rig.events("callback_given_up").await, 0);
    stage.stop().await;
}

#[tokio::test]
async fn a_forbidden_address_that_is_in_the_log_is_given_up_at_once() {
    let mut stage = Stage::new("callback_forbidden").await;
    let options = stage.options();
    stage.send(options);
    let gone = Receiver::start(Mood::Always(410)).await;
    for (url, code) in [
        (
            "https://169.254.169.254/latest/meta-data".to_owned(),
            "callback_address_forbidden",
        ),
        (
            "https://0x7f000002/".to_owned(),
            "callback_address_forbidden",
        ),
        ("http://93.184.216.34/".to_owned(), "callback_without_tls"),
        (gone.url(), "gone"),
    ] {
        let submitted = stage
            .submit("nothing", vec![CallbackRef::to(url.as_str())])
            .await;
        let given_up = stage.all_are(&submitted, "given_up").await.remove(0);
        assert_eq!(
            (given_up.attempts, given_up.last_code.as_deref()),
            (1, Some(code)),
            "{url}"
        );
    }
    stage.stop().await;
}
