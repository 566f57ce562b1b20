//! Small handlers for examples and drills: sleep, fail, sort a size, process a chunk.

use domain::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::echo::pause;
use crate::handler::{Context, Done, Handler};

/// Bytes of a megabyte.
const MB: f64 = 1_000_000.0;

/// Does nothing for a while.
pub struct Sleep;

#[derive(Deserialize)]
pub struct SleepParams {
    duration_seconds: f64,
}

#[derive(Serialize)]
pub struct Slept {
    slept_seconds: f64,
}

impl Handler for Sleep {
    const NAME: &'static str = "sleep";
    type Params = SleepParams;
    type Output = Slept;

    async fn run(&self, ctx: &Context, params: SleepParams) -> Result<Done<Slept>, Failure> {
        pause(ctx, params.duration_seconds).await?;
        let slept_seconds = params.duration_seconds;
        Ok(Slept { slept_seconds }.into())
    }
}

/// Always fails.
pub struct Fail;

#[derive(Deserialize)]
pub struct FailParams {
    error_message: String,
    class: FailureClass,
}

#[derive(Serialize)]
pub struct Never {}

impl Handler for Fail {
    const NAME: &'static str = "fail";
    type Params = FailParams;
    type Output = Never;

    async fn run(&self, _ctx: &Context, params: FailParams) -> Result<Done<Never>, Failure> {
        Err(Failure::new(
            params.class,
            "failed_as_asked",
            &params.error_message,
        ))
    }
}

/// Sorts a size into light, medium or heavy.
pub struct SizeCheck;

#[derive(Deserialize)]
pub struct SizeParams {
    /// Declared to be at most 9e15, which a float holds exactly.
    size_bytes: f64,
}

#[derive(Serialize)]
pub struct Size {
    category: &'static str,
    size_mb: f64,
}

impl Handler for SizeCheck {
    const NAME: &'static str = "size_check";
    type Params = SizeParams;
    type Output = Size;

    async fn run(&self, _ctx: &Context, params: SizeParams) -> Result<Done<Size>, Failure> {
        let size_mb = params.size_bytes / MB;
        let category = match size_mb {
            mb if mb < 100.0 => "light",
            mb if mb < 1_000.0 => "medium",
            _ => "heavy",
        };
        Ok(Size { category, size_mb }.into())
    }
}

/// Processes one chunk of a list.
pub struct ChunkProcessor;

#[derive(Deserialize)]
pub struct ChunkParams {
    chunk_id: i64,
    chunk_data: Vec<Value>,
}

#[derive(Serialize)]
pub struct Chunk {
    chunk_id: i64,
    processed: usize,
}

impl Handler for ChunkProcessor {
    const NAME: &'static str = "chunk_processor";
    type Params = ChunkParams;
    type Output = Chunk;

    async fn run(&self, _ctx: &Context, params: ChunkParams) -> Result<Done<Chunk>, Failure> {
        let (chunk_id, processed) = (params.chunk_id, params.chunk_data.len());
        Ok(Chunk {
            chunk_id,
            processed,
        }
        .into())
    }
}
