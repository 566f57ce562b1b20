//! What happened to each node, read from the events of a run.

use std::collections::BTreeMap;

use domain::definition::model::{Node, Workflow};
use domain::failure::{Failure, FailureClass};
use domain::id::NodeId;
use domain::job::event::{NodeFailed, SkipReason};
use domain::job::{Event, NodeStatus};

use super::plan::covers;
use super::span::span;
use super::world::Run;

/// All nodes in topological order, each fan-out followed by its children.
pub(super) struct Timeline {
    pub(super) lines: Vec<Line>,
    pub(super) end_ms: i64,
}

/// One node or child.
pub(super) struct Line {
    pub(super) id: NodeId,
    pub(super) kind: &'static str,
    pub(super) status: NodeStatus,
    pub(super) bars: Vec<Bar>,
    pub(super) started_ms: Option<i64>,
    pub(super) ended_ms: Option<i64>,
    pub(super) note: String,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    pub(super) end: End,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    Completed,
    Failed { class: FailureClass, code: String },
    Cancelled,
}

/// A line while the events are read.
#[derive(Default)]
struct Draft {
    bars: Vec<Bar>,
    open: Option<i64>,
    point: Option<i64>,
    notes: Vec<String>,
    /// The class of failures in a row, and how long was waited after each.
    retries: Vec<(FailureClass, Vec<String>)>,
}

impl Timeline {
    pub(super) fn of(run: &Run, workflow: &Workflow) -> Self {
        let mut drafts: BTreeMap<NodeId, Draft> = BTreeMap::new();
        for (ms, event) in &run.log {
            read(&mut drafts, *ms, event, workflow);
        }
        let graph = run.state.graph();
        let mut lines: Vec<Line> = Vec::new();
        for view in run.state.nodes() {
            let mut draft = drafts.remove(&view.id).unwrap_or_default();
            if let Some(from_ms) = draft.open.take() {
                draft.notes.push("stopped: the job failed".to_owned());
                draft.bars.push(Bar {
                    from_ms,
                    to_ms: run.end_ms,
                    end: End::Cancelled,
                });
            }
            if view.status == NodeStatus::Skipped && draft.notes.is_empty() {
                let note = "skipped: the job failed before its turn";
                draft.notes.push(note.to_owned());
            }
            let node = graph.find(&view.id.name).and_then(|ix| graph.node(ix));
            lines.push(Line {
                kind: match view.id.child {
                    Some(_) => "child",
                    None => node.map_or("", |n| n.kind.word()),
                },
                status: view.status,
                started_ms: draft.bars.first().map(|b| b.from_ms).or(draft.point),
                ended_ms: draft.bars.last().map(|b| b.to_ms).or(draft.point),
                note: draft.note(),
                bars: draft.bars,
                id: view.id,
            });
        }
        let mut timeline = Self {
            lines,
            end_ms: run.end_ms,
        };
        timeline.close_fan_outs();
        timeline
    }

    /// The children of a fan-out.
    pub(super) fn children<'t>(&'t self, of: &'t Line) -> impl Iterator<Item = &'t Line> {
        let is_child = |l: &&Line| l.id.child.is_some() && l.id.name == of.id.name;
        // Children follow their fan-out.
        let place = self.lines.iter().position(|l| l.id == of.id).unwrap_or(0);
        let after = self.lines.get(place + 1..).unwrap_or_default();
        after.iter().take_while(move |line| is_child(line))
    }

    /// Whether a node, or a child of it, was ever at work.
    pub(super) fn ran(&self, target: &NodeId) -> bool {
        let mut about = self.lines.iter().filter(|line| covers(target, &line.id));
        about.any(|line| !line.bars.is_empty())
    }

    /// A fan-out lasts until its last child is done.
    fn close_fan_outs(&mut self) {
        let mut ends = Vec::new();
        for (ix, line) in self.lines.iter().enumerate() {
            if line.kind == "fan_out" && line.started_ms.is_some() {
                let all = self.children(line).count();
                let children = || self.children(line);
                let done = children()
                    .filter(|c| c.status == NodeStatus::Completed)
                    .count();
                let last = children().filter_map(|c| c.ended_ms).max();
                ends.push((ix, last, format!("{done}/{all} children")));
            }
        }
        for (ix, last, note) in ends {
            if let Some(line) = self.lines.get_mut(ix) {
                line.ended_ms = last.or(line.ended_ms);
                let known = std::mem::take(&mut line.note);
                line.note = [note, known].join("; ");
                line.note = line.note.trim_end_matches("; ").to_owned();
            }
        }
    }
}

impl Draft {
    fn note(&self) -> String {
        let retries = self.retries.iter().map(|(class, waits)| {
            let class = word(*class);
            format!("retried after {class}, waited {}", waits.join(", "))
        });
        let notes = retries.chain(self.notes.iter().cloned());
        notes.collect::<Vec<_>>().join("; ")
    }

    fn fail(&mut self, ms: i64, event: &NodeFailed) {
        let Failure {
            class,
            code,
            message,
            ..
        } = &event.failure;
        let from_ms = self.open.take().unwrap_or(ms);
        self.bars.push(Bar {
            from_ms,
            to_ms: ms,
            end: End::Failed {
                class: *class,
                code: code.clone(),
            },
        });
        let Some(at) = event.retry_at else {
            let class = word(*class);
            self.notes.push(format!("{class} {code}: {message}"));
            return;
        };
        let wait = span((at - Run::at(ms)).num_milliseconds());
        match self.retries.last_mut() {
            Some((last, waits)) if last == class => waits.push(wait),
            _ => self.retries.push((*class, vec![wait])),
        }
    }
}

fn read(drafts: &mut BTreeMap<NodeId, Draft>, ms: i64, event: &Event, workflow: &Workflow) {
    match event {
        Event::NodeStarted { node, .. } => drafts.entry(node.clone()).or_default().open = Some(ms),
        Event::NodeCompleted(done) => {
            let draft = drafts.entry(done.node.clone()).or_default();
            let from_ms = draft.open.take().unwrap_or(ms);
            draft.bars.push(Bar {
                from_ms,
                to_ms: ms,
                end: End::Completed,
            });
        }
        Event::NodeFailed(failed) => {
            let draft = drafts.entry(failed.node.clone()).or_default();
            draft.fail(ms, failed);
        }
        Event::NodePassed { node, .. } | Event::FanOutExpanded { node, .. } => {
            drafts
                .entry(node.clone())
                .or_default()
                .point
                .get_or_insert(ms);
        }
        Event::BranchTaken { node, branch } => {
            let draft = drafts.entry(node.clone()).or_default();
            draft.point = Some(ms);
            draft.notes.extend(branch_note(workflow, node, *branch));
        }
        Event::NodesSkipped {
            nodes,
            reason,
            because,
        } => {
            for node in nodes {
                let draft = drafts.entry(node.clone()).or_default();
                draft.notes.push(skip_note(node, *reason, because));
            }
        }
        _ => {}
    }
}

fn skip_note(node: &NodeId, reason: SkipReason, because: &NodeId) -> String {
    match reason {
        SkipReason::BranchNotTaken => format!("skipped: branch not taken at {because}"),
        SkipReason::ConditionFalse if node == because => "skipped: its `when` is false".to_owned(),
        SkipReason::ConditionFalse => format!("skipped: the `when` of {because} is false"),
    }
}

fn branch_note(workflow: &Workflow, node: &NodeId, branch: u32) -> Option<String> {
    let Some(Node::Conditional(conditional)) = workflow.nodes.as_ref()?.get(&*node.name) else {
        return None;
    };
    let branch = conditional.branches.get(usize::try_from(branch).ok()?)?;
    let words = crate::graph::branch_words(branch);
    let targets = branch.next.names().join(", ");
    Some(format!("took `{words}` to {targets}"))
}

/// The word for a class, as in events.
pub(super) fn word(class: FailureClass) -> String {
    let value = serde_json::to_value(class).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
