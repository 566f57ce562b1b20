//! Ended jobs that start again in the middle, by the API and on the real stack.

use std::collections::BTreeSet;

use commands::submit::Order;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::invariants;
use super::rig::{Rig, order};
use crate::api::server::{DEADLINE, Server, code_of};

const FORK: &str = "mutation($id: String!, $at: [String!]!, $inputs: JSON, $key: String, $dry: Boolean!) {
    forkJob(id: $id, at: $at, inputs: $inputs, idempotencyKey: $key, dryRun: $dry) {
        outcome position newJobId repeated
        plan { reused runs changedInputs nodes { node fate cause because children reusedChildren { first last jobId } } } } }";

/// So many that their results go by reference.
const ITEMS: i64 = 2_500;

#[tokio::test]
async fn a_fork_runs_what_it_must_takes_over_the_rest_and_makes_the_next_revision() {
    let rig = Rig::new("forks").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    let server = Server::start(&rig).await;
    let (first, asset) = original(&rig).await;

    // A look first, which writes nothing.
    let wish =
        json!({"id": first, "at": ["say"], "inputs": {"word": "two"}, "key": "k", "dry": true});
    let would = server.data(FORK, wish.clone()).await["forkJob"].clone();
    assert_eq!(would["outcome"], "would_fork");
    assert_eq!(
        (&would["position"], &would["newJobId"]),
        (&Value::Null, &Value::Null)
    );
    let plan = &would["plan"];
    assert_eq!(plan["reused"], ITEMS + 2, "{plan}");
    assert_eq!(plan["changedInputs"], json!(["word"]));
    assert_eq!(
        fates(plan),
        set(&[
            "fetch REUSED",
            "say RUNS FORK_POINT",
            "last RUNS BEHIND",
            "tiles REUSED",
            "join REUSED"
        ])
    );
    let tiles = plan["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|n| n["node"] == "tiles");
    let whole = json!([{"first": 0, "last": ITEMS - 1, "jobId": first}]);
    assert_eq!(tiles.unwrap()["reusedChildren"], whole);
    assert_eq!(rig.count("select count(*) from dagapp.requests").await, 1);

    let mut wish = wish;
    wish["dry"] = json!(false);
    let forked = server.data(FORK, wish.clone()).await["forkJob"].clone();
    assert_eq!(
        (&forked["outcome"], &forked["plan"]),
        (&json!("forked"), plan)
    );
    let fork = forked["newJobId"].as_str().unwrap().to_owned();
    let again = server.data(FORK, wish.clone()).await["forkJob"].clone();
    assert_eq!(
        (&again["newJobId"], &again["repeated"]),
        (&json!(fork), &json!(true))
    );
    wish["at"] = json!(["last"]);
    let other = server.ask(&server.key, FORK, wish).await;
    assert_eq!(code_of(&other), "OTHER_BODY", "{other}");
    rig.all_ended(DEADLINE).await;
    assert_eq!(ran(&rig, &fork).await, ["last", "say"], "and nothing else");
    assert_eq!(
        said(&rig, &fork).await,
        json!({"said": "s two!", "replies": ITEMS})
    );
    assert_eq!(revisions(&rig, &asset).await, [first.clone(), fork.clone()]);

    // A fork of the fork keeps its inputs, and takes children over that ran in the first job.
    let wish = json!({"id": fork, "at": ["join"], "dry": false});
    let second = server.data(FORK, wish).await["forkJob"].clone();
    let second = second["newJobId"].as_str().unwrap().to_owned();
    rig.all_ended(DEADLINE).await;
    assert_eq!(ran(&rig, &second).await, ["join"]);
    assert_eq!(
        said(&rig, &second).await,
        json!({"said": "s two!", "replies": ITEMS})
    );
    assert_eq!(revisions(&rig, &asset).await.last(), Some(&second));

    lineage_is_shown(&server, [&first, &fork, &second]).await;
    invariants::check(&rig).await;
}

/// A job that has completed, and its asset.
async fn original(rig: &Rig) -> (String, String) {
    let inputs = json!({"source": "s", "word": "one", "items": ITEMS});
    let refs = json!({ "name": "parcels" });
    let first = rig.writer.submit(Order {
        refs: serde_json::from_value(refs).unwrap(),
        ..order("relay", serde_json::from_value(inputs).unwrap())
    });
    let first = first.await.unwrap();
    let asset = first.asset_id.unwrap().to_string();
    let first = first.job_id.to_string();
    rig.all_ended(DEADLINE).await;
    assert_eq!(
        said(rig, &first).await,
        json!({"said": "s one!", "replies": ITEMS})
    );
    (first, asset)
}

#[tokio::test]
async fn what_cannot_be_forked_says_why_and_what_runs_besides_is_shown() {
    let rig = Rig::new("forks_refused").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    let server = Server::start(&rig).await;
    let job = rig.submit("relay", json!({})).await.job_id.to_string();
    rig.all_ended(DEADLINE).await;
    let open = rig.submit("nap", json!({"seconds": 600})).await;
    let claimed = async || rig.events("node_started").await > 0;
    rig.eventually("it runs", DEADLINE, claimed).await;
    let open = open.job_id.to_string();
    for (id, at, inputs, code) in [
        (&job, json!(["nope"]), json!({}), "UNKNOWN_NODE"),
        (&job, json!(["tiles__3"]), json!({}), "UNKNOWN_NODE"),
        (&job, json!([]), json!({"word": "one"}), "NOTHING_TO_RUN"),
        (&job, json!(["say"]), json!({"wrod": "x"}), "INVALID_INPUTS"),
        (
            &job,
            json!(["say"]),
            json!({"items": "x"}),
            "INVALID_INPUTS",
        ),
        (&open, json!(["second"]), json!({}), "NOT_ENDED"),
    ] {
        for dry in [true, false] {
            let wish = json!({"id": id, "at": at, "inputs": inputs, "dry": dry});
            let answer = server.ask(&server.key, FORK, wish).await;
            assert_eq!(code_of(&answer), code, "{answer}");
        }
    }
    // `fetch` lies before the node that is named, and reads what has changed.
    let wish = json!({"id": job, "at": ["last"], "inputs": {"source": "t"}, "dry": false});
    let forked = server.data(FORK, wish).await["forkJob"].clone();
    assert_eq!(
        fates(&forked["plan"]),
        set(&[
            "fetch RUNS INPUT_CHANGED",
            "say RUNS BEHIND",
            "tiles RUNS BEHIND",
            "join RUNS BEHIND",
            "last RUNS FORK_POINT"
        ])
    );
    let id = forked["newJobId"].as_str().unwrap();
    let ended = async || rig.end_of(id.parse().unwrap()).await.is_some();
    rig.eventually("the fork ends", DEADLINE, ended).await;
    assert_eq!(said(&rig, id).await["said"], "t one!");
    let preview = "mutation($id: String!) { retryJob(id: $id, dryRun: true) { outcome plan { reused runs } } }";
    let half = rig.submit("half", json!({})).await.job_id;
    let ended = async || rig.end_of(half).await.is_some();
    rig.eventually("it fails", DEADLINE, ended).await;
    let would = server.data(preview, json!({ "id": half })).await["retryJob"].clone();
    assert_eq!(
        would,
        json!({"outcome": "would_retry", "plan": {"reused": 13, "runs": 1}})
    );
}

async fn lineage_is_shown(server: &Server, [first, fork, second]: [&str; 3]) {
    let head = server.data("{ head }", json!({})).await["head"].clone();
    let shown = "query($id: String!, $p: Position) { job(id: $id, waitFor: $p) {
        origin madeFrom { id } forks { id madeFrom { id } } retries { id } } }";
    let shown = server.data(shown, json!({"id": fork, "p": head})).await["job"].clone();
    assert_eq!(
        shown,
        json!({
            "origin": {"kind": "forked_from", "job_id": first}, "madeFrom": {"id": first},
            "forks": [{"id": second, "madeFrom": {"id": fork}}], "retries": []
        })
    );
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Each node with its fate, and the cause if there is one.
fn fates(plan: &Value) -> BTreeSet<String> {
    let nodes = plan["nodes"].as_array().unwrap();
    let words = nodes.iter().map(|node| {
        let cause = node["cause"].as_str().map(|cause| format!(" {cause}"));
        let (name, fate) = (
            node["node"].as_str().unwrap(),
            node["fate"].as_str().unwrap(),
        );
        format!("{name} {fate}{}", cause.unwrap_or_default())
    });
    words.collect()
}

/// What was sent to workers, sorted.
async fn ran(rig: &Rig, job: &str) -> Vec<String> {
    let sql = "select convert_from(payload, 'UTF8')::jsonb ->> 'node' from dagapp.events
               where stream_id = $1 and type = 'node_dispatched' order by 1";
    let rows = sqlx::query(sql).bind(format!("job:{job}"));
    let rows = rows.fetch_all(&rig.pool).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// The result of a job without its provenance.
async fn said(rig: &Rig, job: &str) -> Value {
    let sql = "select (convert_from(payload, 'UTF8')::jsonb -> 'result') - '_provenance' from dagapp.events
               where stream_id = $1 and type = 'job_completed'";
    let row = sqlx::query(sql).bind(format!("job:{job}"));
    row.fetch_one(&rig.pool).await.unwrap().get(0)
}

/// The jobs whose revisions an asset has, as its events tell.
async fn revisions(rig: &Rig, asset: &str) -> Vec<String> {
    let sql = "select convert_from(payload, 'UTF8')::jsonb ->> 'job_id' from dagapp.events
               where stream_id = $1 and type = 'asset_processing_completed' order by pos";
    let rows = sqlx::query(sql).bind(format!("asset:{asset}"));
    let rows = rows.fetch_all(&rig.pool).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}
