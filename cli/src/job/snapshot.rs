//! A job with its nodes as the read models show them at one moment, in rows for people.

use domain::id::JobId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find::{About, Found};
use super::model::{Counts, JOB, Job, NODE, Node, OpenJob};
use crate::client::Client;
use crate::output::one_line;

/// Everything about one job.
pub(super) struct Snapshot {
    pub(super) job: Job,
    /// What the orchestrators know of it; nothing once it has ended.
    pub(super) open: Option<OpenJob>,
    pub(super) rows: Vec<Row>,
    /// Jobs that were made from it; those of now.
    pub(super) made: Made,
}

/// The jobs that a job was retried and forked as, the newest first.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Made {
    #[serde(default)]
    pub(super) retries: Vec<Id>,
    #[serde(default)]
    pub(super) forks: Vec<Id>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Id {
    pub(super) id: String,
}

/// A node of the graph; the children of a fan-out are only counted.
pub(super) struct Row {
    pub(super) node: Node,
    pub(super) children: Option<Counts>,
    /// The job goes on.
    is_open: bool,
}

#[derive(Deserialize)]
struct WithNodes {
    #[serde(flatten)]
    job: Job,
    nodes: Vec<Node>,
    #[serde(flatten)]
    made: Made,
}

/// The job with its nodes, or its request; not before the read models have come to a position.
pub(super) async fn take(
    client: &Client,
    job: JobId,
    wait_for: Option<i64>,
    // With what may be large.
    full: bool,
) -> anyhow::Result<Result<Snapshot, OpenJob>> {
    let about = About {
        job,
        params: ", $full: Boolean!",
        fields: format!(
            "{JOB} nodes {{ {NODE} }} \
             retries @include(if: $full) {{ id }} forks @include(if: $full) {{ id }}"
        ),
        variables: json!({"full": full, "waitFor": wait_for}),
    };
    Ok(match about.ask::<WithNodes>(client).await? {
        Found::Job(WithNodes { job, nodes, made }, open) => {
            let shown = Snapshot::of(job, nodes);
            Ok(Snapshot {
                open,
                made,
                ..shown
            })
        }
        Found::Waiting(open) => Err(open),
    })
}

impl Snapshot {
    /// A job with its nodes, and nothing that the orchestrators know of it.
    pub(super) fn of(job: Job, nodes: Vec<Node>) -> Self {
        let is_open = job.completed_at.is_none();
        let row = |mut node: Node| Row {
            children: node.child_counts.take().filter(|counts| counts.total > 0),
            node,
            is_open,
        };
        let rows = nodes.into_iter().map(row).collect();
        Self {
            job,
            open: None,
            rows,
            made: Made::default(),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let nodes = self.rows.iter().map(|row| {
            let mut node = json!(row.node);
            if let (Some(children), Some(fields)) = (&row.children, node.as_object_mut()) {
                fields.insert("children".to_owned(), json!(children.some()));
            }
            node
        });
        let mut job = self.job.json();
        if let Some(fields) = job.as_object_mut() {
            fields.insert("nodes".to_owned(), nodes.collect());
            fields.insert("quarantined".to_owned(), self.is_quarantined().into());
            for (word, made) in self.made.each() {
                fields.insert(format!("{word}_as"), made.collect());
            }
        }
        job
    }

    pub(super) fn is_quarantined(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.quarantined)
    }
}

impl Made {
    /// What was done to the job, and the ids of the jobs that came of it.
    pub(super) fn each(&self) -> [(&'static str, impl Iterator<Item = &str>); 2] {
        [
            ("retried", ids(&self.retries)),
            ("forked", ids(&self.forks)),
        ]
    }
}

fn ids(jobs: &[Id]) -> impl Iterator<Item = &str> {
    jobs.iter().map(|job| job.id.as_str())
}

impl Row {
    /// The status in a word. A failure that ends nothing waits for the next attempt.
    pub(super) fn status(&self) -> &str {
        match self.node.status.as_str() {
            "FAILED" if self.is_open => "RETRYING",
            status => status,
        }
    }

    /// Done and all of a fan-out's children, or of the one node.
    pub(super) fn progress(&self) -> (u64, u64) {
        match &self.children {
            Some(children) => (unsigned(children.completed), unsigned(children.total)),
            None => (u64::from(self.is_done()), 1),
        }
    }

    /// Whether nothing more will happen to it; a failure may still be tried again.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.node.status.as_str(), "COMPLETED" | "SKIPPED")
    }

    /// What there is to say besides the status.
    pub(super) fn note(&self) -> String {
        let node = &self.node;
        if let Some(children) = &self.children {
            let (done, all) = self.progress();
            let count = |count: i64, word: &str| match count {
                0 => String::new(),
                n => format!(", {n} {word}"),
            };
            let failed = if self.is_open { "retrying" } else { "failed" };
            let failed = count(children.failed, failed);
            let skipped = count(children.skipped, "skipped");
            return format!("{done} of {all} children{failed}{skipped}");
        }
        if let Some(by) = &node.skipped_by {
            let reason = node.skip_reason.as_deref().unwrap_or("skipped");
            return format!("{} at {by}", reason.replace('_', " "));
        }
        let reason = one_line(node.error_message.as_deref().unwrap_or_default());
        match (node.status.as_str(), node.retry_count) {
            ("FAILED", _) => format!("attempt {} failed: {reason}", node.attempt),
            ("COMPLETED", 0) => String::new(),
            ("COMPLETED", 1) => "after 1 retry".to_owned(),
            ("COMPLETED", n) => format!("after {n} retries"),
            (_, n) if n > 0 => format!("attempt {}", node.attempt),
            _ => String::new(),
        }
    }
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
