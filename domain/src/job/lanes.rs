//! Ready work, by queue and priority.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::definition::NodeIx;
use crate::priority::Priority;

/// A queue with a priority.
pub(super) type LaneKey = (Arc<str>, Priority);

/// All lanes of one job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lanes {
    lanes: BTreeMap<LaneKey, Lane>,
}

/// Nodes of one lane that are ready.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lane {
    pub(super) tasks: BTreeSet<NodeIx>,
    /// Fan-outs that have ready children.
    pub(super) groups: BTreeSet<NodeIx>,
}

impl Lanes {
    pub(super) fn get(&self, key: &LaneKey) -> Option<&Lane> {
        self.lanes.get(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &LaneKey> {
        self.lanes.keys()
    }

    pub(super) fn insert(&mut self, key: LaneKey, node: NodeIx) {
        self.lanes.entry(key).or_default().tasks.insert(node);
    }

    pub(super) fn remove(&mut self, key: &LaneKey, node: NodeIx) {
        self.change(key, |lane| {
            lane.tasks.remove(&node);
        });
    }

    pub(super) fn set_group(&mut self, key: &LaneKey, node: NodeIx, has_ready: bool) {
        if has_ready {
            if self
                .get(key)
                .is_none_or(|lane| !lane.groups.contains(&node))
            {
                self.lanes
                    .entry(key.clone())
                    .or_default()
                    .groups
                    .insert(node);
            }
        } else {
            self.change(key, |lane| {
                lane.groups.remove(&node);
            });
        }
    }

    pub(super) fn clear(&mut self) {
        self.lanes.clear();
    }

    fn change(&mut self, key: &LaneKey, with: impl FnOnce(&mut Lane)) {
        if let Some(lane) = self.lanes.get_mut(key) {
            with(lane);
            if lane.tasks.is_empty() && lane.groups.is_empty() {
                self.lanes.remove(key);
            }
        }
    }
}
