//! Edges, joins, conditionals, skipping.

use serde_json::{Value, json};

use super::rig::{Rig, chain, graph, names, workflow};
use crate::failure::FailureClass;
use crate::job::{Event, JobStatus, NodeStatus};
use crate::priority::Priority;

fn task(next: &str) -> Value {
    json!({"type": "task", "handler": "careful", "next": next})
}

/// START -> a -> route -> (small | big) -> join -> END
fn routed(condition: &str) -> Rig {
    let nodes = json!({
        "START": {"type": "start", "next": "a"},
        "a": task("route"),
        "route": {"type": "conditional", "condition_field": "{{ nodes.a.output.size }}", "branches": [
            {"condition": condition, "next": "small"},
            {"default": true, "next": "big"}]},
        "small": task("after_small"),
        "after_small": task("join"),
        "big": task("join"),
        "join": {"type": "task", "handler": "careful", "next": "END",
                 "params": {"x": "{{ nodes.small.output.v | default(nodes.big.output.v) }}"}},
        "END": {"type": "end"},
    });
    Rig::new(graph(nodes))
}

#[test]
fn the_steps_of_a_job_are_events_in_order() {
    let mut rig = Rig::new(chain(&["a"]));
    assert_eq!(
        names(&rig.log),
        ["job_created", "job_claimed", "node_passed", "nodes_ready"]
    );
    assert_eq!(rig.job(), JobStatus::Pending);
    assert_eq!(names(&rig.dispatch()), ["node_dispatched", "job_started"]);
    assert_eq!(rig.job(), JobStatus::Running);
    rig.start("a");
    rig.log.clear();
    let mut rig = Rig::new(chain(&["a"]));
    rig.complete("a", json!({}));
    let tail: Vec<_> = names(&rig.log).split_off(6);
    assert_eq!(
        tail,
        [
            "node_started",
            "node_completed",
            "node_passed",
            "job_completed"
        ]
    );
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn a_node_is_ready_when_all_its_dependencies_are_done() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "b"]},
        "a": task("c"), "b": task("c"), "c": task("END"), "END": {"type": "end"},
    });
    let mut rig = Rig::new(graph(nodes));
    rig.complete("a", json!({}));
    assert_eq!(rig.status("c"), NodeStatus::Pending);
    rig.start("b");
    rig.report("b", super::rig::completed(json!({})))
        .expect("completed");
    assert_eq!(rig.status("c"), NodeStatus::Ready);
}

#[test]
fn any_of_runs_as_soon_as_one_is_completed() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "b"]},
        "a": {"type": "task", "handler": "careful"}, "b": {"type": "task", "handler": "careful"},
        "c": {"type": "task", "handler": "careful", "depends_on": {"any_of": ["a", "b"]}, "next": "END"},
        "END": {"type": "end"},
    });
    let mut rig = Rig::new(graph(nodes));
    rig.complete("b", json!({}));
    assert_eq!(rig.status("c"), NodeStatus::Ready);
    rig.start("a");
    rig.report("a", super::rig::completed(json!({})))
        .expect("completed");
    assert_eq!(rig.log.iter().filter(|e| matches!(e, Event::NodesReady { nodes } if nodes.iter().any(|n| &*n.name == "c"))).count(), 1);
    rig.complete("c", json!({}));
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn a_conditional_takes_the_first_branch_that_holds() {
    for (size, taken, skipped) in [
        (99, "small", "big"),
        (100, "big", "small"),
        (101, "big", "small"),
    ] {
        let mut rig = routed("< 100");
        rig.complete("a", json!({"size": size}));
        assert_eq!(
            (rig.status(taken), rig.status(skipped)),
            (NodeStatus::Ready, NodeStatus::Skipped)
        );
        assert_eq!(rig.status("route"), NodeStatus::Completed);
        let dispatched = rig
            .log
            .iter()
            .any(|e| matches!(e, Event::NodeDispatched(d) if &*d.node.name == "route"));
        assert!(!dispatched, "no worker takes part in a conditional");
    }
}

#[test]
fn an_untaken_branch_is_skipped_with_its_exclusive_descendants_and_the_join_runs() {
    let mut rig = routed("< 100");
    rig.complete("a", json!({"size": 500}));
    assert_eq!(rig.status("small"), NodeStatus::Skipped);
    assert_eq!(rig.status("after_small"), NodeStatus::Skipped);
    assert_eq!(rig.status("join"), NodeStatus::Pending);
    let skips = names(&rig.log)
        .iter()
        .filter(|n| *n == "nodes_skipped")
        .count();
    assert_eq!(skips, 1, "one event for the whole branch");
    rig.complete("big", json!({"v": 7}));
    assert_eq!(rig.status("join"), NodeStatus::Ready);
    let events = rig.dispatch();
    assert!(matches!(&events[0], Event::NodeDispatched(d) if d.params == json!({"x": 7})));
    rig.start("join");
    rig.report("join", super::rig::completed(json!({})))
        .expect("completed");
    assert_eq!(
        rig.job(),
        JobStatus::Completed,
        "a job with a skipped branch completes"
    );
}

#[test]
fn two_ends_one_skipped_complete_the_job() {
    let nodes = json!({
        "START": {"type": "start", "next": "route"},
        "route": {"type": "conditional", "branches": [
            {"when": "inputs.fast", "next": "END1"}, {"default": true, "next": "a"}]},
        "a": task("END2"), "END1": {"type": "end"}, "END2": {"type": "end"},
    });
    let mut rig = Rig::with_inputs(graph(nodes), json!({"fast": false}));
    rig.complete("a", json!({}));
    assert_eq!(
        (rig.status("END1"), rig.status("END2")),
        (NodeStatus::Skipped, NodeStatus::Completed)
    );
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_job_and_leaves_nothing_open() {
    let mut rig = routed("< 100");
    rig.complete("a", json!({"size": "huge"}));
    assert_eq!(
        (rig.job(), rig.status("route")),
        (JobStatus::Failed, NodeStatus::Failed)
    );
    let (node, failure) = rig.state.failure().expect("a failure");
    assert_eq!(
        (node.map(ToString::to_string), failure.class),
        (Some("route".into()), FailureClass::Contract)
    );
    assert!(
        failure
            .message
            .contains("does not work on a string and a number"),
        "{failure:?}"
    );
    assert_eq!(rig.status("join"), NodeStatus::Skipped);
    let mut rig = routed("< 100");
    rig.complete("a", json!({}));
    assert_eq!(
        rig.job(),
        JobStatus::Failed,
        "a missing field is an error, not false"
    );
}

#[test]
fn a_node_whose_when_does_not_hold_is_skipped_with_what_hangs_on_it() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "b"]},
        "a": {"type": "task", "handler": "careful", "when": "inputs.n > 3", "next": "a2"},
        "a2": task("END"), "b": task("END"), "END": {"type": "end"},
    });
    let mut rig = Rig::with_inputs(graph(nodes.clone()), json!({"n": 1}));
    assert_eq!(
        (rig.status("a"), rig.status("a2")),
        (NodeStatus::Skipped, NodeStatus::Skipped)
    );
    rig.complete("b", json!({}));
    assert_eq!(rig.job(), JobStatus::Completed);
    let rig = Rig::with_inputs(graph(nodes), json!({"n": 5}));
    assert_eq!(rig.status("a"), NodeStatus::Ready);
}

#[test]
fn a_job_without_tasks_passes_through_running() {
    let rig = Rig::new(graph(
        json!({"START": {"type": "start", "next": "END"}, "END": {"type": "end"}}),
    ));
    assert_eq!(rig.job(), JobStatus::Completed);
    assert_eq!(
        names(&rig.log).split_off(4),
        ["job_started", "job_completed"]
    );
}

#[test]
fn the_result_is_the_template_of_the_workflow_with_provenance() {
    let graph = workflow(json!({
        "workflow_id": "w", "name": "W", "version": 3,
        "result": {"size": "{{ nodes.a.output.size }}", "by": "{{ nodes.a.status }}"},
        "nodes": {"START": {"type": "start", "next": "a"}, "a": task("END"), "END": {"type": "end"}},
    }));
    let mut rig = Rig::new(graph);
    rig.complete("a", json!({"size": 4}));
    let result = rig.state.result().expect("a result");
    assert_eq!(
        (&result["size"], &result["by"]),
        (&json!(4), &json!("COMPLETED"))
    );
    assert_eq!(result["_provenance"]["workflow_version"], 3);
    assert_eq!(result["_provenance"]["job_id"], json!(rig.state.job_id()));
    assert_eq!(result["_provenance"]["completed_at"], json!(rig.now));
    let mut rig = Rig::new(chain(&["a"]));
    rig.complete("a", json!({"size": 4}));
    assert_eq!(
        rig.state.result().expect("a result")["a"],
        json!({"size": 4})
    );
}

#[test]
fn a_branch_with_thousands_of_nodes_is_skipped_in_one_decision() {
    let mut nodes = serde_json::Map::new();
    nodes.insert("START".into(), json!({"type": "start", "next": "route"}));
    nodes.insert(
        "route".into(),
        json!({"type": "conditional", "branches": [
        {"when": "false", "next": "n0"}, {"default": true, "next": "END"}]}),
    );
    for i in 0..3_000 {
        let next = if i == 2_999 {
            "END".to_owned()
        } else {
            format!("n{}", i + 1)
        };
        nodes.insert(format!("n{i}"), task(&next));
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    let rig = Rig::new(graph(Value::Object(nodes)));
    assert_eq!(rig.job(), JobStatus::Completed);
    assert_eq!(rig.state.counts().skipped, 3_000);
    assert!(rig.log.len() < 12);
}

#[test]
fn a_long_row_of_conditionals_goes_on_over_several_decisions() {
    let mut nodes = serde_json::Map::new();
    nodes.insert("START".into(), json!({"type": "start", "next": "c0"}));
    for i in 0..2_500 {
        let next = if i == 2_499 {
            "END".to_owned()
        } else {
            format!("c{}", i + 1)
        };
        nodes.insert(
            format!("c{i}"),
            json!({"type": "conditional", "branches": [{"default": true, "next": next}]}),
        );
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    let mut rig = Rig::new(graph(Value::Object(nodes)));
    let mut decisions = 1;
    while !rig.state.is_settled() {
        rig.accept(crate::job::Command::Advance);
        decisions += 1;
    }
    assert_eq!(rig.job(), JobStatus::Completed);
    assert!((3..=4).contains(&decisions), "{decisions} decisions");
}

#[test]
fn queue_priority_and_timeout_of_the_file_stand_above_those_of_handler_and_job() {
    let given = json!({"type": "task", "handler": "careful", "next": "END", "queue": "gpu-tasks",
        "priority": "high", "timeout_seconds": 7, "params": {"job": "{{ job.workflow_id }}"}});
    let nodes = json!({"START": {"type": "start", "next": ["a", "b"]}, "a": given, "b": task("END"), "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    let sent: Vec<_> = rig
        .dispatch()
        .into_iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => {
                Some((d.node.to_string(), d.queue, d.priority, d.timeout_seconds))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        sent,
        [
            ("a".into(), "gpu-tasks".into(), Priority::High, 7),
            ("b".into(), "heavy".into(), Priority::Normal, 60),
        ]
    );
}

#[test]
fn templates_see_env_upstream_and_the_job() {
    let nodes = json!({
        "START": {"type": "start", "next": "a"}, "a": task("b"), "END": {"type": "end"},
        "b": {"type": "task", "handler": "careful", "next": "END", "params": {
            "env": "{{ env.region }}", "up": "{{ upstream.a.size }}", "job": "{{ job.workflow_version }}"}},
    });
    let graph = graph(nodes);
    let mut job = super::rig::job_created(&graph, json!({}));
    job.env.insert("region".into(), json!("north"));
    let mut rig = Rig::with_job(graph, job);
    rig.complete("a", json!({"size": 3}));
    let events = rig.dispatch();
    assert!(
        matches!(&events[0], Event::NodeDispatched(d) if d.params == json!({"env": "north", "up": 3, "job": 1}))
    );
}

#[test]
fn any_of_is_about_the_nodes_it_lists_and_next_is_always_waited_for() {
    let nodes = json!({
        "START": {"type": "start", "next": ["x", "a", "b"]},
        "x": task("c"),
        "a": {"type": "task", "handler": "careful"}, "b": {"type": "task", "handler": "careful"},
        "c": {"type": "task", "handler": "careful", "depends_on": {"any_of": ["a", "b"]}, "next": "END"},
        "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes.clone()));
    rig.complete("x", json!({}));
    assert_eq!(
        rig.status("c"),
        NodeStatus::Pending,
        "none of a and b is done"
    );
    rig.start("b");
    rig.report("b", super::rig::completed(json!({})))
        .expect("completed");
    assert_eq!(rig.status("c"), NodeStatus::Ready);
    let mut rig = Rig::new(graph(nodes));
    rig.complete("a", json!({}));
    assert_eq!(rig.status("c"), NodeStatus::Pending, "x leads here");
}

#[test]
fn what_depends_on_a_conditional_without_being_in_a_branch_runs_after_it() {
    let nodes = json!({
        "START": {"type": "start", "next": "route"},
        "route": {"type": "conditional", "branches": [
            {"when": "inputs.f", "next": "a"}, {"default": true, "next": "b"}]},
        "a": task("END"), "b": task("END"),
        "audit": {"type": "task", "handler": "careful", "depends_on": "route", "next": "END"},
        "END": {"type": "end"}});
    for f in [true, false] {
        let rig = Rig::with_inputs(graph(nodes.clone()), json!({"f": f}));
        assert_eq!(rig.status("audit"), NodeStatus::Ready);
        assert_eq!(rig.status(if f { "b" } else { "a" }), NodeStatus::Skipped);
    }
}

#[test]
fn a_handler_that_is_gone_fails_its_task_and_the_job_can_still_be_read() {
    let nodes = json!({"START": {"type": "start", "next": "a"}, "END": {"type": "end"},
        "a": {"type": "task", "handler": "retired", "next": "END"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    let (_, failure) = rig.state.failure().expect("failed");
    assert_eq!(failure.code, "unknown_handler");
}

#[test]
fn a_wide_job_without_a_result_template_still_completes() {
    let mut nodes = serde_json::Map::new();
    let names: Vec<_> = (0..900).map(|i| format!("t{i}")).collect();
    nodes.insert("START".into(), json!({"type": "start", "next": names}));
    for name in &names {
        nodes.insert(
            name.clone(),
            json!({"type": "task", "handler": "work", "next": "END"}),
        );
    }
    nodes.insert("END".into(), json!({"type": "end"}));
    let mut rig = Rig::new(graph(Value::Object(nodes)));
    rig.dispatch();
    for name in &names {
        let big = json!({"v": "x".repeat(300)});
        let _ = rig.report_unchecked(name, super::rig::completed(big));
    }
    assert_eq!(rig.job(), JobStatus::Completed);
    assert!(rig.state.result().expect("a result")["_omitted"].as_u64() > Some(0));
}
