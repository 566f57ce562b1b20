//! The small commands: graph, schema, explain, completions, and what is printed about wrong usage.

use std::io::ErrorKind;

use cli::exit::Exit;

use crate::run::{folder, strata, strata_without_stdout, workflow};

#[test]
fn a_graph_goes_to_stdout_or_to_a_file() {
    let ran = strata(&["workflow", "graph", &workflow("hello_world")]);
    assert_eq!(ran.exit, Exit::Ok);
    assert!(ran.out.contains("flowchart TD\n"), "{}", ran.out);
    let file = folder("graph").join("hello.svg");
    let path = file.display().to_string();
    let hello = workflow("hello_world");
    let ran = strata(&["workflow", "graph", &hello, "--format", "svg", "-o", &path]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Ok, ""));
    let text = std::fs::read_to_string(file).expect("it was written");
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
}

#[test]
fn a_broken_file_cannot_be_drawn() {
    let file = folder("broken_graph").join("bad.yaml");
    std::fs::write(&file, "workflow_id: x\nnodes: 3\n").expect("written");
    let path = file.display().to_string();
    let ran = strata(&["workflow", "graph", &path]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    assert!(ran.err.contains("bad.yaml:2:"), "{}", ran.err);
    assert!(ran.err.contains("try: strata explain WF"), "{}", ran.err);
}

#[test]
fn the_schema_is_json() {
    let ran = strata(&["workflow", "schema"]);
    assert_eq!(ran.exit, Exit::Ok);
    assert!(ran.json()["properties"]["nodes"].is_object());
}

#[test]
fn every_code_has_a_page() {
    for code in domain::definition::Code::ALL {
        let ran = strata(&["explain", code.as_str()]);
        assert_eq!(ran.exit, Exit::Ok);
        assert!(ran.out.contains(code.as_str()), "{code}: {}", ran.out);
    }
    assert_eq!(strata(&["explain", "wf0025"]).exit, Exit::Ok);
}

#[test]
fn an_unknown_code_names_the_known_ones() {
    let ran = strata(&["explain", "WF025"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::NotFound, ""));
    assert!(ran.err.contains("did you mean `WF0"), "{}", ran.err);
    assert!(ran.err.contains("  WF0025  "), "{}", ran.err);
    assert!(ran.err.ends_with("try: strata explain WF0001\n"));
}

#[test]
fn handlers_are_listed_and_explained() {
    let ran = strata(&["workflow", "handlers"]);
    assert_eq!(ran.exit, Exit::Ok);
    let row = ran.out.lines().find(|line| line.starts_with("echo "));
    let words: Vec<_> = row.expect("echo").split_whitespace().take(5).collect();
    assert_eq!(words, ["echo", "functionapp-tasks", "300", "s", "yes"]);
    let count = ran.out.lines().count() - 1;
    let rows = strata(&["workflow", "handlers", "--output", "json"]).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(count));

    let ran = strata(&["workflow", "handlers", "validate_raster"]);
    assert!(ran.out.starts_with("raster.validate: "), "{}", ran.out);
    for part in [
        "also called: raster_validate, validate_raster\n",
        "\nblob_path ",
        "needs one of: local_path; blob_path; container_name + blob_name\n",
        "\nsource_crs ",
        "default \"auto\", one of \"auto\" \"rgb\"",
    ] {
        assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
    }
    let line = [
        "workflow",
        "handlers",
        "raster.validate",
        "--output",
        "json",
    ];
    assert_eq!(strata(&line).json()["queue"], "container-tasks");

    let ran = strata(&["workflow", "handlers", "raster.valdate"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::NotFound, ""));
    assert!(
        ran.err.contains("did you mean `raster.validate`?"),
        "{}",
        ran.err
    );
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = strata(&["completions", shell]);
        assert_eq!(ran.exit, Exit::Ok);
        assert!(ran.out.contains("simulate"), "{shell}");
    }
}

#[test]
fn help_and_version_are_data_and_wrong_usage_is_not() {
    let version = strata(&["--version"]);
    let expected = format!("strata {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.exit, version.out), (Exit::Ok, expected));
    let help = strata(&["workflow", "simulate", "--help"]);
    assert_eq!(help.exit, Exit::Ok);
    assert!(help.out.contains("Examples:"));
    for wrong in [&["bench", "nothing"][..], &["workflow"], &["fly"], &[]] {
        let ran = strata(wrong);
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""), "{wrong:?}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn exit_codes_are_those_of_the_design() {
    let codes = [
        (Exit::Ok, 0),
        (Exit::Failed, 1),
        (Exit::Usage, 2),
        (Exit::NotVerified, 3),
        (Exit::NotFound, 4),
        (Exit::Conflict, 5),
        (Exit::Unreachable, 6),
        (Exit::Interrupted, 130),
    ];
    for (exit, code) in codes {
        assert_eq!(exit.code(), code);
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_unless_its_reader_went_away() {
    let hello = workflow("hello_world");
    let lines: [&[&str]; 8] = [
        &["workflow", "list"],
        &["workflow", "simulate", &hello, "--input", "name=Ada"],
        &["workflow", "graph", &hello],
        &["workflow", "schema"],
        &["explain", "WF0025"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ];
    for line in lines {
        let (exit, err) = strata_without_stdout(line, ErrorKind::StorageFull);
        assert_eq!(exit, Exit::Failed, "{line:?}");
        let expected = "error: cannot write the output: no storage space\n";
        assert!(err.ends_with(expected), "{line:?}: {err}");
        assert_eq!(err.matches("error:").count(), 1, "{line:?}: {err}");
        let (exit, err) = strata_without_stdout(line, ErrorKind::BrokenPipe);
        assert_eq!((exit, err.as_str()), (Exit::Ok, ""), "{line:?}");
    }
}
