//! Clients that we did not write follow the log, lose their connections under load, and miss nothing.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::server::{DEADLINE, Server};
use crate::repo::root;
use crate::system::rig::Rig;

/// Jobs that run while the clients follow.
const JOBS: usize = 120;

#[tokio::test]
async fn clients_of_others_see_every_event_once_and_in_order() {
    let rig = Rig::new("gql_clients").await;
    let server = Server::start(&rig).await;
    let cursor = server.data("{ cursor }", json!({})).await["cursor"].clone();
    let start = server.data("{ head }", json!({})).await["head"]
        .as_i64()
        .unwrap();
    let ws = format!("{}/graphql", server.url.replace("http://", "ws://"));
    let args = [ws.as_str(), &server.key, cursor.as_str().unwrap()];
    let node = follow(
        Command::new("node").arg(node_folder().join("follow.mjs")),
        &args,
    );
    let python =
        std::env::var("STRATA_TEST_PYTHON").expect("`./strata test` sets STRATA_TEST_PYTHON");
    let python = follow(
        Command::new(python).arg(root().join("tests/python/follow.py")),
        &args,
    );

    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    for i in 0..JOBS {
        rig.submit(if i % 10 == 0 { "doomed" } else { "one" }, json!({}))
            .await;
    }
    rig.all_ended(DEADLINE).await;
    rig.submit("nothing", json!({})).await;
    let last = sqlx::query_scalar::<_, i64>(
        "select max(pos) from dagapp.events where type = 'request_submitted' and org_id = 'acme'",
    )
    .fetch_one(&rig.pool)
    .await
    .unwrap();
    let expected: Vec<i64> = sqlx::query_scalar(
        "select pos from dagapp.events where org_id = 'acme' and pos > $1 and pos <= $2 order by pos",
    )
    .bind(start)
    .bind(last)
    .fetch_all(&rig.pool)
    .await
    .unwrap();
    assert!(expected.len() > JOBS * 8);
    for (name, child) in [("graphql-ws", node), ("gql", python)] {
        let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
        let ended = tokio::time::timeout(DEADLINE, ended)
            .await
            .expect("in time")
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{name}: {said}");
        let seen: Vec<i64> = String::from_utf8_lossy(&ended.stdout)
            .lines()
            .map(|line| line.parse().unwrap())
            .collect();
        assert_eq!(seen, expected, "{name}: every event once, in order");
        let count = said
            .lines()
            .find_map(|line| line.strip_suffix(" connections"));
        let connections: usize = count.expect("it says how often").parse().unwrap();
        assert!(
            connections >= 5,
            "{name} lost its connection {connections} times"
        );
    }
}

fn follow(command: &mut Command, args: &[&str]) -> Child {
    let command = command.args(args).stdin(Stdio::null());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// The scripts beside the packages that `./strata test` has installed.
fn node_folder() -> PathBuf {
    std::env::var_os("STRATA_TEST_NODE")
        .expect("`./strata test` sets STRATA_TEST_NODE")
        .into()
}

#[tokio::test]
async fn a_cursor_of_another_history_has_expired() {
    let rig = Rig::new("gql_cursor").await;
    let server = Server::start(&rig).await;
    for (cursor, code) in [
        ("ffffffffffff-1", "CURSOR_EXPIRED"),
        ("nonsense", "BAD_CURSOR"),
    ] {
        let body = json!({"query": format!("subscription {{ events(after: \"{cursor}\") {{ cursor }} }}")});
        let request = server.http.post(format!("{}/graphql", server.url));
        let request = request.header("accept", "text/event-stream");
        let answer = request
            .bearer_auth(&server.key)
            .json(&body)
            .send()
            .await
            .unwrap();
        let text = answer.text().await.unwrap();
        assert!(text.contains(code), "{text}");
        assert!(text.contains("event: complete"), "{text}");
    }
}

#[tokio::test]
async fn a_stream_of_events_resumes_where_it_was_cut() {
    let rig = Rig::new("gql_sse").await;
    let server = Server::start(&rig).await;
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let mut cursor = server.data("{ cursor }", json!({})).await["cursor"].clone();
    let job = rig.submit("one", json!({})).await.job_id.to_string();
    rig.all_ended(DEADLINE).await;
    let mut types = Vec::new();
    while types.last().is_none_or(|last| last != "job_completed") {
        // One event per connection.
        let query = "subscription($id: String!, $after: String) {
            job(id: $id, after: $after) { cursor event { type } job { status } } }";
        let body = json!({"query": query, "variables": {"id": job, "after": cursor}});
        let request = server.http.post(format!("{}/graphql", server.url));
        let request = request
            .header("accept", "text/event-stream")
            .bearer_auth(&server.key);
        let mut answer = request.json(&body).send().await.unwrap();
        let mut text = String::new();
        while !text.contains("\n\n") {
            let chunk = tokio::time::timeout(DEADLINE, answer.chunk())
                .await
                .unwrap();
            text.push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap()));
        }
        let data = text
            .lines()
            .find_map(|line| line.strip_prefix("data:"))
            .unwrap();
        let message: serde_json::Value = serde_json::from_str(data).unwrap();
        let message = &message["data"]["job"];
        types.push(message["event"]["type"].as_str().unwrap().to_owned());
        cursor = message["cursor"].clone();
    }
    let expected: Vec<String> =
        sqlx::query_scalar("select type from dagapp.events where stream_id = $1 order by version")
            .bind(format!("job:{job}"))
            .fetch_all(&rig.pool)
            .await
            .unwrap();
    assert_eq!(types, expected);
}
