//! Rasters in tiles: planned once, made batch by batch, with a checkpoint per tile.

use std::collections::BTreeMap;
use std::path::Path;

use domain::failure::{Failure, FailureClass};
use domain::job::checkpoint::Artifact;
use geo::raster::Raster;
use geo::tiles::{Scheme, Tile, plan};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tools::{Shared, Validation, chosen, given, megabytes};
use crate::child::{CogWish, Op, TileMade, TileWish};
use crate::handler::{Context, Done, Handler, Phase};
use crate::tiers::{Place, SourceParams};

/// Tiles that stand in the output itself.
const INLINE_MAX: u64 = 64;

/// Plans the tiles of a raster.
pub(super) struct GenerateTilingScheme(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct SchemeParams {
    #[serde(flatten)]
    source: SourceParams,
    validation: Option<Validation>,
    tile_size: u64,
    tile_overlap: u64,
    tiles_per_batch: u64,
}

/// A scheme as it is stored, with what the batches need to know of the source.
#[derive(Serialize, Deserialize)]
struct Stored {
    scheme: Scheme,
    bounds: [f64; 4],
    bounds_4326: [f64; 4],
    input_crs: Option<String>,
    raster_type: String,
}

impl Handler for GenerateTilingScheme {
    const NAME: &'static str = "raster.generate_tiling_scheme";
    type Params = SchemeParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: SchemeParams) -> Result<Done<Value>, Failure> {
        let place = self.0.tiers.place(&params.source)?;
        let validation = params.validation.unwrap_or_default();
        let source = self.0.tiers.in_parts(ctx, &place).await?;
        let op = Op::Look {
            source,
            input_crs: validation.input_crs(),
            raster_type: validation.raster_type(),
            read_all: false,
            stats: false,
            thumbnail: None,
        };
        let raster: Raster = self.0.children.run(ctx, op).await?;
        let (size, overlap) = (params.tile_size, params.tile_overlap);
        let per_batch = params.tiles_per_batch;
        let (width, height) = (raster.width, raster.height);
        let scheme = plan(width, height, size, overlap, per_batch, raster.transform)?;
        let stored = Stored {
            bounds: raster.bounds,
            bounds_4326: raster.bounds_4326,
            input_crs: validation.input_crs(),
            raster_type: raster.kind.name,
            scheme,
        };
        let scheme_uri = ctx.output_key("scheme.json");
        let bytes = serde_json::to_vec(&stored).map_err(|error| unreadable(&error))?;
        ctx.store().put(&scheme_uri, bytes.into()).await?;
        let scheme = &stored.scheme;
        let few = scheme.tile_count() <= INLINE_MAX;
        let tiles = few.then(|| scheme.tiles().collect::<Vec<_>>());
        let output = json!({
            "scheme_uri": scheme_uri,
            "batch_count": scheme.batch_count(),
            "tile_count": scheme.tile_count(),
            "tiles": tiles,
            "grid_dimensions": { "rows": scheme.rows(), "cols": scheme.cols() },
            "tile_size": size,
            "tile_overlap": overlap,
            "source_shape": [height, width],
            "source_bounds": raster.bounds,
        });
        Ok(output.into())
    }
}

/// Makes the tiles of one batch.
pub(super) struct ProcessTileBatch(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct BatchParams {
    #[serde(flatten)]
    source: SourceParams,
    scheme_uri: String,
    batch_index: u64,
    raster_type: Option<String>,
    target_crs: Option<String>,
    output_tier: String,
    output_folder: String,
}

/// What the checkpoints of a batch remember.
#[derive(Default, Serialize, Deserialize)]
struct Finished {
    /// Name in silver, by tile.
    tiles: BTreeMap<String, String>,
    failed: BTreeMap<String, String>,
    bytes: u64,
}

impl Handler for ProcessTileBatch {
    const NAME: &'static str = "raster.process_tile_batch";
    type Params = BatchParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: BatchParams) -> Result<Done<Value>, Failure> {
        let begun = Instant::now();
        let place = self.0.tiers.place(&params.source)?;
        let stored = ctx.store().get(&params.scheme_uri).await?;
        let stored: Stored = serde_json::from_slice(&stored).map_err(|error| unreadable(&error))?;
        let batch = stored.scheme.batch(params.batch_index);
        let batch = batch.ok_or_else(|| no_batch(params.batch_index))?;
        let mut finished = resumed(ctx).await;
        let folder = ctx.scratch()?.join("tiles");
        std::fs::create_dir_all(&folder).map_err(|error| crate::tiers::scratch(&error))?;
        let todo = batch.iter().filter(|tile| !finished.has(&tile.tile_id));
        let tiles = wishes(todo, &folder)?;
        let container = place.container_of_results().to_owned();
        if !tiles.is_empty() {
            let source = self.0.tiers.in_parts(ctx, &place).await?;
            let wish = CogWish {
                raster_type: chosen(params.raster_type).or(Some(stored.raster_type)),
                tier: params.output_tier,
                input_crs: stored.input_crs,
                target_crs: given(params.target_crs),
            };
            let mut talk = self
                .0
                .children
                .start(
                    ctx,
                    Op::Tiles {
                        source,
                        tiles,
                        wish,
                    },
                )
                .await?;
            while let Some(told) = talk.next(ctx).await? {
                let made: TileMade =
                    serde_json::from_value(told).map_err(|error| unreadable(&error))?;
                self.keep(ctx, made, &container, &params.output_folder, &mut finished)
                    .await?;
                let done = finished.tiles.len() + finished.failed.len();
                save(ctx, &finished, done, batch.len()).await?;
                talk.answer(&true).await?;
            }
        }
        finished.check()?;
        let output = json!({
            "tile_cogs": finished.tiles.values().collect::<Vec<_>>(),
            "cog_container": container,
            "tiles_completed": finished.tiles.len(),
            "tiles_failed": finished.failures(),
            "total_size_mb": megabytes(finished.bytes),
            "processing_seconds": begun.elapsed().as_secs_f64(),
            "grid_dimensions": { "rows": stored.scheme.rows(), "cols": stored.scheme.cols() },
            "collection_bounds": stored.bounds_4326,
        });
        Ok(output.into())
    }
}

impl Finished {
    fn has(&self, tile_id: &str) -> bool {
        self.tiles.contains_key(tile_id) || self.failed.contains_key(tile_id)
    }

    /// A batch without a single tile has failed.
    fn check(&self) -> Result<(), Failure> {
        let Some(first) = self
            .failed
            .values()
            .next()
            .filter(|_| self.tiles.is_empty())
        else {
            return Ok(());
        };
        let message = format!("no tile of the batch could be made; the first: {first}");
        Err(Failure::new(
            FailureClass::Permanent,
            "all_tiles_failed",
            &message,
        ))
    }

    fn failures(&self) -> Vec<Value> {
        let failed = self.failed.iter();
        failed
            .map(|(tile_id, message)| json!({ "tile_id": tile_id, "message": message }))
            .collect()
    }
}

impl ProcessTileBatch {
    /// Moves a tile to where it stays, and notes it.
    async fn keep(
        &self,
        ctx: &Context,
        made: TileMade,
        container: &str,
        folder: &str,
        finished: &mut Finished,
    ) -> Result<(), Failure> {
        if let Some(failure) = made.failure {
            // Whatever may pass by itself is for another attempt of the whole batch.
            if failure.class.is_retryable() {
                return Err(failure);
            }
            ctx.info(&format!("tile {}: {}", made.tile_id, failure.message));
            finished.failed.insert(made.tile_id, failure.message);
            return Ok(());
        }
        let published = self
            .0
            .tiers
            .publish(&made.target, container, folder, &made.tile_id);
        let published = published.await?;
        finished.bytes += published.bytes;
        finished.tiles.insert(made.tile_id, published.place.name);
        Ok(())
    }
}

/// Each tile in a directory of its own.
fn wishes<'a>(
    tiles: impl Iterator<Item = &'a Tile>,
    folder: &Path,
) -> Result<Vec<TileWish>, Failure> {
    let mut wishes = Vec::new();
    for tile in tiles {
        let own = folder.join(&tile.tile_id);
        std::fs::create_dir_all(&own).map_err(|error| crate::tiers::scratch(&error))?;
        wishes.push(TileWish {
            tile_id: tile.tile_id.clone(),
            window: tile.pixel_bounds,
            target: own.join("tile.tif"),
        });
    }
    Ok(wishes)
}

async fn resumed(ctx: &Context) -> Finished {
    let Some(resume) = ctx.load_checkpoint().await else {
        return Finished::default();
    };
    serde_json::from_value(resume.checkpoint.state).unwrap_or_default()
}

async fn save(ctx: &Context, finished: &Finished, done: usize, all: usize) -> Result<(), Failure> {
    let state = serde_json::to_value(finished).map_err(|error| unreadable(&error))?;
    ctx.progress(done as u64, all as u64, "tiles");
    let phase = Phase {
        name: "tiles".to_owned(),
        index: 0,
        total: 1,
        state,
        artifacts: Vec::<Artifact>::new(),
        is_final: done == all,
    };
    ctx.save_checkpoint(phase).await
}

fn unreadable(error: &serde_json::Error) -> Failure {
    let message =
        format!("the tiling scheme, or what is known of its tiles, cannot be read: {error}");
    Failure::new(FailureClass::Permanent, "bad_scheme", &message)
}

fn no_batch(index: u64) -> Failure {
    let message = format!("the tiling scheme has no batch {index}");
    Failure::new(FailureClass::Contract, "no_batch", &message)
}

/// The place of a tile that `raster.process_tile_batch` has named.
pub(super) fn tile_place(container: &str, name: &str) -> Result<Place, Failure> {
    Place::new("silver", container, name)
}
