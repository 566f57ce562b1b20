//! Vector layers: look at them, load them, register their tables.

use domain::failure::{Failure, FailureClass};
use geo::stac;
use geo::vector::Layer;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::stac::RefParams;
use super::tools::{CatalogAccess, Shared, given, megabytes};
use crate::child::{LoadWish, Loaded, Op};
use crate::handler::{Context, Done, Handler, Phase};
use crate::tiers::SourceParams;

/// Columns that stand in the output itself.
const INLINE_MAX: usize = 200;

/// Looks through a layer.
pub(super) struct VectorValidate(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct LayerParams {
    #[serde(flatten)]
    source: SourceParams,
    layer: Option<String>,
    input_crs: Option<String>,
}

impl Handler for VectorValidate {
    const NAME: &'static str = "vector.validate";
    type Params = LayerParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: LayerParams) -> Result<Done<Value>, Failure> {
        let place = self.0.tiers.place(&params.source)?;
        let local = self.0.tiers.fetch(ctx, &place).await?;
        let op = Op::LookLayer {
            path: local.path,
            layer: given(params.layer),
            input_crs: given(params.input_crs),
        };
        let layer: Layer = self.0.children.run(ctx, op).await?;
        let columns: Vec<Value> = layer
            .columns
            .iter()
            .map(|column| json!({ "name": column.name, "type": column.kind }))
            .collect();
        let output = json!({
            "valid": true,
            "source_url": place.url(),
            "layer": layer.name,
            "format": layer.driver,
            "source_crs": layer.crs.text(),
            "crs_source": layer.crs_source,
            "bounds": layer.bounds.map_or_else(Vec::new, |bounds| bounds.to_vec()),
            "geometry_type": layer.geometry_type,
            "feature_count": layer.feature_count,
            "null_geometries": layer.null_geometries,
            "invalid_geometries": layer.invalid_geometries,
            "columns": (columns.len() <= INLINE_MAX).then_some(columns),
            "file_size_mb": megabytes(layer.file_bytes),
            "warnings": layer.warnings,
        });
        Ok(output.into())
    }
}

/// Loads a layer into a table.
pub(super) struct VectorLoad(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct LoadParams {
    #[serde(flatten)]
    layer: LayerParams,
    table_name: String,
    schema_name: String,
    target_crs: String,
    chunk_size: usize,
    make_valid: bool,
}

/// What a finished load says of its table.
#[derive(Deserialize)]
struct TableMade {
    rows: u64,
    geometry_type: String,
    bounds: Option<[f64; 4]>,
    loaded: Loaded,
    reasons: Vec<String>,
}

impl Handler for VectorLoad {
    const NAME: &'static str = "vector.load";
    type Params = LoadParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: LoadParams) -> Result<Done<Value>, Failure> {
        let begun = Instant::now();
        let url = self.0.catalog()?.url.clone();
        let place = self.0.tiers.place(&params.layer.source)?;
        let local = self.0.tiers.fetch(ctx, &place).await?;
        let wish = LoadWish {
            path: local.path,
            layer: given(params.layer.layer),
            input_crs: given(params.layer.input_crs),
            database_url: url,
            schema: params.schema_name.clone(),
            table: params.table_name.clone(),
            srid: srid(&params.target_crs)?,
            make_valid: params.make_valid,
            chunk: params.chunk_size,
            load_id: format!("{}/{}", ctx.job_id(), ctx.node_id()),
            resume: resumed(ctx).await,
        };
        let mut talk = self.0.children.start(ctx, Op::Load(Box::new(wish))).await?;
        while let Some(told) = talk.next(ctx).await? {
            save(ctx, told).await?;
            talk.answer(&true).await?;
        }
        let made: TableMade = talk.result()?;
        for reason in &made.reasons {
            ctx.info(&format!("left out: feature {reason}"));
        }
        let output = json!({
            "schema_name": params.schema_name,
            "table_name": params.table_name,
            "rows_loaded": made.rows,
            "rows_rejected": made.loaded.rejected,
            "rows_repaired": made.loaded.repaired,
            "chunk_count": made.loaded.chunks,
            "geometry_type": made.geometry_type,
            "bounds": made.bounds.map_or_else(Vec::new, |bounds| bounds.to_vec()),
            "processing_seconds": begun.elapsed().as_secs_f64(),
        });
        Ok(output.into())
    }
}

async fn resumed(ctx: &Context) -> Option<Loaded> {
    let resume = ctx.load_checkpoint().await?;
    serde_json::from_value(resume.checkpoint.state).ok()
}

async fn save(ctx: &Context, loaded: Value) -> Result<(), Failure> {
    let chunks = loaded
        .get("chunks")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let phase = Phase {
        name: format!("chunk-{chunks}"),
        index: u32::try_from(chunks).unwrap_or(u32::MAX),
        total: 0,
        state: loaded,
        artifacts: Vec::new(),
        is_final: false,
    };
    ctx.save_checkpoint(phase).await
}

fn srid(crs: &str) -> Result<i32, Failure> {
    let code = crs.strip_prefix("EPSG:").and_then(|code| code.parse().ok());
    code.filter(|code| (1024..=32_767).contains(code))
        .ok_or_else(|| {
            let message = "`target_crs` is the EPSG code of the table, such as EPSG:4326";
            Failure::new(FailureClass::Permanent, "bad_crs", message)
        })
}

/// The same without what rounding has added beyond the edge of the map.
fn on_globe([west, south, east, north]: [f64; 4]) -> [f64; 4] {
    let near = |value: f64, most: f64| {
        let beyond = value.abs() > most && value.abs() < most + 1e-6;
        if beyond { most.copysign(value) } else { value }
    };
    [
        near(west, 180.0),
        near(south, 90.0),
        near(east, 180.0),
        near(north, 90.0),
    ]
}

fn no_bounds() -> Failure {
    let message = "no row of the table has a geometry, so that it cannot be found on a map";
    Failure::new(FailureClass::Permanent, "no_geometry", message)
}

pub(super) fn no_database(error: &sqlx::Error) -> Failure {
    let message = format!("the database of the catalog does not answer: {error}");
    Failure::new(FailureClass::Transient, "database_unavailable", &message)
}

/// Registers a table as an item.
pub(super) struct RegisterVector(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct TableParams {
    schema_name: String,
    table_name: String,
    bounds: Option<Vec<f64>>,
    feature_count: Option<u64>,
    geometry_type: Option<String>,
    collection_id: String,
    item_id: Option<String>,
    title: Option<String>,
    tags: Vec<String>,
    #[serde(flatten)]
    refs: RefParams,
}

impl Handler for RegisterVector {
    const NAME: &'static str = "vector.stac_register";
    type Params = TableParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: TableParams) -> Result<Done<Value>, Failure> {
        let begun = Instant::now();
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let bounds = params
            .bounds
            .and_then(|bounds| <[f64; 4]>::try_from(bounds).ok());
        let (mut bounds, mut count) = (bounds, params.feature_count);
        let mut geometry_type = given(params.geometry_type);
        if bounds.is_none() || count.is_none() || geometry_type.is_none() {
            let acquired = catalog.pool().acquire().await;
            let mut database = acquired.map_err(|error| no_database(&error))?;
            let (schema, table) = (&params.schema_name, &params.table_name);
            let found = geo::table::describe(&mut database, schema, table).await?;
            bounds = bounds.or(found.bounds);
            count = count.or(Some(found.rows));
            geometry_type = geometry_type.or(Some(found.geometry_type));
        }
        let id = given(params.item_id).unwrap_or_else(|| params.table_name.clone());
        let item = stac::vector_item(&stac::TableInput {
            id: id.clone(),
            collection_id: params.collection_id.clone(),
            schema: params.schema_name,
            table: params.table_name,
            bounds: on_globe(bounds.ok_or_else(no_bounds)?),
            feature_count: count.unwrap_or_default(),
            geometry_type: geometry_type.unwrap_or_default(),
            href: None,
            title: params.title.unwrap_or_default(),
            tags: &params.tags,
            refs: params.refs.refs(),
            job_id: Some(ctx.job_id().to_string()),
            base_url: catalog.base_url.as_deref(),
            now: crate::clock::now(),
        })?;
        let upserted = catalog.upsert_items(&params.collection_id, &[item]).await?;
        let output = json!({
            "item_id": id,
            "collection_id": params.collection_id,
            "inserted": upserted.inserted > 0,
            "stac_urls": {
                "item": catalog.item_url(&params.collection_id, &id),
                "collection": catalog.collection_url(&params.collection_id),
            },
            "processing_seconds": begun.elapsed().as_secs_f64(),
        });
        Ok(output.into())
    }
}
