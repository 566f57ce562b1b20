//! The API as a process of its own, for benches that go through it.

use std::time::Duration;

use anyhow::Context as _;
use commands::access::{Access, NewKey};
use commands::submit::Submitted;
use domain::access::Role;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::roles::local_key::ORG;

/// How long the API may take to answer for the first time.
const READY: Duration = Duration::from_secs(30);

/// A running API and the way to ask it.
pub(super) struct Api {
    pub(super) url: String,
    pub(super) key: String,
    http: reqwest::Client,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    position: u64,
    request_id: String,
    job_id: String,
    repeated: bool,
}

impl Api {
    /// Waits until it answers on this address.
    pub(super) async fn reach(url: String, pool: &PgPool) -> anyhow::Result<Self> {
        let wanted = NewKey {
            org_id: ORG.to_owned(),
            label: "bench".to_owned(),
            role: Role::Admin,
            operator: true,
            lifetime: None,
        };
        let (_, token) = Access::new(pool.clone()).create(wanted, "bench").await?;
        // For the whole process; somebody may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build()?;
        let api = Self {
            url,
            key: token.reveal().to_owned(),
            http,
        };
        let answers = async {
            while api
                .http
                .get(format!("{}/livez", api.url))
                .send()
                .await
                .is_err()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(READY, answers).await;
        waited.context("the API does not answer")?;
        Ok(api)
    }

    /// The data of an answer.
    pub(super) async fn ask(&self, query: &str, variables: Value) -> anyhow::Result<Value> {
        let body = json!({"query": query, "variables": variables});
        let request = self.http.post(format!("{}/graphql", self.url));
        let answer = request.bearer_auth(&self.key).json(&body).send().await?;
        let mut answer: Value = answer.json().await?;
        anyhow::ensure!(answer.get("errors").is_none(), "{answer}");
        Ok(answer["data"].take())
    }

    /// Submits as a client does.
    pub(super) async fn submit(&self, workflow: &str) -> anyhow::Result<Submitted> {
        let query = "mutation($w: String!) { submitJob(input: {workflow: $w}) {
            position requestId jobId repeated } }";
        let mut data = self.ask(query, json!({ "w": workflow })).await?;
        let made: Payload = serde_json::from_value(data["submitJob"].take())?;
        Ok(Submitted {
            request_id: made.request_id.parse()?,
            job_id: made.job_id.parse()?,
            asset_id: None,
            pos: made.position,
            repeated: made.repeated,
        })
    }

    /// A request that costs next to nothing.
    pub(super) async fn livez(&self) -> anyhow::Result<()> {
        let answer = self.http.get(format!("{}/livez", self.url)).send().await?;
        answer.bytes().await?;
        Ok(())
    }
}
