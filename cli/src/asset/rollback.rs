//! `strata asset rollback`: look, then go back; or say what would change.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::args::RollbackArgs;
use super::look::{self, CHECK, Check};
use super::model::Artifact;
use super::no_asset;
use crate::args::Format;
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, one_line};

/// What a rollback leaves alone; said every time, because nobody would guess it.
const UNTOUCHED: &str = "not touched: the catalog. Items of newer revisions stay in it, and an item that a newer job \
                         replaced still shows the newer file; reprocess the asset to write it again";

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Plan {
    asset_id: String,
    #[serde(rename(serialize = "pos"))]
    position: Option<i64>,
    repeated: bool,
    dry_run: bool,
    refusal: Option<Refusal>,
    revision: i32,
    to: i32,
    from: i32,
    content_hash: String,
    artifacts: Vec<Artifact>,
    made_by: Option<String>,
    check: Option<Check>,
    job_at_work: Option<String>,
    was_public: bool,
}

#[derive(Deserialize, Serialize)]
struct Refusal {
    code: String,
    message: String,
    remediation: String,
}

pub(super) async fn run(
    args: &RollbackArgs,
    stop: &CancellationToken,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let given = args.checked_by.map(|job| job.to_string());
    // What is refused without a look is refused before one: reading may take hours.
    let first = ask(&client, args, given.as_deref(), true).await?;
    let refused = first.refusal.as_ref();
    let needs_look = refused.is_some_and(|refusal| refusal.code == "NOT_CHECKED");
    let plan = if needs_look && given.is_none() {
        let job = look::begin(&client, args.of.asset, args.to).await?;
        console.talk(&format!(
            "{job} looks at the artifacts of revision {}",
            args.to
        ))?;
        look::wait(&client, &job, stop, console).await?;
        finish(&client, args, Some(&job)).await?
    } else if refused.is_some() {
        first
    } else {
        finish(&client, args, given.as_deref()).await?
    };
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&plan)?)?,
        Format::Table => show(&plan, console)?,
    }
    let Some(refusal) = &plan.refusal else {
        return Ok(Exit::Ok);
    };
    let message = format!("revision {} stays current: {}", plan.from, refusal.message);
    Err(Stop::conflict(
        one_line(&message),
        one_line(
            &refusal
                .remediation
                .replace("acceptUnverified", "--accept-unverified"),
        ),
    ))
}

/// Goes back, unless only a preview is wanted, or that says that it would be refused.
async fn finish(client: &Client, args: &RollbackArgs, job: Option<&str>) -> anyhow::Result<Plan> {
    let preview = ask(client, args, job, true).await?;
    if args.dry_run || preview.refusal.is_some() {
        return Ok(preview);
    }
    ask(client, args, job, false).await
}

async fn ask(
    client: &Client,
    args: &RollbackArgs,
    job: Option<&str>,
    dry_run: bool,
) -> anyhow::Result<Plan> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        rollback_asset: Plan,
    }
    let document = format!(
        "mutation($id: String!, $to: Int!, $reason: String!, $job: String, $accept: Boolean!, $dry: Boolean!) {{ \
             rollbackAsset(assetId: $id, to: $to, reason: $reason, checkedBy: $job, acceptUnverified: $accept, \
                           dryRun: $dry) {{ \
                 assetId position repeated dryRun refusal {{ code message remediation }} revision to from \
                 contentHash artifacts madeBy check {{ {CHECK} }} jobAtWork wasPublic }} }}"
    );
    let variables: Value = json!({
        "id": args.of.asset, "to": args.to, "reason": args.reason, "job": job,
        "accept": args.accept_unverified, "dry": dry_run,
    });
    let answer = client.ask::<Answer>(&document, variables).await;
    let answer = answer.map_err(|error| {
        let unknown = is_code(&error, "NOT_FOUND") && job.is_none();
        if unknown {
            no_asset(args.of.asset)
        } else {
            error
        }
    })?;
    Ok(answer.rollback_asset)
}

fn show(plan: &Plan, console: &mut Console<'_>) -> anyhow::Result<()> {
    let word = match (plan.refusal.is_some(), plan.dry_run, plan.repeated) {
        (true, _, _) => console.look.paint(Paint::Bad, "refused"),
        (false, _, true) => "so it was before".to_owned(),
        (false, true, false) => "would become current".to_owned(),
        (false, false, false) => console.look.paint(Paint::Good, "is current"),
    };
    console.data(&format!("asset     {}", plan.asset_id))?;
    console.data(&format!("revision  {} {word}", plan.revision))?;
    console.data(&format!("content   that of revision {}", plan.to))?;
    console.data(&format!("hash      {}", plan.content_hash))?;
    if let Some(job) = &plan.made_by {
        console.data(&format!("made by   {job}"))?;
    }
    if !plan.repeated {
        console.data(&format!("instead of revision {}", plan.from))?;
    }
    if let Some(check) = &plan.check {
        console.data(&format!(
            "looked at by {}: {}\n",
            check.job_id,
            check.summary()
        ))?;
        look::print(check, console)?;
    } else if plan.artifacts.is_empty() {
        console.data("artifacts none are listed, so that nobody can verify them")?;
    }
    if plan.refusal.is_some() {
        return Ok(());
    }
    if let Some(job) = &plan.job_at_work {
        console.talk(&format!(
            "note: {job} is at work on the asset; its result will be current after this"
        ))?;
    }
    if plan.was_public {
        console.talk(
            "note: everybody sees the asset now; nobody will until the new revision is approved",
        )?;
    }
    Ok(console.talk(UNTOUCHED)?)
}
