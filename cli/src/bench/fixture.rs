//! Jobs to measure: fan-outs of the `echo` handler.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use domain::definition::model::Workflow;
use domain::definition::{Graph, compile, content_hash};
use domain::handler::Catalog;
use domain::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use domain::job::command::{Create, Outcome, Report, Window};
use domain::job::event::JobCreated;
use domain::job::{self, Command, Context, Event, Fence, Policy, State};
use domain::priority::Priority;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Tasks that one dispatch hands out; a decision has at most 1,000 events.
const WINDOW: u32 = 900;

/// `groups` fan-outs side by side, each of `children` tasks with these parameters.
pub(super) fn graph(groups: u32, children: u32, params: &Value) -> anyhow::Result<Arc<Graph>> {
    let workflow: Workflow = serde_json::from_value(workflow(groups, children, params))?;
    let hash = content_hash(&workflow);
    Ok(Arc::new(compile(&workflow, &hash, &Catalog::shipped())?))
}

/// Its workflow, as a file says it.
pub(super) fn workflow(groups: u32, children: u32, params: &Value) -> Value {
    let names: Vec<String> = (0..groups).map(|n| format!("fan{n}")).collect();
    let mut nodes = BTreeMap::from([
        (
            "START".to_owned(),
            json!({ "type": "start", "next": names }),
        ),
        ("END".to_owned(), json!({ "type": "end" })),
    ]);
    for name in names {
        let task = json!({ "handler": "echo", "params": params });
        let fan_out = json!({ "type": "fan_out", "source": children, "task": task, "next": "END" });
        nodes.insert(name, fan_out);
    }
    json!({ "workflow_id": "bench", "name": "Bench", "version": 1, "nodes": nodes, "result": {} })
}

/// The context of every command; time stands still.
pub(super) fn context() -> Context {
    Context {
        now: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        fence: Some(Fence {
            owner: OwnerId(Uuid::from_u128(1)),
            epoch: 1,
        }),
        policy: Policy::default(),
    }
}

/// A job whose children all wait, and the events that made it.
pub(super) fn waiting(graph: &Arc<Graph>) -> anyhow::Result<(State, Vec<Event>)> {
    let mut state = State::new(Arc::clone(graph));
    let request_id = RequestId::from_key("bench", "core");
    let create = Create {
        job: JobCreated {
            job_id: JobId::of_request(request_id),
            request_id,
            workflow: graph.workflow.clone(),
            inputs: Map::new(),
            env: Map::new(),
            priority: Priority::Normal,
            fail_fast: false,
            origin: None,
        },
        reused_nodes: Vec::new(),
        reused_children: Vec::new(),
    };
    let create = Command::Create(Box::new(create));
    let events = job::handle(&mut state, create, &context())?.into_events();
    Ok((state, events))
}

/// Hands out what the window takes. Returns the events, none when nothing is left.
pub(super) fn dispatch(state: &mut State) -> anyhow::Result<Vec<Event>> {
    let lanes = state.ready_lanes();
    let slots = lanes.map(|(queue, priority)| ((Arc::clone(queue), priority), WINDOW));
    let window = Window {
        slots: slots.collect(),
    };
    let command = Command::Dispatch(window);
    Ok(job::handle(state, command, &context())?.into_events())
}

/// The tasks among events.
pub(super) fn dispatched(events: &[Event]) -> impl Iterator<Item = &NodeId> {
    events.iter().filter_map(|event| match event {
        Event::NodeDispatched(task) => Some(&task.node),
        _ => None,
    })
}

/// A worker's word about the first attempt at a node.
pub(super) fn report(node: &NodeId, outcome: Outcome) -> Command {
    let run = u128::from(node.child.unwrap_or_default()) + 1;
    Command::Report(Box::new(Report {
        node: node.clone(),
        attempt: 1,
        epoch: 1,
        run: RunId(Uuid::from_u128(run)),
        worker: "bench".to_owned(),
        outcome,
    }))
}

/// A task that is done.
pub(super) fn completed(output: Value) -> Outcome {
    Outcome::Completed {
        output,
        external: None,
        metrics: Map::new(),
    }
}
