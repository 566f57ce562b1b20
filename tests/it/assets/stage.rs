//! An asset whose revisions are files in the silver tier, and the API that people use.

use std::path::PathBuf;
use std::process::Command;

use commands::submit::{Order, Submitted};
use domain::json::sha256_hex;
use serde_json::{Value, json};

use crate::api::server::{DEADLINE, Server};
use crate::system::rig::{Process, Rig, order, target};

/// Its result is what it is given: a revision with those artifacts.
const MADE: &str = r#"
workflow_id: made
name: Made
version: 1
inputs:
  content_hash: { type: string, required: true }
  artifacts: { type: array, default: [] }
nodes:
  START: { type: start, next: only }
  only: { type: task, handler: echo, params: { message: made }, next: END }
  END: { type: end }
result:
  content_hash: "{{ inputs.content_hash }}"
  artifacts: "{{ inputs.artifacts }}"
"#;

const LOOK: &str = include_str!("../../../workflows/verify_artifacts.yaml");

/// A job has made a revision.
const MADE_EVENT: &str = "asset_processing_completed";

pub(super) const CHECK: &str = "query($job: String!) { artifactCheck(jobId: $job) { status failure \
     check { revision intact missing changed unverifiable findings { name verdict found detail } } } }";

pub(super) const ROLLBACK: &str = "mutation($id: String!, $to: Int!, $reason: String!, $job: String, \
     $accept: Boolean!, $dry: Boolean!) { rollbackAsset(assetId: $id, to: $to, reason: $reason, checkedBy: $job, \
     acceptUnverified: $accept, dryRun: $dry) { position repeated dryRun refusal { code message remediation } \
     revision to from contentHash artifacts madeBy check { jobId } jobAtWork wasPublic } }";

pub(super) struct Stage {
    pub(super) rig: Rig,
    pub(super) server: Server,
    pub(super) asset: String,
    _roles: Vec<Process>,
}

/// What a command of a person left behind.
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Stage {
    /// An asset with so many revisions; the n-th has the file `made/n.bin`.
    pub(super) async fn with(name: &str, revisions: u8) -> Self {
        let rig = Rig::new(name).await;
        let _ = std::fs::remove_dir_all(rig.dir.join("silver"));
        std::fs::create_dir_all(rig.dir.join("silver/made")).unwrap();
        for text in [MADE, LOOK] {
            rig.writer.register_workflow(text.as_bytes()).await.unwrap();
        }
        let roles = vec![rig.orchestrator(&[]), rig.worker(2, &[]), rig.projector()];
        let server = Server::start(&rig).await;
        let mut stage = Self {
            rig,
            server,
            asset: String::new(),
            _roles: roles,
        };
        for number in 1..=revisions {
            let content = content(number);
            std::fs::write(stage.file(number), &content).unwrap();
            let artifact = json!({
                "name": "data", "uri": format!("silver://made/{number}.bin"), "sha256": sha256_hex(&content),
                "bytes": content.len(),
            });
            stage.make(&content, json!([artifact])).await;
        }
        stage
    }

    /// A revision with this content and these artifacts.
    pub(super) async fn make(&mut self, content: &[u8], artifacts: Value) -> Submitted {
        let inputs = json!({"content_hash": sha256_hex(content), "artifacts": artifacts});
        let order = Order {
            refs: serde_json::from_value(json!({"name": "parcels"})).unwrap(),
            actor: "key_of_a_partner".to_owned(),
            ..order("made", serde_json::from_value(inputs).unwrap())
        };
        let before = self.rig.events(MADE_EVENT).await;
        let submitted = self.rig.writer.submit(order).await.unwrap();
        self.asset = submitted.asset_id.unwrap().to_string();
        let made = async || self.rig.events(MADE_EVENT).await > before;
        self.rig
            .eventually("the revision is there", DEADLINE, made)
            .await;
        self.settle().await;
        submitted
    }

    /// Waits until the read models show what was written.
    pub(super) async fn settle(&self) {
        let head = self.server.data("{ head }", json!({})).await["head"].clone();
        let wait = "query($p: Position) { me(waitFor: $p) { keyId } }";
        self.server.data(wait, json!({ "p": head })).await;
    }

    pub(super) fn file(&self, number: u8) -> PathBuf {
        self.rig.dir.join(format!("silver/made/{number}.bin"))
    }

    /// Has a worker look at a revision: the job, and what it found.
    pub(super) async fn look(&self, revision: u32) -> (String, Value) {
        let document = "mutation($id: String!, $revision: Int!) { \
                        checkArtifacts(assetId: $id, revision: $revision) { jobId } }";
        let variables = json!({"id": self.asset, "revision": revision});
        let begun = self.server.data(document, variables).await;
        let job = begun["checkArtifacts"]["jobId"]
            .as_str()
            .unwrap()
            .to_owned();
        let ended = async || {
            let look = self.server.data(CHECK, json!({ "job": job })).await;
            look["artifactCheck"]["status"] != "at_work"
        };
        self.rig.eventually("the look ends", DEADLINE, ended).await;
        let mut look = self.server.data(CHECK, json!({ "job": job })).await;
        let look = look["artifactCheck"].take();
        assert_eq!(look["status"], "ended", "{look}");
        (job, look["check"].clone())
    }

    /// What the API answers to a rollback for the reason "stripes", data or error.
    pub(super) async fn roll_back(
        &self,
        to: u32,
        job: Option<&str>,
        accept: bool,
        dry: bool,
    ) -> Value {
        self.roll_back_as(&self.server.key, to, job, accept, dry)
            .await
    }

    pub(super) async fn roll_back_as(
        &self,
        key: &str,
        to: u32,
        job: Option<&str>,
        accept: bool,
        dry: bool,
    ) -> Value {
        let variables = json!({
            "id": self.asset, "to": to, "reason": "stripes", "job": job, "accept": accept, "dry": dry,
        });
        let mut answer = self.server.ask(key, ROLLBACK, variables).await;
        match answer["data"]["rollbackAsset"].take() {
            Value::Null => answer,
            payload => payload,
        }
    }

    /// Runs a command as a person with a key would.
    pub(super) async fn strata(&self, key: &str, args: &[&str]) -> Ran {
        let mut command = Command::new(target().join("debug/strata"));
        command
            .args(args)
            .env("STRATA_URL", &self.server.url)
            .env("STRATA_KEY", key);
        let ran = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = ran.await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            code: output.status.code().unwrap(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

/// More than one piece of a file that is read.
pub(super) fn content(number: u8) -> Vec<u8> {
    let bytes = (0..2_500_000_u32).map(|i| i.to_le_bytes()[0].wrapping_mul(number));
    bytes.collect()
}
