//! `strata asset`: what partners have, and what was made of it; now, and as it was.

pub(crate) mod args;
mod history;
mod look;
mod model;
mod report;
mod review;
mod rollback;

use domain::asset::AssetId;
use serde::Deserialize;
use serde_json::{Value, json};

use args::{AssetCommand, ListArgs};
use model::{ASSET, Asset, REVISION, maker};

use crate::args::Format;
use crate::client::Client;
use crate::client::args::ClientArgs;
use crate::exit::{Exit, Stop};
use crate::job::PageInfo;
use crate::output::{Console, lines_of, one_line};
use crate::runtime;
use crate::when::{MOMENT, When};

pub(crate) fn run(command: &AssetCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|stop| async move {
        match command {
            AssetCommand::List(args) => list(args, console).await,
            AssetCommand::Show(args) => {
                show(args.asset, None, args.output, &args.stack, console).await
            }
            AssetCommand::At(args) => {
                let at = Some(args.at);
                show(args.asset, at, args.output, &args.stack, console).await
            }
            AssetCommand::History(args) => history::run(args, console).await,
            AssetCommand::Approve(args) => {
                review::run(args, review::Verb::Approve, None, console).await
            }
            AssetCommand::Reject(args) => {
                let reason = Some(args.reason.as_str());
                review::run(&args.review, review::Verb::Reject, reason, console).await
            }
            AssetCommand::Revoke(args) => {
                let reason = Some(args.reason.as_str());
                review::run(&args.review, review::Verb::Revoke, reason, console).await
            }
            AssetCommand::Rollback(args) => rollback::run(args, &stop, console).await,
            AssetCommand::Report(args) => report::run(args, &stop, console).await,
        }
    })
}

async fn show(
    id: AssetId,
    at: Option<When>,
    output: Format,
    stack: &ClientArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Answer {
        asset: Option<Asset>,
    }
    let client = Client::find(stack)?;
    let document = format!(
        "query($id: String!, $asOf: AsOf) {{ asset(id: $id, asOf: $asOf) {{ \
             {ASSET} asOf {{ {MOMENT} }} revisions {{ {REVISION} }} }} }}"
    );
    let variables = json!({"id": id, "asOf": at.map(When::input)});
    let Answer { asset } = client.ask(&document, variables).await?;
    let asset = asset.ok_or_else(|| no_asset(id))?;
    match output {
        Format::Json => console.data(&serde_json::to_string_pretty(&asset)?)?,
        Format::Table => {
            console.data(&head(&asset).join("\n"))?;
            if !asset.revisions.is_empty() {
                let header = ["REVISION", "APPROVAL", "HASH", "MADE BY", "MADE AT"];
                let mut table = console.look.table(&header);
                for revision in &asset.revisions {
                    table.add_row([
                        revision.number.to_string(),
                        revision.approval.clone(),
                        revision.content_hash.chars().take(12).collect(),
                        maker(&revision.origin),
                        revision.created_at.format("%Y-%m-%d %H:%M:%S").to_string(),
                    ]);
                }
                console.data(&format!("\n{}", lines_of(&table)))?;
            }
        }
    }
    Ok(Exit::Ok)
}

/// Nobody has it, or another organisation.
fn no_asset(id: AssetId) -> anyhow::Error {
    Stop::not_found(format!("there is no asset {id}"), "strata asset list")
}

fn head(asset: &Asset) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(as_of) = &asset.as_of {
        lines.push(format!("as of     {as_of}"));
    }
    let deleted = if asset.deleted { " (deleted)" } else { "" };
    lines.push(format!("asset     {}{deleted}", asset.asset_id));
    if let Some(title) = &asset.title {
        lines.push(format!("title     {}", one_line(title)));
    }
    lines.push(format!("platform  {}", asset.platform_id));
    lines.push(format!("refs      {}", asset.platform_refs));
    lines.push(format!("status    {}", asset.processing_status));
    if let Some(job) = &asset.current_job_id {
        lines.push(format!("job       {job}"));
    }
    if let Some(failure) = &asset.failure {
        let message = failure.get("message").and_then(Value::as_str);
        lines.push(format!(
            "failure   {}",
            one_line(message.unwrap_or_default())
        ));
    }
    lines.push(format!("approval  {}", asset.approval));
    lines.push(format!("clearance {}", asset.clearance));
    lines
}

async fn list(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Answer {
        assets: Connection,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Connection {
        nodes: Vec<Asset>,
        page_info: PageInfo,
    }
    let client = Client::find(&args.stack)?;
    let document = format!(
        "query($filter: AssetFilter, $first: Int, $after: String) {{ \
             assets(filter: $filter, first: $first, after: $after) {{ \
                 nodes {{ {ASSET} }} pageInfo {{ endCursor hasNextPage }} }} }}"
    );
    let filter = json!({"text": args.text, "withDeleted": args.with_deleted});
    let variables = json!({"filter": filter, "first": args.limit, "after": args.cursor});
    let Answer { assets } = client.ask(&document, variables).await?;
    let next = assets.page_info.next();
    if args.output == Format::Json {
        let page = json!({"items": assets.nodes, "next": next});
        console.data(&serde_json::to_string_pretty(&page)?)?;
        return Ok(Exit::Ok);
    }
    if assets.nodes.is_empty() {
        console.talk("no such assets")?;
        return Ok(Exit::Ok);
    }
    let header = [
        "ASSET", "TITLE", "STATUS", "REVISION", "APPROVAL", "CREATED",
    ];
    let mut table = console.look.table(&header);
    for asset in &assets.nodes {
        table.add_row([
            asset.asset_id.clone(),
            one_line(asset.title.as_deref().unwrap_or_default()),
            asset.processing_status.clone(),
            asset.revision.map(|n| n.to_string()).unwrap_or_default(),
            asset.approval.clone(),
            asset.created_at.format("%Y-%m-%d %H:%M:%S").to_string(),
        ]);
    }
    console.data(&lines_of(&table))?;
    if let Some(next) = next {
        let mut more = format!(
            "more: strata asset list --cursor {next} --limit {}",
            args.limit
        );
        if let Some(text) = &args.text {
            more.push_str(&format!(" --text '{}'", text.replace('\'', "'\\''")));
        }
        if args.with_deleted {
            more.push_str(" --with-deleted");
        }
        more.push_str(&args.stack.flag());
        console.talk(&more)?;
    }
    Ok(Exit::Ok)
}
