//! What the templates and conditions of a job can see.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::group::{Group, RESULTS_BYTES_MAX, manifest};
use super::state::State;
use crate::definition::NodeIx;
use crate::definition::graph::Kind;
use crate::expr::{EvalError, Scope, Segment, path_text};
use crate::job::NodeStatus;
use crate::json::size_bytes;

/// The view of one node of the job, or of one of its children, or of the job as a whole.
pub(super) struct JobScope<'a> {
    pub(super) state: &'a State,
    pub(super) reader: Option<NodeIx>,
    pub(super) index: u32,
    pub(super) item: Option<Value>,
    /// How many bytes of `previous_results` are passed inline.
    pub(super) results_bytes_max: usize,
}

/// The output of a node that has none: its fields are undefined, which `default` can handle.
static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));

impl<'a> JobScope<'a> {
    pub(super) fn of_job(state: &'a State) -> Self {
        Self {
            state,
            reader: None,
            index: 0,
            item: None,
            results_bytes_max: RESULTS_BYTES_MAX,
        }
    }

    pub(super) fn of_node(state: &'a State, node: NodeIx) -> Self {
        Self {
            reader: Some(node),
            ..Self::of_job(state)
        }
    }

    fn incoming(&self) -> &'a [NodeIx] {
        let state = self.state;
        self.reader
            .and_then(|ix| state.graph.node(ix))
            .map_or(&[], |n| &n.incoming)
    }

    fn output(&self, ix: NodeIx) -> &'a Value {
        self.state
            .nodes
            .get(ix)
            .and_then(|n| n.output.as_ref())
            .unwrap_or(&NOTHING)
    }

    fn handoff(&self) -> Option<&'a Value> {
        self.incoming()
            .iter()
            .find_map(|ix| match self.state.groups.get(ix) {
                Some(group) => group.handoffs.get(&self.index),
                None => self.output(*ix).get("next_stage_params"),
            })
    }

    fn node_path(&self, path: &[Segment]) -> Option<(Cow<'a, Value>, usize)> {
        let ix = self.state.graph.find(path.get(1)?.key()?)?;
        match path.get(2)?.key()? {
            "output" => Some((Cow::Borrowed(self.output(ix)), 3)),
            "status" => {
                let status = self.state.nodes.get(ix)?.work.status;
                Some((Cow::Owned(status.word().into()), 3))
            }
            _ => None,
        }
    }

    fn job_path(&self, path: &[Segment]) -> Option<(Cow<'a, Value>, usize)> {
        let created = self.state.created.as_ref()?;
        let value = match path.get(1)?.key()? {
            "id" => json!(created.job_id),
            "request_id" => json!(created.request_id),
            "workflow_id" => json!(created.workflow.id),
            "workflow_version" => json!(created.workflow.version),
            _ => return None,
        };
        Some((Cow::Owned(value), 2))
    }
}

impl Scope for JobScope<'_> {
    fn find(&self, path: &[Segment]) -> Option<(Cow<'_, Value>, usize)> {
        let created = self.state.created.as_ref()?;
        let field = |map: &'_ Map<String, Value>| -> Option<Value> {
            map.get(path.get(1)?.key()?).cloned()
        };
        match path.first()?.key()? {
            "inputs" => match path.get(1) {
                Some(Segment::Key(key)) => {
                    created.inputs.get(&**key).map(|v| (Cow::Borrowed(v), 2))
                }
                _ => Some((Cow::Owned(Value::Object(created.inputs.clone())), 1)),
            },
            "env" => field(&created.env).map(|v| (Cow::Owned(v), 2)),
            "job" => self.job_path(path),
            "nodes" => self.node_path(path),
            "upstream" => {
                let ix = self.state.graph.find(path.get(1)?.key()?)?;
                let direct = self.incoming().contains(&ix);
                direct.then(|| (Cow::Borrowed(self.output(ix)), 2))
            }
            "index" => Some((Cow::Owned(self.index.into()), 1)),
            "item" => self.item.as_ref().map(|item| (Cow::Borrowed(item), 1)),
            "previous_results" => Some((
                Cow::Owned(collect(self.state, self.incoming(), self.results_bytes_max).value()),
                1,
            )),
            "next_stage_params" => self.handoff().map(|v| (Cow::Borrowed(v), 1)),
            _ => None,
        }
    }

    fn missing(&self, path: &[Segment]) -> EvalError {
        let name = match path.first().and_then(Segment::key) {
            Some("nodes" | "upstream") => path.get(1).and_then(Segment::key),
            _ => None,
        };
        let node = name.and_then(|name| self.state.graph.find(name));
        let node = node.and_then(|ix| self.state.nodes.get(ix));
        match name {
            Some(name) if node.is_some_and(|node| node.external.is_some()) => {
                EvalError::NotInline {
                    path: path_text(path),
                    node: name.to_owned(),
                }
            }
            _ => EvalError::Undefined(path_text(path)),
        }
    }
}

/// The results of some nodes: inline, or by the names of the children that have them.
pub(super) struct Collected {
    pub(super) count: usize,
    pub(super) results: Option<Vec<Value>>,
    pub(super) manifest: Option<Value>,
}

impl Collected {
    /// The list, or the manifest where the list is too large.
    pub(super) fn value(self) -> Value {
        match (self.results, self.manifest) {
            (Some(results), _) => Value::Array(results),
            (None, manifest) => manifest.unwrap_or_default(),
        }
    }
}

/// The results of `sources` in order: of a fan-out those of its children. Nodes that were skipped
/// or are not done have none. Above `bytes_max` in total they are passed by manifest.
pub(super) fn collect(state: &State, sources: &[NodeIx], bytes_max: usize) -> Collected {
    let mut count = 0;
    let mut bytes = 0;
    let mut results = Some(Vec::new());
    let sources: Vec<NodeIx> = sources
        .iter()
        .copied()
        .filter(|ix| has_result(state, *ix))
        .collect();
    for ix in &sources {
        let found: Option<Vec<&Value>> = match state.groups.get(ix) {
            Some(group) => {
                count += group.count() as usize;
                group.results.values().map(Iterator::collect)
            }
            None => {
                count += 1;
                state
                    .nodes
                    .get(*ix)
                    .map(|node| node.output.iter().collect())
            }
        };
        let size = found
            .as_ref()
            .map_or(0, |all| all.iter().map(|v| size_bytes(*v)).sum());
        bytes += size;
        results = match (results, found) {
            (Some(mut so_far), Some(found)) if bytes <= bytes_max => {
                so_far.extend(found.into_iter().cloned());
                Some(so_far)
            }
            _ => None,
        };
    }
    let manifest = results
        .is_none()
        .then(|| manifest(sources.iter().map(|ix| entry(state, *ix)).collect()));
    Collected {
        count,
        results,
        manifest,
    }
}

/// Whether a node is completed and was of a kind that has something to collect.
pub(super) fn has_result(state: &State, ix: NodeIx) -> bool {
    let kind = state.graph.node(ix).map(|n| &n.kind);
    let bears = matches!(kind, Some(Kind::Task(_) | Kind::FanOut(_) | Kind::FanIn(_)));
    bears
        && state
            .nodes
            .get(ix)
            .is_some_and(|n| n.work.status == NodeStatus::Completed)
}

fn entry(state: &State, ix: NodeIx) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("job_id".into(), json!(state.job_id()));
    entry.insert("node".into(), json!(state.graph.node(ix).map(|n| &*n.name)));
    if let Some(count) = state.groups.get(&ix).map(Group::count) {
        entry.insert("count".into(), json!(count));
    }
    if let Some(reused) = state
        .groups
        .get(&ix)
        .map(|g| &g.reused)
        .filter(|r| !r.is_empty())
    {
        entry.insert("reused".into(), json!(reused));
    }
    entry
}
