//! `strata audit verify` against reading the same events from PostgreSQL in order, in turns.

use std::sync::Arc;
use std::time::Duration;

use commands::write::fresh_id;
use domain::event::checkpoint::SigningKey;
use projections::archive;
use projections::audit::{self, Options};
use projections::notary::{EVERY, LATEST, Notary, Options as Signing};
use serde_json::json;

use super::append::groups;
use super::meter::{megabytes, now, resident_bytes};
use super::rig::Rig;
use super::{Figure, read};

/// Events of one batch, and batches in which one set of jobs goes on.
const BATCH: usize = 1_000;
const LIVES: usize = 5;
const PASSES: u32 = 2;

pub(super) async fn measure(rig: &Rig, events: u32) -> anyhow::Result<Vec<Figure>> {
    let mut left = usize::try_from(events)?.div_ceil(BATCH);
    while left > 0 {
        for group in groups(BATCH, LIVES.min(left))? {
            rig.write.writer.appender.append(&group).await?;
            left -= 1;
        }
    }
    let upto = read::settle(&rig.pool).await?;
    let key = SigningKey::new(&[1; 32]);
    let keys = vec![key.public()];
    let signing = Signing {
        key,
        file: rig.dir.join("checkpoints.log"),
        every: EVERY,
        latest: LATEST,
    };
    let start = now();
    let mut notary = Notary::new(Arc::new(signing), rig.pool.clone(), fresh_id());
    notary.catch_up().await?;
    let signed_s = start.elapsed().as_secs_f64();
    let known = projections::notary::read_file(&rig.dir.join("checkpoints.log")).await?;
    let connections = crate::audit::connections();
    let options = Options {
        since: 1,
        at_once: usize::try_from(connections)?,
        keys,
        known,
        archive: archive::ArchiveSet::default(),
    };
    let before = resident_bytes()?;
    let (mut ours, mut plain) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..PASSES {
        plain += read::in_order(&rig.pool, upto).await?;
        let start = now();
        let report = audit::verify(&rig.pool, &options, |_, _| {}).await?;
        ours += start.elapsed();
        let whole = report.finding.is_none() && i64::try_from(report.events) == Ok(upto);
        anyhow::ensure!(whole, "the log does not verify: {report:?}");
    }
    let total = upto as f64 * f64::from(PASSES);
    let (rate_per_s, limit_per_s) = (total / ours.as_secs_f64(), total / plain.as_secs_f64());
    let after = resident_bytes()?;
    let mut figure = Figure {
        bench: "verify",
        n: u64::try_from(upto)?,
        total_s: ours.as_secs_f64() / f64::from(PASSES),
        rate_per_s,
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: megabytes(after),
        ..Figure::default()
    };
    figure.also("grown_mb", json!(megabytes(after.saturating_sub(before))));
    figure.also("connections", json!(connections));
    figure.also("sign_per_s", json!(upto as f64 / signed_s));
    figure.also(
        "limit",
        json!("reading the same events in order on one connection"),
    );
    Ok(vec![figure])
}
