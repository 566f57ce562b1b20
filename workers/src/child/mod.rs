//! Work with native libraries, in a process of its own: the same binary, started for one task.
//!
//! What GDAL does wrong with a hostile file then ends that task, not the worker. The child has a limit on its memory and on the size
//! of its files, gets nothing of the worker's environment that is secret, and ends when the worker does.
//!
//! Both sides speak JSON, one message per line, over the child's stdin and stdout.

mod inside;
#[cfg(feature = "gdal")]
mod load;
mod outside;

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use inside::serve;
pub use outside::{Children, Talk};

/// What a child may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of one child.
    pub memory_mb: u64,
    /// Of that, GDAL's cache of blocks.
    pub cache_mb: u32,
    /// Threads that GDAL compresses with.
    pub threads: u32,
    /// Uncompressed pixels of one raster.
    pub pixels_mb: u64,
    /// What may lie in its scratch directory at a time.
    pub scratch_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mb: 4_096,
            cache_mb: 512,
            threads: 2,
            pixels_mb: 256 * 1_024,
            scratch_mb: 64 * 1_024,
        }
    }
}

/// What a child is asked to do. Paths are those of this machine, chosen by the worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Opens a raster and says what it is.
    Look {
        source: Source,
        input_crs: Option<String>,
        raster_type: Option<String>,
        read_all: bool,
        stats: bool,
        /// Where a small picture of it goes.
        thumbnail: Option<PathBuf>,
    },
    /// The same for many of one type, without statistics. Tells of each, and waits for the answer.
    LookMany {
        paths: Vec<PathBuf>,
        raster_type: Option<String>,
    },
    /// Makes a Cloud-Optimized `GeoTIFF`.
    Cog {
        source: PathBuf,
        target: PathBuf,
        wish: CogWish,
    },
    /// The same for windows of one raster. Tells of each tile when it is there, and waits for the answer.
    Tiles {
        source: Source,
        tiles: Vec<TileWish>,
        wish: CogWish,
    },
    /// Bounds of any CRS in EPSG:4326.
    Bounds { bounds: [f64; 4], crs: String },
    /// Looks through a layer.
    LookLayer {
        path: PathBuf,
        layer: Option<String>,
        input_crs: Option<String>,
    },
    /// Loads a layer into a table. Tells of each chunk when it is committed, and waits for the answer.
    Load(Box<LoadWish>),
}

/// A raster to read: a file of this machine, or an object that GDAL reads in place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    pub object: Option<Object>,
}

/// How GDAL reads an object.
#[derive(Clone, Serialize, Deserialize)]
pub struct Object {
    pub bytes: u64,
    /// With keys, hence not on a command line.
    pub settings: BTreeMap<String, String>,
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self { path, object: None }
    }
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = &self.bytes;
        f.debug_struct("Object")
            .field("bytes", bytes)
            .finish_non_exhaustive()
    }
}

/// How a raster is to be written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CogWish {
    pub raster_type: Option<String>,
    pub tier: String,
    pub input_crs: Option<String>,
    pub target_crs: Option<String>,
}

/// One tile of a raster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TileWish {
    pub tile_id: String,
    /// x, y, width and height in pixels of the source.
    pub window: [u64; 4],
    pub target: PathBuf,
}

/// What became of a tile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TileMade {
    pub tile_id: String,
    pub target: PathBuf,
    /// Why it is not there.
    pub failure: Option<Failure>,
}

/// A layer and the table that it goes to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadWish {
    pub path: PathBuf,
    pub layer: Option<String>,
    pub input_crs: Option<String>,
    /// Of the catalog; secret, hence not on a command line.
    pub database_url: String,
    pub schema: String,
    pub table: String,
    pub srid: i32,
    pub make_valid: bool,
    pub chunk: usize,
    /// The same for all attempts of one task.
    pub load_id: String,
    /// The load that is gone on with, and the last feature that it has.
    pub resume: Option<Loaded>,
}

/// How far a load is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    pub after_fid: i64,
    pub chunks: u64,
    pub rows: u64,
    pub rejected: u64,
    pub repaired: u64,
}

/// To the child: first what to do, then answers, or that it should end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Do { op: Op, limits: Limits },
    Answer(Value),
    End,
}

/// From the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Progress(f64),
    Ask(Value),
    Done(Value),
    Failed(Failure),
}
