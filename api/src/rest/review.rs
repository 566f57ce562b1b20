//! What the platform side says of an asset: approve, reject, revoke, unpublish (O-24, O-25, U-30).

use axum::Json;
use axum::extract::State;
use commands::review::Reviewed;
use domain::access::Role;
use domain::asset::{AssetId, Command};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::extract::Body;
use super::fields::Fields;
use super::find;
use super::submit::refused;
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// Longest reason.
const REASON_MAX: usize = 1_000;

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReviewAnswer {
    pub(crate) asset_id: String,
    /// approved, rejected, revoked, unpublished; or what would be, in a dry run.
    #[schema(value_type = String)]
    pub(crate) state: &'static str,
    /// False if it was so before, or in a dry run.
    pub(crate) changed: bool,
    /// Position in the log, if anything changed.
    pub(crate) position: Option<u64>,
}

/// Approves the current revision of an asset
#[utoipa::path(
    post, path = "/api/platform/approve", operation_id = "approve", tag = "review",
    responses((status = 200, description = "It is approved.", body = ReviewAnswer)),
    extensions(("x-strata-role" = json!("admin"))),
)]
pub(crate) async fn approve(
    State(app): State<App>,
    viewer: Viewer,
    Body(body): Body,
) -> Result<Json<ReviewAnswer>, Fault> {
    viewer.require(Role::Admin)?;
    let Review {
        subject, revision, ..
    } = read(body, false)?;
    review(
        &app,
        &viewer,
        subject,
        Command::Approve { revision },
        "approved",
    )
    .await
}

/// Turns the current revision of an asset down
#[utoipa::path(
    post, path = "/api/platform/reject", operation_id = "reject", tag = "review",
    responses((status = 200, description = "It is rejected.", body = ReviewAnswer)),
    extensions(("x-strata-role" = json!("admin"))),
)]
pub(crate) async fn reject(
    State(app): State<App>,
    viewer: Viewer,
    Body(body): Body,
) -> Result<Json<ReviewAnswer>, Fault> {
    viewer.require(Role::Admin)?;
    let Review {
        subject,
        revision,
        reason,
    } = read(body, true)?;
    let command = Command::Reject { revision, reason };
    review(&app, &viewer, subject, command, "rejected").await
}

/// Takes the approval of an asset back
#[utoipa::path(
    post, path = "/api/platform/revoke", operation_id = "revoke", tag = "review",
    responses((status = 200, description = "It is revoked.", body = ReviewAnswer)),
    extensions(("x-strata-role" = json!("admin"))),
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    viewer: Viewer,
    Body(body): Body,
) -> Result<Json<ReviewAnswer>, Fault> {
    viewer.require(Role::Admin)?;
    let Review {
        subject,
        revision,
        reason,
    } = read(body, true)?;
    let command = Command::Revoke { revision, reason };
    review(&app, &viewer, subject, command, "revoked").await
}

/// Hides an asset
///
/// Nothing is lost: row and history stay, and it can be brought back.
#[utoipa::path(
    post, path = "/api/platform/unpublish", operation_id = "unpublish", tag = "review",
    responses((status = 200, description = "It is hidden, or would be.", body = ReviewAnswer)),
    extensions(("x-strata-role" = json!("admin"))),
)]
pub(crate) async fn unpublish(
    State(app): State<App>,
    viewer: Viewer,
    Body(body): Body,
) -> Result<Json<ReviewAnswer>, Fault> {
    viewer.require(Role::Admin)?;
    let mut fields = Fields::new(body);
    let dry_run = fields.flag("dry_run").unwrap_or(false);
    let subject = subject(&mut fields);
    let subject = complete(fields, subject)?;
    let asset_id = asset_of(&app, &viewer, subject).await?;
    if dry_run {
        let asset = find::asset(&app, &viewer, asset_id).await?;
        return Ok(Json(ReviewAnswer {
            asset_id: asset.asset_id,
            state: "unpublished",
            changed: false,
            position: None,
        }));
    }
    apply(&app, &viewer, asset_id, Command::SoftDelete, "unpublished").await
}

/// Which asset is meant.
enum Subject {
    Asset(AssetId),
    Request(find::Named),
}

struct Review {
    subject: Subject,
    revision: Option<u32>,
    reason: String,
}

/// Reads the body of a review; a no needs a reason.
fn read(body: Map<String, Value>, with_reason: bool) -> Result<Review, Fault> {
    let mut fields = Fields::new(body);
    let found = subject(&mut fields);
    let revision = fields.number("revision", 1..=1_000_000_000);
    let reason = with_reason.then(|| fields.required_text("reason", REASON_MAX));
    Ok(Review {
        subject: complete(fields, found)?,
        revision,
        reason: reason.flatten().unwrap_or_default(),
    })
}

/// By its own id, or by a request that was for it; one of both.
fn subject(fields: &mut Fields) -> Option<Subject> {
    let asset = fields.text("asset_id", 64);
    let request = fields.text("request_id", 64);
    match (asset, request) {
        (Some(text), None) => match text.parse() {
            Ok(id) => Some(Subject::Asset(id)),
            Err(_) => {
                fields.problem(
                    "asset_id",
                    "INVALID",
                    "an asset id has 32 lower-case hex digits",
                );
                None
            }
        },
        (None, Some(text)) => match find::named(&text) {
            Ok(named) => Some(Subject::Request(named)),
            Err(fault) => {
                fields.problem("request_id", "INVALID", fault.message);
                None
            }
        },
        _ => {
            fields.problem(
                "asset_id",
                "MISSING",
                "give `asset_id` or `request_id`, one of both",
            );
            None
        }
    }
}

/// What was read, if nothing is wrong with the whole body.
fn complete<T>(fields: Fields, found: Option<T>) -> Result<T, Fault> {
    let problems = fields.finish();
    match found {
        Some(found) if problems.is_empty() => Ok(found),
        _ => Err(refused(problems)),
    }
}

async fn asset_of(app: &App, viewer: &Viewer, subject: Subject) -> Result<AssetId, Fault> {
    let named = match subject {
        Subject::Asset(id) => return Ok(id),
        Subject::Request(named) => named,
    };
    let request = find::request(app, viewer, named).await?;
    let asset = request.asset_id.and_then(|id| id.parse().ok());
    asset.ok_or_else(|| {
        Fault::conflict(
            "NO_ASSET",
            "the request is for no asset",
            "name a request with platform refs",
        )
    })
}

async fn review(
    app: &App,
    viewer: &Viewer,
    subject: Subject,
    command: Command,
    state: &'static str,
) -> Result<Json<ReviewAnswer>, Fault> {
    let asset_id = asset_of(app, viewer, subject).await?;
    apply(app, viewer, asset_id, command, state).await
}

async fn apply(
    app: &App,
    viewer: &Viewer,
    asset_id: AssetId,
    command: Command,
    state: &'static str,
) -> Result<Json<ReviewAnswer>, Fault> {
    let writer = &app.core().writer;
    let done = writer
        .review(viewer.org(), asset_id, command, viewer.actor())
        .await?;
    let position = match done {
        Reviewed::Applied { pos } => Some(pos),
        Reviewed::AlreadyApplied => None,
    };
    Ok(Json(ReviewAnswer {
        asset_id: asset_id.to_string(),
        state,
        changed: position.is_some(),
        position,
    }))
}
