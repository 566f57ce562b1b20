//! A log of known shape, signed, and copies of it to spoil.

use std::path::PathBuf;
use std::sync::Arc;

use commands::log::{Append, Expected, pool_options};
use domain::event::Event;
use domain::event::checkpoint::{Signed, SigningKey};
use domain::job;
use projections::archive::ArchiveSet;
use projections::audit::{Options, Report, verify};
use projections::notary::{LATEST, Notary, Options as Signing, read_file};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, PgPool};

use crate::log::contract::to;
use crate::system::rig::Rig;

/// Batches of ten events: five of a job, and five of a request of its own.
pub(super) const BATCHES: u64 = 60;
/// Batches that come after the last checkpoint.
pub(super) const UNSIGNED: u64 = 2;

/// What a superuser can do besides, so that a forgery is whole in itself.
const FORGE: &str = "
create schema forge;
create function forge.leaves() returns void language sql as $$
    update dagapp.events set leaf = dagapp.leaf(stream_id, version, type, schema_ver, org_id, meta, payload)
$$;
create function forge.batch(first bigint) returns bytea language sql as $$
    select sha256(coalesce((select p.hash from dagapp.log_batches p where p.first_pos < b.first_pos
                            order by p.first_pos desc limit 1), decode(repeat('00', 32), 'hex'))
        || int8send(b.first_pos) || int8send(count(*))
        || int8send((extract(epoch from b.recorded_at) * 1000000)::bigint)
        || string_agg(e.leaf, ''::bytea order by e.pos))
    from dagapp.log_batches b join dagapp.events e on e.pos between b.first_pos and b.last_pos
    where b.first_pos = first group by b.first_pos, b.recorded_at
$$;
create function forge.chain() returns void language plpgsql as $$
declare b record;
begin
    for b in select first_pos from dagapp.log_batches order by first_pos loop
        update dagapp.log_batches set hash = forge.batch(first_pos) where first_pos = b.first_pos;
    end loop;
    update dagapp.log_head h set (pos, hash, recorded_at) =
        (select last_pos, hash, recorded_at from dagapp.log_batches order by first_pos desc limit 1);
end $$;
create function forge.cut(after bigint) returns void language sql as $$
    delete from dagapp.events where pos > after;
    delete from dagapp.log_batches where first_pos > after;
    delete from dagapp.streams s where not exists (select from dagapp.events e where e.stream_id = s.stream_id);
    update dagapp.streams s set version = (
        select max(version) from dagapp.events e where e.stream_id = s.stream_id);
    delete from dagapp.log_checkpoints where size > after;
    select forge.chain()
$$;
";

/// The log that copies are made of.
pub(super) struct Stage {
    pub(super) rig: Rig,
    /// The position before the first of ours.
    pub(super) base: u64,
    /// What the last checkpoint covers.
    pub(super) signed: u64,
    pub(super) head: u64,
    pub(super) file: PathBuf,
    name: String,
    copies: u32,
}

pub(super) fn key() -> SigningKey {
    SigningKey::new(&[42; 32])
}

/// Signs everything, as a projector does that has been away.
pub(super) async fn sign(pool: &PgPool, file: PathBuf) {
    let signing = Signing {
        key: key(),
        file,
        every: 100,
        latest: LATEST,
    };
    let owner = commands::write::fresh_id();
    let mut notary = Notary::new(Arc::new(signing), pool.clone(), owner);
    notary.catch_up().await.unwrap();
}

impl Stage {
    pub(super) async fn new(name: &str) -> Self {
        let rig = Rig::new(name).await;
        let base = unsigned(rig.count("select pos from dagapp.log_head").await);
        let file = rig.dir.join(format!("{}.checkpoints.log", rig.prefix));
        let append = async |n: u64| {
            let done = rig.writer.appender.append(&batch(n)).await.unwrap();
            assert_eq!(done.pos, base + (n + 1) * 10, "one batch each");
        };
        for n in 0..BATCHES - UNSIGNED {
            append(n).await;
        }
        sign(&rig.pool, file.clone()).await;
        for n in BATCHES - UNSIGNED..BATCHES {
            append(n).await;
        }
        sqlx::raw_sql(FORGE).execute(&rig.pool).await.unwrap();
        let options: PgConnectOptions = rig.database_url.parse().unwrap();
        Self {
            base,
            signed: base + (BATCHES - UNSIGNED) * 10,
            head: base + BATCHES * 10,
            name: options.get_database().unwrap().to_owned(),
            file,
            rig,
            copies: 0,
        }
    }

    /// SQL in which `#7` stands for the seventh of our positions.
    pub(super) fn sql(&self, text: &str) -> String {
        let mut parts = text.split('#');
        let mut sql = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let number: u64 = number.parse().unwrap();
            sql.push_str(&format!("{}{rest}", self.base + number));
        }
        sql
    }

    /// A copy of the database that nobody else uses.
    pub(super) async fn copy(&mut self) -> PgPool {
        self.copies += 1;
        let options: PgConnectOptions = self.rig.database_url.parse().unwrap();
        let mut admin: PgConnection = options
            .clone()
            .database("postgres")
            .connect()
            .await
            .unwrap();
        // A database with visitors cannot be copied.
        sqlx::query(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1",
        )
        .bind(&self.name)
        .execute(&mut admin)
        .await
        .unwrap();
        // Names are cut at 63 bytes: what makes it unique comes first.
        let copy = format!("c{}_{}", self.copies, self.name);
        let create = format!("create database \"{copy}\" template \"{}\"", self.name);
        sqlx::query(AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        let copy: String = copy.chars().take(63).collect();
        pool_options(3)
            .connect_with(options.database(&copy))
            .await
            .unwrap()
    }

    /// Removes a copy.
    pub(super) async fn remove(&self, pool: PgPool) {
        let options = pool.connect_options().as_ref().clone();
        let name = options.get_database().unwrap().to_owned();
        pool.close().await;
        let mut admin: PgConnection = options.database("postgres").connect().await.unwrap();
        let remove = format!("drop database \"{name}\" with (force)");
        sqlx::query(AssertSqlSafe(remove))
            .execute(&mut admin)
            .await
            .unwrap();
    }

    pub(super) async fn known(&self) -> Vec<Signed> {
        read_file(&self.file).await.unwrap()
    }

    /// Everything from `since` on, with the key and with the file beside it.
    pub(super) async fn verify(&self, pool: &PgPool, since: u64) -> Report {
        let options = Options {
            since,
            at_once: 3,
            keys: vec![key().public()],
            known: self.known().await,
            archive: ArchiveSet::default(),
        };
        verify(pool, &options, |_, _| {}).await.unwrap()
    }
}

/// The jobs live for three batches each, and the first one is cancelled in the end.
fn batch(n: u64) -> Vec<Append> {
    let job = format!("job:j{}", n / 3);
    let mut first = to(&job, Expected::Version(n % 3 * 5), 5);
    if n == 2 {
        first.events.pop();
        first.events.push(Event::Job(job::Event::JobCancelled {
            reason: "enough".to_owned(),
        }));
        first.closes = true;
    }
    let second = to(&format!("request:r{n}"), Expected::Version(0), 5);
    vec![first, second]
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap()
}
