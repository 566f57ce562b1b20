//! `vector.load` against `ogr2ogr` with COPY: the same columns, the same reprojection, an index on both sides.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use url::Url;

use super::{Noise, ROUNDS, figure, job, tool};
use crate::bench::Figure;
use crate::bench::rig::Rig;

const POLYGONS: u32 = 100_000;
/// Polygons of one row of the map.
const ROW: u32 = 400;

pub(in crate::bench) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let uploads = rig.dir.join("bronze/bench");
    make_layer(&uploads).await?;
    super::tables::make_schema(&rig.pool).await?;
    let url = Url::parse(rig.stack.database_url())?;
    let database = format!(
        "PG:host={} port={} user={} dbname={} active_schema=bench",
        url.host_str().unwrap_or_default(),
        url.port().unwrap_or(5432),
        url.username(),
        url.path().trim_start_matches('/')
    );
    let env = [
        ("PGPASSWORD", url.password().unwrap_or_default()),
        ("PG_USE_COPY", "YES"),
    ];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let table = format!("parcels_{round}");
        let params = json!({ "source_url": "bronze://bench/parcels.gpkg", "table_name": table });
        ours.push(
            job(
                rig,
                &format!("bench_vector_{round}"),
                "vector.load",
                &params,
            )
            .await?,
        );
        let args = [
            "-f",
            "PostgreSQL",
            &database,
            "parcels.gpkg",
            "-nln",
            &table,
            "-t_srs",
            "EPSG:4326",
            "-lco",
            "SPATIAL_INDEX=GIST",
            "-lco",
            "GEOMETRY_NAME=geom",
            "-lco",
            "FID=fid",
        ];
        theirs.push(tool(&uploads, "ogr2ogr", &args, &env).await?);
        let counts = super::tables::both_counts(&rig.pool, &table).await?;
        let expected = i64::from(POLYGONS);
        anyhow::ensure!(
            counts == (expected, expected),
            "not all polygons arrived: {counts:?}"
        );
    }
    let limit = "ogr2ogr with COPY, same columns, reprojection and index";
    Ok(vec![figure("vector", POLYGONS, limit, &ours, &theirs)])
}

async fn make_layer(uploads: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(uploads)?;
    write_parcels(&uploads.join("parcels.csv"))?;
    let args = [
        "-f",
        "GPKG",
        "parcels.gpkg",
        "parcels.csv",
        "-oo",
        "GEOM_POSSIBLE_NAMES=wkt",
        "-oo",
        "KEEP_GEOM_COLUMNS=NO",
        "-oo",
        "AUTODETECT_TYPE=YES",
        "-a_srs",
        "EPSG:32632",
        "-nlt",
        "POLYGON",
        "-nln",
        "parcels",
    ];
    tool(uploads, "ogr2ogr", &args, &[]).await?;
    std::fs::remove_file(uploads.join("parcels.csv"))?;
    Ok(())
}

/// Parcels side by side with uneven corners, in metres.
fn write_parcels(path: &Path) -> anyhow::Result<()> {
    let mut noise = Noise(2);
    let mut text = String::from("wkt,parcel,owner,class,area_m2,surveyed\n");
    for number in 0..POLYGONS {
        let (x, y) = (400_000 + number % ROW * 100, 5_500_000 + number / ROW * 100);
        let mut corner = |dx: u32, dy: u32| {
            let (a, b) = (noise.next() % 9, noise.next() % 9);
            (f64::from(x + dx) + a as f64, f64::from(y + dy) + b as f64)
        };
        let ring = [
            corner(0, 0),
            corner(40, 3),
            corner(80, 0),
            corner(83, 40),
            corner(80, 80),
            corner(40, 77),
            corner(0, 80),
            corner(3, 40),
        ];
        let points: Vec<String> = ring
            .iter()
            .chain(ring.first())
            .map(|(x, y)| format!("{x} {y}"))
            .collect();
        writeln!(
            text,
            "\"POLYGON (({}))\",{number},owner of parcel {number},{},{}.5,2024-0{}-1{}",
            points.join(","),
            number % 12,
            5_000 + number % 997,
            1 + number % 9,
            number % 9,
        )?;
    }
    std::fs::write(path, text)?;
    Ok(())
}
