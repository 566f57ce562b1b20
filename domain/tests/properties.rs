//! What holds for every job, whatever its graph and in whatever order things happen.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::definition::{Graph, compile, model::Workflow};
use domain::failure::{Failure, FailureClass};
use domain::handler::{Catalog, Handler};
use domain::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use domain::job::command::{Create, Outcome, Report, Window};
use domain::job::event::JobCreated;
use domain::job::replay::{Entry, Rules, replay};
use domain::job::{Command, Context, Event, Fence, NodeStatus, Policy, State, apply, handle, why};
use domain::outcome::Decision;
use domain::priority::Priority;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The shape of one node; what its edges are follows from the numbers.
#[derive(Debug, Clone)]
struct Shape {
    kind: u8,
    /// Chooses predecessors among the nodes before it.
    from: [u8; 2],
    items: u8,
    flag: bool,
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let shape = (0..9_u8, any::<[u8; 2]>(), 0..4_u8, any::<bool>()).prop_map(
        |(kind, from, items, flag)| Shape {
            kind,
            from,
            items,
            flag,
        },
    );
    proptest::collection::vec(shape, 1..14)
}

/// A valid workflow: every node hangs on one or two earlier ones, every loose end leads to END.
fn workflow(shapes: &[Shape]) -> Value {
    let mut nodes = Map::new();
    let mut targets: Vec<Vec<String>> = vec![Vec::new(); shapes.len() + 1];
    for (i, shape) in shapes.iter().enumerate() {
        for from in shape.from.iter().take(1 + usize::from(shape.flag)) {
            let from = usize::from(*from) % (i + 1);
            if !targets[from].contains(&format!("n{i}")) {
                targets[from].push(format!("n{i}"));
            }
        }
    }
    for list in &mut targets[1..] {
        if list.is_empty() {
            list.push("END".into());
        }
    }
    nodes.insert("START".into(), json!({"type": "start", "next": targets[0]}));
    for (i, shape) in shapes.iter().enumerate() {
        let next = &targets[i + 1];
        let node = match shape.kind {
            0 => {
                let first = json!({"when": format!("inputs.flags[{i}]"), "next": next[0]});
                json!({"type": "conditional", "branches": [first, {"default": true, "next": next[next.len() / 2..]}]})
            }
            1 | 2 => json!({"type": "fan_out", "source": shape.items, "next": next,
                "max_parallel": if shape.kind == 1 { json!(2) } else { Value::Null },
                "task": {"handler": "work", "params": {"i": "{{ index }}"}, "retry": {"max_attempts": 2}}}),
            3 => json!({"type": "fan_in", "next": next}),
            4 => {
                json!({"type": "task", "handler": "work", "when": format!("inputs.flags[{i}]"), "next": next})
            }
            5 if i > 1 => {
                let others = [format!("n{}", i - 1), format!("n{}", i / 2)];
                json!({"type": "task", "handler": "careful", "next": next,
                    "depends_on": {"any_of": others[..1 + usize::from(others[0] != others[1])]}})
            }
            6 if i > 0 => json!({"type": "task", "handler": "careful", "next": next,
                "depends_on": format!("n{}", i / 2)}),
            7 => json!({"type": "fan_in", "aggregation": "sum", "field": "v", "next": next}),
            _ => json!({"type": "task", "handler": "careful", "next": next}),
        };
        let mut node = node;
        if let Some(map) = node.as_object_mut() {
            map.retain(|_, v| !v.is_null());
        }
        nodes.insert(format!("n{i}"), node);
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    json!({"workflow_id": "w", "name": "W", "version": 1, "nodes": nodes})
}

fn graph(shapes: &[Shape]) -> Arc<Graph> {
    let mut catalog = Catalog::default();
    let work = Handler::new("work", "light", 60, "Does something.")
        .idempotent()
        .open_params();
    catalog.register(work).expect("free");
    let careful = Handler::new("careful", "heavy", 60, "Does it once.").open_params();
    catalog.register(careful).expect("free");
    let workflow: Workflow = serde_json::from_value(workflow(shapes)).expect("a workflow");
    Arc::new(compile(&workflow, "hash", &catalog).expect("compiles"))
}

/// Whether an event follows from the ones before it, and not from outside.
fn is_decided(event: &Event) -> bool {
    matches!(
        event,
        Event::NodesSkipped { .. }
            | Event::NodePassed { .. }
            | Event::BranchTaken { .. }
            | Event::FanOutExpanded { .. }
            | Event::JobStarted
            | Event::JobCompleted { .. }
            | Event::JobFailed { .. }
    )
}

struct Run {
    state: State,
    log: Vec<Event>,
    history: Vec<Entry>,
    now: DateTime<Utc>,
    fence: Fence,
    sent: BTreeSet<(NodeId, u32, u32)>,
    /// The current attempt and epoch of each node, by what was sent.
    current: BTreeMap<NodeId, (u32, u32)>,
    last: Option<Report>,
    ends: usize,
}

impl Run {
    fn new(graph: Arc<Graph>, flags: u64) -> Self {
        let request_id = RequestId::from_key("o", "k");
        let flags: Vec<bool> = (0..16).map(|i| flags >> i & 1 == 1).collect();
        let job = JobCreated {
            job_id: JobId::of_request(request_id),
            request_id,
            workflow: graph.workflow.clone(),
            inputs: Map::from_iter([("flags".to_owned(), json!(flags))]),
            env: Map::new(),
            priority: Priority::Normal,
            fail_fast: false,
            origin: None,
        };
        let mut run = Self {
            state: State::new(graph),
            log: Vec::new(),
            history: Vec::new(),
            now: DateTime::from_timestamp(1_000_000, 0).expect("a time"),
            fence: Fence {
                owner: OwnerId(Uuid::from_u128(1)),
                epoch: 1,
            },
            sent: BTreeSet::new(),
            current: BTreeMap::new(),
            last: None,
            ends: 0,
        };
        let create = Create {
            job,
            reused_nodes: Vec::new(),
            reused_children: Vec::new(),
        };
        run.send(Command::Create(Box::new(create)));
        run
    }

    fn send(&mut self, command: Command) {
        let ctx = Context {
            now: self.now,
            fence: Some(self.fence),
            policy: Policy::default(),
        };
        let ended = self
            .state
            .status()
            .is_terminal()
            .then(|| self.state.counts());
        let Ok(Decision::Accepted(events)) = handle(&mut self.state, command, &ctx) else {
            return;
        };
        assert!(events.len() <= domain::job::EVENTS_MAX);
        let bytes: usize = events.iter().map(domain::json::size_bytes).sum();
        assert!(
            bytes <= domain::job::EVENT_BYTES_MAX,
            "a decision of {bytes} bytes"
        );
        for event in &events {
            if let Event::NodeDispatched(d) = event {
                let key = (d.node.clone(), d.attempt, d.epoch);
                assert!(self.sent.insert(key), "{} was dispatched twice", d.node);
                assert!(d.attempt <= 5, "more executions than any limit");
            }
            self.check_current(event);
            let end = matches!(
                event,
                Event::JobCompleted { .. } | Event::JobFailed { .. } | Event::JobCancelled { .. }
            );
            self.ends += usize::from(end);
        }
        if let Some(counts) = ended {
            assert_eq!(counts, self.state.counts(), "an ended job has changed");
        }
        let append = Uuid::from_u128(self.log.len() as u128 + 1);
        for event in &events {
            let version = self.history.len() as u64 + 1;
            self.history.push(Entry {
                pos: version,
                version,
                // The commit comes a little later.
                recorded_at: Some(self.now + TimeDelta::milliseconds(3)),
                append: Some(append),
                fence: None,
                event: event.clone(),
            });
        }
        self.log.extend(events);
        assert!(self.state.is_settled() || !self.state.status().is_terminal());
    }

    /// Only the latest sending of the latest attempt ever takes effect.
    fn check_current(&mut self, event: &Event) {
        let (node, place, is_sending) = match event {
            Event::NodeDispatched(d) => (&d.node, (d.attempt, d.epoch), true),
            Event::NodeRedispatched {
                node,
                attempt,
                epoch,
                ..
            } => (node, (*attempt, *epoch), true),
            Event::NodeStarted {
                node,
                attempt,
                epoch,
                ..
            } => (node, (*attempt, *epoch), false),
            Event::NodeCompleted(c) => (&c.node, (c.attempt, c.epoch), false),
            _ => return,
        };
        if is_sending {
            let before = self.current.insert(node.clone(), place);
            assert!(
                before < Some(place),
                "{node} went back from {before:?} to {place:?}"
            );
        } else {
            assert_eq!(
                self.current.get(node),
                Some(&place),
                "a stale report of {node} took effect"
            );
        }
    }

    fn dispatch(&mut self, slots: u32) {
        let lanes: Vec<_> = self
            .state
            .ready_lanes()
            .map(|(q, p)| (Arc::clone(q), p))
            .collect();
        let slots = lanes.into_iter().map(|lane| (lane, slots)).collect();
        self.send(Command::Dispatch(Window { slots }));
    }

    fn outstanding(&self) -> Vec<(NodeId, u32, u32, Option<RunId>)> {
        let at_work = |s| matches!(s, NodeStatus::Dispatched | NodeStatus::Running);
        let tasks = self
            .state
            .nodes()
            .filter(|n| at_work(n.status) && n.epoch > 0);
        tasks.map(|n| (n.id, n.attempt, n.epoch, n.run)).collect()
    }

    fn report(&mut self, pick: u8, outcome: Outcome, run: RunId) {
        let tasks = self.outstanding();
        let Some((node, attempt, epoch, current)) =
            tasks.get(usize::from(pick) % tasks.len().max(1))
        else {
            return;
        };
        let running = self
            .state
            .node(node)
            .is_some_and(|n| n.status == NodeStatus::Running);
        let report = Report {
            node: node.clone(),
            attempt: *attempt,
            epoch: *epoch,
            run: if running { current.unwrap_or(run) } else { run },
            worker: "w".into(),
            outcome,
        };
        self.last = Some(report.clone());
        self.send(Command::Report(Box::new(report)));
    }

    fn act(&mut self, (action, pick, amount): (u8, u8, u8)) {
        let run = RunId(Uuid::from_u128(u128::from(amount)));
        let done = Outcome::Completed {
            output: json!({"v": f64::from(amount) * 0.1 + 0.02}),
            external: None,
            metrics: Map::new(),
        };
        match action {
            0..=2 => self.dispatch(u32::from(amount % 4)),
            3..=5 => self.report(pick, Outcome::Started, run),
            6..=9 => self.report(pick, done, run),
            10 | 11 if amount.is_multiple_of(5) => self.report(pick, Outcome::Released, run),
            10 | 11 => {
                let class = FailureClass::ALL[usize::from(amount) % 6];
                let failed = Outcome::Failed(Failure::new(class, "f", "failed"));
                self.report(pick, failed, run);
            }
            12 => {
                if let Some(report) = self.last.clone() {
                    self.send(Command::Report(Box::new(report)));
                }
            }
            13 => {
                if let Some(mut late) = self.last.clone() {
                    late.epoch = late.epoch.saturating_sub(u32::from(amount % 2));
                    late.run = run;
                    self.send(Command::Report(Box::new(late)));
                }
            }
            14 | 15 => {
                let tasks = self.outstanding();
                if let Some((node, attempt, epoch, run)) =
                    tasks.get(usize::from(pick) % tasks.len().max(1)).cloned()
                {
                    self.send(match run {
                        Some(run) => Command::RunLost {
                            node,
                            attempt,
                            epoch,
                            run,
                        },
                        None => Command::MessageLost {
                            node,
                            attempt,
                            epoch,
                        },
                    });
                }
            }
            16 | 17 => {
                self.now += TimeDelta::seconds(i64::from(amount));
                self.send(Command::TimePassed);
            }
            18 => {
                self.fence.epoch += 1;
                self.send(Command::Claim);
            }
            19 => self.send(Command::Pause {
                reason: String::new(),
            }),
            20 => self.send(Command::Resume),
            _ => {
                if amount == 0 {
                    self.send(Command::Cancel {
                        reason: "enough".into(),
                    });
                }
            }
        }
    }

    /// Answers everything that is outstanding until nothing is left to do.
    fn finish(&mut self) {
        self.send(Command::Resume);
        for _ in 0..400 {
            if self.state.status().is_terminal() {
                return;
            }
            self.dispatch(1_000);
            for pick in 0..self.outstanding().len() {
                let pick = u8::try_from(pick % 200).unwrap_or(0);
                self.report(pick, Outcome::Started, RunId(Uuid::from_u128(7)));
            }
            while !self.outstanding().is_empty() {
                let output = json!({"v": 1});
                let done = Outcome::Completed {
                    output,
                    external: None,
                    metrics: Map::new(),
                };
                self.report(0, done, RunId(Uuid::from_u128(7)));
            }
            if let Some(due) = self.state.next_due() {
                self.now = self.now.max(due);
                self.send(Command::TimePassed);
            }
        }
        panic!("the job never ended: {:?}", self.state.counts());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, ..ProptestConfig::default() })]

    #[test]
    fn every_job_ends_exactly_once_and_leaves_nothing_open(
        shapes in shapes(),
        flags in any::<u64>(),
        actions in proptest::collection::vec((0..22_u8, any::<u8>(), any::<u8>()), 0..90),
        split in any::<prop::sample::Index>(),
    ) {
        let graph = graph(&shapes);
        let mut run = Run::new(Arc::clone(&graph), flags);
        for action in actions {
            run.act(action);
        }
        run.finish();

        prop_assert_eq!(run.ends, 1, "exactly one terminal event");
        let open = [NodeStatus::Pending, NodeStatus::Ready, NodeStatus::Dispatched, NodeStatus::Running];
        for node in run.state.nodes() {
            prop_assert!(!open.contains(&node.status), "{} is left {:?}", node.id, node.status);
            prop_assert!(why(&run.state, &node.id).is_some());
        }
        let all = run.state.nodes().count();
        let counts = run.state.counts();
        prop_assert_eq!(counts.completed + counts.failed + counts.skipped, all);

        let fold = |state: State, events: &[Event]| events.iter().fold(state, domain::job::evolve);
        let whole = fold(State::new(Arc::clone(&graph)), &run.log);
        prop_assert_eq!(&whole, &run.state, "replaying the events gives the same state");
        let at = split.index(run.log.len() + 1);
        let (prefix, rest) = run.log.split_at(at);
        let parts = fold(fold(State::new(Arc::clone(&graph)), prefix), rest);
        prop_assert_eq!(&parts, &whole, "the fold can be cut anywhere");

        let rules = Rules::pinned(Arc::clone(&graph), Policy::default());
        let verdict = replay(&rules, run.history.iter().cloned());
        prop_assert_eq!(&verdict.divergence, &None, "today's decisions are the recorded ones");
        prop_assert_eq!(verdict.events, run.log.len() as u64);
        let mut without = run.history.clone();
        let removed = without.remove(split.index(run.history.len()));
        if is_decided(&removed.event) {
            let verdict = replay(&rules, without.into_iter());
            let found = verdict.divergence.map(|d| d.version);
            prop_assert!(found.is_some(), "{:?} is missed by nobody", removed.event);
        }

        let mut reread = State::new(graph);
        for event in &run.log {
            let encoded = domain::event::encode(&domain::event::Event::Job(event.clone())).expect("encodes");
            match domain::event::decode(encoded.kind, encoded.schema_ver, &encoded.payload) {
                Ok(domain::event::Event::Job(event)) => apply(&mut reread, &event),
                other => prop_assert!(false, "not read back: {other:?}"),
            }
        }
        prop_assert_eq!(&reread, &whole, "what is written is what is read");
    }
}
