//! Having a worker look at the artifacts of a revision, and waiting for what it finds.

use std::time::Duration;

use domain::asset::AssetId;
use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, cut, lines_of, one_line};

/// Between two looks at the job: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Findings of which a person is shown more than the count, if nothing is wrong with them.
const INTACT_MAX: usize = 10;

/// Fields of a [`Check`].
pub(super) const CHECK: &str = "jobId revision endedAt intact missing changed unverifiable \
     findings { name uri verdict sha256 found bytes detail }";

/// What was found of the artifacts of a revision.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Check {
    pub(super) job_id: String,
    pub(super) revision: i32,
    pub(super) ended_at: chrono::DateTime<chrono::Utc>,
    pub(super) intact: u32,
    pub(super) missing: u32,
    pub(super) changed: u32,
    pub(super) unverifiable: u32,
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Finding {
    pub(super) name: String,
    pub(super) uri: String,
    pub(super) verdict: String,
    pub(super) sha256: Option<String>,
    pub(super) found: Option<String>,
    pub(super) bytes: Option<u64>,
    pub(super) detail: Option<String>,
}

impl Check {
    /// The counts in words, without those that are zero.
    pub(super) fn summary(&self) -> String {
        let counts = [
            (self.intact, "intact"),
            (self.missing, "missing"),
            (self.changed, "changed"),
            (self.unverifiable, "not verifiable"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = some
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        words.join(", ")
    }
}

impl Finding {
    /// Why it is not intact.
    pub(super) fn why(&self) -> String {
        match (&self.found, &self.detail) {
            (Some(found), _) => format!("its SHA-256 is {found}"),
            (None, Some(detail)) => detail.clone(),
            (None, None) => String::new(),
        }
    }
}

/// Submits the job that looks; its id.
pub(super) async fn begin(
    client: &Client,
    asset: AssetId,
    revision: u32,
) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        check_artifacts: Begun,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Begun {
        job_id: String,
    }
    let document = "mutation($id: String!, $revision: Int!) { \
                    checkArtifacts(assetId: $id, revision: $revision) { jobId } }";
    let variables = json!({"id": asset, "revision": revision});
    let answer: Answer = client.ask(document, variables).await?;
    Ok(answer.check_artifacts.job_id)
}

/// Waits until a job that looks has ended.
pub(super) async fn wait(
    client: &Client,
    job: &str,
    stop: &CancellationToken,
    console: &mut Console<'_>,
) -> anyhow::Result<Check> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        artifact_check: Option<Look>,
        job: Option<Value>,
    }
    #[derive(Deserialize)]
    struct Look {
        check: Option<Check>,
        failure: Option<String>,
    }
    let document = format!(
        "query($job: String!) {{ artifactCheck(jobId: $job) {{ status failure check {{ {CHECK} }} }} \
             job(id: $job) {{ node(id: \"verify\") {{ status checkpoint }} }} }}"
    );
    let bar = console.look.live.then(|| {
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(indicatif::ProgressStyle::default_spinner())
    });
    let mut pause = PAUSE;
    let ended = loop {
        let Answer {
            artifact_check,
            job: seen,
        } = client.ask(&document, json!({ "job": job })).await?;
        let look = artifact_check.ok_or_else(|| {
            Stop::not_found(format!("{job} looks at no artifacts"), "strata job list")
        })?;
        match look {
            Look {
                check: Some(check), ..
            } => break Ok(check),
            Look {
                failure: Some(failure),
                ..
            } => {
                let message = format!("{job} could not look at the artifacts: {failure}");
                break Err(Stop::failed(
                    one_line(&message),
                    format!("strata job logs {job}"),
                ));
            }
            _ => {}
        }
        if let Some(bar) = &bar {
            bar.set_message(progress(job, seen.as_ref()));
            bar.tick();
        }
        tokio::select! {
            () = stop.cancelled() => {
                let message = format!("{job} goes on without anybody who waits for it");
                break Err(Stop::with(Exit::Interrupted, message, format!("strata job watch {job}")));
            }
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(PAUSE_MAX);
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    ended
}

/// How far a job is, for people.
fn progress(job: &str, seen: Option<&Value>) -> String {
    let node = seen.map(|seen| &seen["node"]);
    let told = node.and_then(|node| node["checkpoint"]["progress"]["message"].as_str());
    let status = node.and_then(|node| node["status"].as_str());
    match (told, status) {
        (Some(told), _) => format!("{job} looks at {}", cut(&one_line(told), 60)),
        (None, Some("RUNNING")) => format!("{job} looks at the artifacts"),
        _ => format!("{job} waits for a worker"),
    }
}

/// Shows what was found; all that is not intact, and some of what is.
pub(super) fn print(check: &Check, console: &mut Console<'_>) -> anyhow::Result<()> {
    let mut table = console
        .look
        .table(&["VERDICT", "ARTIFACT", "ADDRESS", "WHY"]);
    let (intact, odd): (Vec<_>, Vec<_>) = check
        .findings
        .iter()
        .partition(|finding| finding.verdict == "INTACT");
    let shown = odd.iter().chain(intact.iter().take(INTACT_MAX));
    for finding in shown {
        let word = super::model::word(&finding.verdict);
        let paint = match finding.verdict.as_str() {
            "INTACT" => Paint::Good,
            "UNVERIFIABLE" => Paint::Warn,
            _ => Paint::Bad,
        };
        table.add_row([
            console.look.paint(paint, &word),
            one_line(&finding.name),
            one_line(&finding.uri),
            one_line(&finding.why()),
        ]);
    }
    console.data(&lines_of(&table))?;
    if intact.len() > INTACT_MAX {
        let more = intact.len() - INTACT_MAX;
        console.data(&format!("and {more} more that are intact"))?;
    }
    Ok(())
}
