//! A job with its nodes as the read models show them at one moment, in rows for people.

use commands::log::JobRow;
use domain::id::JobId;
use projections::read::{self, ChildCounts, Job, Node};
use serde_json::{Value, json};

use super::client::{self, Found};
use crate::output::one_line;
use crate::roles::stack::Write;

/// Everything about one job.
pub(super) struct Snapshot {
    pub(super) job: Job,
    /// Its row among the open jobs; nothing once it has ended.
    pub(super) open: Option<JobRow>,
    pub(super) rows: Vec<Row>,
}

/// A node of the graph; the children of a fan-out are only counted.
pub(super) struct Row {
    pub(super) node: Node,
    pub(super) children: Option<ChildCounts>,
    /// The job goes on.
    is_open: bool,
}

impl Snapshot {
    /// Reads the nodes of a job that was found.
    pub(super) async fn of(write: &Write, job: Job) -> anyhow::Result<Self> {
        let pool = &write.pool;
        let mut rows = Vec::new();
        let mut cursor = None;
        let counted = read::fan_outs(pool, &job.job_id).await;
        let mut counted = counted.map_err(client::unreadable)?;
        let is_open = job.completed_at.is_none();
        loop {
            let most = read::PAGE_MAX;
            let page = read::nodes(pool, &job.job_id, false, most, cursor.as_deref()).await;
            let page = page.map_err(client::unreadable)?;
            rows.extend(page.items.into_iter().map(|node| Row {
                children: counted.remove(&node.node_id),
                node,
                is_open,
            }));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let id: JobId = job.job_id.parse()?;
        let open = write.writer.log.open_job(id).await;
        let open = open.map_err(client::no_log)?;
        Ok(Self { job, open, rows })
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let nodes = self.rows.iter().map(|row| {
            let mut node = json!(row.node);
            if let (Some(children), Some(fields)) = (&row.children, node.as_object_mut()) {
                fields.insert("children".to_owned(), json!(children));
            }
            node
        });
        let mut job = json!(self.job);
        if let Some(fields) = job.as_object_mut() {
            fields.insert("nodes".to_owned(), nodes.collect());
            fields.insert("quarantined".to_owned(), self.is_quarantined().into());
        }
        job
    }

    pub(super) fn is_quarantined(&self) -> bool {
        is_quarantined(self.open.as_ref())
    }
}

pub(super) fn is_quarantined(open: Option<&JobRow>) -> bool {
    open.is_some_and(|row| row.claims >= commands::orchestrator::CLAIMS_MAX)
}

/// What programs see of a job that is only a request so far.
pub(super) fn waiting_json(row: &JobRow) -> Value {
    json!({
        "job_id": row.job_id, "request_id": row.request_id, "status": "WAITING",
        "owner_id": row.owner, "quarantined": is_quarantined(Some(row)),
    })
}

/// The job if the read models have it, with its nodes; else its row among the open ones.
pub(super) async fn take(write: &Write, id: JobId) -> anyhow::Result<Result<Snapshot, JobRow>> {
    Ok(match client::find(write, id).await? {
        Found::Job(job) => Ok(Snapshot::of(write, *job).await?),
        Found::Waiting(row) => Err(row),
    })
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
        let count = |children: &ChildCounts, words: &[&str]| -> i64 {
            let counts = children.iter();
            counts
                .filter(|(word, _)| words.is_empty() || words.contains(&word.as_str()))
                .map(|(_, n)| n)
                .sum()
        };
        match &self.children {
            Some(children) => {
                let done = count(children, &["COMPLETED"]);
                let all = count(children, &[]);
                (unsigned(done), unsigned(all))
            }
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
            let count = |status: &str, word: &str| match children.get(status) {
                None | Some(0) => String::new(),
                Some(n) => format!(", {n} {word}"),
            };
            let failed = if self.is_open { "retrying" } else { "failed" };
            let (failed, skipped) = (count("FAILED", failed), count("SKIPPED", "skipped"));
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
