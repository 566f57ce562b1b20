//! `raster.create_cog` against `gdal_translate -of COG` with the same options, threads and cache.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::json;

use super::{Noise, ROUNDS, figure, job, tool};
use crate::bench::Figure;
use crate::bench::rig::Rig;

/// Pixels of an edge.
const SIZE: u32 = 10_000;
/// As the handler writes an `analysis` raster, with the defaults of a worker.
const OPTIONS: [&str; 12] = [
    "-co",
    "COMPRESS=ZSTD",
    "-co",
    "BLOCKSIZE=512",
    "-co",
    "OVERVIEWS=IGNORE_EXISTING",
    "-co",
    "OVERVIEW_RESAMPLING=AVERAGE",
    "-co",
    "BIGTIFF=IF_SAFER",
    "-co",
    "PREDICTOR=YES",
];

pub(in crate::bench) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let uploads = rig.dir.join("bronze/bench");
    std::fs::create_dir_all(&uploads)?;
    write_terrain(&uploads)?;
    let source = uploads.join("source.tif");
    let source = source.to_string_lossy();
    let raw = ["-q", "terrain.bin", source.as_ref()];
    tool(&uploads, "gdal_translate", &raw, &[]).await?;
    std::fs::remove_file(uploads.join("terrain.bin"))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let params = json!({
            "source_url": "bronze://bench/source.tif", "raster_type": "continuous",
            "output_name": format!("round_{round}"),
        });
        ours.push(
            job(
                rig,
                &format!("bench_cog_{round}"),
                "raster.create_cog",
                &params,
            )
            .await?,
        );
        let mut args = vec!["-q", "-of", "COG", "-co", "NUM_THREADS=2"];
        args.extend(OPTIONS);
        args.extend([source.as_ref(), "theirs.tif"]);
        theirs.push(
            tool(
                &rig.dir,
                "gdal_translate",
                &args,
                &[("GDAL_CACHEMAX", "512")],
            )
            .await?,
        );
    }
    let limit = "gdal_translate -of COG, same options, threads and cache";
    Ok(vec![figure("cog", SIZE * SIZE, limit, &ours, &theirs)])
}

/// Hills with a grain, as a sensor would see them: sixteen bits per pixel, with a header that GDAL reads.
fn write_terrain(dir: &Path) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(dir.join("terrain.bin"))?);
    let mut noise = Noise(1);
    let waves: Vec<f64> = (0..SIZE)
        .map(|x| (f64::from(x) / 700.0).sin() * 4_000.0)
        .collect();
    for (y, slope) in waves.iter().enumerate() {
        let mut line = Vec::with_capacity(waves.len() * 2);
        for (x, wave) in waves.iter().enumerate() {
            let grain = noise.next() % 64;
            let height =
                20_000.0 + wave + slope + ((x * y) as f64 / 9e6).cos() * 900.0 + grain as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 11,000 and 30,000"
            )]
            line.extend((height as u16).to_le_bytes());
        }
        file.write_all(&line)?;
    }
    file.flush()?;
    let header = format!(
        "ENVI\nsamples = {SIZE}\nlines = {SIZE}\nbands = 1\nheader offset = 0\nfile type = ENVI Standard\n\
         data type = 12\ninterleave = bsq\nbyte order = 0\n\
         map info = {{UTM, 1, 1, 400000, 5500000, 10, 10, 32, North, WGS-84}}\n"
    );
    std::fs::write(dir.join("terrain.hdr"), header)?;
    Ok(())
}
