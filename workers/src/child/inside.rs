//! The child's side: reads one order, does it, and tells.

use std::io::{BufRead as _, Write as _, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::failure::{Failure, FailureClass};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{Limits, Op, Order, Word};

/// Progress is told at most this often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// What a child works with: it can tell, ask, and notice that it should end.
pub(super) struct Mouth {
    ended: Arc<AtomicBool>,
    answers: Mutex<Receiver<Value>>,
    told: Mutex<Instant>,
}

/// Serves as a child, until its one order is done.
pub fn serve() -> ! {
    let (sender, first) = channel();
    let (answers, received) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&ended);
    std::thread::spawn(move || listen(&sender, &answers, &ends));
    let Ok((op, limits)) = first.recv() else {
        std::process::exit(2)
    };
    let mouth = Mouth {
        ended,
        answers: Mutex::new(received),
        told: Mutex::new(Instant::now()),
    };
    let done = restrict(&limits).and_then(|()| perform(op, &limits, &mouth));
    match done {
        Ok(result) => mouth.say(&Word::Done(result)),
        Err(failure) => mouth.say(&Word::Failed(failure)),
    }
    // Without waiting for threads of libraries.
    std::process::exit(0)
}

fn listen(first: &Sender<(Op, Limits)>, answers: &Sender<Value>, ended: &AtomicBool) {
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Order::Do { op, limits }) => {
                let _ = first.send((op, limits));
            }
            Ok(Order::Answer(value)) => {
                let _ = answers.send(value);
            }
            Ok(Order::End) => ended.store(true, Ordering::Relaxed),
            Err(_) => break,
        }
    }
    // The worker is gone: nobody wants the result.
    std::process::exit(3)
}

fn restrict(limits: &Limits) -> Result<(), Failure> {
    let set = |resource, megabytes: u64| {
        let most = Some(megabytes.saturating_mul(1024 * 1024));
        setrlimit(
            resource,
            Rlimit {
                current: most,
                maximum: most,
            },
        )
        .map_err(|error| {
            let message = format!("the limits of a native process cannot be set: {error}");
            Failure::new(FailureClass::Transient, "native_limits", &message)
        })
    };
    set(Resource::As, limits.memory_mb)?;
    set(Resource::Fsize, limits.scratch_mb)?;
    // A core of a process with gigabytes helps nobody.
    set(Resource::Core, 0)
}

impl Mouth {
    fn say(&self, word: &Word) {
        let Ok(mut line) = serde_json::to_vec(word) else {
            return;
        };
        line.push(b'\n');
        let mut out = stdout().lock();
        // If nobody listens, stdin is closed too, and that ends us.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }

    /// Asks the worker, and waits for its answer.
    #[cfg_attr(
        not(feature = "gdal"),
        expect(dead_code, reason = "only native work asks")
    )]
    pub(super) fn ask(&self, question: &impl Serialize) -> Result<Value, Failure> {
        let question = serde_json::to_value(question).map_err(|error| {
            Failure::new(
                FailureClass::Contract,
                "native_protocol",
                &error.to_string(),
            )
        })?;
        self.say(&Word::Ask(question));
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.recv().map_err(|_| cancelled())
    }

    #[cfg_attr(
        not(feature = "gdal"),
        expect(dead_code, reason = "only native work has progress")
    )]
    pub(super) fn tell(&self, fraction: f64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() >= TELL_EVERY {
            *told = Instant::now();
            self.say(&Word::Progress(fraction));
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

fn cancelled() -> Failure {
    Failure::new(FailureClass::Cancelled, "cancelled", "the run should end")
}

#[cfg(not(feature = "gdal"))]
fn perform(_: Op, _: &Limits, mouth: &Mouth) -> Result<Value, Failure> {
    if mouth.is_ended() {
        return Err(cancelled());
    }
    Err(Failure::new(
        FailureClass::Permanent,
        "built_without_gdal",
        "this build has no GDAL; use one with the feature `gdal`",
    ))
}

#[cfg(feature = "gdal")]
use with_gdal::perform;

#[cfg(feature = "gdal")]
mod with_gdal {
    use std::path::{Path, PathBuf};

    use geo::raster::Raster;
    use native::Watch;
    use native::raster::{CogOptions, CogSource, LookOptions};

    use super::*;
    use crate::child::{CogWish, Object, Source, TileMade, TileWish, load};

    impl Watch for Mouth {
        fn progress(&self, fraction: f64) {
            self.tell(fraction);
        }

        fn is_cancelled(&self) -> bool {
            self.is_ended()
        }
    }

    pub(super) fn perform(op: Op, limits: &Limits, mouth: &Mouth) -> Result<Value, Failure> {
        native::setup(&native::Settings {
            cache_mb: limits.cache_mb,
            threads: limits.threads,
        });
        let result = match op {
            Op::Look {
                source,
                input_crs,
                raster_type,
                read_all,
                stats,
                thumbnail,
            } => {
                let options = LookOptions {
                    input_crs,
                    raster_type,
                    pixel_bytes_max: pixel_bytes_max(limits),
                    read_all,
                    stats,
                };
                serde_json::to_value(look(&source, &options, thumbnail.as_deref(), mouth)?)
            }
            Op::LookMany { paths, raster_type } => {
                serde_json::to_value(look_many(&paths, raster_type, limits, mouth)?)
            }
            Op::Cog {
                source,
                target,
                wish,
            } => {
                let options = cog_options(&source, wish, limits, mouth)?;
                serde_json::to_value(native::raster::create_cog(
                    &source, &target, &options, mouth,
                )?)
            }
            Op::Tiles {
                source,
                tiles,
                wish,
            } => serde_json::to_value(cut(&source, tiles, wish, limits, mouth)?),
            Op::Bounds { bounds, crs } => {
                serde_json::to_value(native::raster::bounds_to_4326(bounds, &crs)?)
            }
            Op::LookLayer {
                path,
                layer,
                input_crs,
            } => {
                let options = native::vector::LayerOptions { layer, input_crs };
                serde_json::to_value(native::vector::look(&path, &options, mouth)?.layer)
            }
            Op::Load(wish) => serde_json::to_value(load::load(*wish, mouth)?),
        };
        result.map_err(|error| {
            Failure::new(
                FailureClass::Contract,
                "native_protocol",
                &error.to_string(),
            )
        })
    }

    fn pixel_bytes_max(limits: &Limits) -> u64 {
        limits.pixels_mb.saturating_mul(1024 * 1024)
    }

    fn look(
        source: &Source,
        options: &LookOptions,
        thumbnail: Option<&Path>,
        mouth: &Mouth,
    ) -> Result<Raster, Failure> {
        allow(source);
        let raster = native::raster::look(&source.path, options, mouth);
        let raster = raster.map_err(|failure| of_way(failure, source))?;
        if let Some(thumbnail) = thumbnail {
            native::raster::thumbnail(&source.path, thumbnail)?;
        }
        Ok(raster)
    }

    fn look_many(
        paths: &[PathBuf],
        raster_type: Option<String>,
        limits: &Limits,
        mouth: &Mouth,
    ) -> Result<usize, Failure> {
        let options = LookOptions {
            raster_type,
            ..plain(limits)
        };
        for path in paths {
            mouth.ask(&native::raster::look(path, &options, mouth))?;
        }
        Ok(paths.len())
    }

    fn allow(source: &Source) {
        if let Some(Object { bytes, settings }) = &source.object {
            native::allow(&source.path, *bytes, settings);
        }
    }

    /// What cannot be read in place may be whole all the same: the next attempt reads a copy, and knows.
    fn of_way(failure: Failure, source: &Source) -> Failure {
        let is_of_way = [
            "not_recognised",
            "corrupt_blocks",
            "cog_failed",
            "unreadable",
            "not_found",
            "empty_file",
        ];
        if source.object.is_none() || !is_of_way.contains(&failure.code.as_str()) {
            return failure;
        }
        Failure {
            class: FailureClass::Transient,
            ..failure
        }
    }

    fn plain(limits: &Limits) -> LookOptions {
        LookOptions {
            input_crs: None,
            raster_type: None,
            pixel_bytes_max: pixel_bytes_max(limits),
            read_all: false,
            stats: false,
        }
    }

    fn cog_options(
        source: &Path,
        wish: CogWish,
        limits: &Limits,
        mouth: &Mouth,
    ) -> Result<CogOptions, Failure> {
        let raster_type = match wish.raster_type {
            Some(kind) => kind,
            None => {
                let options = LookOptions {
                    input_crs: wish.input_crs.clone(),
                    ..plain(limits)
                };
                native::raster::look(source, &options, mouth)?.kind.name
            }
        };
        Ok(CogOptions {
            raster_type,
            tier: wish.tier,
            input_crs: wish.input_crs,
            target_crs: wish.target_crs,
            threads: limits.threads,
            pixel_bytes_max: pixel_bytes_max(limits),
        })
    }

    /// One bad tile does not stop the others; a wish to end does.
    fn cut(
        source: &Source,
        tiles: Vec<TileWish>,
        wish: CogWish,
        limits: &Limits,
        mouth: &Mouth,
    ) -> Result<usize, Failure> {
        let count = tiles.len();
        allow(source);
        let options = cog_options(&source.path, wish, limits, mouth);
        let options = options.map_err(|failure| of_way(failure, source))?;
        let opened = CogSource::open(&source.path, &options, mouth);
        let opened = opened.map_err(|failure| of_way(failure, source))?;
        for tile in tiles {
            let failure = match opened.make(&tile.target, Some(tile.window), mouth) {
                Ok(_) => None,
                Err(failure) if failure.class == FailureClass::Cancelled => return Err(failure),
                Err(failure) => Some(of_way(failure, source)),
            };
            mouth.ask(&TileMade {
                tile_id: tile.tile_id,
                target: tile.target,
                failure,
            })?;
        }
        Ok(count)
    }
}
