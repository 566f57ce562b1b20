//! `strata job list`.

use comfy_table::ColumnConstraint;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::ListArgs;
use super::model::{JOB, Job};
use crate::args::Format;
use crate::client::Client;
use crate::exit::Exit;
use crate::output::{Console, lines_of};

/// Rows of one answer.
const PAGE_MAX: i64 = 200;

/// Jobs, and where the next ones begin.
struct Page {
    items: Vec<Job>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    jobs: Connection,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    nodes: Vec<Job>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
}

impl PageInfo {
    /// Where the next page begins, if there is one.
    pub(super) fn next(self) -> Option<String> {
        self.end_cursor.filter(|_| self.has_next_page)
    }
}

pub(super) async fn run(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let page = read(args, &client).await?;
    if args.output == Format::Json {
        let items: Vec<Value> = page.items.iter().map(Job::json).collect();
        let page = json!({"items": items, "next": page.next});
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
        console.talk(match args.filter.is_empty() {
            true => "no jobs; one is made by: strata job submit hello_world",
            false => "no such jobs",
        })?;
    } else {
        console.data(&lines_of(&table))?;
    }
    if let Some(next) = &page.next {
        console.talk(&format!(
            "more: strata job list --cursor {next} --limit {}{}{}",
            args.limit,
            args.filter.flags(),
            args.stack.flag()
        ))?;
    }
    Ok(Exit::Ok)
}

/// As many as are wanted, in as many answers as that takes.
async fn read(args: &ListArgs, client: &Client) -> anyhow::Result<Page> {
    let document = format!(
        "query($filter: JobFilter, $first: Int, $after: String) {{ \
             jobs(filter: $filter, first: $first, after: $after) {{ \
                 nodes {{ {JOB} }} pageInfo {{ endCursor hasNextPage }} }} }}"
    );
    let mut page = Page {
        items: Vec::new(),
        next: args.cursor.clone(),
    };
    loop {
        let had = i64::try_from(page.items.len()).unwrap_or(i64::MAX);
        let first = (args.limit - had).min(PAGE_MAX);
        let variables = json!({"filter": args.filter.input(), "first": first, "after": page.next});
        let Answer { jobs } = client.ask(&document, variables).await?;
        page.items.extend(jobs.nodes);
        page.next = jobs.page_info.next();
        let enough = i64::try_from(page.items.len()).is_ok_and(|count| count >= args.limit);
        if enough || page.next.is_none() {
            return Ok(page);
        }
    }
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
    let counts = job.counts();
    let done = counts.completed + counts.failed + counts.skipped;
    format!("{done}/{}", counts.total)
}
