//! Whether the API answers, and what it knows of the fleet.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::Check;
use crate::client::{Client, KEY, URL};
use crate::services::{Context, from_env};

#[derive(Deserialize)]
struct Answer {
    health: Health,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: String,
    reasons: Vec<String>,
    version: String,
    lag: i64,
    orchestrators_alive: i64,
    workers_heard: i64,
}

/// The way to the API, if the environment or the data directory names one.
pub(super) fn found(noted: Option<&Context>, data_dir: &Path) -> Option<anyhow::Result<Client>> {
    if let Some(url) = from_env(URL) {
        return Some(Client::of_env(&url, from_env(KEY)));
    }
    noted?.url.as_ref()?;
    Some(Client::of_dir(data_dir, from_env(KEY)))
}

pub(super) async fn checks(client: Option<anyhow::Result<Client>>) -> Vec<Check> {
    let client = match client {
        None => return Vec::new(),
        Some(Ok(client)) => client,
        Some(Err(error)) => return vec![Check::from_error("api", &error)],
    };
    let shown = client.shown();
    let ready = match client.ready().await {
        Ok(Ok(())) => Check::ok("api", format!("{shown} answers and is ready")),
        Ok(Err(why)) => {
            let detail = format!("{shown} answers and is not ready: {why}");
            Check::warn("api", detail, "wait, or look at the log of the API")
        }
        Err(error) => return vec![Check::from_error("api", &error)],
    };
    let document = "{ health { status reasons version lag orchestratorsAlive workersHeard } }";
    let asked: anyhow::Result<Answer> = client.ask(document, Value::Null).await;
    let fleet = match asked {
        Ok(Answer { health }) => fleet(&health),
        Err(error) => Check::from_error("fleet", &error),
    };
    vec![ready, fleet]
}

fn fleet(health: &Health) -> Check {
    let Health { version, lag, .. } = health;
    let (orchestrators, workers) = (health.orchestrators_alive, health.workers_heard);
    let detail = format!(
        "orchestrators: {orchestrators}, workers: {workers}, {lag} events behind, version {version}"
    );
    if orchestrators == 0 || workers == 0 {
        return Check::warn(
            "fleet",
            detail,
            "strata up, or strata orchestrator and strata worker",
        );
    }
    if health.status != "ok" {
        let detail = format!("{detail}; {}", health.reasons.join("; "));
        return Check::warn("fleet", detail, "look at the logs of the roles");
    }
    Check::ok("fleet", detail)
}
