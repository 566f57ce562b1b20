//! What holds for every fork: it ends as if nothing had ever been done before, and does only what it must.
//!
//! Here a task's output is a function of its parameters and of nothing else. So a fork, and a fork of a fork, has to
//! end exactly as a new job with the same inputs would: an output that was taken over wrongly makes a difference.

#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::definition::graph::Kind;
use domain::definition::{Graph, compile, model::Workflow};
use domain::handler::{Catalog, Handler};
use domain::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use domain::job::command::{Create, Outcome, Report, Window};
use domain::job::event::JobCreated;
use domain::job::{
    Command, Context, Event, Fence, JobStatus, NoPlan, NodeStatus, Plan, Policy, State, handle,
    plan_fork,
};
use domain::json::{canonical, sha256_hex};
use domain::outcome::Decision;
use domain::priority::Priority;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Inputs are called `i0` to `i3`.
const INPUTS: usize = 4;

/// One node: its kind, its predecessors among those before it, and the input that it may read.
type Shape = (u8, [u8; 2], bool, u8);

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let shape = (0..10_u8, any::<[u8; 2]>(), any::<bool>(), 0..4_u8);
    proptest::collection::vec(shape, 1..12)
}

fn workflow(shapes: &[Shape]) -> Value {
    let mut targets: Vec<Vec<String>> = vec![Vec::new(); shapes.len() + 1];
    let mut before: Vec<Option<usize>> = Vec::new();
    for (i, (_, from, two, _)) in shapes.iter().enumerate() {
        let from = from.iter().take(1 + usize::from(*two));
        let from: BTreeSet<usize> = from.map(|from| usize::from(*from) % (i + 1)).collect();
        before.push(from.first().and_then(|from| from.checked_sub(1)));
        for from in from {
            targets[from].push(format!("n{i}"));
        }
    }
    for list in &mut targets[1..] {
        if list.is_empty() {
            list.push("END".into());
        }
    }
    let mut nodes = Map::new();
    nodes.insert("START".into(), json!({"type": "start", "next": targets[0]}));
    for (i, (kind, _, _, k)) in shapes.iter().enumerate() {
        let (next, input) = (&targets[i + 1], format!("inputs.i{k}"));
        let own = json!({"in": format!("{{{{ {input} }}}}"), "up": "{{ previous_results }}"});
        let branches = |test: String| json!([{"when": test, "next": next[0]}, {"default": true, "next": next[next.len() / 2..]}]);
        let earlier = match before[i] {
            Some(j) => format!("(nodes.n{j}.output.v | default(0))"),
            None => "0".to_owned(),
        };
        let task = |params: Value| json!({"type": "task", "handler": "work", "params": params, "next": next});
        let fan_out = |source: Value, params: Value| json!({"type": "fan_out", "source": source, "next": next, "task": {"handler": "work", "params": params}});
        let mut node = match kind {
            0 | 1 => task(json!({"up": "{{ previous_results }}"})),
            2 | 3 => task(own),
            4 => task(json!({"all": "{{ inputs }}"})),
            5 => json!({"type": "conditional", "branches": branches(format!("{input} > 1"))}),
            6 => {
                json!({"type": "conditional", "branches": branches(format!("{earlier} % 2 == 0"))})
            }
            7 => fan_out(
                format!("{{{{ {input} }}}}").into(),
                json!({"i": "{{ index }}"}),
            ),
            8 => fan_out(3.into(), json!({"i": "{{ index }}", "in": own["in"]})),
            _ if i % 2 == 0 => json!({"type": "fan_in", "next": next}),
            _ => json!({"type": "fan_in", "handler": "work", "next": next}),
        };
        if *kind == 1 {
            node["when"] = format!("{earlier} % 3 < 2").into();
        }
        if *kind == 3 {
            node["when"] = format!("{input} != 2").into();
        }
        nodes.insert(format!("n{i}"), node);
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    json!({"workflow_id": "w", "name": "W", "version": 1, "nodes": nodes})
}

fn graph(shapes: &[Shape]) -> Arc<Graph> {
    let mut catalog = Catalog::default();
    let work = Handler::new("work", "light", 60, "Does something.").open_params();
    catalog.register(work).expect("free");
    let workflow: Workflow = serde_json::from_value(workflow(shapes)).expect("a workflow");
    Arc::new(compile(&workflow, "hash", &catalog).expect("compiles"))
}

struct Run {
    state: State,
    /// Everything that was sent to workers.
    sent: BTreeSet<NodeId>,
}

impl Run {
    fn new(graph: &Arc<Graph>, key: &str, inputs: &Map<String, Value>, plan: Plan) -> Self {
        let request_id = RequestId::from_key("o", key);
        let job = JobCreated {
            job_id: JobId::of_request(request_id),
            request_id,
            workflow: graph.workflow.clone(),
            inputs: inputs.clone(),
            env: Map::new(),
            priority: Priority::Normal,
            fail_fast: false,
            origin: None,
        };
        let mut run = Self {
            state: State::new(Arc::clone(graph)),
            sent: BTreeSet::new(),
        };
        run.send(Command::Create(Box::new(Create {
            job,
            reused_nodes: plan.nodes,
            reused_children: plan.children,
        })));
        run
    }

    /// Does the first so many tasks, and gives the rest up; or all of it.
    fn go(mut self, tasks: Option<usize>) -> Self {
        let mut left = tasks.unwrap_or(usize::MAX);
        while !self.state.status().is_terminal() {
            let due = self.dispatch();
            assert!(!due.is_empty(), "it goes on: {:?}", self.state.counts());
            for (node, params) in due {
                if left == 0 {
                    let reason = "enough".to_owned();
                    self.send(Command::Cancel { reason });
                    return self;
                }
                left -= 1;
                self.complete(node, &params);
            }
        }
        self
    }

    fn send(&mut self, command: Command) -> Vec<Event> {
        let ctx = Context {
            now: DateTime::<Utc>::UNIX_EPOCH,
            fence: Some(Fence {
                owner: OwnerId(Uuid::from_u128(1)),
                epoch: 1,
            }),
            policy: Policy::default(),
        };
        match handle(&mut self.state, command, &ctx) {
            Ok(Decision::Accepted(events)) => events,
            other => panic!("not accepted: {other:?}"),
        }
    }

    fn dispatch(&mut self) -> Vec<(NodeId, Value)> {
        let lanes = self.state.ready_lanes();
        let slots = lanes
            .map(|(queue, priority)| ((Arc::clone(queue), priority), 1_000))
            .collect();
        let events = self.send(Command::Dispatch(Window { slots }));
        let sent = events.into_iter().filter_map(|event| match event {
            Event::NodeDispatched(sent) => Some((sent.node, sent.params)),
            _ => None,
        });
        let sent: Vec<_> = sent.collect();
        self.sent.extend(sent.iter().map(|(node, _)| node.clone()));
        sent
    }

    fn complete(&mut self, node: NodeId, params: &Value) {
        let hash = sha256_hex(canonical(&json!([node.to_string(), params])).as_bytes());
        let v = u32::from_str_radix(&hash[..6], 16).expect("hex") % 1_000;
        for outcome in [
            Outcome::Started,
            Outcome::Completed {
                output: json!({ "v": v }),
                external: None,
                metrics: Map::new(),
            },
        ] {
            self.send(Command::Report(Box::new(Report {
                node: node.clone(),
                attempt: 1,
                epoch: 1,
                run: RunId(Uuid::from_u128(7)),
                worker: "w".into(),
                outcome,
            })));
        }
    }

    /// Status and output of every node and child.
    fn end(&self) -> Vec<(NodeId, NodeStatus, Option<Value>)> {
        let nodes = self.state.nodes();
        nodes.map(|n| (n.id, n.status, n.output.cloned())).collect()
    }

    fn output(&self, node: &NodeId) -> Option<Value> {
        self.state.node(node).and_then(|n| n.output.cloned())
    }
}

fn inputs(values: [u8; INPUTS]) -> Map<String, Value> {
    let each = values.iter().enumerate();
    each.map(|(i, value)| (format!("i{i}"), json!(value)))
        .collect()
}

/// Everything behind these nodes, themselves included.
fn behind(graph: &Graph, points: &[String]) -> BTreeSet<usize> {
    let mut open: Vec<usize> = points.iter().filter_map(|name| graph.find(name)).collect();
    let mut found = BTreeSet::new();
    while let Some(ix) = open.pop() {
        if found.insert(ix) {
            open.extend(&graph.nodes[ix].outgoing);
        }
    }
    found
}

/// Forks an ended job and checks everything that is promised; the fork, for another one.
fn fork(
    graph: &Arc<Graph>,
    older: &Run,
    at: &[String],
    given: &Map<String, Value>,
    key: &str,
) -> Option<Run> {
    let plan = match plan_fork(&older.state, at, given) {
        Err(NoPlan::NothingChanged) => return None,
        plan => plan.expect("a plan"),
    };
    let fork = Run::new(graph, key, given, plan.clone()).go(None);
    assert_eq!(fork.state.status(), JobStatus::Completed);
    let fresh = Run::new(graph, "fresh", given, Plan::default()).go(None);
    assert_eq!(
        fork.end(),
        fresh.end(),
        "a fork ends as a new job would; the plan: {plan:?}"
    );
    for reused in &plan.nodes {
        assert!(!fork.sent.contains(&reused.node), "{} ran", reused.node);
        assert_eq!(older.output(&reused.node).as_ref(), Some(&reused.output));
        assert_eq!(fork.output(&reused.node).as_ref(), Some(&reused.output));
    }
    for children in &plan.children {
        for index in children.ranges.iter().flat_map(|r| r.first..=r.last) {
            let child = NodeId {
                name: Arc::clone(&children.node.name),
                child: Some(index),
            };
            assert!(!fork.sent.contains(&child), "{child} ran");
            assert_eq!(older.output(&child), fork.output(&child));
        }
    }
    for ix in behind(graph, at) {
        let node = &graph.nodes[ix];
        let id = NodeId::from(&*node.name);
        let status = fork.state.node(&id).map(|n| n.status);
        if node.kind.is_task() && status == Some(NodeStatus::Completed) {
            assert!(
                fork.sent.contains(&id),
                "{id} lies behind the fork and did not run"
            );
        }
        if matches!(node.kind, Kind::FanOut(_)) {
            let children = fork.end().into_iter().filter(|(child, status, _)| {
                child.name == node.name && child.child.is_some() && *status == NodeStatus::Completed
            });
            for (child, ..) in children {
                assert!(
                    fork.sent.contains(&child),
                    "{child} lies behind the fork and did not run"
                );
            }
        }
    }
    Some(fork)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_anywhere_ends_as_a_new_job_would_and_runs_all_behind_it_and_nothing_it_took_over(
        shapes in shapes(),
        values in any::<[[u8; INPUTS]; 3]>(),
        keep in any::<[[bool; INPUTS]; 2]>(),
        tasks in proptest::option::of(0..12_usize),
        points in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        other in any::<prop::sample::Index>(),
    ) {
        let graph = graph(&shapes);
        let mut given = values.map(|each| each.map(|value| value % 4));
        // Often most inputs stay what they were.
        for (i, keep) in keep.iter().enumerate() {
            for k in 0..INPUTS {
                if keep[k] {
                    given[i + 1][k] = given[i][k];
                }
            }
        }
        let [first, second, third] = given.map(inputs);
        let name = |at: &prop::sample::Index| at.get(&graph.nodes).name.to_string();
        let at: Vec<String> = points.iter().map(name).collect();
        let older = Run::new(&graph, "older", &first, Plan::default()).go(tasks);
        if let Some(again) = fork(&graph, &older, &at, &second, "fork") {
            fork(&graph, &again, &[name(&other)], &third, "fork of a fork");
        }
    }
}
