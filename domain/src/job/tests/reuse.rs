//! Retry, fork, and the question why.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::rig::{Rig, chain, completed, failure, graph, job_created, names};
use crate::failure::FailureClass;
use crate::id::{JobId, NodeId, RequestId};
use crate::job::command::{Create, Outcome};
use crate::job::event::Origin;
use crate::job::{
    Command, Context, Event, JobStatus, NoPlan, NodeStatus, Plan, State, Why, handle, plan_fork,
    plan_retry, why,
};

pub(super) fn retry_with(rig: &Rig, plan: Plan, inputs: Value) -> Rig {
    let graph = Arc::clone(rig.state.graph());
    let mut job = job_created(&graph, inputs);
    job.request_id = RequestId::from_key("org", &format!("retry of {}", rig.state.job_id()));
    job.origin = Some(Origin::RetryOf(rig.state.job_id()));
    job.job_id = JobId::of_request(job.request_id);
    let mut fresh = Rig {
        state: State::new(graph),
        log: Vec::new(),
        history: Vec::new(),
        now: rig.now,
        fence: rig.fence,
    };
    let create = Create {
        job,
        reused_nodes: plan.nodes,
        reused_children: plan.children,
    };
    fresh
        .send(Command::Create(Box::new(create)))
        .expect("created");
    fresh
}

#[test]
fn a_retry_is_a_new_job_that_takes_over_what_was_completed() {
    let mut rig = Rig::new(chain(&["a", "b", "c"]));
    rig.complete("a", json!({"x": 1}));
    rig.fail("b", FailureClass::Permanent);
    let plan = plan_retry(&rig.state).expect("a plan");
    assert_eq!(
        plan.reruns().map(ToString::to_string).collect::<Vec<_>>(),
        ["b", "c"]
    );
    let mut retry = retry_with(&rig, plan, json!({}));
    assert_eq!(
        (retry.status("a"), retry.status("b")),
        (NodeStatus::Completed, NodeStatus::Ready)
    );
    assert_eq!(retry.output("a"), json!({"x": 1}));
    assert!(names(&retry.log).contains(&"node_reused".to_owned()));
    retry.complete("b", json!({}));
    retry.complete("c", json!({}));
    assert_eq!(retry.job(), JobStatus::Completed);
    assert_eq!(
        rig.job(),
        JobStatus::Failed,
        "the older job stays as it was"
    );
}

#[test]
fn a_retry_takes_over_the_completed_children_of_a_fan_out() {
    let nodes = json!({
        "START": {"type": "start", "next": "out"},
        "out": {"type": "fan_out", "source": 5, "task": {"handler": "work"}, "next": "join"},
        "join": {"type": "fan_in", "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    for child in [0, 1, 3] {
        rig.report(&format!("out__{child}"), completed(json!({"n": child})))
            .expect("completed");
    }
    rig.report("out__2", Outcome::Failed(failure(FailureClass::Permanent)))
        .expect("failed");
    let plan = plan_retry(&rig.state).expect("a plan");
    let ranges: Vec<_> = plan.children[0]
        .ranges
        .iter()
        .map(|r| (r.first, r.last))
        .collect();
    assert_eq!(ranges, [(0, 1), (3, 3)]);
    let mut retry = retry_with(&rig, plan, json!({}));
    let ids: Vec<_> = retry
        .dispatch()
        .iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some(d.node.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["out__2", "out__4"]);
    for child in [4, 2] {
        retry
            .report(&format!("out__{child}"), completed(json!({"n": child})))
            .expect("completed");
    }
    assert_eq!(
        retry.output("join")["results"],
        json!([{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}])
    );
    assert_eq!(retry.job(), JobStatus::Completed);
}

#[test]
fn a_fork_runs_the_named_node_and_all_behind_it_again() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "x"]},
        "a": {"type": "task", "handler": "careful", "next": "b"},
        "b": {"type": "task", "handler": "careful", "next": "END"},
        "x": {"type": "task", "handler": "careful", "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.complete("a", json!({}));
    for node in ["b", "x"] {
        rig.dispatch();
        rig.start(node);
        rig.report(node, completed(json!({}))).expect("completed");
    }
    assert_eq!(rig.job(), JobStatus::Completed);
    let plan = plan_fork(&rig.state, &["a".to_owned()], &Map::new()).expect("a plan");
    assert_eq!(
        plan.reruns().map(ToString::to_string).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(plan.nodes.len(), 1);
    let fork = retry_with(&rig, plan, json!({}));
    assert_eq!(
        (fork.status("x"), fork.status("a")),
        (NodeStatus::Completed, NodeStatus::Ready)
    );
    assert_eq!(
        plan_retry(&rig.state),
        Err(NoPlan::NotFailed(JobStatus::Completed))
    );
}

#[test]
fn a_skipped_branch_stays_skipped_in_the_retry() {
    let nodes = json!({
        "START": {"type": "start", "next": "route"},
        "route": {"type": "conditional", "branches": [{"when": "inputs.f", "next": "a"}, {"default": true, "next": "b"}]},
        "a": {"type": "task", "handler": "careful", "next": "c"},
        "b": {"type": "task", "handler": "careful", "next": "c"},
        "c": {"type": "task", "handler": "careful", "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::with_inputs(graph(nodes), json!({"f": true}));
    rig.complete("a", json!({}));
    rig.fail("c", FailureClass::Permanent);
    let plan = plan_retry(&rig.state).expect("a plan");
    assert_eq!(
        plan.reruns().map(ToString::to_string).collect::<Vec<_>>(),
        ["c"]
    );
    let mut retry = retry_with(&rig, plan, json!({"f": true}));
    assert_eq!(
        (retry.status("b"), retry.status("c")),
        (NodeStatus::Skipped, NodeStatus::Ready)
    );
    retry.complete("c", json!({}));
    assert_eq!(retry.job(), JobStatus::Completed);
}

#[test]
fn why_names_what_a_node_waits_for_at_every_step() {
    let nodes = json!({
        "START": {"type": "start", "next": "a"},
        "a": {"type": "task", "handler": "careful", "next": "out"},
        "out": {"type": "fan_out", "source": 2, "max_parallel": 1, "task": {"handler": "work"}, "next": "END"},
        "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    let ask = |rig: &Rig, node: &str| why(&rig.state, &node.into()).expect("an answer");
    assert_eq!(
        ask(&rig, "out"),
        Why::WaitsForNodes {
            nodes: vec!["a".into()],
            more: 0
        }
    );
    assert!(matches!(ask(&rig, "a"), Why::WaitsForWindow { queue, .. } if queue == "heavy"));
    rig.accept(Command::Pause {
        reason: String::new(),
    });
    assert_eq!(ask(&rig, "a"), Why::Paused);
    rig.accept(Command::Resume);
    rig.dispatch();
    assert!(matches!(ask(&rig, "a"), Why::WaitsForWorker { .. }));
    rig.start("a");
    assert!(matches!(ask(&rig, "a"), Why::Running { attempt: 1, .. }));
    rig.report("a", Outcome::Failed(failure(FailureClass::Transient)))
        .expect("failed");
    assert!(matches!(
        ask(&rig, "a"),
        Why::WaitsForRetry { attempt: 2, .. }
    ));
    rig.wait(5);
    rig.complete("a", json!({}));
    assert_eq!(ask(&rig, "a"), Why::Completed);
    rig.dispatch();
    assert_eq!(
        ask(&rig, "out"),
        Why::WaitsForChildren {
            completed: 0,
            total: 2
        }
    );
    assert_eq!(
        ask(&rig, "out__1"),
        Why::WaitsForSibling {
            max_parallel: 1,
            at_work: 1
        }
    );
    rig.accept(Command::Cancel {
        reason: String::new(),
    });
    assert_eq!(
        ask(&rig, "out__1"),
        Why::JobEnded {
            status: JobStatus::Cancelled
        }
    );
    assert!(matches!(ask(&rig, "out__0"), Why::Failed { .. }));
    assert_eq!(why(&rig.state, &"nope".into()), None);
}

#[test]
fn a_node_that_why_says_only_the_window_holds_back_is_dispatched_by_a_wider_window() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "out"]},
        "a": {"type": "task", "handler": "careful", "next": "END"},
        "out": {"type": "fan_out", "source": 9, "max_parallel": 4, "task": {"handler": "work"}, "next": "END"},
        "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    let free: Vec<_> = rig
        .state
        .nodes()
        .filter(|n| matches!(why(&rig.state, &n.id), Some(Why::WaitsForWindow { .. })))
        .map(|n| n.id)
        .collect();
    let dispatched: Vec<_> = rig
        .dispatch()
        .into_iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some(d.node),
            _ => None,
        })
        .collect();
    assert!(dispatched.iter().all(|node| free.contains(node)));
    let ctx = Context {
        fence: None,
        ..rig.context()
    };
    assert!(handle(&mut rig.state.clone(), Command::Advance, &ctx).is_err());
    assert!(
        rig.state
            .nodes()
            .all(|n| !matches!(why(&rig.state, &n.id), Some(Why::WaitsForWindow { .. })))
    );
}

#[test]
fn a_retry_of_a_retry_of_a_large_fan_out_keeps_sums_ends_handoffs_and_who_ran_what() {
    let nodes = json!({
        "START": {"type": "start", "next": "out"},
        "out": {"type": "fan_out", "source": 4, "task": {"handler": "work"}, "next": ["total", "first", "all", "two"]},
        "total": {"type": "fan_in", "aggregation": "sum", "field": "n", "next": "last"},
        "first": {"type": "fan_in", "aggregation": "first", "field": "n", "next": "last"},
        "all": {"type": "fan_in", "next": "last"},
        "two": {"type": "fan_out", "source": 4, "next": "last",
                "task": {"handler": "work", "params": {"got": "{{ next_stage_params.k }}"}}},
        "last": {"type": "task", "handler": "careful", "next": "END"}, "END": {"type": "end"}});
    let big = "x".repeat(30_000);
    let output = |n: u32| json!({"n": n + 1, "blob": big, "next_stage_params": {"k": n * 7}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    for child in [2, 0, 3] {
        rig.report(&format!("out__{child}"), completed(output(child)))
            .expect("completed");
    }
    rig.report("out__1", Outcome::Failed(failure(FailureClass::Permanent)))
        .expect("failed");
    let plan = plan_retry(&rig.state).expect("a plan");
    let mut second = retry_with(&rig, plan, json!({}));
    second.dispatch();
    second
        .report("out__1", completed(output(1)))
        .expect("completed");
    second.accept(Command::Cancel {
        reason: String::new(),
    });
    let plan = plan_retry(&second.state).expect("a plan");
    let mut third = retry_with(&second, plan, json!({}));
    assert_eq!(third.output("total"), json!({"total": 10, "count": 4}));
    assert_eq!(third.output("first"), json!({"result": 1, "count": 4}));
    let reused = &third.output("all")["manifest"]["children_of"][0]["reused"];
    let jobs: Vec<_> = reused
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["job_id"].clone())
        .collect();
    assert_eq!(
        jobs,
        [
            json!(rig.state.job_id()),
            json!(second.state.job_id()),
            json!(rig.state.job_id())
        ]
    );
    let params: Vec<_> = third
        .dispatch()
        .into_iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some(d.params["got"].clone()),
            _ => None,
        })
        .collect();
    assert_eq!(params, [json!(0), json!(7), json!(14), json!(21)]);
}

#[test]
fn other_items_and_an_empty_fan_out_are_judged_right() {
    let nodes = json!({
        "START": {"type": "start", "next": "empty"},
        "empty": {"type": "fan_out", "source": [], "task": {"handler": "work"}, "next": "a"},
        "a": {"type": "task", "handler": "careful", "next": "out"},
        "out": {"type": "fan_out", "source": "{{ inputs.items }}", "task": {"handler": "work"}, "next": "b"},
        "b": {"type": "task", "handler": "careful", "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::with_inputs(graph(nodes), json!({"items": ["x"]}));
    rig.complete("a", json!({}));
    rig.dispatch();
    rig.report("out__0", completed(json!({})))
        .expect("completed");
    rig.fail("b", FailureClass::Permanent);
    let plan = plan_retry(&rig.state).expect("a plan");
    assert_eq!(
        plan.reruns().collect::<Vec<_>>(),
        [&NodeId::from("b")],
        "an empty fan-out has nothing to run again"
    );
    let same = retry_with(&rig, plan.clone(), json!({"items": ["x"]}));
    assert_eq!(same.status("out"), NodeStatus::Completed);
    let other = retry_with(&rig, plan, json!({"items": ["y"]}));
    assert_eq!(
        other.status("out__0"),
        NodeStatus::Ready,
        "another item is other work"
    );
}
