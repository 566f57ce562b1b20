//! Small cases, one rule each.

use super::{lines, problems, with_nodes};

/// Nodes of a workflow, and the codes that they earn.
const CASES: &[(&str, &str, &[&str])] = &[
    (
        "no end",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, next: a2}\n  a2: {type: task, handler: echo, depends_on: a}\n",
        &["WF0024", "WF0028"],
    ),
    ("no start", "  E: {type: end}\n", &["WF0023"]),
    (
        "two starts",
        "  S: {type: start, next: E}\n  T: {type: start, next: E}\n  E: {type: end}\n",
        &["WF0023"],
    ),
    (
        "two ends are fine",
        "  S: {type: start, next: [E, F]}\n  E: {type: end}\n  F: {type: end}\n",
        &[],
    ),
    (
        "the end of a start",
        "  S: {type: start, next: []}\n  E: {type: end}\n",
        &["WF0028", "WF0029"],
    ),
    (
        "a circle of three",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, next: b}\n  b: {type: task, handler: echo, next: c}\n  c: {type: task, handler: echo, next: [a, E]}\n  E: {type: end}\n",
        &["WF0030"],
    ),
    (
        "waiting for the start",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, depends_on: S, next: E}\n  E: {type: end}\n",
        &["WF0026"],
    ),
    (
        "a near name keeps the rest reachable",
        "  S: {type: start, next: valdate}\n  validate: {type: task, handler: echo, next: E}\n  E: {type: end}\n",
        &["WF0025"],
    ),
    (
        "both branches join",
        "  S: {type: start, next: [c, p]}\n  c: {type: conditional, branches: [{when: 'true', next: a}, {default: true, next: b}]}\n  a: {type: task, handler: echo, next: j}\n  b: {type: task, handler: echo, next: j}\n  j: {type: task, handler: echo, next: k}\n  p: {type: task, handler: echo, next: k}\n  k: {type: task, handler: echo, params: {x: '{{ nodes.j.output.text }}'}, next: E}\n  E: {type: end}\n",
        &[],
    ),
    (
        "a node with `when` may be skipped",
        "  S: {type: start, next: [a, p]}\n  a: {type: task, handler: echo, when: 'true', next: k}\n  p: {type: task, handler: echo, next: k}\n  k: {type: task, handler: echo, params: {x: '{{ nodes.a.output.text }}'}, next: E}\n  E: {type: end}\n",
        &["WF0087"],
    ),
    (
        "what comes only after it may read it",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, when: 'true', next: k}\n  k: {type: task, handler: echo, params: {x: '{{ nodes.a.output.text }}'}, next: E}\n  E: {type: end}\n",
        &[],
    ),
    (
        "any_of does not wait for both",
        "  S: {type: start, next: [a, b]}\n  a: {type: task, handler: echo}\n  b: {type: task, handler: echo}\n  k: {type: task, handler: echo, depends_on: {any_of: [a, b]}, params: {x: '{{ nodes.a.output.text }}'}, next: E}\n  E: {type: end}\n",
        &["WF0087"],
    ),
    (
        "the children of a fan_out come by a fan_in",
        "  S: {type: start, next: f}\n  f: {type: fan_out, source: 3, task: {handler: echo}, next: i}\n  i: {type: fan_in, aggregation: sum, field: n, next: k}\n  k: {type: task, handler: echo, params: {x: '{{ nodes.i.output.total }}', y: '{{ previous_results }}'}, next: E}\n  E: {type: end}\n",
        &[],
    ),
    (
        "an unknown field belongs deeper",
        "  S: {type: start, next: f}\n  f: {type: fan_out, source: [1], handler: echo, task: {handler: echo}, next: E}\n  E: {type: end}\n",
        &["WF0010"],
    ),
    (
        "a node without a type",
        "  S: {type: start, next: a}\n  a: {next: b}\n  b: {type: task, handler: echo, next: E}\n  E: {type: end}\n",
        &["WF0011"],
    ),
    (
        "a near type is one mistake",
        "  S: {type: start, next: a}\n  a: {type: tsk, handler: echo, next: E}\n  E: {type: end}\n",
        &["WF0013"],
    ),
    (
        "nothing follows from a number that cannot be read",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, timeout_seconds: 1e999, params: {message: .inf}, next: E}\n  E: {type: end}\n",
        &["WF0003", "WF0003"],
    ),
    (
        "nothing follows from a key that is a list",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, [x]: 1, next: E}\n  E: {type: end}\n",
        &["WF0003"],
    ),
    (
        "nothing follows from a merge key",
        "  S: {type: start, next: a}\n  a: {type: task, handler: raster.create_cog, params: {<<: {source_url: x}}, next: b}\n  b: {<<: {type: task}, next: E}\n  E: {type: end}\n",
        &["WF0003", "WF0003"],
    ),
    (
        "nothing follows from a template without quotes",
        "  S: {type: start, next: a}\n  a:\n    type: task\n    handler: echo\n    params:\n      message: {{ inputs.x }}\n    next: E\n  E: {type: end}\n",
        &["WF0003"],
    ),
    (
        "a conditional has no results",
        "  S: {type: start, next: t}\n  t: {type: task, handler: echo, next: c}\n  c: {type: conditional, branches: [{when: 'true', next: a}, {default: true, next: E}]}\n  a: {type: task, handler: echo, params: {x: '{{ previous_results }}'}, next: E}\n  E: {type: end}\n",
        &["WF0089"],
    ),
    (
        "nothing is not a value",
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, queue: , next: E}\n  E: {type: end}\n",
        &["WF0012"],
    ),
];

/// All codes that the cases prove.
pub(super) fn codes() -> Vec<String> {
    let codes = CASES.iter().flat_map(|(_, _, codes)| codes.iter());
    // The rest of this file proves two more.
    codes
        .copied()
        .chain(["WF0020", "WF0022"])
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_case_earns_its_codes() {
    for (name, nodes, expected) in CASES {
        let found = problems(&with_nodes(nodes));
        let mut codes: Vec<_> = found.iter().map(|d| d.code.as_str()).collect();
        codes.sort_unstable();
        assert_eq!(&codes, expected, "{name}: {found:#?}");
    }
}

#[test]
fn a_workflow_has_either_nodes_or_stages() {
    let head = "workflow_id: t\nname: t\nversion: 1\n";
    assert_eq!(lines(head), ["1:1 WF0020"]);
    let stages = "stages: [{number: 1, name: a, task_type: echo}]\n";
    assert_eq!(lines(&format!("{head}{stages}")), Vec::<String>::new());
    let nodes = "nodes: {S: {type: start, next: E}, E: {type: end}}\n";
    assert_eq!(
        lines(&format!("{head}{nodes}{stages}")),
        ["5:1 WF0020 stages"]
    );
    assert_eq!(lines(&format!("{head}stages: []\n")), ["4:9 WF0015 stages"]);
}

#[test]
fn a_workflow_has_at_most_five_thousand_nodes() {
    let nodes: String = (0..5_001)
        .map(|n| format!("  n{n}: {{type: end}}\n"))
        .collect();
    assert_eq!(lines(&with_nodes(&nodes)), ["4:1 WF0022 nodes"]);
}

#[test]
fn a_circle_is_named_in_order_and_once() {
    let nodes = "  S: {type: start, next: m}\n  m: {type: task, handler: echo, next: b}\n  b: {type: task, handler: echo, next: [m, E]}\n  E: {type: end}\n";
    let found = problems(&with_nodes(nodes));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].message.ends_with("m -> b -> m"),
        "{}",
        found[0].message
    );
}

#[test]
fn hints_name_what_was_probably_meant() {
    for (nodes, hint) in [
        (
            "  S: {type: start, next: process_doker}\n  process_docker: {type: task, handler: echo, next: E}\n  E: {type: end}\n",
            "did you mean `process_docker`?",
        ),
        (
            "  S: {type: start, next: a}\n  a: {type: task, handler: raster-validate, params: {source_url: x}, next: E}\n  E: {type: end}\n",
            "did you mean `raster_validate`?",
        ),
        (
            "  S: {type: start, next: a}\n  a: {type: task, handler: echo, timeout_second: 3, next: E}\n  E: {type: end}\n",
            "did you mean `timeout_seconds`?",
        ),
        (
            "  S: {type: start, next: f}\n  f: {type: fan_out, source: 3, task: {handler: echo}, params: {}, next: E}\n  E: {type: end}\n",
            "it belongs below `task`",
        ),
        (
            "  S: {type: start, next: f}\n  f: {type: conditional, branches: [{default: true, next: E}], next: E}\n  E: {type: end}\n",
            "it belongs below `branches`",
        ),
        (
            "  S: {type: start, next: a}\n  a: {type: task, handler: echo, params: {x: '{{ S }}'}, next: E}\n  E: {type: end}\n",
            "did you mean `nodes.S.output`?",
        ),
        (
            "  S: {type: start, next: a}\n  a:\n    type: task\n    handler: echo\n    params: {message: {{ inputs.x }}}\n    next: E\n  E: {type: end}\n",
            "put quotes around the template: \"{{ ... }}\"",
        ),
        (
            "  S: {type: start, next: a}\n  a:\n    type: task\n    handler: echo\n    params:\n      message: {{ inputs.x }}/a.tif\n    next: E\n  E: {type: end}\n",
            "put quotes around the template: \"{{ ... }}\"",
        ),
        (
            "  S: {type: start, next: c}\n  c: {type: conditional, branches: [{default: true, next: a}]}\n  a: {type: task, handler: echo, params: {x: '{{ previous_results }}'}, next: E}\n  E: {type: end}\n",
            "for nodes further up write nodes.NAME.output",
        ),
    ] {
        let found = problems(&with_nodes(nodes));
        let hints: Vec<_> = found.iter().filter_map(|d| d.hint.as_deref()).collect();
        assert_eq!(hints, [hint]);
    }
}

#[test]
fn diagnostics_are_data() {
    let found = problems(
        "workflow_id: t\nname: t\nversion: 0\nnodes: {S: {type: start, next: E}, E: {type: end}}\n",
    );
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!([{"code": "WF0014", "line": 3, "column": 10, "path": "version",
                            "message": "0 is not between 1 and 2147483647"}])
    );
}
