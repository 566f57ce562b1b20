//! Rasters: look at them, copy them, turn them into Cloud-Optimized `GeoTIFF` files.

use domain::failure::Failure;
use geo::raster::Raster;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tools::{Shared, Validation, chosen, given, megabytes, rate};
use crate::child::{CogWish, Op};
use crate::handler::{Context, Done, Handler};
use crate::tiers::SourceParams;

/// Opens a raster and says what it is.
pub(super) struct RasterValidate(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct ValidateParams {
    #[serde(flatten)]
    source: SourceParams,
    input_crs: Option<String>,
    raster_type: Option<String>,
    output_tier: Option<String>,
}

impl Handler for RasterValidate {
    const NAME: &'static str = "raster.validate";
    type Params = ValidateParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: ValidateParams) -> Result<Done<Value>, Failure> {
        let place = self.0.tiers.place(&params.source)?;
        let local = self.0.tiers.fetch(ctx, &place).await?;
        let op = Op::Look {
            source: local.path.into(),
            input_crs: given(params.input_crs),
            raster_type: chosen(params.raster_type),
            read_all: true,
            stats: false,
            thumbnail: None,
        };
        let raster: Raster = self.0.children.run(ctx, op).await?;
        let tier = params.output_tier.unwrap_or_else(|| "analysis".to_owned());
        let output = described(&raster, &place.url(), &tier);
        Ok(Done::from(output).metric("pixel_bytes", raster.pixel_bytes))
    }
}

/// The output of `raster.validate`.
fn described(raster: &Raster, url: &str, tier: &str) -> Value {
    let lossy = tier == "visualization" && matches!(raster.kind.name.as_str(), "rgb" | "rgba");
    let profile = match (lossy, raster.kind.name.as_str()) {
        (true, "rgba") => "webp",
        (true, _) => "jpeg",
        (false, _) if tier == "archive" => "deflate",
        (false, _) => "zstd",
    };
    let tiers: &[&str] = match raster.kind.name.as_str() {
        "rgb" | "rgba" => &["visualization", "analysis", "archive"],
        _ => &["analysis", "archive"],
    };
    let share = if lossy { 0.1 } else { 0.55 };
    let first = raster.bands.first().cloned().unwrap_or_default();
    json!({
        "valid": true,
        "source_crs": raster.crs.text(),
        "crs_source": raster.crs_source,
        "bounds": raster.bounds,
        "shape": [raster.height, raster.width],
        "band_count": raster.bands.len(),
        "dtype": first.dtype,
        "nodata": first.nodata,
        "size_mb": megabytes(raster.pixel_bytes),
        "file_size_mb": megabytes(raster.file_bytes),
        "blob_url": url,
        "raster_type": raster.kind,
        "compression_profile": profile,
        "applicable_tiers": tiers,
        "estimated_compressed_mb": (megabytes(raster.pixel_bytes) * share * 100.0).round() / 100.0,
        "warnings": raster.warnings,
    })
}

/// Makes a Cloud-Optimized `GeoTIFF`.
pub(super) struct RasterCreateCog(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct CogParams {
    #[serde(flatten)]
    source: SourceParams,
    validation: Option<Validation>,
    raster_type: Option<String>,
    target_crs: Option<String>,
    output_tier: String,
    output_folder: String,
    output_name: Option<String>,
}

/// What the child gives back.
#[derive(Deserialize)]
struct Made {
    compression: String,
    overviews: Vec<u64>,
    raster: Raster,
}

impl Handler for RasterCreateCog {
    const NAME: &'static str = "raster.create_cog";
    type Params = CogParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: CogParams) -> Result<Done<Value>, Failure> {
        let place = self.0.tiers.place(&params.source)?;
        let validation = params.validation.unwrap_or_default();
        let local = self.0.tiers.fetch(ctx, &place).await?;
        // A directory of its own: what GDAL leaves beside a file goes with it.
        let folder = ctx.scratch()?.join("cog");
        std::fs::create_dir_all(&folder).map_err(|error| crate::tiers::scratch(&error))?;
        let target = folder.join("result.tif");
        let raster_type = chosen(params.raster_type).or_else(|| validation.raster_type());
        let wish = CogWish {
            raster_type,
            tier: params.output_tier,
            input_crs: validation.input_crs(),
            target_crs: given(params.target_crs),
        };
        let kind = wish.raster_type.clone();
        let begun = Instant::now();
        let (source, made_at) = (local.path, target.clone());
        let op = Op::Cog {
            source,
            target,
            wish,
        };
        let made: Made = self.0.children.run(ctx, op).await?;
        let processing = begun.elapsed().as_secs_f64();
        ctx.check()?;
        let begun = Instant::now();
        let stem = match given(params.output_name) {
            Some(name) => crate::tiers::Place::new("silver", "x", &name)?.stem(),
            None => place.stem(),
        };
        let (container, folder) = (place.container_of_results(), &params.output_folder);
        let published = self
            .0
            .tiers
            .publish(&made_at, container, folder, &stem)
            .await?;
        let uploaded = begun.elapsed().as_secs_f64();
        ctx.info(&format!(
            "{} bytes at {}",
            published.bytes,
            published.place.url()
        ));
        let output = json!({
            "cog_blob": published.place.name,
            "cog_container": published.place.container,
            "cog_local_path": null,
            "cog_uri": published.place.url(),
            "size_bytes": published.bytes,
            "size_mb": megabytes(published.bytes),
            "content_hash": published.sha256,
            "file_checksum": published.multihash(),
            "compression": made.compression,
            "overview_levels": made.overviews,
            "source_crs": validation_crs(&validation, &made.raster),
            "target_crs": made.raster.crs.text(),
            "raster_type": kind.unwrap_or(made.raster.kind.name),
            "processing_seconds": processing,
            "upload_throughput_mbps": rate(published.bytes, uploaded),
        });
        Ok(output.into())
    }
}

fn validation_crs(validation: &Validation, made: &Raster) -> String {
    let known = validation.source_crs();
    known.unwrap_or_else(|| made.crs.text().to_owned())
}

/// Copies a blob to the mount.
pub(super) struct BlobToMount(pub(super) Shared);

impl Handler for BlobToMount {
    const NAME: &'static str = "raster.blob_to_mount";
    type Params = SourceParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: SourceParams) -> Result<Done<Value>, Failure> {
        let place = self.0.tiers.place(&params)?;
        let begun = Instant::now();
        let (name, bytes) = self.0.tiers.to_mount(ctx, &place).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let output = json!({
            "local_path": name,
            "size_bytes": bytes,
            "size_mb": megabytes(bytes),
            "duration_seconds": seconds,
            "throughput_mbps": rate(bytes, seconds),
            "source_uri": place.url(),
        });
        Ok(output.into())
    }
}
