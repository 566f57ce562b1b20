//! Time travel: whatever the live readers showed at a position, the past shows at that position too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use commands::write::fresh_id;
use domain::handler::Catalog;
use projections::read::{self, AssetFilter, ChildFilter, JobFilter};
use projections::travel::{AsOf, Moment, Traveller, check_snapshots};
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::invariants;
use super::rig::Rig;
use crate::api::server::{ORG, Server, code_of};

const DEADLINE: Duration = Duration::from_secs(150);
/// Moments at which what is shown is recorded.
const RECORDS: usize = 400;
/// Comparisons with one of them, by chance.
const LOOKS: usize = 1_000;
/// Of these, those whose lists are compared too.
const LISTS: usize = 100;

/// What the live readers showed in one transaction.
struct Record {
    pos: i64,
    jobs: Vec<read::Job>,
    counts: Vec<(String, i64)>,
    /// One of the jobs, whole.
    job: Option<Shown>,
    asset: Option<(read::Asset, Vec<read::Revision>)>,
}

#[derive(Debug, PartialEq)]
struct Shown {
    row: read::Job,
    nodes: Vec<read::Node>,
    children: Vec<read::Node>,
    counts: BTreeMap<String, read::ChildCounts>,
    attempts: Vec<read::TaskResult>,
}

/// Numbers by chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        // Marsaglia's xorshift: nothing here needs more.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(n.max(1)).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn the_past_is_what_was_shown_then() {
    let rig = Rig::new("travel").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    let given = std::env::var("STRATA_TEST_SEED").ok();
    let seed = given.map_or_else(|| fresh_id().as_u64_pair().0, |text| text.parse().unwrap()) | 1;
    println!("STRATA_TEST_SEED={seed}");
    let mut chance = Chance(seed);
    let records = watch(&rig, &mut chance).await;
    resume_all(&rig).await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    for kind in [
        "job_cancelled",
        "job_paused",
        "outputs_reused",
        "children_reused",
        "checkpoint_saved",
    ] {
        assert!(rig.events(kind).await > 0, "no {kind} was seen");
    }
    let traveller = Traveller::new(rig.pool.clone(), Arc::new(Catalog::shipped()));
    let mut by_time = 0;
    for look in 0..LOOKS {
        let record = &records[chance.below(records.len())];
        let moment = traveller.moment(AsOf::Pos(record.pos)).await.unwrap();
        assert_eq!(moment.pos, record.pos);
        let then = traveller.moment(AsOf::Time(moment.recorded_at)).await;
        if then.unwrap() == moment {
            by_time += 1;
        }
        compare_job(&traveller, record, moment).await;
        compare_asset(&traveller, record, moment).await;
        if look < LISTS {
            compare_list(&traveller, record, moment).await;
        }
    }
    assert!(
        by_time > LOOKS / 2,
        "times lead to their positions: {by_time}"
    );
    assert!(
        records
            .iter()
            .any(|r| r.job.as_ref().is_some_and(|j| !j.children.is_empty()))
    );
    through_the_api(&rig, &records).await;
}

/// Lets jobs of all kinds run and be steered, and records what is shown at as many positions as are wanted.
async fn watch(rig: &Rig, chance: &mut Chance) -> Vec<Record> {
    // One connection, so that all readers are in the same transaction.
    let one = PgPoolOptions::new().max_connections(1);
    let pool = one.connect(&rig.database_url).await.unwrap();
    let end = tokio::time::Instant::now() + DEADLINE;
    let mut records: Vec<Record> = Vec::new();
    let mut wave = 0;
    while records.len() < RECORDS {
        let open = rig.count("select count(*) from dagapp.open_jobs").await;
        if open < 6 {
            submit_some(rig, wave).await;
            wave += 1;
        }
        assert!(
            tokio::time::Instant::now() < end,
            "{} records",
            records.len()
        );
        let last = records.last().map_or(0, |record| record.pos);
        if let Some(record) = record(&pool, last, chance).await {
            steer(rig, &record, chance).await;
            records.push(record);
        }
    }
    records
}

async fn submit_some(rig: &Rig, wave: usize) {
    for (workflow, inputs) in [
        ("fan", json!({"items": 60})),
        ("wide", json!({"items": 30})),
        ("chain", json!({})),
        ("choice", json!({"size": 5})),
        ("flaky", json!({})),
        ("doomed", json!({})),
        ("phases", json!({})),
        ("half", json!({})),
        ("big", json!({"items": 150})),
    ] {
        rig.submit(workflow, inputs).await;
    }
    rig.submit_for(&format!("asset-{}", wave % 3), "one").await;
    rig.submit_for(&format!("asset-{}", wave % 3), "doomed")
        .await;
}

/// Cancels, pauses, resumes and retries some of what is seen.
async fn steer(rig: &Rig, record: &Record, chance: &mut Chance) {
    let Some(job) = record.job.as_ref().map(|job| &job.row) else {
        return;
    };
    let id = job.job_id.parse().unwrap();
    // What is shown may have passed: then the wish is refused, and that is as good.
    let _granted = match (job.status.as_str(), chance.below(12)) {
        ("RUNNING", 0) => rig.writer.cancel(id, "enough", "test").await.is_ok(),
        ("RUNNING", 1) => rig.writer.pause(id, "wait", "test").await.is_ok(),
        ("RUNNING", _) if job.paused => rig.writer.resume(id, "test").await.is_ok(),
        ("FAILED" | "CANCELLED", 2..=4) => rig.writer.retry(id, "test").await.is_ok(),
        _ => false,
    };
}

/// Nothing waits for a person.
async fn resume_all(rig: &Rig) {
    let open: Vec<String> = sqlx::query_scalar("select job_id from dagapp.open_jobs")
        .fetch_all(&rig.pool)
        .await
        .unwrap();
    for job in open {
        let _may_have_ended = rig.writer.resume(job.parse().unwrap(), "test").await;
    }
}

/// What is shown now, unless it is of the same position as the last time.
async fn record(pool: &PgPool, last: i64, chance: &mut Chance) -> Option<Record> {
    let begin = "begin isolation level repeatable read";
    sqlx::raw_sql(begin).execute(pool).await.unwrap();
    let pos = read::position(pool, projections::READ_MODELS)
        .await
        .unwrap();
    let record = match pos > last {
        true => Some(look(pool, pos, chance).await),
        false => None,
    };
    sqlx::raw_sql("commit").execute(pool).await.unwrap();
    record
}

fn filter() -> JobFilter {
    JobFilter {
        org_id: Some(ORG.to_owned()),
        limit: 60,
        ..JobFilter::default()
    }
}

async fn look(pool: &PgPool, pos: i64, chance: &mut Chance) -> Record {
    let jobs = read::jobs(pool, &filter()).await.unwrap().items;
    // Those that do something, more often than the others.
    let open: Vec<&read::Job> = jobs.iter().filter(|job| job.status == "RUNNING").collect();
    let row = match chance.below(4) {
        0 => jobs.get(chance.below(jobs.len())),
        _ => open.get(chance.below(open.len())).copied(),
    };
    let job = match row {
        Some(row) => Some(shown(pool, row.clone()).await),
        None => None,
    };
    let assets = read::assets(
        pool,
        &AssetFilter {
            limit: 10,
            ..AssetFilter::default()
        },
    )
    .await;
    let assets = assets.unwrap().items;
    let asset = match assets.get(chance.below(assets.len())) {
        Some(asset) => {
            let ids = [asset.asset_id.clone()];
            let revisions = read::revisions_of_assets(pool, &ids, 500).await.unwrap();
            Some((asset.clone(), revisions))
        }
        None => None,
    };
    Record {
        pos,
        counts: read::job_counts(pool, &filter()).await.unwrap(),
        jobs,
        job,
        asset,
    }
}

async fn shown(pool: &PgPool, row: read::Job) -> Shown {
    let ids = [row.job_id.clone()];
    let nodes = read::nodes_of_jobs(pool, &ids, 1_000).await.unwrap();
    let counts = read::fan_outs(pool, &row.job_id).await.unwrap();
    let mut children = Vec::new();
    for parent in counts.keys() {
        let page = read::children(pool, &of(&row.job_id, parent)).await;
        children.extend(page.unwrap().items);
    }
    let keys = nodes.iter().chain(children.iter().take(10));
    let keys: Vec<_> = keys
        .map(|node| (node.job_id.clone(), node.node_id.clone()))
        .collect();
    let mut attempts = read::attempts_of_nodes(pool, &keys, 50).await.unwrap();
    attempts.sort_by(|a, b| (&a.node_id, a.attempt).cmp(&(&b.node_id, b.attempt)));
    Shown {
        row: still(row),
        nodes,
        children,
        counts,
        attempts,
    }
}

fn of(job_id: &str, parent: &str) -> ChildFilter {
    ChildFilter {
        job_id: job_id.to_owned(),
        parent: parent.to_owned(),
        limit: 200,
        ..ChildFilter::default()
    }
}

/// The heartbeat of an owner is no part of history.
fn still(job: read::Job) -> read::Job {
    read::Job {
        owner_heartbeat_at: None,
        ..job
    }
}

async fn compare_job(traveller: &Traveller, record: &Record, moment: Moment) {
    let Some(wanted) = &record.job else { return };
    let id = &wanted.row.job_id;
    let found = traveller.job(Some(ORG), id, moment).await.unwrap().unwrap();
    let nodes = found.nodes(1_000).await.unwrap();
    let mut children = Vec::new();
    let mut counts = BTreeMap::new();
    for parent in nodes.iter().filter(|node| node.kind == "fan_out") {
        let some = found.child_counts(&parent.node_id).unwrap_or_default();
        if !some.is_empty() {
            counts.insert(parent.node_id.clone(), some);
        }
    }
    for parent in counts.keys() {
        children.extend(found.children(&of(id, parent)).await.unwrap().items);
    }
    let mut attempts = Vec::new();
    for node in nodes.iter().chain(children.iter().take(10)) {
        attempts.extend(found.attempts(node, 50).await.unwrap());
    }
    attempts.sort_by(|a, b| (&a.node_id, a.attempt).cmp(&(&b.node_id, b.attempt)));
    let shown = Shown {
        row: found.row(),
        nodes,
        children,
        counts,
        attempts,
    };
    if shown != *wanted {
        // Field by field: the whole is too long to read.
        assert_eq!(shown.row, wanted.row, "at {}", record.pos);
        assert_eq!(shown.counts, wanted.counts, "{id} at {}", record.pos);
        for (a, b) in shown.nodes.iter().zip(&wanted.nodes) {
            assert_eq!(a, b, "at {}", record.pos);
        }
        for (a, b) in shown.children.iter().zip(&wanted.children) {
            assert_eq!(a, b, "at {}", record.pos);
        }
        assert_eq!(shown.attempts, wanted.attempts, "{id} at {}", record.pos);
        panic!(
            "another number of nodes or children of {id} at {}",
            record.pos
        );
    }
}

async fn compare_asset(traveller: &Traveller, record: &Record, moment: Moment) {
    let Some((asset, revisions)) = &record.asset else {
        return;
    };
    let found = traveller.asset(Some(ORG), &asset.asset_id, moment).await;
    let found = found.unwrap().unwrap();
    assert_eq!(found.asset, *asset, "at {}", record.pos);
    assert_eq!(found.revisions, *revisions, "at {}", record.pos);
}

async fn compare_list(traveller: &Traveller, record: &Record, moment: Moment) {
    let found = traveller.jobs(&filter(), moment).await.unwrap().page.items;
    let wanted: Vec<read::Job> = record.jobs.iter().cloned().map(still).collect();
    assert_eq!(found.len(), wanted.len(), "at {}", record.pos);
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted, "at {}", record.pos);
    }
    // In no particular order.
    let sorted =
        |counts: &[(String, i64)]| -> BTreeMap<String, i64> { counts.iter().cloned().collect() };
    let counts = traveller.job_counts(&filter(), moment).await.unwrap();
    assert_eq!(sorted(&counts), sorted(&record.counts), "at {}", record.pos);
    // With a filter, the same rows.
    let running = JobFilter {
        statuses: vec![domain::job::JobStatus::Running],
        limit: 1_000,
        ..filter()
    };
    let found = traveller.jobs(&running, moment).await.unwrap().page.items;
    let count = record.counts.iter().find(|(word, _)| word == "RUNNING");
    let count = count.map_or(0, |(_, count)| usize::try_from(*count).unwrap());
    assert_eq!(found.len(), count, "at {}", record.pos);
    assert!(found.iter().all(|job| job.status == "RUNNING"));
}

/// The same through GraphQL, with what a patch makes of a job, and the errors.
async fn through_the_api(rig: &Rig, records: &[Record]) {
    const THEN: &str = "query($id: String!, $at: AsOf!) { job(id: $id, asOf: $at) { \
         status position ownerHeartbeatAt asOf { position } document \
         progress { counts { completed total } } \
         nodes { id status attempt childCounts { total } attempts { number } } } }";
    let server = Server::start(rig).await;
    let mut at_work = records.iter().rev().filter_map(|record| {
        let job = record.job.as_ref()?;
        let has_children = !job.children.is_empty() && job.row.status == "RUNNING";
        has_children.then_some((record.pos, job))
    });
    let (pos, shown) = at_work.next().expect("a fan-out was seen at work");
    let id = &shown.row.job_id;
    let at = async |pos: i64| {
        let variables = json!({"id": id, "at": {"pos": pos}});
        server.data(THEN, variables).await["job"].clone()
    };
    let then = at(pos).await;
    assert_eq!(then["status"], shown.row.status.as_str());
    assert_eq!(then["asOf"]["position"], pos);
    assert_eq!(then["ownerHeartbeatAt"], Value::Null);
    assert_eq!(then["progress"]["counts"]["completed"], shown.row.completed);
    for (found, wanted) in then["nodes"].as_array().unwrap().iter().zip(&shown.nodes) {
        assert_eq!(found["id"], wanted.node_id.as_str());
        assert_eq!(found["status"], wanted.status.as_str());
        assert_eq!(found["attempt"], wanted.attempt);
    }
    let head = server.data("{ head }", json!({})).await["head"]
        .as_i64()
        .unwrap();
    let now = at(head).await;
    let diff = "query($id: String!, $a: AsOf!, $b: AsOf!) { stateDiff(jobId: $id, from: $a, to: $b) { \
         from { position } to { position } changed nodesTouched nodesLeftOut patch \
         changes { node field before after } } }";
    for (a, b, before, after) in [(pos, head, &then, &now), (head, pos, &now, &then)] {
        let variables = json!({"id": id, "a": {"pos": a}, "b": {"pos": b}});
        let diff = server.data(diff, variables).await["stateDiff"].clone();
        assert_eq!(diff["nodesLeftOut"], 0, "{diff:#}");
        let changes = diff["changes"].as_array().unwrap();
        let status = changes
            .iter()
            .find(|c| c["node"] == Value::Null && c["field"] == "status");
        assert_eq!(status.expect("the job went on")["after"], after["status"]);
        let steps = diff["patch"].as_array().unwrap();
        let made = patched(before["document"].clone(), steps);
        assert_eq!(made, after["document"], "the patch from {a} to {b}");
    }
    refused_by_the_api(&server, id, head).await;
}

/// Moments that are not there, and strangers.
async fn refused_by_the_api(server: &Server, id: &str, head: i64) {
    const THEN: &str = "query($id: String!, $at: AsOf!) { job(id: $id, asOf: $at) { status } }";
    let code = async |key: &str, at: Value| {
        let answer = server.ask(key, THEN, json!({"id": id, "at": at})).await;
        (code_of(&answer), answer["data"]["job"].clone())
    };
    assert_eq!(
        code(&server.key, json!({"pos": head + 1})).await.0,
        "POSITION_AHEAD"
    );
    assert_eq!(
        code(&server.key, json!({"time": "2999-01-01T00:00:00Z"}))
            .await
            .0,
        "POSITION_AHEAD"
    );
    assert_eq!(
        code(&server.key, json!({"time": "1999-01-01T00:00:00Z"}))
            .await
            .0,
        "BEFORE_LOG"
    );
    assert_eq!(code(&server.key, json!({"pos": 1})).await.0, "NOT_YET");
    let stranger = server
        .make_key("strangers", domain::access::Role::Admin, true)
        .await;
    for pos in [1, head] {
        let (code, job) = code(&stranger, json!({"pos": pos})).await;
        assert_eq!(
            (code.as_str(), job),
            ("", Value::Null),
            "strangers learn nothing"
        );
    }
}

/// Takes the steps of a patch, by the pointers of another implementation than ours.
fn patched(mut value: Value, steps: &[Value]) -> Value {
    for step in steps {
        let path = step["path"].as_str().unwrap();
        let Some((parent, key)) = path.rsplit_once('/') else {
            assert_eq!(step["op"], "replace");
            value = step["value"].clone();
            continue;
        };
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
        let fields = parent.expect("the parent is an object");
        let before = match step["op"].as_str() {
            Some("remove") => fields.remove(&key),
            _ => fields.insert(key, step["value"].clone()),
        };
        assert_eq!(before.is_some(), step["op"] != "add", "{step}");
    }
    value
}

#[tokio::test]
async fn snapshots_save_time_and_change_nothing() {
    let rig = Rig::new("travel_snapshots").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(64, &[]), rig.projector());
    let job = rig
        .submit("big", json!({"items": 4_600}))
        .await
        .job_id
        .to_string();
    rig.all_ended(DEADLINE).await;
    let catalog = Arc::new(Catalog::shipped());
    let traveller = Traveller::new(rig.pool.clone(), Arc::clone(&catalog));
    let head = projections::read::head(&rig.pool).await.unwrap();
    let middle: i64 = sqlx::query_scalar(
        "select pos from dagapp.events where stream_id = 'job:' || $1 and version = 8500",
    )
    .bind(&job)
    .fetch_one(&rig.pool)
    .await
    .unwrap();
    let see = async || {
        let moment = traveller.moment(AsOf::Pos(middle)).await.unwrap();
        let found = traveller.job(None, &job, moment).await.unwrap().unwrap();
        let children = found.children(&of(&job, "fan")).await.unwrap();
        (found.row(), found.child_counts("fan"), children)
    };
    // The projector may have made one while the job ran.
    let forget = "delete from dagapp.snapshots";
    sqlx::query(forget).execute(&rig.pool).await.unwrap();
    let folded = see().await;
    let made = rig
        .count("select count(*) from dagapp.snapshots where version = 8192")
        .await;
    assert_eq!(made, 1, "the first look makes a snapshot");
    assert_eq!(see().await, folded, "from the snapshot");
    let checked = check_snapshots(&rig.pool, Arc::clone(&catalog), head, 10)
        .await
        .unwrap();
    assert_eq!((checked.checked, checked.wrong.len()), (1, 0));
    for spoil in [
        "update dagapp.snapshots set state = substr(state, 1, 1000)",
        "update dagapp.snapshots set state = '\\x00', hash = sha256('\\x00')",
        "update dagapp.snapshots set fold_key = 'other code'",
    ] {
        sqlx::query(spoil).execute(&rig.pool).await.unwrap();
        assert_eq!(see().await, folded, "{spoil}");
    }
    // One that decodes, and lies: only the check finds it.
    sqlx::query(
        "update dagapp.snapshots set state = overlay(state placing '\\x7a'::bytea from 30 for 1)
         where fold_key <> 'other code'",
    )
    .execute(&rig.pool)
    .await
    .unwrap();
    sqlx::query("update dagapp.snapshots set hash = sha256(state)")
        .execute(&rig.pool)
        .await
        .unwrap();
    let checked = check_snapshots(&rig.pool, catalog, head, 10).await.unwrap();
    assert_eq!(checked.wrong, [format!("job:{job}")]);
}
