//! What is secret or personal stays so, whatever door it comes through: every mutation, query and subscription of the
//! schema and every operation of the REST document. A door that nobody has thought about has no row, and fails.
//!
//! Three kinds of canaries. A *secret* (keys, secrets, sign-ins) may be nowhere but in the answer that shows it once. A
//! *person* (names and addresses in labels, idempotency keys, headers, and in fields where they do not belong) may be in
//! no event, no message and no log line. *Content* (inputs, refs, titles, reasons, addresses of callbacks) is what
//! a submitter chose to say: events and task messages carry it, log lines and metrics do not.

mod doors;
mod graphql;
mod places;
mod rest;

use std::io::Write;
use std::sync::{Arc, Mutex};

use commands::register::Registered;
use domain::id::CallbackId;
use futures_util::StreamExt as _;
use serde_json::json;

use super::server::{DEADLINE, Server};
use crate::system::rig::Rig;

const SECRET: &str = "canary-secret-4711-canary";
const PERSON: &str = "Ottoline <ottoline@canaryfeather.test>";
/// What is looked for: the part that is left however a text is cut, folded or encoded.
const PERSON_MARK: &str = "canaryfeather";
const CONTENT: &str = "canarycontent";

/// A job whose failure quotes its input.
const QUOTES: &str = r#"
workflow_id: quotes
name: Quotes
version: 1
inputs:
  why: { type: string, required: true }
nodes:
  START: { type: start, next: no }
  no: { type: task, handler: fail, params: { error_message: "{{ inputs.why }}", class: permanent }, next: END }
  END: { type: end }
"#;

/// A job that fails in the engine, over the value of its input.
const STUMBLES: &str = r#"
workflow_id: stumbles
name: Stumbles
version: 1
inputs:
  why: { type: string, required: true }
nodes:
  START: { type: start, next: no }
  no: { type: task, handler: echo, params: { sum: "{{ inputs.why + 1 }}" }, next: END }
  END: { type: end }
"#;

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
async fn what_is_secret_or_personal_is_found_nowhere_whatever_door_it_came_through() {
    let said = Said::default();
    let writer = said.clone();
    // The wire protocol of the database and of HTTP itself is not what we log.
    let quiet = "hyper=info,hyper_util=info,sqlx=info,async_nats=info,tungstenite=info,h2=info";
    tracing_subscriber::fmt()
        .with_env_filter(format!("trace,{quiet}"))
        .with_writer(move || writer.clone())
        .init();
    let rig = Rig::new("canary").await;
    for text in [QUOTES, STUMBLES] {
        let done = rig.writer.register_workflow(text.as_bytes()).await.unwrap();
        assert!(matches!(done, Registered::New { .. }), "{done:?}");
    }
    let mut wire = rig
        .bus()
        .client
        .subscribe(format!("{}.>", rig.prefix))
        .await
        .unwrap();
    let level = format!("debug,{quiet}");
    let level = [("RUST_LOG", level.as_str())];
    let _roles = (
        rig.orchestrator(&level),
        rig.worker(4, &level),
        rig.spawn("projector", &[], &level),
    );
    let server = Server::start(&rig).await;
    let doors = prepared(&rig, &server).await;
    let mut secrets = vec![SECRET.to_owned(), server.key.clone()];
    secrets.push(server.key.splitn(3, '_').last().unwrap().to_owned());
    secrets.extend(graphql::through_every_field(&doors).await);
    rest::through_every_operation(&doors).await;
    doors.in_the_wrong_place().await;
    rig.all_ended(DEADLINE).await;

    let messages = heard(&rig, &mut wire).await;
    let logs = said.0.lock().unwrap().clone();
    places::check(
        &rig,
        &server,
        &secrets,
        [("a message", messages), ("a log line", logs)],
    )
    .await;
}

/// Things of all kinds to send wishes about.
async fn prepared<'a>(rig: &'a Rig, server: &'a Server) -> doors::Doors<'a> {
    let open = rig.submit("nap", json!({"seconds": 600})).await;
    let done = rig.submit("one", json!({})).await;
    let failed = rig.submit("quotes", json!({ "why": CONTENT })).await;
    rig.submit("stumbles", json!({ "why": CONTENT })).await;
    let mut assets = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let made = rig.submit_for(name, "one").await;
        assets.push(made.asset_id.unwrap().to_string());
    }
    let only_open = async || rig.count("select count(*) from dagapp.open_jobs").await == 1;
    rig.eventually("all but one end", DEADLINE, only_open).await;
    let callback = CallbackId::of_job(done.job_id, 0).to_string();
    let head = server.data("{ head }", json!({})).await["head"].clone();
    let wait = "query($p: Position) { me(waitFor: $p) { keyId } }";
    server.data(wait, json!({ "p": head })).await;
    let mut names = vec![
        ("OPEN", open.job_id.to_string()),
        ("DONE", done.job_id.to_string()),
        ("FAILED", failed.job_id.to_string()),
        ("REQUEST", failed.request_id.to_string()),
        ("CALLBACK", callback),
    ];
    for (name, asset) in ["ASSET_A", "ASSET_B", "ASSET_C", "ASSET_D"]
        .into_iter()
        .zip(assets)
    {
        names.push((name, asset));
    }
    doors::Doors { server, names }
}

/// What went over the wire: heartbeats never end, but what was sent before our own message has arrived with it.
async fn heard(rig: &Rig, wire: &mut async_nats::Subscriber) -> Vec<u8> {
    let mut messages = Vec::new();
    let last = format!("{}.last", rig.prefix);
    let client = &rig.bus().client;
    client.publish(last.clone(), "".into()).await.unwrap();
    while let Some(message) = wire.next().await {
        if message.subject.as_str() == last {
            break;
        }
        messages.extend_from_slice(message.subject.as_bytes());
        messages.extend_from_slice(&message.payload);
        if let Some(headers) = &message.headers {
            messages.extend_from_slice(format!("{headers:?}").as_bytes());
        }
    }
    messages
}
