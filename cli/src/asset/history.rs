//! `strata asset history`: revisions with who made and reviewed each, and why.

use domain::asset::AssetId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::model::{ASSET, Asset, REVISION, VERSION, Version, maker, word};
use super::no_asset;
use crate::args::Format;
use crate::client::Client;
use crate::exit::Exit;
use crate::job::PageInfo;
use crate::output::{Console, lines_of, one_line};

/// Artifacts whose names stand in the table.
const NAMED_MAX: usize = 3;

/// An asset with some of its revisions, the newest first, and where the next ones begin.
pub(super) struct History {
    pub(super) asset: Asset,
    pub(super) versions: Vec<Version>,
    pub(super) next: Option<String>,
}

pub(super) async fn run(args: &HistoryArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let before = args.before.map(|number| number.to_string());
    let history = read(&client, args.of.asset, args.limit, before.as_deref()).await?;
    let versions = &history.versions;
    if args.output == Format::Json {
        let next = history.next.as_deref();
        let next = next.and_then(|cursor| cursor.parse::<u32>().ok());
        let asset = &history.asset;
        let page = json!({
            "asset_id": asset.asset_id, "platform_id": asset.platform_id,
            "platform_refs": asset.platform_refs, "revision": asset.revision,
            "items": versions, "next": next,
        });
        console.data(&serde_json::to_string_pretty(&page)?)?;
        return Ok(Exit::Ok);
    }
    if versions.is_empty() {
        console.talk("there are no such revisions")?;
        return Ok(Exit::Ok);
    }
    let header = [
        "REVISION",
        "MADE AT",
        "MADE BY",
        "ACTOR",
        "WHY",
        "APPROVAL",
        "HASH",
        "ARTIFACTS",
        "POS",
    ];
    let mut table = console.look.table(&header);
    for version in versions {
        table.add_row(row(version));
    }
    console.data(&lines_of(&table))?;
    if let Some(next) = &history.next {
        let (asset, limit) = (args.of.asset, args.limit);
        let flag = args.of.stack.flag();
        console.talk(&format!(
            "more: strata asset history {asset} --before {next} --limit {limit}{flag}"
        ))?;
    }
    Ok(Exit::Ok)
}

fn row(version: &Version) -> [String; 9] {
    let revision = &version.revision;
    let why: Vec<String> = version.why().iter().map(|line| one_line(line)).collect();
    let names = revision.artifacts.iter().take(NAMED_MAX);
    let mut names: Vec<String> = names.map(|one| one_line(&one.name)).collect();
    if revision.artifacts.len() > NAMED_MAX {
        names.push(format!("and {} more", revision.artifacts.len() - NAMED_MAX));
    }
    [
        revision.number.to_string(),
        revision.created_at.format("%Y-%m-%d %H:%M:%S").to_string(),
        maker(&revision.origin),
        one_line(version.actor.as_deref().unwrap_or_default()),
        why.join("\n"),
        word(&revision.approval),
        revision.content_hash.chars().take(12).collect(),
        names.join("\n"),
        version
            .position
            .map(|pos| pos.to_string())
            .unwrap_or_default(),
    ]
}

/// A page of the history of an asset.
pub(super) async fn read(
    client: &Client,
    id: AssetId,
    limit: i64,
    after: Option<&str>,
) -> anyhow::Result<History> {
    #[derive(Deserialize)]
    struct Answer {
        asset: Option<Value>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Connection {
        nodes: Vec<Version>,
        page_info: PageInfo,
    }
    let document = format!(
        "query($id: String!, $first: Int, $after: String) {{ asset(id: $id) {{ {ASSET} \
             history(first: $first, after: $after) {{ nodes {{ {REVISION} {VERSION} }} \
                 pageInfo {{ endCursor hasNextPage }} }} }} }}"
    );
    let variables = json!({"id": id, "first": limit, "after": after});
    let Answer { asset } = client.ask(&document, variables).await?;
    let mut asset = asset.ok_or_else(|| no_asset(id))?;
    let page: Connection = serde_json::from_value(asset["history"].take())?;
    Ok(History {
        asset: serde_json::from_value(asset)?,
        versions: page.nodes,
        next: page.page_info.next(),
    })
}
