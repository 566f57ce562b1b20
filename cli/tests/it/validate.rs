//! `strata workflow validate` and `list`.

use std::path::Path;

use cli::exit::Exit;

use crate::run::{folder, strata, strata_with_input, strata_with_stdin, workflow};

const BROKEN: &str = "\
workflow_id: broken
name: Broken
version: 1
nodes:
  START:
    type: start
    next: route
  route:
    type: conditional
    condition_field: \"{{ inputs.size }}\"
    branches:
      - condition: \"< 100\"
        next: process_fa
      - default: true
        next: process_docker
  process_docker:
    type: task
    handler: ecoh
    next: END
  END:
    type: end
";

#[test]
fn all_problems_are_explained_with_their_lines() {
    let ran = strata_with_stdin(&["workflow", "validate", "-"], BROKEN);
    let expected = "\
<stdin>:10:22: WF0082 the workflow declares no input `size`
 10 |     condition_field: \"{{ inputs.size }}\"
    |                      ^
hint: declare it below `inputs`

<stdin>:13:15: WF0025 the node `process_fa` does not exist
 13 |         next: process_fa
    |               ^
hint: define `process_fa` below `nodes`, or name one of END, START, process_docker

<stdin>:18:14: WF0060 the handler `ecoh` does not exist
 18 |     handler: ecoh
    |              ^
hint: did you mean `echo`?

";
    assert_eq!(ran.out, expected);
    assert_eq!(
        ran.err,
        "failed: 3 problems in 1 of 1 file\ntry: strata explain WF0082\n"
    );
    assert_eq!(ran.exit, Exit::Usage);
}

#[test]
fn json_has_one_object_per_problem() {
    let ran = strata_with_stdin(&["workflow", "validate", "--output", "json", "-"], BROKEN);
    let problems = ran.json();
    let codes: Vec<_> = problems.as_array().expect("a list").iter().collect();
    assert_eq!(codes.len(), 3);
    for problem in codes {
        for key in ["file", "line", "column", "code", "message", "hint", "path"] {
            assert!(problem.get(key).is_some(), "{key} in {problem}");
        }
    }
    assert_eq!(problems[2]["code"], "WF0060");
    assert_eq!(problems[2]["line"], 18);
    assert_eq!(problems[2]["path"], "nodes.process_docker.handler");
    assert_eq!(ran.exit, Exit::Usage);
}

#[test]
fn a_folder_means_its_yaml_files_and_valid_ones_are_silent() {
    let shipped = workflow("x");
    let folder = shipped.trim_end_matches("x.yaml");
    let ran = strata(&["workflow", "validate", folder]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Ok, ""));
    assert_eq!(ran.err, "ok: 10 files valid\n");
}

#[test]
fn unreadable_files_do_not_hide_the_others() {
    let ran = strata(&["workflow", "validate", "no/such.yaml", &workflow("echo")]);
    assert_eq!(ran.exit, Exit::NotFound);
    assert!(ran.err.starts_with("error: no/such.yaml: "), "{}", ran.err);
    assert!(ran.err.contains("1 unreadable"), "{}", ran.err);
    let empty = folder("no_files").display().to_string();
    let ran = strata(&["workflow", "validate", "no/such.yaml", &empty]);
    assert_eq!(ran.exit, Exit::Usage);
    let line = ["workflow", "validate", "no/such.yaml", "-"];
    assert_eq!(strata_with_stdin(&line, BROKEN).exit, Exit::Usage);
}

#[test]
fn a_text_without_end_is_too_long_at_once() {
    for line in [["workflow", "validate"], ["workflow", "graph"]] {
        let ran = strata_with_input(&[line[0], line[1], "-"], &mut std::io::repeat(0));
        assert_eq!(ran.exit, Exit::Usage);
        let said = ran.out + &ran.err;
        assert!(said.contains("<stdin>:1:1: WF0002 "), "{said}");
    }
    let endless = Path::new("/dev/zero");
    if endless.exists() {
        let ran = strata(&["workflow", "validate", "/dev/zero"]);
        assert!(ran.out.starts_with("/dev/zero:1:1: WF0002 "), "{}", ran.out);
    }
}

#[test]
fn what_is_not_there_is_told_apart_from_what_cannot_be_read() {
    let folder = folder("not_there").display().to_string();
    let (hello, none) = (workflow("hello_world"), format!("{folder}/none"));
    let simulate = |file| strata(&["workflow", "simulate", &hello, "--inputs-file", file]);
    for (ran, exit) in [
        (strata(&["workflow", "graph", &none]), Exit::NotFound),
        (strata(&["workflow", "graph", &folder]), Exit::Usage),
        (strata(&["workflow", "simulate", &none]), Exit::NotFound),
        (strata(&["workflow", "simulate", &folder]), Exit::Usage),
        (simulate(&none), Exit::NotFound),
        (simulate(&folder), Exit::Usage),
        (simulate(&hello), Exit::Usage),
        (strata(&["workflow", "list", &none]), Exit::NotFound),
        (strata(&["workflow", "list", &hello]), Exit::Usage),
    ] {
        assert_eq!((ran.exit, ran.out.as_str()), (exit, ""), "{}", ran.err);
        assert!(ran.err.contains("\ntry: strata workflow "), "{}", ran.err);
    }
}

#[test]
fn the_list_has_the_shipped_workflows() {
    let ran = strata(&["workflow", "list"]);
    assert_eq!(ran.exit, Exit::Ok);
    let mut lines = ran.out.lines();
    let header = lines.next().expect("a header");
    let words: Vec<_> = header.split_whitespace().collect();
    assert_eq!(words, ["ID", "VERSION", "NAME", "NODES", "INPUTS", "HASH"]);
    assert_eq!(lines.count(), 10);
    let rows = strata(&["workflow", "list", "--output", "json"]).json();
    assert_eq!(rows[0]["id"], "create_h3_base");
    assert_eq!(rows[0]["hash"].as_str().map(str::len), Some(8));
}

#[test]
fn an_invalid_file_is_listed_loudly_and_blocks_no_other() {
    let folder = folder("list");
    std::fs::write(folder.join("bad.yaml"), BROKEN).expect("written");
    std::fs::copy(workflow("echo"), folder.join("good.yml")).expect("copied");
    std::fs::write(folder.join("notes.txt"), "not a workflow").expect("written");
    let ran = strata(&["workflow", "list", &folder.display().to_string()]);
    assert_eq!(ran.exit, Exit::Ok);
    assert!(ran.out.contains("\necho "), "{}", ran.out);
    assert!(ran.out.contains("invalid: "), "{}", ran.out);
    assert!(ran.out.contains("bad.yaml (3 problems)"), "{}", ran.out);
    assert!(!ran.out.contains("notes"), "{}", ran.out);
    assert!(
        ran.err.starts_with("try: strata workflow validate "),
        "{}",
        ran.err
    );
}
