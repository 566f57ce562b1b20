//! Every field of the schema with every role and with a foreign organisation. A field that nobody has thought
//! about has no row here, and fails the test.

use std::collections::BTreeMap;

use domain::access::Role;
use serde_json::{Value, json};

use super::server::{DEADLINE, ORG, Server, code_of};
use crate::system::rig::Rig;

/// What a field needs: 0 reader, 1 writer, 2 admin, 3 operator.
type Need = usize;

/// `JOB`, `REQ`, `ASSET` and `CB` stand for things that organisation `acme` has.
const QUERIES: &[(&str, Need, &str)] = &[
    ("jobs", 0, "jobs { nodes { id } }"),
    ("job", 0, "job(id: \"JOB\") { id }"),
    (
        "stateDiff",
        0,
        "stateDiff(jobId: \"JOB\", from: {pos: HEAD}, to: {pos: HEAD}) { changed }",
    ),
    ("openJob", 0, "openJob(id: \"JOB\") { id }"),
    ("requests", 0, "requests { nodes { id } }"),
    ("request", 0, "request(id: \"REQ\") { id }"),
    ("assets", 0, "assets { nodes { id } }"),
    ("asset", 0, "asset(id: \"ASSET\") { id }"),
    (
        "artifactCheck",
        0,
        "artifactCheck(jobId: \"JOB\") { status }",
    ),
    ("callbacks", 0, "callbacks { nodes { id } }"),
    ("callback", 0, "callback(id: \"CB\") { id }"),
    ("workflows", 0, "workflows { id }"),
    ("workflow", 0, "workflow(id: \"one\") { version }"),
    ("handlers", 0, "handlers { name }"),
    ("platforms", 0, "platforms { id }"),
    ("me", 0, "me { orgId }"),
    ("health", 0, "health { status }"),
    ("head", 0, "head"),
    ("cursor", 0, "cursor"),
    ("keys", 2, "keys { id orgId }"),
    ("orchestrators", 3, "orchestrators { id }"),
    ("workers", 3, "workers { id }"),
    ("queues", 3, "queues { queue }"),
    ("projections", 3, "projections { name }"),
    ("deadLetters", 3, "deadLetters { id }"),
    ("deadLetter", 3, "deadLetter(id: 1) { id }"),
];

const MUTATIONS: &[(&str, Need, &str)] = &[
    (
        "submitJob",
        1,
        "submitJob(input: {workflow: \"one\"}) { jobId }",
    ),
    ("submitJobs", 1, "submitJobs(inputs: []) { index }"),
    ("cancelJob", 1, "cancelJob(id: \"JOB\") { outcome }"),
    ("retryJob", 1, "retryJob(id: \"JOB\") { outcome }"),
    (
        "forkJob",
        1,
        "forkJob(id: \"JOB\", at: [\"only\"]) { outcome }",
    ),
    ("pauseJob", 1, "pauseJob(id: \"JOB\") { outcome }"),
    ("resumeJob", 1, "resumeJob(id: \"JOB\") { outcome }"),
    ("releaseJob", 2, "releaseJob(id: \"JOB\") { outcome }"),
    (
        "steerJobs",
        1,
        "steerJobs(wish: CANCEL, filter: {}) { matched }",
    ),
    ("approve", 2, "approve(assetId: \"ASSET\") { repeated }"),
    (
        "reject",
        2,
        "reject(assetId: \"ASSET\", reason: \"r\") { repeated }",
    ),
    (
        "revoke",
        2,
        "revoke(assetId: \"ASSET\", reason: \"r\") { repeated }",
    ),
    (
        "setClearance",
        2,
        "setClearance(assetId: \"ASSET\", clearance: OUO) { repeated }",
    ),
    (
        "checkArtifacts",
        1,
        "checkArtifacts(assetId: \"ASSET\", revision: 1) { jobId }",
    ),
    (
        "rollbackAsset",
        2,
        "rollbackAsset(assetId: \"ASSET\", to: 1, reason: \"r\") { repeated }",
    ),
    (
        "softDelete",
        2,
        "softDelete(assetId: \"ASSET\") { repeated }",
    ),
    ("restore", 2, "restore(assetId: \"ASSET\") { repeated }"),
    ("reprocess", 1, "reprocess(assetId: \"ASSET\") { jobId }"),
    (
        "redeliverCallback",
        1,
        "redeliverCallback(id: \"CB\") { callbackId }",
    ),
    ("rotateCallbackSecret", 2, "rotateCallbackSecret { name }"),
    (
        "createKey",
        2,
        "createKey(label: \"m\", role: READER) { key { id } }",
    ),
    ("revokeKey", 2, "revokeKey(id: \"key_000000000000\") { id }"),
    ("signIn", 0, "signIn { url }"),
    (
        "registerPlatform",
        3,
        "registerPlatform(id: \"geonode\", name: \"G\", requiredRefs: [\"uuid\"]) { platformId }",
    ),
    ("replayDeadLetter", 3, "replayDeadLetter(id: 1) { outcome }"),
    (
        "discardDeadLetter",
        3,
        "discardDeadLetter(id: 1) { outcome }",
    ),
];

/// Fields whose answer to a stranger must be that there is no such thing.
const OF_ONE: &[&str] = &[
    "cancelJob",
    "retryJob",
    "forkJob",
    "pauseJob",
    "resumeJob",
    "releaseJob",
    "approve",
    "reject",
    "revoke",
    "setClearance",
    "checkArtifacts",
    "rollbackAsset",
    "softDelete",
    "restore",
    "reprocess",
    "redeliverCallback",
];

const ROLES: [&str; 4] = ["reader", "writer", "admin", "operator"];

#[tokio::test]
async fn every_field_asks_for_its_role_and_shows_nothing_to_strangers() {
    let rig = Rig::new("gql_matrix").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let server = Server::start(&rig).await;
    let submitted = rig.submit_for("parcels", "one").await;
    rig.all_ended(DEADLINE).await;
    let head = server.data("{ head }", json!({})).await["head"].clone();
    server
        .data(
            "query($p: Position) { me(waitFor: $p) { keyId } }",
            json!({ "p": head }),
        )
        .await;
    let filled = |text: &str| {
        text.replace("HEAD", &head.to_string())
            .replace("JOB", &submitted.job_id.to_string())
            .replace("REQ", &submitted.request_id.to_string())
            .replace("ASSET", &submitted.asset_id.unwrap().to_string())
            .replace(
                "CB",
                &domain::id::CallbackId::of_job(submitted.job_id, 0).to_string(),
            )
    };
    all_fields_have_a_row(&server).await;
    let keys = keys(&server, ORG).await;
    let strangers = self::keys(&server, "strangers").await;
    for (kind, table) in [("query", QUERIES), ("mutation", MUTATIONS)] {
        for (field, need, text) in table {
            let document = format!("{kind} {{ {} }}", filled(text));
            for (at, role) in ROLES.iter().enumerate() {
                let answer = server.ask(&keys[at], &document, json!({})).await;
                let forbidden = code_of(&answer) == "FORBIDDEN";
                assert_eq!(forbidden, at < *need, "{field} as {role}: {answer}");
            }
            foreign(&server, field, &document, &strangers[3]).await;
        }
    }
}

/// What a stranger gets: nothing, whoever they are at home.
async fn foreign(server: &Server, field: &str, document: &str, stranger: &str) {
    let answer = server.ask(stranger, document, json!({})).await;
    let data = &answer["data"][field];
    match field {
        "job" | "openJob" | "stateDiff" | "request" | "asset" | "callback" | "artifactCheck" => {
            assert_eq!(data, &Value::Null, "{answer}")
        }
        "jobs" | "requests" | "assets" | "callbacks" => {
            // What strangers submitted themselves in this test is theirs.
            let mine = server.ask(&server.key, document, json!({})).await;
            for row in data["nodes"].as_array().unwrap() {
                let theirs = mine["data"][field]["nodes"].as_array().unwrap();
                assert!(!theirs.contains(row), "{field}: {row}");
            }
        }
        "keys" => {
            for key in data.as_array().unwrap() {
                assert_eq!(key["orgId"], "strangers");
            }
        }
        "steerJobs" => assert_eq!(data["matched"], 0, "{answer}"),
        _ if OF_ONE.contains(&field) => {
            assert_eq!(code_of(&answer), "NOT_FOUND", "{field}: {answer}")
        }
        _ => {}
    }
}

/// A key for each of [`ROLES`].
async fn keys(server: &Server, org: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for (role, operator) in [
        (Role::Reader, false),
        (Role::Writer, false),
        (Role::Admin, false),
        (Role::Admin, true),
    ] {
        keys.push(server.make_key(org, role, operator).await);
    }
    keys
}

async fn all_fields_have_a_row(server: &Server) {
    let schema = server
        .data(
            "{ __schema { queryType { fields { name args { name } } } mutationType { fields { name } } } }",
            json!({}),
        )
        .await["__schema"]
        .clone();
    for (root, table) in [("queryType", QUERIES), ("mutationType", MUTATIONS)] {
        let rows: BTreeMap<&str, Need> =
            table.iter().map(|(name, need, _)| (*name, *need)).collect();
        for field in schema[root]["fields"].as_array().unwrap() {
            let name = field["name"].as_str().unwrap();
            assert!(
                rows.contains_key(name),
                "`{name}` has no row: who may use it?"
            );
            if root == "queryType" && name != "head" && name != "openJob" {
                let args = field["args"].as_array().unwrap();
                let waits = args.iter().any(|arg| arg["name"] == "waitFor");
                assert!(waits, "`{name}` does not take waitFor");
            }
        }
    }
}

#[tokio::test]
async fn without_a_good_key_there_is_nothing_to_see() {
    let rig = Rig::new("gql_no_key").await;
    let server = Server::start(&rig).await;
    let body = json!({"query": "{ me { keyId } }"});
    let ask = async |name: &str, value: &str| {
        let request = server
            .http
            .post(format!("{}/graphql", server.url))
            .json(&body);
        let answer = request.header(name, value).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.unwrap(),
        )
    };
    for (name, value) in [
        ("x-nothing", ""),
        ("authorization", "Bearer"),
        (
            "authorization",
            "Bearer strata_000000000000_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
        ("authorization", "Basic YTpi"),
        ("x-api-key", "' or 1=1 --"),
        ("cookie", "strata_session=abc"),
    ] {
        let (status, answer) = ask(name, value).await;
        let expected = if name == "cookie" { 403 } else { 401 };
        assert_eq!(status, expected, "{name}: {value}: {answer}");
        assert!(answer["error"]["remediation"].is_string());
    }
    let good = format!("Bearer {}", server.key);
    assert_eq!(ask("authorization", &good).await.0, 200);
    assert_eq!(ask("x-api-key", &server.key).await.0, 200);
    for open in ["/livez", "/metrics", "/", "/graphiql", "/sign-in"] {
        let answer = server
            .http
            .get(format!("{}{open}", server.url))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{open}");
    }
    sign_in_works_once(&server).await;
}

async fn sign_in_works_once(server: &Server) {
    let access = commands::access::Access::new(server.pool.clone());
    let key = access.list(Some(ORG)).await.unwrap().remove(0);
    let token = access.sign_in(&key.key_id).await.unwrap();
    let sign_in = async || {
        let request = server.http.post(format!("{}/auth/sign-in", server.url));
        request
            .json(&json!({ "token": token }))
            .send()
            .await
            .unwrap()
    };
    let first = sign_in().await;
    assert_eq!(first.status(), 200);
    let cookie = first.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert_eq!(sign_in().await.status(), 401, "it works once");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    for (origin, status) in [(server.url.as_str(), 200), ("http://evil.test", 403)] {
        let request = server.http.post(format!("{}/graphql", server.url));
        let request = request.header("cookie", &cookie).header("origin", origin);
        let answer = request
            .json(&json!({"query": "{ me { orgId } }"}))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), status, "{origin}");
    }
}

#[tokio::test]
async fn every_route_asks_for_the_role_that_its_document_names() {
    let rig = Rig::new("rest_matrix").await;
    let server = Server::start(&rig).await;
    let keys = keys(&server, ORG).await;
    let document = api::rest::openapi();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let role = operation["x-strata-role"].as_str();
            let role = role.unwrap_or_else(|| panic!("{method} {path}: who may use it?"));
            operations += 1;
            let url = format!("{}{}", server.url, path.replace(['{', '}'], ""));
            let ask = async |key: Option<&String>| {
                let mut request = server
                    .http
                    .request(method.to_uppercase().parse().unwrap(), &url);
                if let Some(key) = key {
                    request = request.bearer_auth(key);
                }
                if method == "post" {
                    request = request.json(&json!({}));
                }
                request.send().await.unwrap().status().as_u16()
            };
            let need = ROLES.iter().position(|known| *known == role);
            let nobody = ask(None).await;
            assert_eq!(
                nobody == 401,
                need.is_some(),
                "{method} {path} without a key: {nobody}"
            );
            for (at, key) in keys.iter().enumerate() {
                let status = ask(Some(key)).await;
                let refused = need.is_some_and(|need| at < need);
                assert_eq!(
                    status == 403,
                    refused,
                    "{method} {path} as {}: {status}",
                    ROLES[at]
                );
            }
        }
    }
    assert!(operations >= 18, "{operations}");
}
