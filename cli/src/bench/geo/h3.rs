//! `h3.cascade` against a bare COPY of the same rows.

use serde_json::json;

use super::{ROUNDS, Turn, figure, job, tables};
use crate::bench::Figure;
use crate::bench::rig::Rig;

/// Not half of the world, whose cells two to five make a million.
const BOUNDS: [i32; 4] = [-180, -90, -20, 90];
const FROM: u8 = 2;
const TO: u8 = 5;

pub(in crate::bench) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    tables::make_schema(&rig.pool).await?;
    let (mut ours, mut bare, mut with_key) = (Vec::new(), Vec::new(), Vec::new());
    let mut cells = 0;
    for round in 0..ROUNDS {
        let table = format!("cells_{round}");
        let base = json!({ "resolution": FROM, "bounds": BOUNDS, "containment": "centroid", "table_name": table });
        job(
            rig,
            &format!("bench_base_{round}"),
            "h3.base_generate",
            &base,
        )
        .await?;
        let params = json!({ "from_resolution": FROM, "to_resolution": TO, "table_name": table });
        ours.push(job(rig, &format!("bench_h3_{round}"), "h3.cascade", &params).await?);
        for (key, turns) in [(false, &mut bare), (true, &mut with_key)] {
            let (rows, took) = tables::copy_cells(&rig.pool, &table, FROM, key).await?;
            cells = u32::try_from(rows)?;
            turns.push(Turn { took, peak: 0 });
        }
    }
    Ok(vec![
        figure(
            "h3",
            cells,
            "a bare COPY of the same rows, no index",
            &ours,
            &bare,
        ),
        figure(
            "h3",
            cells,
            "a COPY of the same rows into a table with the same key",
            &ours,
            &with_key,
        ),
    ])
}
