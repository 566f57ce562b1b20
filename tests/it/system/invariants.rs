//! What must hold after every fault: one routine, over the log as it lies in the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use commands::log::{Meta, Recorded};
use domain::event::{Event, Hash, Leaf, batch_hash, leaf_hash};
use domain::handler::Catalog;
use domain::id::NodeId;
use domain::job::{self, Policy};
use projections::replay::{Outcome, Replayed, Replayer, Since};
use sqlx::Row;

use super::rig::Rig;

/// Checks invariants 1 to 6 of the architecture, and that every decision is made again; the log must be quiet.
pub(crate) async fn check(rig: &Rig) {
    let mut chain = Chain::read(rig).await;
    let mut streams: BTreeMap<String, Stream> = BTreeMap::new();
    let mut last = 0;
    loop {
        let page = rig.writer.log.read_log(last, 5_000).await.unwrap();
        if page.is_empty() {
            break;
        }
        for recorded in &page {
            // 5: a reader that asks for what comes after its cursor sees each position once.
            assert_eq!(recorded.pos, last + 1, "1: positions are dense");
            last = recorded.pos;
            chain.take(recorded);
            streams
                .entry(recorded.stream_id.clone())
                .or_default()
                .take(recorded);
        }
    }
    chain.finish(last);
    for (id, stream) in &streams {
        stream.finish(id);
    }
    every_request_has_its_end(rig, &streams).await;
    every_decision_is_confirmed(rig).await;
    read_models_are_the_log(rig, last).await;
}

/// A batch that is being read: first and last position, time, hash, and the leaves so far.
type Open = (u64, u64, i64, Vec<u8>, Vec<Hash>);

/// 1: the hash chain over batches.
struct Chain {
    batches: BTreeMap<u64, (u64, i64, Vec<u8>)>,
    hash: Hash,
    open: Option<Open>,
    head: (i64, Vec<u8>),
}

impl Chain {
    async fn read(rig: &Rig) -> Self {
        let rows = sqlx::query(
            "select first_pos, last_pos, (extract(epoch from recorded_at) * 1000000)::bigint, hash
             from dagapp.log_batches order by first_pos",
        )
        .fetch_all(&rig.pool)
        .await
        .unwrap();
        let number = |n: i64| u64::try_from(n).unwrap();
        let batches = rows
            .iter()
            .map(|r| (number(r.get(0)), (number(r.get(1)), r.get(2), r.get(3))));
        let head = sqlx::query("select pos, hash from dagapp.log_head")
            .fetch_one(&rig.pool)
            .await
            .unwrap();
        Self {
            batches: batches.collect(),
            hash: [0; 32],
            open: None,
            head: (head.get(0), head.get(1)),
        }
    }

    fn take(&mut self, event: &Recorded) {
        let leaf = leaf_hash(&Leaf {
            stream_id: &event.stream_id,
            version: event.version,
            kind: &event.kind,
            schema_ver: event.schema_ver,
            org_id: &event.org_id,
            meta: &event.meta,
            payload: &event.payload,
        });
        assert_eq!(leaf, event.leaf, "1: the leaf of {}", event.pos);
        if self.open.is_none() {
            let batch = self.batches.get(&event.pos);
            let (last, at, hash) = batch
                .expect("1: every batch begins at its position")
                .clone();
            self.open = Some((event.pos, last, at, hash, Vec::new()));
        }
        let (first, last, at, expected, leaves) = self.open.as_mut().unwrap();
        leaves.push(leaf);
        if event.pos == *last {
            self.hash = batch_hash(&self.hash, *first, *at, leaves);
            assert_eq!(self.hash.as_slice(), expected, "1: the batch at {first}");
            self.open = None;
        }
    }

    fn finish(&self, last: u64) {
        assert!(self.open.is_none(), "1: the last batch is whole");
        assert_eq!(u64::try_from(self.head.0).unwrap(), last, "1: the head");
        assert_eq!(self.head.1, self.hash.as_slice(), "1: the hash of the head");
    }
}

/// What one stream has been through.
#[derive(Default)]
struct Stream {
    version: u64,
    claim: Option<String>,
    epoch: u64,
    ended: bool,
    completed: BTreeSet<NodeId>,
    results: BTreeSet<(NodeId, u32)>,
}

impl Stream {
    fn take(&mut self, recorded: &Recorded) {
        let id = &recorded.stream_id;
        self.version += 1;
        assert_eq!(recorded.version, self.version, "1: versions of {id}");
        let Ok(Event::Job(event)) = recorded.decode() else {
            assert!(!id.starts_with("job:"), "{id} has a foreign event");
            return;
        };
        assert!(!self.ended, "3: {id} goes on after its end");
        let meta: Meta = serde_json::from_slice(&recorded.meta).unwrap();
        match &event {
            job::Event::JobClaimed { owner, epoch, .. } => {
                assert_eq!(*epoch, self.epoch + 1, "2: epochs of {id}");
                self.epoch = *epoch;
                self.claim = Some(format!("claim {epoch} of {owner}"));
                assert_eq!(meta.causation, self.claim, "2: the claim of {id}");
            }
            job::Event::NodeCompleted(done) => {
                let first = self.completed.insert(done.node.clone());
                assert!(first, "6: {} of {id} completed twice", done.node);
                self.result(&done.node, done.attempt, id);
            }
            job::Event::NodeFailed(failed) => self.result(&failed.node, failed.attempt, id),
            job::Event::JobCompleted { .. }
            | job::Event::JobFailed { .. }
            | job::Event::JobCancelled { .. } => self.ended = true,
            _ => {}
        }
        if meta.actor == "orchestrator" && self.claim.is_some() {
            assert_eq!(
                meta.causation, self.claim,
                "2: {id} {} was written by an older owner",
                recorded.version
            );
        }
    }

    fn result(&mut self, node: &NodeId, attempt: u32, id: &str) {
        let first = self.results.insert((node.clone(), attempt));
        assert!(first, "6: attempt {attempt} of {node} of {id} ended twice");
    }

    fn finish(&self, id: &str) {
        assert!(self.ended || !id.starts_with("job:"), "3: {id} has no end");
    }
}

/// 3: none is lost.
async fn every_request_has_its_end(rig: &Rig, streams: &BTreeMap<String, Stream>) {
    let open = rig.count("select count(*) from dagapp.open_jobs").await;
    assert_eq!(open, 0, "3: nothing is open");
    for id in streams.keys().filter_map(|id| id.strip_prefix("request:")) {
        let job = domain::id::JobId::of_request(id.parse().unwrap());
        let job = streams.get(&format!("job:{job}"));
        let withdrawn = streams.get(&format!("request:{id}")).map(|s| s.version);
        assert!(
            job.is_some_and(|job| job.ended) || withdrawn == Some(2),
            "3: the job of {id}"
        );
    }
}

/// Whatever was killed, stopped or raced: what is in the log is what the rules say.
async fn every_decision_is_confirmed(rig: &Rig) {
    let catalog = Arc::new(Catalog::shipped());
    let replayer = Replayer::new(&rig.pool, 2, catalog, None, Policy::default());
    let is_confirmed = |job: &Replayed| match &job.outcome {
        Outcome::Verdict(verdict) => verdict.is_confirmed(),
        Outcome::Unreadable(_) | Outcome::OtherWorkflow => false,
    };
    let (mut jobs, mut differ) = (0, Vec::new());
    let each = |replayed: Vec<Replayed>, _| {
        jobs += replayed.len();
        differ.extend(replayed.into_iter().filter(|job| !is_confirmed(job)));
    };
    replayer.all(Since::Pos(1), each).await.unwrap();
    replayer.close().await;
    assert!(differ.is_empty(), "of {jobs} jobs differ {differ:#?}");
}

/// 4: fold(log) = read model, row by row.
async fn read_models_are_the_log(rig: &Rig, last: u64) {
    let last = i64::try_from(last).unwrap();
    let deadline = Duration::from_secs(60);
    projections::read::wait_for(&rig.pool, last, deadline)
        .await
        .expect("4: the read models catch up");
    let differences = projections::verify::compare(&rig.pool, last).await.unwrap();
    assert!(differences.is_empty(), "4: {differences:#?}");
    let parked = projections::read::parked(&rig.pool).await.unwrap();
    assert!(parked.is_empty(), "4: {parked:?}");
}
