//! The catalog: collections and items for rasters, tiles and tables.

use std::collections::BTreeSet;

use domain::failure::{Failure, FailureClass};
use geo::raster::Raster;
use geo::stac::{self, Refs};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tiles::tile_place;
use super::tools::{CatalogAccess, Shared, Validation, given};
use crate::child::Op;
use crate::handler::{Context, Done, Handler};
use crate::tiers::hash;

/// Ids that stand in the output itself.
const INLINE_MAX: usize = 500;
/// Items of one write.
const BATCH: usize = 200;
/// A larger item is left out of the output.
const ITEM_BYTES_MAX: usize = 16 * 1024;

/// References of the platform that asked, and who may see the result.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RefParams {
    dataset_id: Option<String>,
    resource_id: Option<String>,
    version_id: Option<String>,
    access_level: String,
}

impl RefParams {
    pub(super) fn refs(&self) -> Refs {
        Refs {
            dataset_id: given(self.dataset_id.clone()),
            resource_id: given(self.resource_id.clone()),
            version_id: given(self.version_id.clone()),
            access_level: self.access_level.clone(),
        }
    }
}

/// Creates a collection, or widens the one that is there.
pub(super) struct EnsureCollection(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct CollectionParams {
    collection_id: String,
    title: Option<String>,
    bounds: Option<[f64; 4]>,
    bounds_crs: String,
    grid_dimensions: Option<Value>,
    is_tiled: bool,
    #[serde(flatten)]
    refs: RefParams,
}

impl Handler for EnsureCollection {
    const NAME: &'static str = "raster.stac_ensure_collection";
    type Params = CollectionParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: CollectionParams) -> Result<Done<Value>, Failure> {
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let bbox = match params.bounds {
            None => None,
            Some(bounds) if params.bounds_crs == "EPSG:4326" => Some(bounds),
            Some(bounds) => {
                let crs = params.bounds_crs;
                Some(self.0.children.run(ctx, Op::Bounds { bounds, crs }).await?)
            }
        };
        let grid = params
            .grid_dimensions
            .filter(|grid| params.is_tiled && grid.is_object());
        let extra = grid.map(|grid| ("strata:grid".to_owned(), grid));
        let wanted = stac::Collection {
            id: params.collection_id.clone(),
            title: given(params.title),
            extent: stac::Extent {
                bbox,
                ..stac::Extent::default()
            },
            refs: params.refs.refs(),
            extra: extra.into_iter().collect(),
            ..stac::Collection::default()
        };
        let ensured = catalog.ensure_collection(&wanted).await?;
        let output = json!({
            "collection_id": params.collection_id,
            "created": ensured.created,
            "updated": ensured.updated,
            "collection_url": catalog.collection_url(&params.collection_id),
        });
        Ok(output.into())
    }
}

/// Registers one raster.
pub(super) struct RegisterItem(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct ItemParams {
    cog_blob: String,
    cog_container: String,
    validation: Option<Validation>,
    collection_id: String,
    item_id: Option<String>,
    title: Option<String>,
    tags: Vec<String>,
    #[serde(flatten)]
    refs: RefParams,
}

impl Handler for RegisterItem {
    const NAME: &'static str = "raster.stac_register_item";
    type Params = ItemParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: ItemParams) -> Result<Done<Value>, Failure> {
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let tiers = &self.0.tiers;
        let place = tile_place(&params.cog_container, &params.cog_blob)?;
        let local = tiers.fetch(ctx, &place).await?;
        let thumbnail = ctx.scratch()?.join("thumbnail.png");
        let op = Op::Look {
            source: local.path.clone().into(),
            input_crs: None,
            raster_type: params.validation.unwrap_or_default().raster_type(),
            read_all: false,
            stats: true,
            thumbnail: Some(thumbnail.clone()),
        };
        let raster: Raster = self.0.children.run(ctx, op).await?;
        let (sha256, bytes) = hash(&local.path).await?;
        let stem = place.stem();
        let picture = tiers
            .publish(&thumbnail, &place.container, "thumbnails", &stem)
            .await?;
        let href = tiers.href(&place);
        let id = given(params.item_id).unwrap_or_else(|| stac::item_id(&params.cog_blob));
        let item = stac::raster_item(&stac::ItemInput {
            id: id.clone(),
            collection_id: params.collection_id.clone(),
            raster: &raster,
            href: href.clone(),
            file_size: bytes,
            checksum: format!("1220{sha256}"),
            title: params.title.unwrap_or_default(),
            tags: &params.tags,
            refs: params.refs.refs(),
            thumbnail: Some(tiers.href(&picture.place)),
            job_id: Some(ctx.job_id().to_string()),
            is_cog: is_cog(&raster),
            base_url: catalog.base_url.as_deref(),
            now: crate::clock::now(),
        })?;
        let upserted = catalog
            .upsert_items(&params.collection_id, std::slice::from_ref(&item))
            .await?;
        let urls = catalog.raster_urls(&href);
        let small = serde_json::to_vec(&item).is_ok_and(|bytes| bytes.len() <= ITEM_BYTES_MAX);
        let output = json!({
            "item_id": id,
            "collection_id": params.collection_id,
            "inserted": upserted.inserted > 0,
            "stac_urls": {
                "item": catalog.item_url(&params.collection_id, &id),
                "collection": catalog.collection_url(&params.collection_id),
            },
            "stac_item": small.then_some(item),
            "viewer_url": urls.viewer,
            "tilejson_url": urls.tilejson,
            "tiles_url": urls.tiles,
        });
        Ok(output.into())
    }
}

/// Registers many tiles.
pub(super) struct RegisterItems(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct ItemsParams {
    #[serde(default)]
    tile_cogs: Vec<String>,
    /// The runtime has put the results into it that it stands for.
    manifest: Option<Value>,
    cog_container: Option<String>,
    validation: Option<Validation>,
    collection_id: String,
    tags: Vec<String>,
    #[serde(flatten)]
    refs: RefParams,
}

impl Handler for RegisterItems {
    const NAME: &'static str = "raster.stac_register_items";
    type Params = ItemsParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: ItemsParams) -> Result<Done<Value>, Failure> {
        let names = names(&params)?;
        let container = given(params.cog_container.clone()).ok_or_else(no_container)?;
        let (mut ids, mut created, mut failed) = (Vec::new(), 0_u64, 0_u64);
        for batch in names.chunks(BATCH) {
            let (batch_ids, batch_failed) = self.register(ctx, &params, &container, batch).await?;
            failed += batch_failed;
            created += batch_ids.len() as u64;
            ids.extend(batch_ids);
            ctx.progress(created + failed, names.len() as u64, "items");
            ctx.check()?;
        }
        // The tiler shows all of them as one picture, by a search that the catalog keeps.
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let tiler = catalog.tiler_url.as_deref();
        let search_id = match tiler {
            Some(_) => Some(catalog.register_search(&params.collection_id).await?),
            None => None,
        };
        let urls = search_id
            .as_deref()
            .map_or_else(stac::TilerUrls::default, |id| {
                stac::TilerUrls::of_search(tiler, id)
            });
        let output = json!({
            "items_created": created,
            "items_failed": failed,
            "total_tiles": names.len(),
            "item_ids": (ids.len() <= INLINE_MAX).then_some(ids),
            "search_id": search_id,
            "viewer_url": urls.viewer,
            "tilejson_url": urls.tilejson,
            "tiles_url": urls.tiles,
        });
        Ok(output.into())
    }
}

impl RegisterItems {
    async fn register(
        &self,
        ctx: &Context,
        params: &ItemsParams,
        container: &str,
        names: &[String],
    ) -> Result<(Vec<String>, u64), Failure> {
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let place = tile_place(container, name)?;
            places.push(self.0.tiers.fetch(ctx, &place).await?);
        }
        let paths = places.iter().map(|local| local.path.clone()).collect();
        let raster_type = params.validation.as_ref().and_then(Validation::raster_type);
        let op = Op::LookMany { paths, raster_type };
        let mut talk = self.0.children.start(ctx, op).await?;
        let (mut items, mut ids, mut failed) = (Vec::new(), Vec::new(), 0);
        let mut locals = places.into_iter();
        while let Some(told) = talk.next(ctx).await? {
            let Some(local) = locals.next() else { break };
            let seen: Result<Raster, Failure> = serde_json::from_value(told).map_err(|error| {
                Failure::new(
                    FailureClass::Contract,
                    "native_protocol",
                    &error.to_string(),
                )
            })?;
            talk.answer(&true).await?;
            let raster = match seen {
                Ok(raster) => raster,
                Err(failure) => {
                    ctx.info(&format!("{}: {}", local.place.name, failure.message));
                    failed += 1;
                    continue;
                }
            };
            let (sha256, bytes) = hash(&local.path).await?;
            let id = stac::item_id(&local.place.name);
            items.push(stac::raster_item(&stac::ItemInput {
                id: id.clone(),
                collection_id: params.collection_id.clone(),
                raster: &raster,
                href: self.0.tiers.href(&local.place),
                file_size: bytes,
                checksum: format!("1220{sha256}"),
                title: String::new(),
                tags: &params.tags,
                refs: params.refs.refs(),
                thumbnail: None,
                job_id: Some(ctx.job_id().to_string()),
                is_cog: is_cog(&raster),
                base_url: catalog.base_url.as_deref(),
                now: crate::clock::now(),
            })?);
            ids.push(id);
        }
        catalog.upsert_items(&params.collection_id, &items).await?;
        Ok((ids, failed))
    }
}

/// The tiles of both parameters, each once.
fn names(params: &ItemsParams) -> Result<Vec<String>, Failure> {
    let mut names: BTreeSet<String> = params.tile_cogs.iter().cloned().collect();
    let results = params
        .manifest
        .as_ref()
        .and_then(|named| named.get("results"));
    let results = results.and_then(Value::as_array);
    for result in results.into_iter().flatten() {
        let listed = result.get("tile_cogs").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        names.extend(listed.map(str::to_owned));
    }
    if names.is_empty() {
        let message = "there is no tile to register";
        return Err(Failure::new(FailureClass::Permanent, "no_tiles", message));
    }
    Ok(names.into_iter().collect())
}

/// Tiled, and small or with overviews: what `rio cogeo validate` asks for, too.
fn is_cog(raster: &Raster) -> bool {
    let tiled = raster.block.iter().all(|edge| *edge <= 1_024) && raster.driver == "GTiff";
    let small = raster.width.max(raster.height) <= 512;
    tiled && (small || !raster.overviews.is_empty())
}

fn no_container() -> Failure {
    let message = "`cog_container` is needed: the container of the tiles, as `raster.process_tile_batch` returns it";
    Failure::new(FailureClass::Contract, "no_container", message)
}
