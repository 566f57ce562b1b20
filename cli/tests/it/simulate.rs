//! `strata workflow simulate`: the shipped workflows, with everything going wrong that can.

use cli::exit::Exit;
use serde_json::{Value, json};

use crate::run::{Ran, folder, strata, workflow};

/// Simulates a shipped workflow; required inputs get a value.
fn simulate(name: &str, more: &[&str]) -> Ran {
    let file = workflow(name);
    let mut line = vec!["workflow", "simulate", file.as_str()];
    let needed: &[&str] = match name {
        "raster_processing" | "process_raster_v2" => &["container_name=c", "blob_name=b.tif"],
        "process_raster_tiled" => &["container_name=c", "blob_name=b.tif", "collection_id=k"],
        "vector_ingest" => &["container_name=c", "blob_name=b.gpkg", "table_name=t"],
        _ => &[],
    };
    for input in needed {
        line.extend(["--input", *input]);
    }
    line.extend(more);
    strata(&line)
}

fn json_of(name: &str, more: &[&str]) -> (Exit, Value) {
    let ran = simulate(name, &[more, &["--output", "json"]].concat());
    (ran.exit, ran.json())
}

fn node<'a>(report: &'a Value, name: &str) -> &'a Value {
    let nodes = report["nodes"].as_array().expect("nodes");
    let found = nodes.iter().find(|node| node["node"] == name);
    found.unwrap_or_else(|| panic!("no node {name}"))
}

const ALL: [&str; 9] = [
    "create_h3_base",
    "echo",
    "hello_world",
    "hello_world_stages",
    "process_raster_tiled",
    "process_raster_v2",
    "raster_processing",
    "tour",
    "vector_ingest",
];

#[test]
fn every_shipped_workflow_completes() {
    for name in ALL {
        let (exit, report) = json_of(name, &[]);
        assert_eq!((exit, &report["status"]), (Exit::Ok, &json!("COMPLETED")));
        assert!(report["result"].is_object() && report["failure"].is_null());
    }
}

#[test]
fn a_retry_waits_and_an_untaken_branch_is_skipped() {
    let options = ["--fail", "validate:2", "--set", "validate.file_size_mb=20"];
    let (exit, report) = json_of("raster_processing", &options);
    assert_eq!(exit, Exit::Ok);
    let validate = node(&report, "validate");
    assert_eq!(validate["attempts"], 3);
    let note = "retried after transient, waited 5 s, 10 s";
    assert_eq!(validate["note"], note);
    let (first, second) = (&validate["runs"][0], &validate["runs"][1]);
    assert_eq!(first["outcome"], "failed");
    let wait = second["started_seconds"].as_f64().expect("a time")
        - first["ended_seconds"].as_f64().expect("a time");
    assert!((wait - 5.0).abs() < 1e-6, "waited {wait}");
    let skipped = node(&report, "process_docker");
    assert_eq!(skipped["status"], "SKIPPED");
    assert_eq!(
        skipped["note"],
        "skipped: branch not taken at route_by_size"
    );
    assert_eq!(
        node(&report, "route_by_size")["note"],
        "took `< 100` to process_fa"
    );
    assert_eq!(report["result"]["file_size_mb"], 20);
}

#[test]
fn the_other_branch_is_taken_for_a_large_file() {
    let (_, report) = json_of("raster_processing", &["--set", "validate.file_size_mb=100"]);
    assert_eq!(node(&report, "process_fa")["status"], "SKIPPED");
    assert_eq!(node(&report, "process_docker")["status"], "COMPLETED");
}

#[test]
fn too_slow_is_a_timeout_at_the_limit() {
    let options = [
        "--slow",
        "process_fa:2000",
        "--set",
        "validate.file_size_mb=20",
    ];
    let (exit, report) = json_of("raster_processing", &options);
    assert_eq!((exit, &report["status"]), (Exit::Failed, &json!("FAILED")));
    let slow = node(&report, "process_fa");
    assert_eq!(
        (&slow["status"], &slow["attempts"]),
        (&json!("FAILED"), &json!(3))
    );
    let runs = slow["runs"].as_array().expect("runs");
    for run in runs {
        assert_eq!(run["code"], "execution_timeout");
        let lasted = run["ended_seconds"].as_f64().expect("a time")
            - run["started_seconds"].as_f64().expect("a time");
        assert!((lasted - 1800.0).abs() < 1e-6, "lasted {lasted}");
    }
    assert!(
        slow["note"]
            .as_str()
            .is_some_and(|note| { note.starts_with("retried after timeout, waited 5 s, 10 s") })
    );
    assert_eq!(report["failure"]["node"], "process_fa");
    assert_eq!(report["failure"]["failure"]["class"], "timeout");
    let waiting = node(&report, "END");
    assert_eq!(waiting["status"], "SKIPPED");
}

#[test]
fn classes_and_fail_fast_decide_about_retries() {
    let attempts = |options: &[&str]| {
        let (exit, report) = json_of("raster_processing", options);
        (exit, node(&report, "validate")["attempts"].clone())
    };
    assert_eq!(attempts(&["--fail", "validate"]), (Exit::Failed, json!(3)));
    let permanent = ["--fail", "validate:1", "--fail-class", "permanent"];
    assert_eq!(attempts(&permanent), (Exit::Failed, json!(1)));
    let fast = ["--fail", "validate:1", "--fail-fast"];
    assert_eq!(attempts(&fast), (Exit::Failed, json!(1)));
    let timeout = ["--fail", "validate:1", "--fail-class", "timeout"];
    assert_eq!(attempts(&timeout), (Exit::Ok, json!(2)));
}

#[test]
fn one_child_of_a_fan_out_can_fail_alone() {
    let options = [
        "--set",
        "tiling_scheme.batch_count=12",
        "--fail",
        "process_batches__3:1",
    ];
    let (exit, report) = json_of("process_raster_tiled", &options);
    assert_eq!(exit, Exit::Ok);
    assert_eq!(node(&report, "process_batches")["note"], "12/12 children");
    for child in 0..12 {
        let expected = if child == 3 { 2 } else { 1 };
        let name = format!("process_batches__{child}");
        assert_eq!(node(&report, &name)["attempts"], expected, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_seed_does_not() {
    let run = |seed: &str| simulate("process_raster_tiled", &["--seed", seed]).out;
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
    let (_, report) = json_of("hello_world", &[]);
    assert_eq!(report["events"][0]["at"], "2026-01-01T00:00:00Z");
}

#[test]
fn all_wrong_options_and_inputs_are_named_at_once() {
    let file = workflow("raster_processing");
    let line = [
        "workflow",
        "simulate",
        &file,
        "--fail",
        "vallidate",
        "--slow",
        "START:4",
        "--set",
        "validate.file_size=3",
        "--fail",
        "validate:0",
        "--input",
        "blob_name=x",
        "--input",
        "colour=red",
    ];
    let ran = strata(&line);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    for part in [
        "--fail vallidate: the workflow has no node `vallidate`; did you mean `validate`?",
        "--fail validate:0: TIMES must be",
        "--slow START:4: `START` is a start; no worker runs it",
        "did you mean `file_size_mb`?",
        "the input `container_name` is required",
        "no input `colour`",
        "try: strata workflow simulate --help",
    ] {
        assert!(ran.err.contains(part), "{part} is not in {}", ran.err);
    }
}

#[test]
fn inputs_come_from_a_file_and_the_command_line_wins() {
    let file = folder("inputs").join("inputs.json");
    std::fs::write(&file, r#"{"name": "Ada", "unknown": null}"#).expect("written");
    let path = file.display().to_string();
    let ran = simulate("hello_world", &["--inputs-file", &path]);
    assert_eq!(ran.exit, Exit::Usage, "an unknown name is refused");
    std::fs::write(&file, r#"{"name": "Ada"}"#).expect("written");
    let line = ["--inputs-file", &path, "--input", "name=1815"];
    let (_, report) = json_of("hello_world", &line);
    // Text, because the workflow declares a string.
    assert_eq!(report["events"][0]["inputs"]["name"], "1815");
}

#[test]
fn the_terminal_shows_table_gantt_and_totals() {
    let options = ["--fail", "validate:1", "--set", "validate.file_size_mb=20"];
    let ran = simulate("raster_processing", &options);
    let expected = "\
NODE            STATUS     ATTEMPTS  STARTED  DURATION  NOTE
START           COMPLETED            0 s      0 s
validate        COMPLETED  2         0 s      21.9 s    retried after transient, waited 5 s
route_by_size   COMPLETED            21.9 s   0 s       took `< 100` to process_fa
process_docker  SKIPPED                                 skipped: branch not taken at route_by_size
process_fa      COMPLETED  1         21.9 s   8.4 s
create_stac     COMPLETED  1         30.3 s   9.5 s
END             COMPLETED            39.8 s   0 s
";
    assert!(ran.out.starts_with(expected), "{}", ran.out);
    let chart: Vec<&str> = ran.out.lines().skip(9).take(8).collect();
    assert!(chart[1].starts_with("validate       |██"), "{chart:?}");
    assert!(chart[1].contains("x...") && chart[1].contains(".██"));
    assert_eq!(chart[3], "process_docker |(skipped)");
    assert!(chart.iter().all(|line| line.chars().count() <= 80));
    let totals = "job COMPLETED after 39.8 s of virtual time: 3 tasks, 4 attempts, 1 failure, ";
    assert!(ran.out.contains(totals), "{}", ran.out);
    assert!(ran.out.contains("\nresult: {\n"));
}

#[test]
fn ten_thousand_children_are_folded_and_quick() {
    let options = [
        "--set",
        "tiling_scheme.batch_count=10000",
        "--workers",
        "200",
        "--fail",
        "process_batches__9999:1",
    ];
    let ran = simulate("process_raster_tiled", &options);
    assert_eq!(ran.exit, Exit::Ok, "{}", ran.err);
    assert!(ran.out.contains("  ... 9989 more COMPLETED"), "{}", ran.out);
    assert!(ran.out.contains("process_batches 10000/10000 |"));
    assert!(ran.out.contains("\n  process_batches__9999  "));
    assert!(ran.out.lines().count() < 60);
}

#[test]
fn an_option_without_effect_is_said() {
    let options = [
        "--fail",
        "process_batches__999",
        "--set",
        "tiling_scheme.batch_count=3",
    ];
    let ran = simulate("process_raster_tiled", &options);
    assert_eq!(ran.exit, Exit::Ok);
    assert!(
        ran.err
            .contains("`--fail process_batches__999` had no effect"),
        "{}",
        ran.err
    );
}
