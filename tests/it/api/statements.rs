//! How many statements a query costs does not depend on how many jobs there are (no N+1).

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::server::{DEADLINE, Server};
use crate::system::rig::Rig;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Counts what sqlx says that it has run; the live feed looks at the head of the log all the time.
struct Counter;

struct Summary(bool);

impl Visit for Summary {
    fn record_debug(&mut self, _field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        self.0 |= text.contains("log_head") || text.contains("projection_checkpoints");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            let mut summary = Summary(false);
            event.record(&mut summary);
            COUNT.fetch_add(usize::from(!summary.0), Ordering::Relaxed);
        }
    }
}

const QUERY: &str = "query($n: Int!) { jobs(first: $n) { nodes {
    id status request { id actor job { id } }
    asset { id revisions { number position actor reviews { decision } job { request { actor } } } currentJob { id } }
    nodes { id status input attempts { number } childCounts { total } }
    edges { from to } timeline { node } callbacks { id deliveries { attempt } }
    retries { id } forks { id madeFrom { id } } } } }";

#[tokio::test]
async fn a_list_costs_the_same_number_of_statements_for_two_jobs_and_for_forty() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Counter)).unwrap();
    let rig = Rig::new("gql_statements").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    let server = Server::start(&rig).await;
    for i in 0..40 {
        rig.submit_for(&format!("asset-{i}"), "one").await;
    }
    rig.all_ended(DEADLINE).await;
    let head = server.data("{ head }", json!({})).await["head"].clone();
    let wait = json!({ "p": head });
    server
        .data("query($p: Position) { me(waitFor: $p) { keyId } }", wait)
        .await;
    let mut counts = Vec::new();
    // A machine at its limit may send the keys of a loader in two parts: the fewest count.
    for n in [2, 2, 40] {
        let mut fewest = usize::MAX;
        for _ in 0..3 {
            COUNT.store(0, Ordering::Relaxed);
            let data = server.data(QUERY, json!({"n": n})).await;
            assert_eq!(data["jobs"]["nodes"].as_array().unwrap().len(), n);
            fewest = fewest.min(COUNT.load(Ordering::Relaxed));
        }
        counts.push(fewest);
    }
    // The first one also compiles definitions, once per process.
    let (few, many) = (counts[1], counts[2]);
    assert!(few > 4, "statements are counted: {counts:?}");
    assert_eq!(few, many, "{counts:?}");
}
