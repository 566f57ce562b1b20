//! Fork: what a new job takes over of an ended one when it starts again in the middle, with other inputs.

use serde_json::{Map, Value, json};

use super::reuse::retry_with;
use super::rig::{Rig, chain, completed, failure, graph};
use crate::failure::FailureClass;
use crate::job::command::Outcome;
use crate::job::{Command, Event, JobStatus, NoPlan, NodeStatus, Plan, plan_fork};

fn inputs(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn fork(rig: &Rig, at: &[&str], given: Value) -> Result<Plan, NoPlan> {
    let at: Vec<String> = at.iter().map(|name| (*name).to_owned()).collect();
    plan_fork(&rig.state, &at, &inputs(given))
}

/// Each fate in words: `a reused`, `b runs: behind`.
fn fates(plan: &Plan) -> Vec<String> {
    let words = plan.fates.iter().map(|f| match f.fate.cause() {
        Some(cause) => format!("{} {}: {}", f.node, f.fate.word(), cause.word()),
        None => format!("{} {}", f.node, f.fate.word()),
    });
    words.collect()
}

/// fetch reads `source`; scale reads `factor` and what fetch made; store reads what scale made.
fn pipeline() -> Rig {
    let task = |params: Value, next: &str| json!({"type": "task", "handler": "careful", "params": params, "next": next});
    let nodes = json!({
        "START": {"type": "start", "next": ["fetch", "note"]},
        "fetch": task(json!({"from": "{{ inputs.source }}"}), "scale"),
        "scale": task(json!({"by": "{{ inputs.factor }}", "what": "{{ nodes.fetch.output.x }}"}), "store"),
        "store": task(json!({"what": "{{ nodes.scale.output.x }}"}), "END"),
        "note": task(json!({"text": "no inputs"}), "END"),
        "END": {"type": "end"}});
    let mut rig = Rig::with_inputs(graph(nodes), json!({"source": "s", "factor": 1}));
    rig.dispatch();
    for (node, x) in [("fetch", 1), ("scale", 2), ("store", 3), ("note", 4)] {
        rig.dispatch_again();
        rig.start(node);
        rig.report(node, completed(json!({ "x": x })))
            .expect("completed");
    }
    assert_eq!(rig.job(), JobStatus::Completed);
    rig
}

impl Rig {
    /// Dispatches what has become ready, if anything has.
    fn dispatch_again(&mut self) {
        if self.state.ready_lanes().next().is_some() {
            self.dispatch();
        }
    }
}

#[test]
fn a_fork_in_the_middle_with_another_input_runs_from_there_and_sees_it() {
    let rig = pipeline();
    let changed = json!({"source": "s", "factor": 5});
    let plan = fork(&rig, &["scale"], changed.clone()).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "fetch reused",
            "note reused",
            "scale runs: fork_point",
            "store runs: behind"
        ]
    );
    assert_eq!(plan.changed_inputs, ["factor".to_owned()].into());
    let mut fork = retry_with(&rig, plan, changed);
    let sent = fork.dispatch();
    let params: Vec<_> = sent
        .iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some((d.node.to_string(), d.params.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        params,
        [("scale".to_owned(), json!({"by": 5, "what": 1}))],
        "the old output of fetch, and the new factor"
    );
}

#[test]
fn a_node_before_the_fork_that_reads_a_changed_input_runs_again_and_so_does_all_behind_it() {
    let rig = pipeline();
    let plan = fork(&rig, &["store"], json!({"source": "t", "factor": 1})).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "fetch runs: input_changed",
            "note reused",
            "scale runs: behind",
            "store runs: fork_point"
        ]
    );
    let cause = plan.fates[0].fate.cause().expect("a cause").to_string();
    assert_eq!(cause, "it reads `source`, which has another value");
}

#[test]
fn without_a_node_a_fork_runs_what_the_changed_inputs_reach() {
    let rig = pipeline();
    let plan = fork(&rig, &[], json!({"source": "s", "factor": 2})).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "fetch reused",
            "note reused",
            "scale runs: input_changed",
            "store runs: behind"
        ]
    );
    let same = json!({"source": "s", "factor": 1});
    assert_eq!(fork(&rig, &[], same), Err(NoPlan::NothingChanged));
}

#[test]
fn a_changed_input_of_a_conditional_decides_anew_what_had_been_skipped() {
    let task = |next: &str| json!({"type": "task", "handler": "careful", "next": next});
    let nodes = json!({
        "START": {"type": "start", "next": "first"}, "first": task("route"),
        "route": {"type": "conditional", "branches": [{"when": "inputs.f", "next": "a"}, {"default": true, "next": "b"}]},
        "a": task("c"), "b": task("c"), "c": task("END"), "END": {"type": "end"}});
    let mut rig = Rig::with_inputs(graph(nodes), json!({"f": true}));
    for node in ["first", "a", "c"] {
        rig.complete(node, json!({}));
    }
    let plan = fork(&rig, &[], json!({"f": false})).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "first reused",
            "route runs: input_changed",
            "a runs: behind",
            "b open: behind",
            "c runs: behind"
        ]
    );
    let mut other = retry_with(&rig, plan, json!({"f": false}));
    assert_eq!(
        (other.status("a"), other.status("b")),
        (NodeStatus::Skipped, NodeStatus::Ready)
    );
    other.complete("b", json!({}));
    other.complete("c", json!({}));
    assert_eq!(other.job(), JobStatus::Completed);
    let plan = fork(&rig, &["c"], json!({"f": true})).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "first reused",
            "a reused",
            "b stays_skipped",
            "c runs: fork_point"
        ]
    );
}

#[test]
fn children_of_a_fan_out_are_taken_over_by_reference_and_a_changed_input_of_theirs_runs_them_all() {
    let nodes = json!({
        "START": {"type": "start", "next": "tiles"},
        "tiles": {"type": "fan_out", "source": 4, "task": {"handler": "work", "params": {"z": "{{ inputs.zoom }}"}}, "next": "join"},
        "join": {"type": "fan_in", "handler": "careful", "params": {"name": "{{ inputs.name }}"}, "next": "END"},
        "END": {"type": "end"}});
    let mut rig = Rig::with_inputs(graph(nodes), json!({"zoom": 1, "name": "n"}));
    rig.dispatch();
    for child in [0, 1, 3] {
        rig.report(&format!("tiles__{child}"), completed(json!({"n": child})))
            .expect("completed");
    }
    rig.report(
        "tiles__2",
        Outcome::Failed(failure(FailureClass::Permanent)),
    )
    .expect("failed");
    let plan = fork(&rig, &["join"], json!({"zoom": 1, "name": "m"})).expect("a plan");
    assert_eq!(
        fates(&plan),
        [
            "tiles partly_reused: children_missing",
            "join runs: fork_point"
        ]
    );
    let children = plan.fates[0].children.as_ref().expect("children");
    let ranges: Vec<_> = children.reused.iter().map(|r| (r.first, r.last)).collect();
    assert_eq!((children.total, ranges), (4, vec![(0, 1), (3, 3)]));
    let plan = fork(&rig, &["join"], json!({"zoom": 2, "name": "n"})).expect("a plan");
    assert_eq!(
        fates(&plan),
        ["tiles runs: input_changed", "join runs: fork_point"]
    );
    assert!(plan.children.is_empty());
}

#[test]
fn what_is_too_large_to_take_over_runs_again_and_says_so() {
    let mut rig = Rig::new(chain(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]));
    for node in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        rig.complete(node, json!({ "blob": "x".repeat(60_000) }));
    }
    rig.fail("j", FailureClass::Permanent);
    let plan = fork(&rig, &["j"], json!({})).expect("a plan");
    assert_eq!(
        fates(&plan)[7..],
        ["h reused", "i runs: too_large", "j runs: fork_point"]
    );
    assert!(domain_bytes(&plan) <= crate::job::REUSED_BYTES_MAX);
}

fn domain_bytes(plan: &Plan) -> usize {
    plan.nodes
        .iter()
        .map(|n| crate::json::size_bytes(&n.output))
        .sum()
}

#[test]
fn only_an_ended_job_is_forked_and_only_at_nodes_that_it_has() {
    let mut rig = Rig::new(chain(&["first", "second"]));
    rig.complete("first", json!({}));
    assert_eq!(
        fork(&rig, &["second"], json!({})),
        Err(NoPlan::NotEnded(JobStatus::Running))
    );
    rig.accept(Command::Cancel {
        reason: String::new(),
    });
    let plan = fork(&rig, &["second"], json!({})).expect("a plan");
    assert_eq!(fates(&plan), ["first reused", "second runs: fork_point"]);
    let refused = |at: &[&str]| fork(&rig, at, json!({})).expect_err("no plan").to_string();
    assert_eq!(
        refused(&["secnd"]),
        "the job has no node `secnd` to start again from; did you mean `second`?"
    );
    assert_eq!(
        refused(&["second__3"]),
        "the job has no node `second__3` to start again from; it is a child: name its fan-out `second`"
    );
    assert_eq!(
        refused(&["first"; 101]),
        "a fork starts again from at most 100 nodes, not 101"
    );
}
