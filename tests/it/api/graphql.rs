//! Queries, changes and pages, on real jobs.

use std::collections::BTreeSet;

use domain::access::Role;
use serde_json::{Value, json};

use super::server::{DEADLINE, Server, code_of};
use crate::system::rig::Rig;

#[tokio::test]
async fn a_job_is_submitted_seen_and_steered() {
    let rig = Rig::new("gql_job").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let server = Server::start(&rig).await;
    let submit =
        "mutation($i: SubmitInput!) { submitJob(input: $i) { position jobId requestId repeated } }";
    let input = json!({"i": {"workflow": "one", "idempotencyKey": "k1"}});
    let first = server.data(submit, input.clone()).await["submitJob"].clone();
    assert_eq!(first["repeated"], false);
    let again = server.data(submit, input).await["submitJob"].clone();
    assert_eq!(again["repeated"], true, "the same key is the same request");
    assert_eq!(again["jobId"], first["jobId"]);
    let other = json!({"i": {"workflow": "doomed", "idempotencyKey": "k1"}});
    assert_eq!(
        code_of(&server.ask(&server.key, submit, other).await),
        "OTHER_BODY"
    );
    let unknown = json!({"i": {"workflow": "nothing-like-it"}});
    assert_eq!(
        code_of(&server.ask(&server.key, submit, unknown).await),
        "UNKNOWN_WORKFLOW"
    );

    rig.all_ended(DEADLINE).await;
    let head = server.data("{ head }", json!({})).await["head"].clone();
    let job = server
        .data(
            "query($id: String!, $p: Position) { job(id: $id, waitFor: $p) {
                status progress { done total percent } request { id jobId } asset { id }
                nodes { id kind status input output attempts { number status logs { message } } }
                edges { from to } timeline { node completedAt } callbacks { id }
                workflow { version inputs nodes { id } }
                events(first: 2) { nodes { type version actor } pageInfo { endCursor hasNextPage } } } }",
            json!({"id": first["jobId"], "p": head}),
        )
        .await["job"]
        .clone();
    assert_eq!(job["status"], "COMPLETED", "{job:#}");
    assert_eq!(job["progress"]["done"], job["progress"]["total"]);
    assert_eq!(job["request"]["jobId"], first["jobId"]);
    let why = "query($id: String!, $n: String!) { job(id: $id) { node(id: $n) { why } } }";
    let why = server
        .data(
            why,
            json!({"id": first["jobId"], "n": job["nodes"][0]["id"]}),
        )
        .await;
    assert_eq!(why["job"]["node"]["why"]["reason"], "completed");
    assert_eq!(job["events"]["nodes"][0]["type"], "job_created");
    assert_eq!(job["events"]["pageInfo"]["hasNextPage"], true);
    let names = job["nodes"].as_array().unwrap().len();
    assert_eq!(
        job["edges"].as_array().unwrap().len(),
        names - 1,
        "a chain: {job:#}"
    );
    let cancelled = server.ask(
        &server.key,
        "mutation($id: String!) { cancelJob(id: $id) { outcome } }",
        json!({"id": first["jobId"]}),
    );
    assert_eq!(code_of(&cancelled.await), "JOB_ENDED");
}

#[tokio::test]
async fn pages_have_every_job_once_and_filters_hold() {
    let rig = Rig::new("gql_pages").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    let server = Server::start(&rig).await;
    let inputs: Vec<Value> = (0..25)
        .map(|i| json!({"workflow": if i % 5 == 0 { "doomed" } else { "one" }}))
        .chain([json!({"workflow": "no-such"})])
        .collect();
    let submit = "mutation($i: [SubmitInput!]!) { submitJobs(inputs: $i) { index submitted { jobId } error } }";
    let done = server.data(submit, json!({"i": inputs})).await;
    let done = done["submitJobs"].as_array().unwrap();
    assert_eq!(
        done[25]["error"]["code"], "UNKNOWN_WORKFLOW",
        "each stands for itself"
    );
    assert_eq!(done.iter().filter(|one| one["error"].is_null()).count(), 25);
    rig.all_ended(DEADLINE).await;
    let head = server.data("{ head }", json!({})).await["head"].clone();
    let list = "query($a: String, $f: JobFilter, $p: Position) {
        jobs(first: 10, after: $a, filter: $f, waitFor: $p) {
            counts { status count } pageInfo { hasNextPage endCursor } nodes { id status workflowId } } }";
    let (mut seen, mut after) = (BTreeSet::new(), Value::Null);
    for page in 0..3 {
        let found = server.data(list, json!({"a": after, "p": head})).await["jobs"].clone();
        for job in found["nodes"].as_array().unwrap() {
            assert!(seen.insert(job["id"].as_str().unwrap().to_owned()), "{job}");
        }
        assert_eq!(found["pageInfo"]["hasNextPage"], page < 2);
        after = found["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen.len(), 25);
    let failed = json!({"f": {"status": ["FAILED"], "workflow": "doomed"}});
    let failed = server.data(list, failed).await["jobs"].clone();
    assert_eq!(failed["nodes"].as_array().unwrap().len(), 5, "{failed:#}");
    assert_eq!(failed["counts"], json!([{"status": "FAILED", "count": 5}]));
    let text = seen.first().unwrap().get(..20).unwrap();
    let found = server.data(list, json!({"f": {"text": text}})).await;
    assert!(!found["jobs"]["nodes"].as_array().unwrap().is_empty());

    let steer = "mutation($d: Boolean!) { steerJobs(wish: RETRY, filter: {workflow: \"doomed\"}, dryRun: $d) {
        dryRun matched more jobIds done { outcome newJobId } failed { jobId } } }";
    let dry = server.data(steer, json!({"d": true})).await["steerJobs"].clone();
    assert_eq!((&dry["matched"], &dry["done"]), (&json!(5), &json!([])));
    let before = rig.events("request_submitted").await;
    let wet = server.data(steer, json!({"d": false})).await["steerJobs"].clone();
    assert_eq!(wet["done"].as_array().unwrap().len(), 5, "{wet:#}");
    assert_eq!(
        rig.events("request_submitted").await,
        before + 5,
        "a dry run writes nothing"
    );
}

#[tokio::test]
async fn keys_come_and_go_and_every_event_names_one() {
    let rig = Rig::new("gql_keys").await;
    let server = Server::start(&rig).await;
    let made = server
        .data(
            "mutation { createKey(label: \"ci\", role: WRITER) { token key { id role prefix } } }",
            json!({}),
        )
        .await["createKey"]
        .clone();
    let (token, id) = (
        made["token"].as_str().unwrap(),
        made["key"]["id"].as_str().unwrap(),
    );
    assert!(token.starts_with(made["key"]["prefix"].as_str().unwrap()));
    let submit = "mutation { submitJob(input: {workflow: \"one\"}) { position } }";
    assert_eq!(server.code(token, submit).await, "");
    let actor = rig
        .count("select count(*) from dagapp.events where convert_from(meta, 'UTF8') like '%\"actor\":\"key\\_%'")
        .await;
    assert_eq!(
        actor, 1,
        "the event carries the id of the key, and not the key"
    );
    assert_eq!(
        server
            .code(
                token,
                "mutation { createKey(label: \"x\", role: READER) { token } }"
            )
            .await,
        "FORBIDDEN"
    );
    let revoke = format!("mutation {{ revokeKey(id: \"{id}\") {{ revokedAt }} }}");
    assert_eq!(server.code(&server.key, &revoke).await, "");
    let refused = async || {
        let request = server.http.post(format!("{}/graphql", server.url));
        let body = json!({"query": "{ me { keyId } }"});
        request
            .bearer_auth(token)
            .json(&body)
            .send()
            .await
            .unwrap()
            .status()
            == 401
    };
    rig.eventually("the revoked key is refused", DEADLINE, refused)
        .await;
    let mine = server.make_key("other", Role::Admin, false).await;
    let asked = server.ask(&mine, &revoke, json!({})).await;
    assert_eq!(
        code_of(&asked),
        "NOT_FOUND",
        "a key of another organisation"
    );
}
