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
use crate::when::{MOMENT, Moment, When};

/// Rows of one answer.
const PAGE_MAX: i64 = 200;

/// Jobs, and where the next ones begin.
struct Page {
    items: Vec<Job>,
    next: Option<String>,
    /// The moment that the list is of, if it is not of now.
    as_of: Option<Moment>,
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
    as_of: Option<Moment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
}

impl PageInfo {
    /// Where the next page begins, if there is one.
    pub(crate) fn next(self) -> Option<String> {
        self.end_cursor.filter(|_| self.has_next_page)
    }
}

pub(super) async fn run(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let page = read(args, &client).await?;
    if args.output == Format::Json {
        let items: Vec<Value> = page.items.iter().map(Job::json).collect();
        let mut json = json!({"items": items, "next": page.next});
        if let Some(as_of) = page.as_of {
            json["as_of"] = json!(as_of);
        }
        console.data(&serde_json::to_string_pretty(&json)?)?;
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
    if let Some(as_of) = page.as_of {
        console.talk(&format!("as of {as_of}"))?;
    }
    if let Some(next) = &page.next {
        // By its position: the time that was typed means another one later.
        let as_of = page
            .as_of
            .map(|as_of| format!(" --as-of {}", as_of.position()));
        console.talk(&format!(
            "more: strata job list --cursor {next} --limit {}{}{}{}",
            args.limit,
            as_of.unwrap_or_default(),
            args.filter.flags(),
            args.stack.flag()
        ))?;
    }
    Ok(Exit::Ok)
}

/// As many as are wanted, in as many answers as that takes.
async fn read(args: &ListArgs, client: &Client) -> anyhow::Result<Page> {
    let document = format!(
        "query($filter: JobFilter, $first: Int, $after: String, $asOf: AsOf) {{ \
             jobs(filter: $filter, first: $first, after: $after, asOf: $asOf) {{ \
                 nodes {{ {JOB} }} pageInfo {{ endCursor hasNextPage }} asOf {{ {MOMENT} }} }} }}"
    );
    let mut page = Page {
        items: Vec::new(),
        next: args.cursor.clone(),
        as_of: None,
    };
    let mut as_of = args.as_of.map(When::input);
    loop {
        let had = i64::try_from(page.items.len()).unwrap_or(i64::MAX);
        let first = (args.limit - had).min(PAGE_MAX);
        let filter = args.filter.input();
        let variables =
            json!({"filter": filter, "first": first, "after": page.next, "asOf": as_of});
        let Answer { jobs } = client.ask(&document, variables).await?;
        // All pages are of one moment.
        page.as_of = jobs.as_of;
        as_of = jobs.as_of.map(|moment| json!({"pos": moment.position()}));
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
