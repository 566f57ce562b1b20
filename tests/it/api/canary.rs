//! What is secret stays so: keys and secrets that are sent to every door are in no event, no row that others read,
//! no message and no log line.

use std::io::Write;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::server::{DEADLINE, Server};
use crate::system::rig::Rig;

const SECRET: &str = "canary-secret-4711-canary";

/// Everything that this process logs, at every level.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn keys_and_secrets_show_up_nowhere() {
    let said = Said::default();
    let writer = said.clone();
    // The wire protocol of the database and of HTTP itself is not what we log.
    let filter =
        "trace,hyper=info,hyper_util=info,sqlx=info,async_nats=info,tungstenite=info,h2=info";
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .init();
    let rig = Rig::new("canary").await;
    let mut wire = rig
        .bus()
        .client
        .subscribe(format!("{}.>", rig.prefix))
        .await
        .unwrap();
    let _roles = (rig.orchestrator(&[]), rig.worker(2, &[]), rig.projector());
    let server = Server::start(&rig).await;
    send_everywhere(&server).await;
    rig.all_ended(DEADLINE).await;

    let mut canaries = vec![SECRET.to_owned(), server.key.clone()];
    canaries.push(server.key.splitn(3, '_').last().unwrap().to_owned());
    let mut messages = Vec::new();
    // Heartbeats never end; what was sent before has arrived when our own message comes back.
    let last = format!("{}.last", rig.prefix);
    rig.bus()
        .client
        .publish(last.clone(), "".into())
        .await
        .unwrap();
    while let Some(message) = wire.next().await {
        if message.subject.as_str() == last {
            break;
        }
        messages.extend_from_slice(&message.payload);
    }
    assert!(!messages.is_empty(), "the wire is heard");
    let logs = said.0.lock().unwrap().clone();
    assert!(
        String::from_utf8_lossy(&logs).contains("answered"),
        "requests are logged"
    );
    let places = [("a message", messages), ("the log of this process", logs)];
    for (place, bytes) in places {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for canary in &canaries {
            assert!(!text.contains(canary.as_str()), "{place} has {canary}");
        }
    }
    for canary in &canaries {
        nothing_in_the_database(&rig, canary).await;
        nothing_in_files(&rig, canary);
    }
}

/// The key goes along with everything; the secret to every field that might keep it.
async fn send_everywhere(server: &Server) {
    let callback = json!([{"url": "https://example.org/hook", "secret": SECRET}]);
    let submit = "mutation($i: SubmitInput!) { submitJob(input: $i) { jobId } }";
    let input = json!({"i": {"workflow": "one", "callbacks": callback}});
    server.data(submit, input).await;
    for query in [
        "{ nonsense }",
        "{ me { keyId } }",
        "mutation { cancelJob(id: \"x\") { outcome } }",
    ] {
        server.ask(&server.key, query, json!({})).await;
    }
    for (path, body) in [
        (
            "/api/platform/submit",
            json!({"platform_id": "strata", "platform_refs": {"name": "a"}, "workflow_id": "one", "inputs": {},
                   "webhook_url": "https://example.org/h", "webhook_secret": SECRET}),
        ),
        (
            "/api/platform/submit",
            json!({"webhook_secret": SECRET, "webhook_url": "http://127.0.0.1/"}),
        ),
        ("/api/jobs/submit/one", json!({})),
        ("/api/platform/approve", json!({"asset_id": "x"})),
        ("/auth/sign-in", json!({"token": SECRET})),
    ] {
        let request = server
            .http
            .post(format!("{}{path}", server.url))
            .bearer_auth(&server.key);
        let answer = request.json(&body).send().await.unwrap();
        let text = answer.text().await.unwrap();
        assert!(!text.contains(SECRET), "{path} answers with it: {text}");
    }
    // A key in the wrong place: as a query string, and as a bad token.
    let in_address = format!("{}/graphql?key={}", server.url, server.key);
    server.http.get(in_address).send().await.unwrap();
    let spoiled = format!("{}x", server.key);
    let refused: Value = server.ask(&spoiled, "{ me { keyId } }", json!({})).await;
    assert_eq!(refused["error"]["code"], "UNAUTHENTICATED");
}

async fn nothing_in_the_database(rig: &Rig, canary: &str) {
    let tables = sqlx::query(
        "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'dagapp' and c.relkind = 'r'
           and c.relname not in ('callback_secrets')",
    )
    .fetch_all(&rig.pool)
    .await
    .unwrap();
    assert!(tables.len() > 15);
    for table in tables {
        let name: String = table.get("name");
        // Names of our own tables; bytes are looked at as text.
        let sql = format!(
            "select count(*) from {name} t
             where position($1 in t::text) > 0 or position(encode(convert_to($1, 'UTF8'), 'hex') in t::text) > 0"
        );
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(canary)
            .fetch_one(&rig.pool)
            .await
            .unwrap();
        assert_eq!(found, 0, "{name} has {canary}");
    }
}

fn nothing_in_files(rig: &Rig, canary: &str) {
    for entry in std::fs::read_dir(&rig.dir).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "log") {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            assert!(
                !text.contains(canary),
                "{} has {canary}",
                entry.path().display()
            );
        }
    }
}
