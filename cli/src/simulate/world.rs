//! The world around a simulated job: a clock that jumps, and workers that only pretend.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use chrono::{DateTime, TimeDelta, Utc};
use domain::failure::{Failure, FailureClass};
use domain::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use domain::job::command::{Create, Outcome, Report, Window};
use domain::job::event::{JobCreated, NodeDispatched};
use domain::job::{self, Command, Context, Event, Fence, Policy, State};
use domain::priority::Priority;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::outputs;
use super::plan::Plan;
use crate::source::Definition;

/// 2026-01-01T00:00:00Z, when every simulation starts.
const START_SECONDS: i64 = 1_767_225_600;

/// A simulated job, from its first event to its end.
pub(super) struct Run {
    pub(super) state: State,
    /// All events, with milliseconds since the start.
    pub(super) log: Vec<(i64, Event)>,
    pub(super) end_ms: i64,
}

impl Run {
    /// The virtual time of an event.
    pub(super) fn at(ms: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(START_SECONDS) + TimeDelta::milliseconds(ms)
    }
}

/// Runs a job to its end.
pub(super) fn simulate(
    definition: &Definition,
    plan: &Plan,
    inputs: Map<String, Value>,
) -> anyhow::Result<Run> {
    let mut world = World {
        definition,
        plan,
        run: Run {
            state: State::new(Arc::clone(&definition.graph)),
            log: Vec::new(),
            end_ms: 0,
        },
        at_work: BTreeMap::new(),
        free: plan.workers,
        runs: 0,
    };
    world.create(inputs)?;
    loop {
        world.fill()?;
        if world.run.state.status().is_terminal() {
            return Ok(world.run);
        }
        world.step()?;
    }
}

/// A task that a virtual worker is at.
struct Task {
    report: Report,
}

struct World<'a> {
    definition: &'a Definition,
    plan: &'a Plan,
    run: Run,
    /// By the time of their end, and in the order of their start.
    at_work: BTreeMap<(i64, u64), Task>,
    free: u32,
    runs: u64,
}

impl World<'_> {
    fn create(&mut self, inputs: Map<String, Value>) -> anyhow::Result<()> {
        let request_id = RequestId::from_key("simulation", &self.plan.seed.to_string());
        let graph = &self.definition.graph;
        let create = Create {
            job: JobCreated {
                job_id: JobId::of_request(request_id),
                request_id,
                workflow: graph.workflow.clone(),
                inputs,
                env: Map::new(),
                priority: graph.priority,
                fail_fast: self.plan.fail_fast,
                origin: None,
            },
            reused_nodes: Vec::new(),
            reused_children: Vec::new(),
        };
        self.handle(Command::Create(Box::new(create)))?;
        Ok(())
    }

    /// Lets the core decide, keeps the events, and says where they begin.
    fn handle(&mut self, command: Command) -> anyhow::Result<usize> {
        let now = self.run.end_ms;
        let context = Context {
            now: Run::at(now),
            fence: Some(Fence {
                owner: OwnerId(Uuid::from_u128(1)),
                epoch: 1,
            }),
            policy: Policy {
                claim_grace: Duration::ZERO,
                ..Policy::default()
            },
        };
        let begin = self.run.log.len();
        let state = &mut self.run.state;
        let events = job::handle(state, command, &context)?.into_events();
        self.run.log.extend(events.into_iter().map(|e| (now, e)));
        while !state.is_settled() {
            let more = job::handle(state, Command::Advance, &context)?.into_events();
            if more.is_empty() {
                break;
            }
            self.run.log.extend(more.into_iter().map(|e| (now, e)));
        }
        Ok(begin)
    }

    /// Gives ready tasks to free workers: all queues share them, urgent work goes first.
    fn fill(&mut self) -> anyhow::Result<()> {
        while self.free > 0 && !self.run.state.status().is_terminal() {
            let lanes = self.run.state.ready_lanes();
            let mut lanes: Vec<(Priority, Arc<str>)> =
                lanes.map(|(queue, p)| (p, Arc::clone(queue))).collect();
            lanes.sort();
            let before = self.free;
            for (priority, queue) in lanes {
                if self.free == 0 || self.run.state.status().is_terminal() {
                    break;
                }
                let slots = BTreeMap::from([((queue, priority), self.free)]);
                let begin = self.handle(Command::Dispatch(Window { slots }))?;
                let log = self.run.log.get(begin..).unwrap_or_default();
                let sent: Vec<NodeDispatched> = log.iter().filter_map(dispatched).collect();
                for task in sent {
                    self.start(task)?;
                }
            }
            if self.free == before {
                break;
            }
        }
        Ok(())
    }

    /// A worker takes a task; how it will end is known from the plan.
    fn start(&mut self, task: NodeDispatched) -> anyhow::Result<()> {
        self.free = self.free.saturating_sub(1);
        self.runs += 1;
        let report = |outcome| Report {
            node: task.node.clone(),
            attempt: task.attempt,
            epoch: task.epoch,
            run: RunId(Uuid::from_u128(u128::from(self.runs))),
            worker: "virtual".to_owned(),
            outcome,
        };
        let started = report(Outcome::Started);
        let limit_ms = i64::from(task.timeout_seconds) * 1_000;
        let takes_ms = self.plan.duration_ms(&task.node, task.attempt);
        let outcome = if takes_ms > limit_ms {
            let message = format!("stopped after {} s, its timeout", task.timeout_seconds);
            let class = FailureClass::Timeout;
            Outcome::Failed(Failure::new(class, "execution_timeout", &message))
        } else if self.plan.fails(&task.node, task.attempt) {
            let message = "failed as asked by --fail";
            let class = self.plan.fail_class;
            Outcome::Failed(Failure::new(class, "simulated_failure", message))
        } else {
            self.completed(&task)
        };
        let end = self.run.end_ms + takes_ms.min(limit_ms);
        let task = Task {
            report: report(outcome),
        };
        self.at_work.insert((end, self.runs), task);
        self.handle(Command::Report(Box::new(started)))?;
        Ok(())
    }

    fn completed(&self, task: &NodeDispatched) -> Outcome {
        let handler = self.definition.catalog.find(&task.handler);
        // Without the attempt: a retry changes when something comes out, not what.
        let chance = self.plan.chance.of(&format!("{} output", task.node));
        let mut output = outputs::output(handler, &task.params, chance);
        for (path, value) in self.plan.fields(&task.node) {
            outputs::put(&mut output, path, value);
        }
        Outcome::Completed {
            output,
            external: None,
            metrics: Map::new(),
        }
    }

    /// Jumps to the next moment at which something happens.
    fn step(&mut self) -> anyhow::Result<()> {
        let start = Run::at(0);
        let due = self.run.state.next_due();
        let due_ms = due.map(|due| (due - start).num_milliseconds());
        let next_end = self.at_work.keys().next().copied();
        if let Some(due_ms) = due_ms
            && next_end.is_none_or(|(end, _)| due_ms <= end)
        {
            self.run.end_ms = due_ms.max(self.run.end_ms);
            let begin = self.handle(Command::TimePassed)?;
            if begin < self.run.log.len() {
                return Ok(());
            }
        }
        let Some((key, task)) = self.at_work.pop_first() else {
            let waiting = self.waiting();
            bail!(
                "the job stands still; waiting: {waiting} (a mistake of Strata: please report it)"
            );
        };
        self.run.end_ms = key.0.max(self.run.end_ms);
        self.free += 1;
        self.handle(Command::Report(Box::new(task.report)))?;
        Ok(())
    }

    fn waiting(&self) -> String {
        let nodes = self.run.state.nodes();
        let open = nodes.filter(|n| matches!(n.status.word(), "PENDING" | "READY"));
        let names: Vec<NodeId> = open.take(5).map(|n| n.id).collect();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}

fn dispatched((_, event): &(i64, Event)) -> Option<NodeDispatched> {
    match event {
        Event::NodeDispatched(task) => Some((**task).clone()),
        _ => None,
    }
}
