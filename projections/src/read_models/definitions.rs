//! Workflows and platforms: few, and only ever added to.

use domain::{platform, workflow};
use sqlx::PgConnection;

use crate::Error;
use crate::store::definitions::{self, PlatformRow, WorkflowRow};
use crate::store::log::Entry;

/// What one batch adds.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    workflows: Vec<WorkflowRow>,
    platforms: Vec<PlatformRow>,
}

impl Definitions {
    pub(super) fn apply_workflow(&mut self, entry: &Entry, event: &workflow::Event) {
        let workflow::Event::WorkflowRegistered {
            version,
            hash,
            source,
            handlers,
            at,
        } = event
        else {
            // Carried: the row is there.
            return;
        };
        self.workflows.push(WorkflowRow {
            workflow_id: id(entry, "workflow:"),
            version: i32::try_from(*version).unwrap_or(i32::MAX),
            hash: hash.clone(),
            source: source.clone(),
            handlers: serde_json::json!(handlers),
            at: *at,
            pos: entry.pos,
        });
    }

    pub(super) fn apply_platform(&mut self, entry: &Entry, event: &platform::Event) {
        let (required_refs, (name, optional_refs, at)) = match event {
            platform::Event::PlatformRegistered {
                name,
                required_refs,
                optional_refs,
                at,
                ..
            } => (
                Some(required_refs.iter().cloned().collect()),
                (name, optional_refs, at),
            ),
            platform::Event::PlatformUpdated {
                name,
                optional_refs,
                at,
            } => (None, (name, optional_refs, at)),
            // The row is there.
            platform::Event::PlatformCarried { .. } => return,
        };
        self.platforms.push(PlatformRow {
            platform_id: id(entry, "platform:"),
            name: name.clone(),
            required_refs,
            optional_refs: optional_refs.iter().cloned().collect(),
            at: *at,
            pos: entry.pos,
        });
    }

    pub(super) async fn flush(self, db: &mut PgConnection) -> Result<(), Error> {
        definitions::add_workflows(db, &self.workflows).await?;
        definitions::put_platforms(db, &self.platforms).await?;
        Ok(())
    }
}

fn id(entry: &Entry, prefix: &str) -> String {
    let id = entry.stream_id.strip_prefix(prefix);
    id.unwrap_or(&entry.stream_id).to_owned()
}
