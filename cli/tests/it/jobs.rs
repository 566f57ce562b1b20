//! `strata up`, `strata demo`, `strata job` and `strata dead-letters`, as real processes.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::folder;
use crate::stack::{Stack, ran, strata, until, within};

#[test]
fn jobs_are_submitted_watched_explained_and_steered() {
    let stack = Stack::up("jobs");
    let second = ran(&strata(&stack.dir, &["up"]).output().unwrap());
    assert_eq!(second.code, 5, "{}", second.err);

    let done = stack.run(&["job", "submit", "hello_world", "-i", "name=Ada", "--watch"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let job = done.out.trim();
    assert!(done.err.contains("COMPLETED"), "{}", done.err);
    let lines: Vec<&str> = done.err.lines().collect();
    assert!(lines.windows(2).all(|two| two[0] != two[1]), "{lines:?}");
    let result: Value = serde_json::from_str(&stack.run(&["job", "result", job]).out).unwrap();
    assert_eq!(result["greeting"], "Hello, Ada!");
    assert_eq!(stack.status(job), "COMPLETED");
    let events = stack.json(&["job", "events", job]);
    let events = events.as_array().or_else(|| events["items"].as_array());
    assert_eq!(events.unwrap()[0]["event_type"], "job_created");
    let why = stack.run(&["job", "why", job, "greet"]);
    assert!(why.out.contains("done"), "{}", why.out);
    assert_eq!(stack.run(&["job", "logs", job]).code, 0);
    let listed = stack.run(&["job", "list", "--workflow", "hello_world"]);
    assert!(listed.out.contains(job), "{}", listed.out);

    // The same key is the same request; another body under it is a conflict.
    let first = stack.submit(&["echo", "--key", "k1", "-i", "message=a"]);
    assert_eq!(
        first,
        stack.submit(&["echo", "--key", "k1", "-i", "message=a"])
    );
    let other = stack.run(&["job", "submit", "echo", "--key", "k1", "-i", "message=b"]);
    assert_eq!(other.code, 5, "{}", other.err);

    let long = stack.submit(&["echo", "-i", "steps=500", "-i", "step_delay=0.2"]);
    until("it runs", || stack.status(&long) == "RUNNING");
    assert_eq!(stack.run(&["job", "pause", &long]).code, 0);
    assert_eq!(stack.run(&["job", "resume", &long]).code, 0);
    assert_eq!(
        stack
            .run(&["job", "cancel", &long, "--reason", "enough"])
            .code,
        0
    );
    let watched = stack.run(&["job", "watch", &long]);
    assert_eq!(watched.code, 1, "{}", watched.err);
    assert_eq!(stack.status(&long), "CANCELLED");
    let again = stack.json(&["job", "retry", &long]);
    let again = again["job_id"].as_str().unwrap();
    assert_ne!(again, long);
    assert_eq!(stack.run(&["job", "cancel", again]).code, 0);
}

#[test]
fn a_job_is_forked_after_a_look_at_what_it_would_take_over() {
    let stack = Stack::up("jobs-fork");
    let job = stack.submit(&["hello_world", "-i", "name=Ada"]);
    until("it ends", || stack.status(&job) == "COMPLETED");
    let fork = ["job", "fork", &job, "-i", "name=Bob"];
    let would = stack.run(&[&fork[..], &["--dry-run"]].concat());
    assert_eq!(would.code, 0, "{}", would.err);
    assert!(would.out.contains("it reads `name`"), "{}", would.out);
    assert!(would.err.contains("nothing was done"), "{}", would.err);
    let json = stack.json(&[&fork[..], &["--dry-run"]].concat());
    assert_eq!(json["plan"]["nodes"][0]["fate"], "RUNS");
    assert_eq!(json["plan"]["changed_inputs"][0], "name");

    let done = stack.run(&[&fork[..], &["--key", "f", "--watch"]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("`greet` runs too"), "{}", done.err);
    let made = done.out.trim();
    let result: Value = serde_json::from_str(&stack.run(&["job", "result", made]).out).unwrap();
    assert_eq!(result["greeting"], "Hello, Bob!");
    assert_eq!(
        stack.run(&[&fork[..], &["--key", "f"]].concat()).out.trim(),
        made
    );
    let shown = stack.run(&["job", "show", made]).out;
    assert!(shown.contains(&format!("forked from {job}")), "{shown}");
    let shown = stack.run(&["job", "show", &job]).out;
    assert!(shown.contains(&format!("forked as {made}")), "{shown}");
    let shown = stack.json(&["job", "show", &job]);
    assert_eq!(shown["forked_as"], serde_json::json!([made]));

    let nobody = "job_00000000000000000000000000000000";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["job", "fork", &job], 2, "nothing would run"),
        (
            &["job", "fork", &job, "--at", "gret"],
            2,
            "did you mean `greet`?",
        ),
        (&["job", "fork", &job, "-i", "nam=x"], 2, "nam"),
        (&["job", "fork", nobody, "--at", "greet"], 4, "no job"),
        (&["job", "retry", &job, "--dry-run"], 5, "COMPLETED"),
        (&["job", "retry", "--dry-run"], 2, "Name them"),
    ];
    for (args, code, words) in cases {
        let done = stack.run(args);
        assert_eq!(done.code, *code, "{args:?}: {}", done.err);
        assert!(done.err.contains(words), "{args:?}: {}", done.err);
    }
}

#[test]
fn what_cannot_be_done_is_said_with_its_exit_code() {
    let stack = Stack::up("jobs-refused");
    let nobody = "job_00000000000000000000000000000000";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["job", "show", "job_zz"], 2, "is not a job id"),
        (&["job", "show", nobody], 4, "no job"),
        (&["job", "cancel", nobody], 4, "no job"),
        (&["job", "retry", nobody], 4, "no job"),
        (&["job", "submit", "no_such"], 4, "no_such"),
        (&["job", "submit", "hello_world", "-i", "nam=x"], 2, "nam"),
        (
            &["job", "submit", "hello_world", "-i", "name"],
            2,
            "NAME=VALUE",
        ),
        (&["job", "list", "--cursor", "x"], 2, "cursor"),
        (&["dead-letters", "show", "1"], 4, "1"),
        (&["dead-letters", "discard", "1"], 4, "1"),
        (&["worker", "--queues", "A.b"], 2, "A.b"),
    ];
    for (args, code, words) in cases {
        let done = stack.run(args);
        assert_eq!(done.code, *code, "{args:?}: {}", done.err);
        assert!(done.err.contains(words), "{args:?}: {}", done.err);
        assert!(!done.err.contains("postgres://"), "{args:?}: {}", done.err);
    }
    let letters = stack.json(&["dead-letters", "list"]);
    assert!(letters.to_string().len() < 200, "{letters}");
    let nowhere = folder("jobs-nowhere");
    let done = ran(&strata(&nowhere, &["job", "list"]).output().unwrap());
    assert_eq!(done.code, 6, "{}", done.err);
    assert!(done.err.contains("strata up"), "{}", done.err);
}

#[test]
fn jobs_go_on_at_once_after_a_stop_and_after_a_kill() {
    let mut stack = Stack::up("restart");
    let job = stack.submit(&["echo", "--input", "steps=15", "--input", "step_delay=0.3"]);
    let count = |stack: &Stack, kind: &str| {
        let events = stack.json(&["job", "events", &job]);
        let is_one = |event: &&Value| event["event_type"] == kind;
        events.as_array().unwrap().iter().filter(is_one).count()
    };
    until("it has checkpoints", || {
        count(&stack, "checkpoint_saved") >= 2
    });
    for (signal, claims) in [(Signal::TERM, 2), (Signal::KILL, 3)] {
        let pid = Pid::from_raw(i32::try_from(stack.process.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        stack.process.wait().unwrap();
        stack = Stack::on(stack.dir.clone());
        // A lease takes two minutes to run out, and a scan comes every minute.
        let soon = Duration::from_secs(30);
        within(soon, "it is claimed", || {
            count(&stack, "job_claimed") == claims
        });
    }
    assert_eq!(count(&stack, "run_released"), 1, "handed back by the first");
    let done = stack.run(&["job", "cancel", &job]);
    assert_eq!(done.code, 0, "{}", done.err);
}

#[test]
fn a_stack_whose_log_nobody_reads_any_more_still_ends_in_order() {
    let dir = folder("unread");
    let mut up = strata(&dir, &["up", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = std::io::BufReader::new(up.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Strata runs on") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut log, &mut line).unwrap() > 0);
    }
    drop(log);
    let pid = Pid::from_raw(i32::try_from(up.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(0));
    assert!(!dir.join("context.json").exists());
    assert!(!dir.join("postgres.pid").exists());
}

#[test]
fn the_demo_works_on_real_data_or_shows_a_retry_and_can_be_run_again() {
    let dir = folder("demo");
    let real = [
        "silver://demo/",
        "geo.demo_countries",
        "177",
        "pgstac.items",
    ];
    let tour = [
        "12 of 12",
        "after 2 retries",
        "COMPLETED",
        "strata job show",
    ];
    for (has_data, words) in [(true, real), (true, real), (false, tour)] {
        // As in the README: on a directory below the one that it is started in.
        let mut demo = strata(Path::new(".strata"), &["demo"]);
        demo.current_dir(&dir);
        if !has_data {
            demo.env_remove("STRATA_GEO_DATA");
        }
        let done = ran(&demo.output().unwrap());
        assert_eq!(done.code, 0, "{}", done.err);
        let all = format!("{}{}", done.out, done.err);
        for words in words {
            assert!(all.contains(words), "no `{words}` in {all}");
        }
        assert!(!all.contains("WARN"), "{all}");
    }
}
