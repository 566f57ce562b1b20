//! Local services as `strata up` and tests use them: real processes in folders of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::{self, stream};
use cli::exit::{Exit, Stop};
use cli::services::{Context, Durability, Options, Services, connect_nats, shared, stop_shared};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection, Row};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::run::{folder, strata};

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn services_start_come_back_after_a_kill_and_leave_nothing_behind() {
    let stack = Stack::new("services");
    let services = stack.start().await;
    let (database, nats) = (
        services.database_url().to_owned(),
        services.nats_url().to_owned(),
    );
    assert_eq!(count(&database).await.unwrap(), 0);
    publish(&nats).await.unwrap();

    let context = stack.dir.join("context.json");
    assert_eq!(
        fs::metadata(&context).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(Context::find(&stack.dir).unwrap(), services.context());

    let refused = Services::start(&stack.options(), &CancellationToken::new()).await;
    let refused = refused.unwrap_err();
    let me = format!("process {}", std::process::id());
    assert!(refused.to_string().contains(&me), "{refused}");
    assert_eq!(exit_of(&refused), Exit::Conflict);

    for name in ["postgres", "nats"] {
        let before = stack.pid(name).unwrap();
        kill_process(Pid::from_raw(before).unwrap(), Signal::KILL).unwrap();
        eventually(async || stack.pid(name).is_some_and(|pid| pid != before)).await;
    }
    // At the same addresses, and with what was there.
    eventually(async || count(&database).await.is_ok_and(|rows| rows == 1)).await;
    eventually(async || publish(&nats).await.is_ok()).await;

    let dir = stack.dir.display().to_string();
    let looks = tokio::task::spawn_blocking(move || {
        let doctor = || strata(&["doctor", "--data-dir", &dir, "--output", "json"]);
        let empty = doctor();
        let migrated = strata(&["migrate", "--data-dir", &dir]);
        (empty, migrated, doctor())
    });
    let (empty, migrated, doctor) = looks.await.unwrap();
    // Without its tables nothing works.
    assert_eq!(empty.exit, Exit::Unreachable, "{}", empty.out);
    assert!(empty.out.contains("strata migrate"), "{}", empty.out);
    assert_eq!(migrated.exit, Exit::Ok, "{}", migrated.err);
    assert_eq!(doctor.exit, Exit::Ok, "{}", doctor.out);
    assert_eq!(doctor.json()["database_url"], database.as_str());
    assert_eq!(doctor.json()["nats_url"], nats.as_str());

    let pids = ["postgres", "nats"].map(|name| stack.pid(name).unwrap());
    services.stop().await;
    for pid in pids {
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} still runs"
        );
    }
    assert!(!context.exists());
    assert_eq!(
        exit_of(&Context::find(&stack.dir).unwrap_err()),
        Exit::Unreachable
    );
}

#[tokio::test]
async fn a_shared_stack_is_joined_and_a_later_start_takes_over_what_is_left() {
    // Too long for a socket, and with a character that configurations quote.
    let stack = Stack::new(&format!("it's {}", "long ".repeat(20)));
    let join = || shared(&stack.dir, Durability::Process);
    let (first, second) = tokio::join!(join(), join());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first, second);
    assert_eq!(count(&first.database_url).await.unwrap(), 0);
    let socket = fs::read_to_string(stack.dir.join("postgres.socket")).unwrap();
    assert!(Path::new(&socket).is_dir());
    let pids = ["postgres", "nats"].map(|name| stack.pid(name).unwrap());

    // As after a killed process: everything runs, and nobody holds the lock.
    let services = stack.start().await;
    assert_eq!(services.database_url(), first.database_url);
    assert_eq!(services.nats_url(), first.nats_url);
    assert_eq!(count(services.database_url()).await.unwrap(), 1);
    for (name, old) in ["postgres", "nats"].into_iter().zip(pids) {
        assert_ne!(stack.pid(name), Some(old));
    }
    services.stop().await;
    assert!(!Path::new(&socket).exists(), "{socket} is left");

    // A pid file whose number belongs to somebody else now: us.
    let stale = format!("{} 1\n", std::process::id());
    for name in ["postgres.pid", "nats.pid"] {
        fs::write(stack.dir.join(name), &stale).unwrap();
    }
    let again = join().await.unwrap();
    assert_eq!(count(&again.database_url).await.unwrap(), 2);
    stop_shared(&stack.dir).await.unwrap();
    assert_eq!(stack.pid("postgres"), None);
    assert_eq!(stack.pid("nats"), None);
}

#[tokio::test]
async fn a_database_of_root_starts_below_a_folder_that_only_root_may_enter() {
    let closed = folder("closed to others");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let stack = Stack {
        dir: closed.join("data"),
    };
    // The second start finds what the first one put elsewhere; unless we are root, nothing is.
    for calls in [0, 1] {
        let services = stack.start().await;
        assert_eq!(count(services.database_url()).await.unwrap(), calls);
        services.stop().await;
    }
    if let Ok(elsewhere) = fs::read_to_string(stack.dir.join("postgres.home")) {
        assert!(Path::new(&elsewhere).join("postgres/PG_VERSION").is_file());
        fs::remove_dir_all(elsewhere).unwrap();
    }
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_an_error_without_its_password() {
    let stack = Stack::new("unreachable");
    let never = CancellationToken::new();
    let database = Options {
        database_url: Some("postgres://ann:hunter22@127.0.0.1:1/strata".into()),
        ..stack.options()
    };
    let nats = Options {
        nats_url: Some("nats://ann:hunter22@127.0.0.1:1".into()),
        ..stack.options()
    };
    for (options, variable) in [(database, "STRATA_DATABASE_URL"), (nats, "STRATA_NATS_URL")] {
        let error = Services::start(&options, &never).await.unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains("ann:***@127.0.0.1:1"), "{said}");
        assert!(!said.contains("hunter22"), "{said}");
        assert_eq!(exit_of(&error), Exit::Unreachable);
        let stop: &Stop = error.downcast_ref().unwrap();
        assert!(stop.next.contains(variable), "{}", stop.next);
    }
    assert_eq!(stack.pid("postgres"), None, "nothing was started instead");
}

/// A data directory; what runs there ends with the test, however that ends.
struct Stack {
    dir: PathBuf,
}

impl Stack {
    fn new(name: &str) -> Self {
        Self { dir: folder(name) }
    }

    fn options(&self) -> Options {
        Options {
            durability: Durability::Process,
            ..Options::new(&self.dir)
        }
    }

    async fn start(&self) -> Services {
        let started = Services::start(&self.options(), &CancellationToken::new()).await;
        started.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// The process that a pid file names, if it runs and began when the file says.
    fn pid(&self, name: &str) -> Option<i32> {
        let text = fs::read_to_string(self.dir.join(format!("{name}.pid"))).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let runs = fields[0] != "Z" && fields[19] == started;
        runs.then(|| pid.parse().ok()).flatten()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let left = ["postgres", "nats"]
            .into_iter()
            .filter_map(|name| self.pid(name));
        for pid in left.filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }
}

/// How many calls there were before this one, as the database remembers.
async fn count(url: &str) -> Result<i64, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query("create table if not exists calls (at timestamptz default now())")
        .execute(&mut connection)
        .await?;
    let before = sqlx::query("select count(*) from calls")
        .fetch_one(&mut connection)
        .await?;
    sqlx::query("insert into calls default values")
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    before.try_get(0)
}

/// Puts a message into a stream of JetStream.
async fn publish(url: &str) -> Result<(), async_nats::Error> {
    let jetstream = jetstream::new(connect_nats(url, ConnectOptions::new()).await?);
    let config = stream::Config {
        name: "calls".into(),
        subjects: vec!["calls".into()],
        ..stream::Config::default()
    };
    jetstream.get_or_create_stream(config).await?;
    jetstream.publish("calls", "one".into()).await?.await?;
    Ok(())
}

async fn eventually(condition: impl AsyncFn() -> bool) {
    let wait = async {
        while !condition().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, wait).await.expect("in time");
}

fn exit_of(error: &anyhow::Error) -> Exit {
    error
        .downcast_ref::<Stop>()
        .expect("an error with an exit code")
        .exit
}
