//! Fan-out, fan-in, stages.

use serde_json::{Value, json};

use super::rig::{Rig, completed, failure, graph, names};
use crate::failure::FailureClass;
use crate::job::command::Outcome;
use crate::job::{Command, Event, JobStatus, NodeStatus};

fn fan(source: Value, fan_in: Value, more: Value) -> Rig {
    let mut fan_out = json!({"type": "fan_out", "source": source, "next": "join",
        "task": {"handler": "work", "params": {"item": "{{ item }}", "i": "{{ index }}"}}});
    fan_out
        .as_object_mut()
        .expect("object")
        .extend(more.as_object().cloned().unwrap_or_default());
    let mut join = json!({"type": "fan_in", "next": "END"});
    join.as_object_mut()
        .expect("object")
        .extend(fan_in.as_object().cloned().unwrap_or_default());
    let nodes = json!({"START": {"type": "start", "next": "out"}, "out": fan_out, "join": join, "END": {"type": "end"}});
    Rig::new(graph(nodes))
}

fn finish(rig: &mut Rig, child: u32, output: Value) {
    rig.report(&format!("out__{child}"), completed(output))
        .expect("completed");
}

#[test]
fn three_items_make_three_tasks_in_parallel_with_their_item_and_index() {
    let mut rig = fan(json!(["a", {"k": 1}, 3]), json!({}), json!({}));
    assert_eq!(rig.status("out"), NodeStatus::Running);
    let events = rig.dispatch();
    let params: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some((d.node.to_string(), d.params.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        params,
        [
            ("out__0".into(), json!({"item": "a", "i": 0})),
            ("out__1".into(), json!({"item": {"k": 1}, "i": 1})),
            ("out__2".into(), json!({"item": 3, "i": 2})),
        ]
    );
}

#[test]
fn a_fan_in_waits_for_all_children() {
    let mut rig = fan(json!(3), json!({}), json!({}));
    rig.dispatch();
    finish(&mut rig, 2, json!({"v": 2}));
    finish(&mut rig, 0, json!({"v": 0}));
    assert_eq!(
        (rig.status("out"), rig.status("join")),
        (NodeStatus::Running, NodeStatus::Pending)
    );
    finish(&mut rig, 1, json!({"v": 1}));
    assert_eq!(rig.status("out"), NodeStatus::Completed);
    assert_eq!(
        rig.output("join"),
        json!({"results": [{"v": 0}, {"v": 1}, {"v": 2}], "count": 3, "manifest": null})
    );
    assert_eq!(rig.job(), JobStatus::Completed);
}

#[test]
fn every_way_of_joining_has_its_output() {
    for (fan_in, expected) in [
        (
            json!({"aggregation": "collect", "field": "v"}),
            json!({"results": [[1], [2, 3]], "count": 2, "manifest": null}),
        ),
        (
            json!({"aggregation": "concat", "field": "v"}),
            json!({"results": [1, 2, 3], "count": 3, "manifest": null}),
        ),
        (
            json!({"aggregation": "sum", "field": "n"}),
            json!({"total": 3.5, "count": 2}),
        ),
        (
            json!({"aggregation": "first", "field": "n"}),
            json!({"result": 1, "count": 2}),
        ),
        (
            json!({"aggregation": "last"}),
            json!({"result": {"v": [2, 3], "n": 2.5}, "count": 2}),
        ),
    ] {
        let mut rig = fan(json!(2), fan_in.clone(), json!({}));
        rig.dispatch();
        finish(&mut rig, 1, json!({"v": [2, 3], "n": 2.5}));
        finish(&mut rig, 0, json!({"v": [1], "n": 1}));
        assert_eq!(rig.output("join"), expected, "{fan_in}");
    }
    let mut rig = fan(
        json!(1),
        json!({"aggregation": "sum", "field": "n"}),
        json!({}),
    );
    rig.dispatch();
    finish(&mut rig, 0, json!({"n": "many"}));
    let (_, failure) = rig.state.failure().expect("failed");
    assert!(failure.message.contains("out__0"), "{failure:?}");
}

#[test]
fn a_fan_in_joins_several_nodes_and_leaves_out_the_skipped() {
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "b", "c"]},
        "a": {"type": "task", "handler": "work", "next": "join"},
        "b": {"type": "task", "handler": "work", "when": "false", "next": "join"},
        "c": {"type": "task", "handler": "work", "next": "join"},
        "join": {"type": "fan_in", "next": "END"}, "END": {"type": "end"},
    });
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    rig.report("c", completed(json!({"v": "c"})))
        .expect("completed");
    rig.report("a", completed(json!({"v": "a"})))
        .expect("completed");
    assert_eq!(
        rig.output("join"),
        json!({"results": [{"v": "a"}, {"v": "c"}], "count": 2, "manifest": null})
    );
}

#[test]
fn an_empty_list_skips_or_fails_as_the_workflow_says() {
    let rig = fan(json!([]), json!({}), json!({}));
    assert_eq!(
        rig.output("join"),
        json!({"results": [], "count": 0, "manifest": null})
    );
    assert_eq!(
        (rig.status("out"), rig.job()),
        (NodeStatus::Completed, JobStatus::Completed)
    );
    let rig = fan(json!([]), json!({}), json!({"on_empty": "fail"}));
    assert_eq!(
        (rig.status("out"), rig.job()),
        (NodeStatus::Failed, JobStatus::Failed)
    );
    let (_, failure) = rig.state.failure().expect("failed");
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (FailureClass::Permanent, "empty_fan_out")
    );
}

#[test]
fn a_source_that_is_no_list_or_too_long_fails_the_fan_out() {
    for (source, more, code) in [
        (json!("text"), json!({}), "source_not_a_list"),
        (json!(-1), json!({}), "source_not_a_list"),
        (json!(11), json!({"max_items": 10}), "too_many_items"),
        (json!("{{ inputs.nope }}"), json!({}), "template_error"),
    ] {
        let rig = fan(source, json!({}), more);
        let (node, failure) = rig.state.failure().expect("failed");
        assert_eq!(
            (
                node.map(ToString::to_string).as_deref(),
                failure.code.as_str()
            ),
            (Some("out"), code)
        );
    }
}

#[test]
fn never_more_children_at_work_than_max_parallel() {
    let mut rig = fan(json!(10), json!({}), json!({"max_parallel": 3}));
    assert_eq!(rig.dispatch().len(), 4, "three and job_started");
    assert!(rig.dispatch().is_empty());
    finish(&mut rig, 0, json!({}));
    assert_eq!(rig.dispatch().len(), 1);
    assert_eq!(rig.state.counts().dispatched, 3);
}

#[test]
fn the_window_is_shared_in_turns_between_fan_outs() {
    let out = json!({"type": "fan_out", "source": 100, "task": {"handler": "work"}, "next": "END"});
    let nodes = json!({"START": {"type": "start", "next": ["x", "y"]}, "x": out, "y": out, "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    let events = rig.dispatch_up_to(4);
    let ids: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::NodeDispatched(d) => Some(d.node.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["x__0", "y__0", "x__1", "y__1"]);
}

#[test]
fn a_child_that_fails_for_good_fails_the_job_naming_it() {
    let mut rig = fan(json!(3), json!({}), json!({}));
    rig.dispatch();
    rig.report("out__1", Outcome::Failed(failure(FailureClass::Permanent)))
        .expect("failed");
    let (node, _) = rig.state.failure().expect("failed");
    assert_eq!(node.map(ToString::to_string).as_deref(), Some("out__1"));
    assert_eq!(rig.status("out__0"), NodeStatus::Failed);
    assert_eq!(rig.status("join"), NodeStatus::Skipped);
    assert_eq!(rig.state.open_nodes(), rig.state.counts().failed);
}

#[test]
fn a_fan_in_with_a_handler_gets_all_previous_results() {
    let mut rig = fan(
        json!(2),
        json!({"handler": "careful", "params": {"k": 1}}),
        json!({}),
    );
    rig.dispatch();
    finish(&mut rig, 1, json!({"v": 1}));
    finish(&mut rig, 0, json!({"v": 0}));
    let events = rig.dispatch();
    assert!(matches!(&events[0], Event::NodeDispatched(d)
        if d.params == json!({"k": 1, "previous_results": [{"v": 0}, {"v": 1}]}) && d.queue == "heavy"));
}

#[test]
fn large_results_are_passed_by_manifest_and_sums_still_work() {
    let big = "x".repeat(30_000);
    for (fan_in, check) in [
        (json!({}), json!(null)),
        (json!({"aggregation": "sum", "field": "n"}), json!(10)),
    ] {
        let mut rig = fan(json!(4), fan_in, json!({}));
        rig.dispatch();
        for child in 0..4 {
            finish(&mut rig, child, json!({"blob": big, "n": child + 1}));
        }
        let output = rig.output("join");
        assert_eq!(output["count"], 4);
        if check.is_null() {
            assert_eq!(output["results"], json!(null));
            assert_eq!(output["manifest"]["children_of"][0]["node"], "out");
            assert_eq!(output["manifest"]["children_of"][0]["count"], 4);
        } else {
            assert_eq!(output["total"], check);
        }
    }
}

#[test]
fn each_task_of_a_stage_reads_what_the_same_task_before_handed_over() {
    let stage = |next: &str, params: Value| json!({"type": "fan_out", "source": "{{ inputs.n }}", "next": next, "task": {"handler": "work", "params": params}});
    let nodes = json!({
        "START": {"type": "start", "next": "one"},
        "one": stage("two", json!({"index": "{{ index }}"})),
        "two": stage("END", json!({"got": "{{ next_stage_params.box }}", "all": "{{ previous_results | length }}"})),
        "END": {"type": "end"},
    });
    let mut rig = Rig::with_inputs(graph(nodes), json!({"n": 7}));
    rig.dispatch();
    for i in (0..7).rev() {
        rig.report(
            &format!("one__{i}"),
            completed(json!({"next_stage_params": {"box": i * 10}})),
        )
        .expect("completed");
    }
    let events = rig.dispatch();
    let fifth = events.iter().find_map(|e| match e {
        Event::NodeDispatched(d) if d.node.to_string() == "two__5" => Some(d.params.clone()),
        _ => None,
    });
    assert_eq!(fifth, Some(json!({"got": 50, "all": 7})));
}

#[test]
fn exactly_one_completion_is_the_last_of_a_hundred() {
    let mut rig = fan(json!(100), json!({}), json!({}));
    rig.dispatch();
    let mut ends = 0;
    for child in (0..100).map(|i| (i * 37) % 100) {
        let answer = rig
            .report(&format!("out__{child}"), completed(json!({})))
            .expect("completed");
        ends += names(&answer.into_events())
            .iter()
            .filter(|n| *n == "job_completed")
            .count();
    }
    assert_eq!(ends, 1);
}

#[test]
fn a_thousand_items_are_one_event_and_no_child_is_expanded_twice() {
    let mut rig = fan(json!(1_000), json!({}), json!({}));
    assert_eq!(
        names(&rig.log)
            .iter()
            .filter(|n| *n == "fan_out_expanded")
            .count(),
        1
    );
    let again = rig
        .log
        .iter()
        .find(|e| matches!(e, Event::FanOutExpanded { .. }))
        .cloned()
        .expect("expanded");
    let before = rig.state.clone();
    crate::job::apply(&mut rig.state, &again);
    assert_eq!(rig.state, before);
    let dispatched = rig.dispatch().len();
    assert!(
        dispatched <= crate::job::EVENTS_MAX,
        "{dispatched} events in one decision"
    );
    assert_eq!(
        rig.send(Command::Advance),
        Ok(crate::outcome::Decision::Accepted(vec![]))
    );
}

#[test]
fn outputs_of_many_nodes_are_joined_inline_only_while_they_are_small() {
    let big = json!({"blob": "x".repeat(40_000)});
    let nodes = json!({
        "START": {"type": "start", "next": ["a", "b"]},
        "a": {"type": "task", "handler": "work", "next": ["j1", "j2"]},
        "b": {"type": "task", "handler": "work", "next": ["j1", "j2"]},
        "j1": {"type": "fan_in", "next": ["k1", "k2"]}, "j2": {"type": "fan_in", "next": ["k1", "k2"]},
        "k1": {"type": "fan_in", "next": "END"}, "k2": {"type": "fan_in", "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    rig.report("a", completed(big.clone())).expect("completed");
    rig.report("b", completed(big)).expect("completed");
    assert_eq!(rig.output("j1")["results"], json!(null));
    assert_eq!(rig.output("j1")["manifest"]["children_of"][1]["node"], "b");
    assert_eq!(rig.output("k1")["count"], 2);
    assert!(crate::json::size_bytes(&rig.output("k2")) < 64 * 1024);
}

#[test]
fn a_fan_in_behind_any_of_joins_only_what_is_done() {
    let nodes = json!({
        "START": {"type": "start", "next": ["x", "b"]},
        "x": {"type": "fan_out", "source": 4, "task": {"handler": "work"}},
        "b": {"type": "task", "handler": "work"},
        "j": {"type": "fan_in", "depends_on": {"any_of": ["x", "b"]}, "next": "END"}, "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    rig.report("x__0", completed(json!({"v": "x0"})))
        .expect("completed");
    rig.report("b", completed(json!({"v": "b"})))
        .expect("completed");
    assert_eq!(
        rig.output("j"),
        json!({"results": [{"v": "b"}], "count": 1, "manifest": null})
    );
}

#[test]
fn a_stage_may_work_on_more_results_than_are_passed_inline_elsewhere() {
    let nodes = json!({
        "START": {"type": "start", "next": "one"},
        "one": {"type": "fan_out", "source": 100, "task": {"handler": "work"}, "next": "two"},
        "two": {"type": "fan_out", "source": "{{ previous_results }}", "next": "END",
                "task": {"handler": "work", "params": {"v": "{{ item.n }}"}}},
        "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    for child in 0..100 {
        let output = json!({"n": child, "blob": "x".repeat(1_000)});
        let _ = rig.report_unchecked(&format!("one__{child}"), completed(output));
    }
    assert_eq!(rig.status("two__99"), NodeStatus::Ready);
}

#[test]
fn values_nested_too_deeply_are_refused_before_they_cannot_be_read_back() {
    let deep = (0..80).fold(json!(1), |inner, _| json!([inner]));
    let mut rig = fan(json!(1), json!({}), json!({}));
    rig.dispatch();
    rig.report("out__0", completed(json!({"v": deep})))
        .expect("accepted as a failure");
    let (_, failure) = rig.state.failure().expect("failed");
    assert_eq!(failure.code, "output_too_deep");
}

#[test]
fn values_that_the_scope_makes_count_against_the_budget() {
    let many = vec!["previous_results"; 150].join(", ");
    let nodes = json!({
        "START": {"type": "start", "next": "one"},
        "one": {"type": "fan_out", "source": 100, "task": {"handler": "work"}, "next": "two"},
        "two": {"type": "task", "handler": "work", "next": "END", "params": {"n": format!("{{{{ [{many}] | length }}}}")}},
        "END": {"type": "end"}});
    let mut rig = Rig::new(graph(nodes));
    rig.dispatch();
    for child in 0..100 {
        let output = json!({"blob": "x".repeat(400)});
        let _ = rig.report_unchecked(&format!("one__{child}"), completed(output));
    }
    let ctx = rig.context();
    let slots = [(("light".into(), crate::priority::Priority::Normal), 10)].into();
    let window = Command::Dispatch(crate::job::command::Window { slots });
    crate::job::handle(&mut rig.state, window, &ctx).expect("decided");
    let (_, failure) = rig.state.failure().expect("failed");
    assert!(failure.message.contains("bytes"), "{failure:?}");
}
