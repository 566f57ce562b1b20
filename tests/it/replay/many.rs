//! Ten thousand jobs, and which of them another retry rule would change.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command as Process, Output};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use commands::log::{Append, Expected, Meta};
use commands::write::fresh_id;
use domain::definition::Graph;
use domain::event::Event as AnyEvent;
use domain::failure::{Failure, FailureClass};
use domain::id::{JobId, OwnerId, RequestId, RunId};
use domain::job::command::{Create, Outcome, Report, Window};
use domain::job::event::JobCreated;
use domain::job::{Command, Context, Event, Fence, Policy, State, handle};
use domain::outcome::Decision;
use domain::priority::Priority;
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

use crate::system::rig::{Rig, target};

const JOBS: usize = 10_000;

/// One task that may be tried three times, so many seconds after each other.
fn workflow(attempts: u32, delay_s: u32) -> String {
    format!(
        "workflow_id: retried\nname: Retried\nversion: 1\nnodes:\n  \
         START: {{ type: start, next: only }}\n  \
         only:\n    type: task\n    handler: echo\n    next: END\n    \
         retry: {{ max_attempts: {attempts}, backoff: fixed, initial_delay_seconds: {delay_s} }}\n  \
         END: {{ type: end }}\n"
    )
}

/// How the attempts of a job end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// After so many failures that may pass.
    Fine(u32),
    /// By a failure that never passes: no rule of retries is asked.
    Doomed,
}

#[tokio::test]
async fn ten_thousand_jobs_under_another_retry_rule_name_exactly_those_that_would_differ() {
    let rig = Rig::new("replay_many").await;
    let text = workflow(3, 10);
    rig.writer.register_workflow(text.as_bytes()).await.unwrap();
    let graph = rig.writer.definitions.find("retried", None).await.unwrap();
    let first = rig.count("select pos + 1 from dagapp.log_head").await;
    let jobs = append_all(&rig, &graph.graph).await;
    let head = rig.count("select pos from dagapp.log_head").await;
    let ids = |of: &dyn Fn(Fate) -> bool| -> BTreeSet<String> {
        let chosen = jobs.iter().filter(|(_, fate)| of(*fate));
        chosen.map(|(job, _)| job.to_string()).collect()
    };
    let since = first.to_string();
    let replay = |with: Option<&Path>| {
        let mut args = vec!["replay", "--all", "--since", &since, "--output", "json"];
        if let Some(file) = with {
            args.extend(["--with", file.to_str().unwrap()]);
        }
        strata(&rig, &args)
    };
    let unchanged = found(&replay(None), 0);
    assert_eq!(unchanged["jobs"], json!(JOBS));
    assert_eq!(unchanged["confirmed"], json!(JOBS));
    assert_eq!(unchanged["differ"], json!([]));
    assert_eq!(unchanged["events"], json!(head - first + 1));

    let file = rig.dir.join(format!("{}.yaml", rig.prefix));
    // Every pause is one second longer: all that were ever tried again differ, at their first failure.
    std::fs::write(&file, workflow(3, 11)).unwrap();
    let slower = found(&replay(Some(&file)), 3);
    let tried_again = ids(&|fate| matches!(fate, Fate::Fine(1..)));
    assert!(tried_again.len() > 1_000);
    assert_eq!(named(&slower), tried_again);
    assert_eq!(slower["diverged"], json!(tried_again.len()));
    assert_eq!(
        slower["ways"].as_array().unwrap().len(),
        1,
        "{}",
        slower["ways"]
    );
    assert_eq!(
        slower["differ"][0]["differences"][0]["pointer"],
        "/retry_at"
    );
    // One attempt less: only those differ that failed twice, and not before their second failure.
    std::fs::write(&file, workflow(2, 10)).unwrap();
    let fewer = found(&replay(Some(&file)), 3);
    let failed_twice = ids(&|fate| fate == Fate::Fine(2));
    assert!(failed_twice.len() > 100 && failed_twice.len() < tried_again.len());
    assert_eq!(named(&fewer), failed_twice);
    assert_eq!(fewer["differ"][0]["event"], "node_failed");
    // Nothing was written by any of this.
    assert_eq!(rig.count("select pos from dagapp.log_head").await, head);
}

fn strata(rig: &Rig, args: &[&str]) -> Output {
    Process::new(target().join("debug/strata"))
        .args(args)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env_remove("STRATA_NATS_URL")
        .output()
        .unwrap()
}

fn found(output: &Output, exit: i32) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn named(found: &Value) -> BTreeSet<String> {
    let differ = found["differ"].as_array().unwrap();
    let ids = differ
        .iter()
        .map(|job| job["job_id"].as_str().unwrap().to_owned());
    let ids: Vec<String> = ids.collect();
    let set: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(set.len(), ids.len(), "each is named once");
    set
}

/// Lives of all jobs, as the rules make them, through the appender.
async fn append_all(rig: &Rig, graph: &Arc<Graph>) -> Vec<(JobId, Fate)> {
    // Long enough ago that the last retry is over.
    let began = rig.writer.clock.now() - TimeDelta::hours(1);
    let mut luck = 42_u64;
    let mut jobs = Vec::with_capacity(JOBS);
    let mut appends = Vec::with_capacity(JOBS);
    for nth in 0..JOBS {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let fate = match luck >> 33 & 31 {
            0..=3 => Fate::Fine(1),
            4 => Fate::Fine(2),
            5 => Fate::Doomed,
            _ => Fate::Fine(0),
        };
        let now = began + TimeDelta::milliseconds(i64::try_from(nth).unwrap());
        let mut life = Life::new(graph, nth, now);
        life.live(fate);
        jobs.push((life.job_id, fate));
        appends.push(life.append());
    }
    let appended = stream::iter(appends).map(|append| {
        let appender = rig.writer.appender.clone();
        async move { appender.append(&[append]).await.unwrap() }
    });
    appended.buffer_unordered(512).collect::<Vec<_>>().await;
    jobs
}

/// One job and what happens to it.
struct Life {
    job_id: JobId,
    state: State,
    events: Vec<Event>,
    now: DateTime<Utc>,
    fence: Fence,
    graph: Arc<Graph>,
}

impl Life {
    fn new(graph: &Arc<Graph>, nth: usize, now: DateTime<Utc>) -> Self {
        let request_id = RequestId::from_key("acme", &format!("replay {nth}"));
        let mut life = Self {
            job_id: JobId::of_request(request_id),
            state: State::new(Arc::clone(graph)),
            events: Vec::new(),
            now,
            fence: Fence {
                owner: OwnerId(fresh_id()),
                epoch: 1,
            },
            graph: Arc::clone(graph),
        };
        life.send(Command::Create(Box::new(Create {
            job: JobCreated {
                job_id: life.job_id,
                request_id,
                workflow: life.graph.workflow.clone(),
                inputs: Map::new(),
                env: Map::new(),
                priority: Priority::Normal,
                fail_fast: false,
                origin: None,
            },
            reused_nodes: Vec::new(),
            reused_children: Vec::new(),
        })));
        life
    }

    fn send(&mut self, command: Command) {
        let ctx = Context {
            now: self.now,
            fence: Some(self.fence),
            policy: Policy::default(),
        };
        match handle(&mut self.state, command, &ctx).unwrap() {
            Decision::Accepted(events) => self.events.extend(events),
            Decision::AlreadyApplied => panic!("nothing is said twice"),
        }
        self.now += TimeDelta::milliseconds(7);
    }

    fn live(&mut self, fate: Fate) {
        let failures = match fate {
            Fate::Fine(failures) => failures,
            Fate::Doomed => 0,
        };
        for attempt in 1..=failures {
            self.dispatch();
            let failure = Failure::new(FailureClass::Transient, "lost", "the line was cut");
            self.report(attempt, Outcome::Failed(failure));
            self.now = self.state.next_due().unwrap() + TimeDelta::milliseconds(3);
            self.send(Command::TimePassed);
        }
        self.dispatch();
        let end = match fate {
            Fate::Fine(_) => Outcome::Completed {
                output: json!({"echoed_params": {}}),
                external: None,
                metrics: Map::new(),
            },
            Fate::Doomed => Outcome::Failed(Failure::new(FailureClass::Permanent, "no", "never")),
        };
        self.report(failures + 1, end);
        assert!(self.state.status().is_terminal());
    }

    fn dispatch(&mut self) {
        let lanes = self.state.ready_lanes();
        let slots = lanes.map(|(queue, priority)| ((Arc::clone(queue), priority), 1));
        let window = Window {
            slots: slots.collect(),
        };
        self.send(Command::Dispatch(window));
    }

    fn report(&mut self, attempt: u32, outcome: Outcome) {
        self.send(Command::Report(Box::new(Report {
            node: "only".into(),
            attempt,
            epoch: 1,
            run: RunId(fresh_id()),
            worker: "w".to_owned(),
            outcome,
        })));
    }

    fn append(self) -> Append {
        Append {
            stream: format!("job:{}", self.job_id),
            expected: Expected::Version(0),
            org_id: "acme".to_owned(),
            meta: Meta {
                actor: "orchestrator".to_owned(),
                command_id: fresh_id(),
                correlation: None,
                causation: Some(self.fence.cause()),
                trace: None,
            },
            events: self.events.into_iter().map(AnyEvent::Job).collect(),
            open_job: None,
            closes: true,
        }
    }
}
