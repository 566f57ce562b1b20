//! H3 cells in PostGIS.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::failure::{Failure, FailureClass};
use geo::h3cells::{self, Level};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tools::{CatalogAccess, Shared};
use crate::handler::{Context, Done, Handler};

/// Cells between two words of progress.
const PROGRESS_CELLS: u64 = 100_000;

/// Fills a table with the cells of one resolution.
pub(super) struct BaseGenerate(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct BaseParams {
    resolution: u8,
    bounds: [f64; 4],
    containment: String,
    cells_max: u64,
    schema_name: String,
    table_name: String,
}

impl Handler for BaseGenerate {
    const NAME: &'static str = "h3.base_generate";
    type Params = BaseParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: BaseParams) -> Result<Done<Value>, Failure> {
        let begun = Instant::now();
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let (bounds, resolution) = (params.bounds, params.resolution);
        let (containment, most) = (params.containment, params.cells_max);
        let cells = compute(move || h3cells::cover(bounds, resolution, &containment, most)).await?;
        ctx.check()?;
        let (schema, table) = (&params.schema_name, &params.table_name);
        let level = Level {
            resolution,
            count: len(&cells),
            cells: cells.into_iter(),
        };
        let filling = h3cells::fill(catalog.pool(), schema, table, vec![level]);
        let filled = ctx.unless_cancelled(filling).await??;
        let output = json!({
            "schema_name": schema,
            "table_name": table,
            "resolution": resolution,
            "cell_count": filled.cell_count,
            "cells_inserted": filled.inserted,
            "processing_seconds": begun.elapsed().as_secs_f64(),
        });
        Ok(output.into())
    }
}

/// Adds the descendants of a table's cells.
pub(super) struct Cascade(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct CascadeParams {
    from_resolution: u8,
    to_resolution: u8,
    cells_max: u64,
    schema_name: String,
    table_name: String,
}

impl Handler for Cascade {
    const NAME: &'static str = "h3.cascade";
    type Params = CascadeParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: CascadeParams) -> Result<Done<Value>, Failure> {
        let begun = Instant::now();
        let CatalogAccess { catalog, .. } = self.0.catalog()?;
        let (schema, table) = (&params.schema_name, &params.table_name);
        let (from, to) = (params.from_resolution, params.to_resolution);
        let reading = h3cells::cells_of(catalog.pool(), schema, table, from, params.cells_max);
        let parents = ctx.unless_cancelled(reading).await??;
        if parents.is_empty() {
            let message = format!("the table has no cells of resolution {from}");
            return Err(Failure::new(FailureClass::Permanent, "no_cells", &message));
        }
        // All are counted before the first is made.
        let mut total = 0;
        let made = AtomicU64::new(0);
        let mut levels = Vec::new();
        for resolution in from + 1..=to {
            let left = params.cells_max.saturating_sub(total);
            let count = h3cells::descendants_count(&parents, resolution, left)?;
            total += count;
            let cells = h3cells::descendants(&parents, resolution)?;
            levels.push((resolution, count, cells));
        }
        let levels = levels.into_iter().map(|(resolution, count, cells)| Level {
            resolution,
            count,
            cells: cells.inspect(|_| {
                let made = made.fetch_add(1, Ordering::Relaxed) + 1;
                if made.is_multiple_of(PROGRESS_CELLS) {
                    ctx.progress(made, total, "cells");
                }
            }),
        });
        let filling = h3cells::fill(catalog.pool(), schema, table, levels.collect());
        let filled = ctx.unless_cancelled(filling).await??;
        let output = json!({
            "schema_name": schema,
            "table_name": table,
            "from_resolution": from,
            "to_resolution": to,
            "cell_count": filled.cell_count,
            "cells_inserted": filled.inserted,
            "processing_seconds": begun.elapsed().as_secs_f64(),
        });
        Ok(output.into())
    }
}

fn len<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}

/// Computes on a thread of its own.
async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(Failure::new(
                FailureClass::Transient,
                "handler_lost",
                &error.to_string(),
            ))
        })
}
