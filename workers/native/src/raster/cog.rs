//! Making a cloud-optimised GeoTIFF, and proving it before anyone sees it.

use std::path::Path;

use domain::failure::{Failure, FailureClass};
use gdal::cpl::CslStringList;
use gdal::raster::{ColorInterpretation, GdalDataType};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DriverManager, Metadata};

use super::look::{self, wide};
use super::open::{self, Opened};
use super::pass::{self, Twin};
use super::warp::Warp;
use super::workplace::Workplace;
use super::{CogMade, CogOptions, LookOptions, check, kind};
use crate::failure::{noted, permanent};
use crate::{Part, Watch, crs, ffi, go_on};

/// Name of the result while it is made.
const RESULT: &str = "result.tif";

/// Makes `target`. It is absent or complete at any moment; whatever fails leaves nothing.
pub fn create_cog(
    source: &Path,
    target: &Path,
    options: &CogOptions,
    watch: &dyn Watch,
) -> Result<CogMade, Failure> {
    CogSource::open(source, options, watch)?.make(target, None, watch)
}

/// A raster of which COGs are made: of all of it, or window by window without opening it again.
pub struct CogSource<'a> {
    opened: Opened,
    srs: SpatialRef,
    /// The CRS is not that of the file.
    is_override: bool,
    warnings: Vec<String>,
    options: &'a CogOptions,
}

impl<'a> CogSource<'a> {
    /// Opens it, and refuses what no COG can be made of.
    pub fn open(
        source: &Path,
        options: &'a CogOptions,
        watch: &dyn Watch,
    ) -> Result<Self, Failure> {
        go_on(watch)?;
        if !["visualization", "analysis", "archive"].contains(&options.tier.as_str()) {
            return Err(Failure::new(
                FailureClass::Contract,
                "bad_tier",
                &format!(
                    "`{}` is no tier: visualization, analysis or archive.",
                    options.tier
                ),
            ));
        }
        let opened = open::open(source, options.pixel_bytes_max)?;
        kind::given(&options.raster_type, opened.dataset.raster_count())?;
        let mut warnings = Vec::new();
        let (srs, crs_source) =
            look::georeference(&opened, options.input_crs.as_deref(), &mut warnings)?;
        look::transform(&opened)?;
        Ok(Self {
            opened,
            srs,
            is_override: crs_source == "override",
            warnings,
            options,
        })
    }

    /// Makes `target` of all of it, or of a window: x, y, width and height in pixels.
    pub fn make(
        &self,
        target: &Path,
        part: Option<[u64; 4]>,
        watch: &dyn Watch,
    ) -> Result<CogMade, Failure> {
        let (opened, options) = (&self.opened, self.options);
        let part = window(opened, &self.srs, self.is_override, part)?;
        let dataset = part.as_ref().unwrap_or(&opened.dataset);
        let mut workplace = Workplace::new(target)?;
        let _settings = Settings::set(options.threads);
        let aim = options.target_crs.as_deref().map(crs::parse).transpose()?;
        let aim = aim.filter(|aim| !ffi::srs::is_same(&self.srs, aim));
        let (warp_to, copy_to) = if aim.is_some() {
            (0.4, 0.7)
        } else {
            (0.0, 0.6)
        };
        let share = |from, to| Part { watch, from, to };
        let warped = aim.as_ref().map(|aim| {
            let warp = Warp {
                dataset,
                opened,
                target: aim,
                is_categorical: options.raster_type == "categorical" || has_palette(dataset),
                threads: options.threads,
                pixel_bytes_max: options.pixel_bytes_max,
            };
            warp.run(&workplace.file("warped.tif"), &share(0.0, warp_to))
        });
        let warped = warped.transpose()?;
        let dataset = warped.as_ref().unwrap_or(dataset);
        let plan = Plan::new(options, dataset);
        let result = workplace.file(RESULT);
        copy(opened, dataset, &result, &plan, &share(warp_to, copy_to))?;
        workplace.sync_early(&result);
        let twin = Twin { opened, dataset };
        let srs = aim.as_ref().unwrap_or(&self.srs);
        let mut made = verify(twin, srs, &result, &plan, options, &share(copy_to, 1.0))?;
        made.raster.warnings.splice(0..0, self.warnings.clone());
        drop(warped);
        go_on(watch)?;
        workplace.finish(&result)?;
        Ok(made)
    }
}

/// How the result is written.
struct Plan {
    compression: &'static str,
    is_lossless: bool,
    options: Vec<(&'static str, String)>,
}

impl Plan {
    fn new(options: &CogOptions, dataset: &Dataset) -> Self {
        let bands: Vec<_> = dataset.rasterbands().filter_map(Result::ok).collect();
        let bytes = bands
            .iter()
            .all(|band| band.band_type() == GdalDataType::UInt8);
        let has_nodata = bands.iter().any(|band| band.no_data_value().is_some());
        let is_colour = matches!(options.raster_type.as_str(), "rgb" | "rgba");
        let has_alpha = bands
            .last()
            .is_some_and(|band| band.color_interpretation() == ColorInterpretation::AlphaBand);
        // A lossy pixel near nodata may become it, or stop to be it: such files stay lossless.
        let lossy = options.tier == "visualization" && is_colour && bytes && !has_nodata;
        let compression = match (lossy, bands.len(), options.tier.as_str()) {
            (true, 3, _) => "JPEG",
            (true, 4, _) if has_alpha => "WEBP",
            // Every reader of the last twenty years knows it; an archive outlives its tools.
            (_, _, "archive") => "DEFLATE",
            _ => "ZSTD",
        };
        let palette = has_palette(dataset);
        // Predictors take differences of whole bytes, and classes have no neighbours.
        let odd_bits = bands
            .iter()
            .any(|band| band.metadata_item("NBITS", "IMAGE_STRUCTURE").is_some());
        let resampling = match options.raster_type.as_str() {
            _ if palette => "NEAREST",
            "categorical" => "MODE",
            _ => "AVERAGE",
        };
        let mut chosen = vec![
            ("COMPRESS", compression.to_owned()),
            ("BLOCKSIZE", "512".to_owned()),
            ("OVERVIEWS", "IGNORE_EXISTING".to_owned()),
            ("OVERVIEW_RESAMPLING", resampling.to_owned()),
            ("BIGTIFF", "IF_SAFER".to_owned()),
            ("NUM_THREADS", options.threads.max(1).to_string()),
        ];
        let is_lossless = matches!(compression, "ZSTD" | "DEFLATE");
        if is_lossless {
            let predictor = if palette || odd_bits { "NO" } else { "YES" };
            chosen.push(("PREDICTOR", predictor.to_owned()));
        } else {
            chosen.push(("QUALITY", "90".to_owned()));
        }
        if compression == "DEFLATE" {
            chosen.push(("LEVEL", "9".to_owned()));
        }
        Self {
            compression,
            is_lossless,
            options: chosen,
        }
    }
}

/// The part of the source that is wanted, or all of it under another CRS; nothing if it stays as it is.
fn window(
    opened: &Opened,
    srs: &SpatialRef,
    is_override: bool,
    window: Option<[u64; 4]>,
) -> Result<Option<Dataset>, Failure> {
    if window.is_none() && !is_override {
        return Ok(None);
    }
    let mut arguments = vec!["-of".to_owned(), "VRT".to_owned()];
    if let Some([x, y, w, h]) = window {
        let (width, height) = opened.dataset.raster_size();
        let fits = |from: u64, size: u64, all: usize| {
            size > 0 && from.checked_add(size).is_some_and(|end| end <= wide(all))
        };
        if !fits(x, w, width) || !fits(y, h, height) {
            return Err(Failure::new(
                FailureClass::Contract,
                "bad_window",
                &format!(
                    "The window {x}, {y}, {w}, {h} is not inside of `{}`, which has {width} x {height} \
                     pixels.",
                    opened.name
                ),
            ));
        }
        arguments.push("-srcwin".to_owned());
        arguments.extend([x, y, w, h].map(|value| value.to_string()));
    }
    if is_override {
        let definition = ffi::srs::wkt2(srs);
        let definition = definition.unwrap_or_else(|| crs::describe(srs).name);
        arguments.extend(["-a_srs".to_owned(), definition]);
    }
    ffi::error::reset();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let part = ffi::raster::translate(Path::new(""), &opened.dataset, &arguments);
    part.map(Some).ok_or_else(|| {
        let what = format!("A part of `{}` could not be taken", opened.name);
        noted("cog_failed", &what, &opened.path, &ffi::error::noted())
    })
}

fn copy(
    opened: &Opened,
    dataset: &Dataset,
    result: &Path,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let missing = |_| {
        permanent(
            "cog_failed",
            "This GDAL cannot write cloud-optimised GeoTIFFs.",
        )
    };
    let driver = DriverManager::get_driver_by_name("COG").map_err(missing)?;
    let mut list = CslStringList::new();
    for (key, value) in &plan.options {
        list.set_name_value(key, value).map_err(missing)?;
    }
    ffi::error::reset();
    let made = ffi::raster::create_copy(&driver, result, dataset, &list, watch);
    let is_made = made.is_some();
    // Closing writes too, and its errors are only noted.
    drop(made);
    // GDAL's own error says nothing of a cancel in the later phases.
    go_on(watch)?;
    let noted_here = ffi::error::noted();
    if is_made && !noted_here.failed {
        return Ok(());
    }
    let code =
        if noted_here.message.contains("IReadBlock") || noted_here.message.contains("IRasterIO") {
            "corrupt_blocks"
        } else {
            "cog_failed"
        };
    let what = format!(
        "`{}` could not be turned into a cloud-optimised GeoTIFF",
        opened.name
    );
    Err(noted(code, &what, &opened.path, &noted_here))
}

/// Opens the result as anyone would and compares it with what it was made from.
fn verify(
    twin: Twin<'_>,
    srs: &SpatialRef,
    result: &Path,
    plan: &Plan,
    options: &CogOptions,
    watch: &dyn Watch,
) -> Result<CogMade, Failure> {
    let made = open::open(result, u64::MAX)?;
    check::written(&made)?;
    check::same_frame(twin.dataset, srs, &made)?;
    let twin = plan.is_lossless.then_some(twin);
    // What was kept for copying is of no use now, and would stand beside what is read.
    let _cache = ffi::raster::SmallCache::of(pass::cache_bytes(&made.dataset));
    let look_options = LookOptions {
        input_crs: None,
        raster_type: Some(options.raster_type.clone()),
        pixel_bytes_max: u64::MAX,
        read_all: true,
        stats: true,
    };
    let raster = look::opened_look(&made, &look_options, twin, watch)?;
    Ok(CogMade {
        compression: plan.compression.to_owned(),
        overviews: raster.overviews.clone(),
        size_bytes: made.file_bytes,
        raster,
    })
}

fn has_palette(dataset: &Dataset) -> bool {
    dataset
        .rasterband(1)
        .is_ok_and(|band| band.color_table().is_some())
}

/// Settings of GDAL for this call alone.
struct Settings;

/// Overviews wait in a file beside the result until it is written. To compress them there costs a fifth of the
/// whole time, and the room is freed a moment later.
const OVERVIEWS_WAIT: (&str, &str) = ("COG_TMP_COMPRESSION", "NONE");
/// The warper reads only the setting, not the option.
const THREADS: &str = "GDAL_NUM_THREADS";

impl Settings {
    fn set(threads: u32) -> Self {
        let count = threads.max(1).to_string();
        for (key, value) in [(THREADS, count.as_str()), OVERVIEWS_WAIT] {
            // One that GDAL does not take only costs time.
            let _ = gdal::config::set_thread_local_config_option(key, value);
        }
        Self
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for key in [THREADS, OVERVIEWS_WAIT.0] {
            let _ = gdal::config::clear_thread_local_config_option(key);
        }
    }
}
