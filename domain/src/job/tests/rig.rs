//! A job at the bench: sends commands, keeps the log, and checks what must always hold.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::definition::model::Workflow;
use crate::definition::{Graph, compile};
use crate::failure::{Failure, FailureClass};
use crate::handler::{Catalog, Handler};
use crate::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use crate::job::command::{Create, Outcome, Report, Window};
use crate::job::event::JobCreated;
use crate::job::replay::{Entry, Rules, Verdict, replay};
use crate::job::{
    Command, Context, Event, Fence, JobStatus, NodeStatus, Policy, Rejection, State, apply, handle,
};
use crate::outcome::Decision;
use crate::priority::Priority;

/// Longer logs are not replayed after each command.
const REPLAYED_MAX: usize = 400;

pub(super) type Answer = Result<Decision<Event>, Rejection>;

pub(super) struct Rig {
    pub(super) state: State,
    pub(super) log: Vec<Event>,
    /// The same, as a log would have it.
    pub(super) history: Vec<Entry>,
    pub(super) now: DateTime<Utc>,
    pub(super) fence: Fence,
}

/// A handler called `work` that is idempotent, and one called `careful` that is not.
pub(super) fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let work = Handler::new("work", "light", 60, "Does something.")
        .idempotent()
        .open_params();
    catalog.register(work).expect("free name");
    let careful = Handler::new("careful", "heavy", 60, "Does it once.").open_params();
    catalog.register(careful).expect("free name");
    catalog
}

pub(super) fn graph(nodes: Value) -> Arc<Graph> {
    workflow(json!({"workflow_id": "w", "name": "W", "version": 1, "nodes": nodes}))
}

pub(super) fn workflow(json: Value) -> Arc<Graph> {
    let workflow: Workflow = serde_json::from_value(json).expect("a workflow");
    Arc::new(compile(&workflow, "hash", &catalog()).expect("it compiles"))
}

/// START, tasks in a row, END.
pub(super) fn chain(names: &[&str]) -> Arc<Graph> {
    let mut nodes = Map::new();
    let next = |i: usize| names.get(i).copied().unwrap_or("END");
    nodes.insert("START".into(), json!({"type": "start", "next": next(0)}));
    for (i, name) in names.iter().enumerate() {
        let task = json!({"type": "task", "handler": "careful", "next": next(i + 1)});
        nodes.insert((*name).into(), task);
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    graph(Value::Object(nodes))
}

pub(super) fn job_created(graph: &Graph, inputs: Value) -> JobCreated {
    let request_id = RequestId::from_key("org", "key");
    JobCreated {
        job_id: JobId::of_request(request_id),
        request_id,
        workflow: graph.workflow.clone(),
        inputs: inputs.as_object().cloned().unwrap_or_default(),
        env: Map::new(),
        priority: Priority::Normal,
        fail_fast: false,
        origin: None,
    }
}

pub(super) fn run(n: u128) -> RunId {
    RunId(Uuid::from_u128(n))
}

pub(super) fn failure(class: FailureClass) -> Failure {
    Failure::new(class, "boom", "it broke")
}

impl Rig {
    /// A job that exists and is owned.
    pub(super) fn new(graph: Arc<Graph>) -> Self {
        Self::with_inputs(graph, json!({}))
    }

    pub(super) fn with_inputs(graph: Arc<Graph>, inputs: Value) -> Self {
        let job = job_created(&graph, inputs);
        Self::with_job(graph, job)
    }

    pub(super) fn with_job(graph: Arc<Graph>, job: JobCreated) -> Self {
        let mut rig = Self {
            state: State::new(graph),
            log: Vec::new(),
            history: Vec::new(),
            now: DateTime::from_timestamp(1_000_000, 0).expect("a time"),
            fence: Fence {
                owner: OwnerId(Uuid::from_u128(1)),
                epoch: 1,
            },
        };
        rig.send(create(job)).expect("created");
        rig
    }

    pub(super) fn context(&self) -> Context {
        Context {
            now: self.now,
            fence: Some(self.fence),
            policy: Policy::default(),
        }
    }

    /// Sends a command and checks that the log alone gives the same state.
    pub(super) fn send(&mut self, command: Command) -> Answer {
        let ctx = self.context();
        let answer = handle(&mut self.state, command, &ctx);
        if let Ok(Decision::Accepted(events)) = &answer {
            assert!(
                events.len() <= crate::job::EVENTS_MAX,
                "a decision is too large"
            );
            self.log.extend(events.iter().cloned());
            self.record(events);
        }
        let mut replayed = State::new(Arc::clone(&self.state.graph));
        self.log
            .iter()
            .for_each(|event| apply(&mut replayed, event));
        assert_eq!(
            replayed, self.state,
            "replaying the log gives another state"
        );
        if self.history.len() == self.log.len() && self.log.len() <= REPLAYED_MAX {
            let verdict = self.replay_under(&Arc::clone(&self.state.graph));
            assert_eq!(verdict.divergence, None, "replay decides something else");
            assert_eq!(verdict.events, self.log.len() as u64);
        }
        answer
    }

    /// One decision is one append.
    fn record(&mut self, events: &[Event]) {
        let append = Uuid::from_u128(self.history.len() as u128 + 1);
        for event in events {
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
    }

    /// What became of the job so far, decided again with a graph as its pinned one.
    pub(super) fn replay_under(&self, graph: &Arc<Graph>) -> Verdict {
        let rules = Rules::pinned(Arc::clone(graph), Policy::default());
        replay(&rules, self.history.iter().cloned())
    }

    pub(super) fn accept(&mut self, command: Command) -> Vec<Event> {
        match self.send(command) {
            Ok(Decision::Accepted(events)) => events,
            other => panic!("not accepted: {other:?}"),
        }
    }

    /// Dispatches everything that is ready.
    pub(super) fn dispatch(&mut self) -> Vec<Event> {
        self.dispatch_up_to(10_000)
    }

    pub(super) fn dispatch_up_to(&mut self, slots: u32) -> Vec<Event> {
        let lanes: Vec<_> = self
            .state
            .ready_lanes()
            .map(|(q, p)| (Arc::clone(q), p))
            .collect();
        let slots = lanes.into_iter().map(|lane| (lane, slots)).collect();
        self.accept(Command::Dispatch(Window { slots }))
    }

    pub(super) fn report(&mut self, node: &str, outcome: Outcome) -> Answer {
        let view = self.state.node(&node.into()).expect("the node exists");
        let (attempt, epoch) = (view.attempt, view.epoch);
        self.report_as(node, attempt, epoch, run(1), outcome)
    }

    pub(super) fn report_as(
        &mut self,
        node: &str,
        attempt: u32,
        epoch: u32,
        run: RunId,
        outcome: Outcome,
    ) -> Answer {
        let worker = "w1".to_owned();
        let report = Report {
            node: node.into(),
            attempt,
            epoch,
            run,
            worker,
            outcome,
        };
        self.send(Command::Report(Box::new(report)))
    }

    /// As [`Rig::report`], without replaying the log each time; for wide jobs.
    pub(super) fn report_unchecked(&mut self, node: &str, outcome: Outcome) -> Answer {
        let report = Report {
            node: node.into(),
            attempt: 1,
            epoch: 1,
            run: run(1),
            worker: "w1".into(),
            outcome,
        };
        let ctx = self.context();
        handle(&mut self.state, Command::Report(Box::new(report)), &ctx)
    }

    pub(super) fn start(&mut self, node: &str) {
        self.report(node, Outcome::Started).expect("started");
    }

    /// Dispatches, starts and completes a node.
    pub(super) fn complete(&mut self, node: &str, output: Value) {
        self.dispatch();
        self.start(node);
        self.report(node, completed(output)).expect("completed");
    }

    /// Dispatches, starts and fails a node.
    pub(super) fn fail(&mut self, node: &str, class: FailureClass) {
        self.dispatch();
        self.start(node);
        self.report(node, Outcome::Failed(failure(class)))
            .expect("failed");
    }

    pub(super) fn wait(&mut self, seconds: i64) -> Vec<Event> {
        self.now += TimeDelta::seconds(seconds);
        self.accept(Command::TimePassed)
    }

    pub(super) fn status(&self, node: &str) -> NodeStatus {
        self.state
            .node(&NodeId::from(node))
            .map(|n| n.status)
            .expect("the node exists")
    }

    pub(super) fn job(&self) -> JobStatus {
        self.state.status()
    }

    pub(super) fn output(&self, node: &str) -> Value {
        self.state
            .node(&node.into())
            .and_then(|n| n.output)
            .cloned()
            .unwrap_or_default()
    }
}

pub(super) fn create(job: JobCreated) -> Command {
    Command::Create(Box::new(Create {
        job,
        reused_nodes: Vec::new(),
        reused_children: Vec::new(),
    }))
}

pub(super) fn completed(output: Value) -> Outcome {
    Outcome::Completed {
        output,
        external: None,
        metrics: Map::new(),
    }
}

/// The names of the events, in order.
pub(super) fn names(events: &[Event]) -> Vec<String> {
    let name = |e: &Event| {
        serde_json::to_value(e)
            .ok()?
            .get("type")?
            .as_str()
            .map(str::to_owned)
    };
    events.iter().filter_map(name).collect()
}
