//! `strata job list`.

use comfy_table::ColumnConstraint;
use domain::job::JobStatus;
use projections::read::{self, Job, JobFilter};

use super::args::ListArgs;
use super::client;
use crate::args::Format;
use crate::exit::Exit;
use crate::output::{Console, lines_of};

pub(super) async fn run(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = client::read(&args.stack).await?;
    let status = args.status.as_deref().and_then(|word| {
        let mut all = JobStatus::ALL.into_iter();
        all.find(|status| status.word().eq_ignore_ascii_case(word))
    });
    let filter = JobFilter {
        statuses: status.into_iter().collect(),
        workflow_id: args.workflow.clone(),
        limit: args.limit,
        cursor: args.cursor.clone(),
        ..JobFilter::default()
    };
    let page = read::jobs(&pool, &filter).await;
    let page = page.map_err(client::unreadable)?;
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&page)?)?;
        return Ok(Exit::Ok);
    }
    let mut table = console
        .look
        .table(&["JOB", "WORKFLOW", "STATUS", "NODES", "CREATED"]);
    // An id that is broken in two cannot be copied.
    if let Some(ids) = table.column_mut(0) {
        ids.set_constraint(ColumnConstraint::ContentWidth);
    }
    for job in &page.items {
        let workflow = format!("{} v{}", job.workflow_id, job.workflow_version);
        let created = job.created_at.format("%Y-%m-%d %H:%M:%S").to_string();
        table.add_row([
            &job.job_id,
            &workflow,
            &status_of(job),
            &done(job),
            &created,
        ]);
    }
    if page.items.is_empty() {
        console.talk("no jobs; one is made by: strata job submit hello_world")?;
    } else {
        console.data(&lines_of(&table))?;
    }
    if let Some(next) = &page.next {
        let mut more = format!(
            "more: strata job list --cursor {next} --limit {}",
            args.limit
        );
        if let Some(status) = &args.status {
            more.push_str(&format!(" --status {status}"));
        }
        if let Some(workflow) = &args.workflow {
            more.push_str(&format!(" --workflow {workflow}"));
        }
        console.talk(&format!("{more}{}", args.stack.flag()))?;
    }
    Ok(Exit::Ok)
}

/// The status, and whether the job is held back.
pub(super) fn status_of(job: &Job) -> String {
    let paused = if job.paused && job.completed_at.is_none() {
        " (paused)"
    } else {
        ""
    };
    // What is shown is the last that could be understood.
    let degraded = if job.degraded { " (degraded)" } else { "" };
    format!("{}{paused}{degraded}", job.status)
}

/// Nodes and children that are done, of all that are known.
fn done(job: &Job) -> String {
    let open = job.pending + job.ready + job.dispatched + job.running;
    let done = job.completed + job.failed + job.skipped;
    format!("{done}/{}", open + done)
}
