//! Loading a layer: one thread reads, the other copies.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use domain::failure::{Failure, FailureClass};
use geo::table::{self, Prepared, Target};
use native::vector::{Chunk, Found, LayerOptions, ReadOptions};
use serde::Serialize;
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use super::inside::Mouth;
use super::{LoadWish, Loaded};

/// Chunks that are read ahead.
const AHEAD: usize = 2;
/// Reasons for leaving features out that are told.
const REASONS_MAX: usize = 20;

/// What a finished load says of its table.
#[derive(Serialize)]
pub(super) struct Made {
    rows: u64,
    geometry_type: String,
    bounds: Option<[f64; 4]>,
    loaded: Loaded,
    /// Why features were left out, the first few.
    reasons: Vec<String>,
}

pub(super) fn load(wish: LoadWish, mouth: &Mouth) -> Result<Made, Failure> {
    let options = LayerOptions {
        layer: wish.layer.clone(),
        input_crs: wish.input_crs.clone(),
    };
    let Found { layer, suspects } = native::vector::look(&wish.path, &options, mouth)?;
    let target = Target {
        schema: wish.schema.clone(),
        table: wish.table.clone(),
        columns: layer.columns.clone(),
        geometry_type: layer.geometry_type.clone(),
        srid: wish.srid,
        has_z: layer.has_z,
        load_id: wish.load_id.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::new(
            FailureClass::Transient,
            "native_runtime",
            &error.to_string(),
        )
    })?;
    let connected = runtime.block_on(PgConnection::connect(&wish.database_url));
    let mut database = connected.map_err(|error| {
        let message = format!("the database of the catalog does not answer: {error}");
        Failure::new(FailureClass::Transient, "database_unavailable", &message)
    })?;
    let prepared = runtime.block_on(table::prepare(&mut database, &target))?;
    let loaded = match prepared {
        Prepared::Fresh => Loaded::default(),
        Prepared::Resumed | Prepared::Loaded => wish.resume.clone().unwrap_or_default(),
    };
    let mut load = Load {
        runtime: &runtime,
        database: &mut database,
        target: &target,
        loaded,
        reasons: Vec::new(),
    };
    if prepared != Prepared::Loaded {
        let options = ReadOptions {
            layer: Some(layer.name.clone()),
            input_crs: wish.input_crs.clone(),
            target_srid: wish.srid,
            make_valid: wish.make_valid,
            suspects,
            after_fid: (load.loaded.chunks > 0).then_some(load.loaded.after_fid),
            chunk: wish.chunk,
            geometry_type: layer.geometry_type.clone(),
            columns: layer.columns.clone(),
        };
        load.run(&wish.path, &options, layer.feature_count, mouth)?;
    }
    let (loaded, reasons) = (load.loaded, load.reasons);
    let done = runtime.block_on(table::finish(&mut database, &target))?;
    let _ = runtime.block_on(database.close());
    Ok(Made {
        rows: done.rows,
        geometry_type: layer.geometry_type,
        bounds: done.bounds,
        loaded,
        reasons,
    })
}

/// A load on its way.
struct Load<'a> {
    runtime: &'a Runtime,
    database: &'a mut PgConnection,
    target: &'a Target,
    loaded: Loaded,
    reasons: Vec<String>,
}

impl Load<'_> {
    /// Reads and copies until there is no more.
    fn run(
        &mut self,
        path: &Path,
        options: &ReadOptions,
        expected: u64,
        mouth: &Mouth,
    ) -> Result<(), Failure> {
        let (sender, chunks) = sync_channel::<Chunk>(AHEAD);
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                native::vector::read(path, options, mouth, &mut |chunk| {
                    sender.send(chunk).map_err(|_| gave_up())
                })
            });
            let mut copied = Ok(());
            for chunk in &chunks {
                copied = self.copy(chunk, expected, mouth);
                if copied.is_err() {
                    break;
                }
            }
            // The reader ends when nobody takes its chunks.
            drop(chunks);
            let read = reader.join().unwrap_or_else(|_| Err(gave_up()));
            copied.and(read)
        })
    }

    /// Copies a chunk, and goes on when the worker has its checkpoint.
    fn copy(&mut self, chunk: Chunk, expected: u64, mouth: &Mouth) -> Result<(), Failure> {
        let copying = table::copy_chunk(self.database, self.target, &chunk.rows);
        self.runtime.block_on(copying)?;
        self.loaded.add(&chunk);
        let left = REASONS_MAX.saturating_sub(self.reasons.len());
        let rejected = chunk.rejected.into_iter().take(left);
        self.reasons
            .extend(rejected.map(|(fid, why)| format!("{fid}: {why}")));
        // Far below 2^52.
        mouth.tell(self.loaded.rows as f64 / expected.max(1) as f64);
        mouth.ask(&self.loaded).map(drop)
    }
}

impl Loaded {
    fn add(&mut self, chunk: &Chunk) {
        let rejected = chunk.rejected.iter().map(|(fid, _)| *fid);
        let last = chunk.rows.iter().map(|row| row.fid).chain(rejected).max();
        self.after_fid = last.unwrap_or(self.after_fid);
        self.chunks += 1;
        self.rows += chunk.rows.len() as u64;
        self.rejected += chunk.rejected.len() as u64;
        self.repaired += chunk.repaired;
    }
}

fn gave_up() -> Failure {
    Failure::new(
        FailureClass::Transient,
        "load_gave_up",
        "the load was given up",
    )
}
