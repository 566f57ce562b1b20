//! Assets by what a partner calls them, and by their own id (U-30).

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use domain::asset::AssetId;
use projections::read::{self, AssetFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::extract::{Args, Body, PathText, bad_id, bad_query};
use super::fields::Fields;
use super::find;
use super::status::versions;
use super::submit::refused;
use super::view::{AssetView, Release};
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// Assets of one page.
const PAGE: i64 = 100;

/// Assets that fit, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Lookup {
    pub(crate) assets: Vec<AssetView>,
    /// The `cursor` of the next page; null at the end.
    pub(crate) next: Option<String>,
}

/// An asset with all its revisions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetDetail {
    pub(crate) asset: AssetView,
    /// The current revision.
    pub(crate) release: Option<Release>,
    pub(crate) versions: Vec<Release>,
}

/// Finds assets by their refs
///
/// Each ref is an argument of its own, `ref.NAME=VALUE`; assets that have all of them are listed. A value that looks
/// like a whole number stands for the text and for the number. `POST` takes the same as a body, with exact types.
#[utoipa::path(
    get, path = "/api/platform/catalog/lookup", operation_id = "lookup", tag = "catalog",
    params(
        ("platform_id" = String, Query, description = "A platform.", pattern = "^[a-z][a-z0-9_-]{0,63}$"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before.", max_length = 200),
    ),
    responses((status = 200, description = "Assets that fit; there may be none.", body = Lookup)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn lookup(
    State(app): State<App>,
    viewer: Viewer,
    Args(args): Args<BTreeMap<String, String>>,
) -> Result<Json<Lookup>, Fault> {
    let mut wanted = Wanted::default();
    let mut has_numbers = false;
    let mut numbers = Map::new();
    for (name, value) in args {
        if value.contains('\0') || name.contains('\0') {
            return Err(bad_query("arguments never contain U+0000"));
        }
        match (name.as_str(), name.strip_prefix("ref.")) {
            ("platform_id", _) => wanted.platform_id = value,
            ("cursor", _) => wanted.cursor = Some(value),
            (_, Some(name)) if is_ref_name(name) => {
                let number = value.parse::<i64>().ok().filter(|n| n.to_string() == value);
                has_numbers |= number.is_some();
                let number = number.map_or_else(|| Value::String(value.clone()), Value::from);
                numbers.insert(name.to_owned(), number);
                wanted.refs.insert(name.to_owned(), Value::String(value));
            }
            _ => {
                let name: String = name.chars().take(80).collect();
                return Err(bad_query(format!("there is no argument `{name}`")));
            }
        }
    }
    if !domain::platform::is_platform_id(&wanted.platform_id) {
        return Err(bad_query("`platform_id` must be the id of a platform"));
    }
    let found = page(&app, &viewer, wanted.clone()).await?;
    if found.assets.is_empty() && has_numbers {
        wanted.refs = numbers;
        return Ok(Json(page(&app, &viewer, wanted).await?));
    }
    Ok(Json(found))
}

/// Finds assets by their refs, with exact types
#[utoipa::path(
    post, path = "/api/platform/catalog/lookup", operation_id = "lookup_exactly", tag = "catalog",
    responses((status = 200, description = "Assets that fit; there may be none.", body = Lookup)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn lookup_exactly(
    State(app): State<App>,
    viewer: Viewer,
    Body(body): Body,
) -> Result<Json<Lookup>, Fault> {
    let mut fields = Fields::new(body);
    let wanted = Wanted {
        platform_id: fields.required_text("platform_id", 64).unwrap_or_default(),
        refs: fields.object("platform_refs").unwrap_or_default(),
        cursor: fields.text("cursor", 200),
        with_deleted: fields.flag("with_deleted").unwrap_or(false),
    };
    if !wanted.platform_id.is_empty() && !domain::platform::is_platform_id(&wanted.platform_id) {
        fields.problem("platform_id", "INVALID", "this is not the id of a platform");
    }
    for (name, value) in &wanted.refs {
        let plain = match value {
            Value::String(text) => !text.contains('\0'),
            Value::Number(number) => !number.is_f64(),
            _ => false,
        };
        if !plain || name.contains('\0') {
            let name: String = name.chars().take(80).collect();
            let message = format!("`{name}` must be a text without U+0000, or a whole number");
            fields.problem(&format!("platform_refs.{name}"), "INVALID_REF", message);
        }
    }
    let problems = fields.finish();
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    Ok(Json(page(&app, &viewer, wanted).await?))
}

fn is_ref_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

#[derive(Clone, Default)]
struct Wanted {
    platform_id: String,
    refs: Map<String, Value>,
    cursor: Option<String>,
    with_deleted: bool,
}

async fn page(app: &App, viewer: &Viewer, wanted: Wanted) -> Result<Lookup, Fault> {
    let filter = AssetFilter {
        org_id: Some(viewer.org().to_owned()),
        platform_id: Some(wanted.platform_id),
        refs: (!wanted.refs.is_empty()).then_some(Value::Object(wanted.refs)),
        with_deleted: wanted.with_deleted,
        limit: PAGE,
        cursor: wanted.cursor,
        ..AssetFilter::default()
    };
    let page = read::assets(&app.core().pool, &filter).await?;
    Ok(Lookup {
        assets: page.items.into_iter().map(Into::into).collect(),
        next: page.next,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssetArgs {
    with_deleted: Option<bool>,
}

/// An asset with all its revisions
#[utoipa::path(
    get, path = "/api/platform/catalog/assets/{asset_id}", operation_id = "asset", tag = "catalog",
    params(
        ("asset_id" = String, Path, description = "32 hex digits.", pattern = "^[0-9a-f]{32}$"),
        ("with_deleted" = Option<bool>, Query, description = "Show it even if it is deleted."),
    ),
    responses((status = 200, description = "The asset.", body = AssetDetail)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn asset(
    State(app): State<App>,
    viewer: Viewer,
    PathText(id): PathText,
    Args(args): Args<AssetArgs>,
) -> Result<Json<AssetDetail>, Fault> {
    let asset_id: AssetId = id.parse().map_err(|_| bad_id(&id, "an asset id"))?;
    let asset = find::asset(&app, &viewer, asset_id).await?;
    if asset.deleted && args.with_deleted != Some(true) {
        return Err(Fault::not_found("asset", &id));
    }
    let versions = versions(&app, &asset.asset_id).await?;
    Ok(Json(AssetDetail {
        asset: asset.into(),
        release: versions.last().cloned(),
        versions,
    }))
}
