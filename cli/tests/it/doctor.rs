//! `strata doctor`, where nothing runs and where something is wrong.

use cli::exit::Exit;

use crate::run::{folder, strata};

#[test]
fn a_machine_with_everything_and_no_stack_is_well() {
    let dir = folder("doctor well").join("not there yet");
    let dir = dir.to_str().unwrap();
    let ran = strata(&["doctor", "--data-dir", dir]);
    assert_eq!(ran.exit, Exit::Ok, "{}", ran.out);
    for line in [
        "postgres ",
        "nats-server ",
        "data directory ",
        "disk space ",
    ] {
        let found = ran.out.lines().find(|found| found.starts_with(line));
        let found = found.unwrap_or_else(|| panic!("no {line}in {}", ran.out));
        let verdict = found[line.len()..].trim();
        assert!(
            verdict.starts_with("ok") || verdict.starts_with("warn"),
            "{found}"
        );
    }
    assert!(!std::path::Path::new(dir).exists(), "it changes nothing");
}

#[test]
fn a_stack_that_does_not_answer_fails_without_its_password() {
    let dir = folder("doctor fails");
    let context = r#"{
        "database_url": "postgres://strata:hunter22@127.0.0.1:1/strata",
        "nats_url": "nats://strata:hunter22@127.0.0.1:1"
    }"#;
    std::fs::write(dir.join("context.json"), context).unwrap();
    let ran = strata(&["doctor", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!(ran.exit, Exit::Unreachable, "{}", ran.out);
    assert!(!ran.out.contains("hunter22"), "{}", ran.out);
    for line in ["database ", "nats "] {
        let found = ran
            .out
            .lines()
            .find(|found| found.starts_with(line))
            .unwrap();
        assert!(found[line.len()..].trim().starts_with("fail"), "{found}");
    }
    assert!(ran.out.contains("try: strata up"), "{}", ran.out);
}
