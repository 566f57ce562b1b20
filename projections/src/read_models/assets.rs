//! Assets and their revisions: folded by the domain itself, then written as they stand.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::asset::{Event, State, evolve};
use sqlx::PgConnection;

use crate::Error;
use crate::store::assets::{self, AssetRow};
use crate::store::log::{self, Entry};

/// Assets that stay in memory between batches, at most.
const KEPT_MAX: usize = 10_000;

/// Assets that were touched lately.
#[derive(Debug, Default)]
pub(super) struct Assets {
    folded: HashMap<String, Folded>,
}

#[derive(Debug)]
struct Folded {
    state: State,
    last: Option<(i64, DateTime<Utc>)>,
    /// Revisions that the batch made or changed, and the last event that did.
    revisions: BTreeMap<u32, i64>,
}

impl Assets {
    /// Folds what happened before this batch to assets that are not in memory.
    pub(super) async fn prepare(
        &mut self,
        db: &mut PgConnection,
        events: &[(Entry, domain::event::Event)],
    ) -> Result<(), Error> {
        let mut missing: HashSet<&str> = HashSet::new();
        let mut first_pos = i64::MAX;
        for (entry, event) in events {
            first_pos = first_pos.min(entry.pos);
            let known = self.folded.contains_key(&entry.stream_id);
            if !matches!(event, domain::event::Event::Asset(_)) || known {
                continue;
            }
            self.folded.insert(entry.stream_id.clone(), Folded::new());
            if entry.version > 1 {
                missing.insert(&entry.stream_id);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let streams: Vec<String> = missing.into_iter().map(str::to_owned).collect();
        for entry in log::of_streams(db, &streams, first_pos - 1).await? {
            if let (Ok(domain::event::Event::Asset(event)), Some(folded)) =
                (entry.decode(), self.folded.get_mut(&entry.stream_id))
            {
                folded.state = evolve(std::mem::take(&mut folded.state), &event);
            }
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, entry: &Entry, event: &Event) {
        let Some(folded) = self.folded.get_mut(&entry.stream_id) else {
            return;
        };
        folded.state = evolve(std::mem::take(&mut folded.state), event);
        if matches!(event, Event::AssetCarried { .. }) {
            // It says nothing new, and the row is there.
            return;
        }
        folded.last = Some((entry.pos, entry.recorded_at));
        if let Event::AssetApproved { revision, .. }
        | Event::AssetRejected { revision, .. }
        | Event::AssetApprovalRevoked { revision, .. }
        | Event::AssetProcessingCompleted { revision, .. }
        | Event::AssetRolledBack { revision, .. } = event
        {
            folded.revisions.insert(*revision, entry.pos);
        }
    }

    pub(super) async fn flush(&mut self, db: &mut PgConnection) -> Result<(), Error> {
        let rows: Vec<AssetRow<'_>> = self.folded.values().filter_map(Folded::row).collect();
        assets::upsert(db, &rows).await?;
        if self.folded.len() > KEPT_MAX {
            self.folded.clear();
        }
        for folded in self.folded.values_mut() {
            folded.last = None;
            folded.revisions.clear();
        }
        Ok(())
    }
}

impl Folded {
    fn new() -> Self {
        Self {
            state: State::default(),
            last: None,
            revisions: BTreeMap::new(),
        }
    }

    fn row(&self) -> Option<AssetRow<'_>> {
        let (pos, at) = self.last?;
        let asset = self.state.asset()?;
        Some(AssetRow {
            state: &self.state,
            at,
            pos,
            revisions: self
                .revisions
                .iter()
                .filter_map(|(n, pos)| Some((asset.find(*n)?, *pos)))
                .collect(),
        })
    }
}
