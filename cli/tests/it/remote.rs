//! Commands against an API that only has an address: keys, filters, and connections that break.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::run::folder;
use crate::stack::{Ran, Stack, ran, strata, until};

/// From a place without a data directory, with no more than an address and a key.
fn elsewhere(url: &str, key: &str, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command
        .args(args)
        .env("STRATA_URL", url)
        .env("STRATA_KEY", key);
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
        .env_remove("STRATA_DATABASE_URL")
        .env_remove("STRATA_NATS_URL");
    ran(&command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn an_address_and_a_key_are_enough_and_neither_is_guessed() {
    let stack = Stack::up("remote");
    let (url, key) = stack.face();
    let done = elsewhere(
        &url,
        &key,
        &["job", "submit", "hello_world", "-i", "name=Ada", "--watch"],
    );
    assert_eq!(done.code, 0, "{}", done.err);
    let job = done.out.trim().to_owned();
    let listed = elsewhere(&url, &key, &["job", "list", "--text", &job[..12]]);
    assert!(listed.out.contains(&job), "{}{}", listed.out, listed.err);
    let registered = elsewhere(&url, &key, &["workflow", "list", "--registered"]);
    assert!(registered.out.contains("hello_world"), "{}", registered.out);

    let wrong = key.replace(|c: char| c.is_ascii_digit(), "0");
    let refused = elsewhere(&url, &wrong, &["job", "list"]);
    assert_eq!(refused.code, 6, "{}", refused.err);
    assert!(
        refused.err.contains("does not accept this key"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("strata key create"), "{}", refused.err);
    assert!(!refused.err.contains(&wrong), "{}", refused.err);
    let silent = elsewhere("http://127.0.0.1:1", &key, &["job", "list"]);
    assert_eq!(silent.code, 6, "{}", silent.err);
    assert!(silent.err.contains("does not answer"), "{}", silent.err);
    assert!(!silent.err.contains(&key), "{}", silent.err);

    let doctor = stack.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "{}", doctor.out);
    assert!(
        doctor.out.contains("answers and is ready"),
        "{}",
        doctor.out
    );
    assert!(doctor.out.contains("orchestrators: 1"), "{}", doctor.out);
}

#[test]
fn a_key_can_do_what_its_role_says_until_it_is_revoked() {
    let stack = Stack::up("keys");
    let (url, _) = stack.face();
    let job = stack.submit(&["echo", "-i", "message=hi"]);
    // A reader looks and does nothing else.
    let made = stack.json(&[
        "key",
        "create",
        "--label",
        "looks",
        "--role",
        "reader",
        "--expires",
        "1d",
    ]);
    let (reader, id) = (
        made["token"].as_str().unwrap(),
        made["key"]["key_id"].as_str().unwrap(),
    );
    assert_eq!(elsewhere(&url, reader, &["job", "show", &job]).code, 0);
    let refused = elsewhere(
        &url,
        reader,
        &["job", "submit", "hello_world", "-i", "name=Eve"],
    );
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("writer"), "{}", refused.err);
    assert_eq!(elsewhere(&url, reader, &["key", "list"]).code, 2);
    assert_eq!(elsewhere(&url, reader, &["dead-letters", "list"]).code, 2);

    let keys = stack.json(&["key", "list"]);
    let listed = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["key_id"] == id)
        .unwrap();
    assert_eq!(
        (&listed["role"], &listed["label"]),
        (&"reader".into(), &"looks".into())
    );
    assert!(!keys.to_string().contains(reader), "keys are never listed");
    assert_eq!(stack.run(&["key", "revoke", id]).code, 0);
    until("the key is refused", || {
        elsewhere(&url, reader, &["job", "list"]).code == 6
    });
    assert_eq!(stack.run(&["key", "revoke", "key_nobody"]).code, 4);

    // On the database itself, as for the first key of an installation.
    let first = stack.run(&[
        "key",
        "create",
        "--database",
        "--label",
        "first",
        "--role",
        "writer",
    ]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(elsewhere(&url, first.out.trim(), &["job", "list"]).code, 0);
    let link = stack.run(&["key", "sign-in"]);
    assert!(
        link.out.starts_with(&format!("{url}/sign-in#")),
        "{}{}",
        link.out,
        link.err
    );
}

#[test]
fn jobs_are_steered_by_a_filter_and_only_when_somebody_says_yes() {
    let stack = Stack::up("steer");
    let long = ["echo", "-i", "steps=500", "-i", "step_delay=0.2"];
    let jobs: Vec<String> = (0..3).map(|_| stack.submit(&long)).collect();
    until("they run", || {
        jobs.iter().all(|job| stack.status(job) == "RUNNING")
    });
    let filter = ["--workflow", "echo", "--status", "running"];

    let asked = stack.run(&[&["job", "cancel"], &filter[..]].concat());
    assert_eq!(asked.code, 2, "{}", asked.err);
    assert!(
        asked.err.contains("3 jobs") && asked.err.contains("--yes"),
        "{}",
        asked.err
    );
    assert_eq!(stack.status(&jobs[0]), "RUNNING");
    assert_eq!(
        stack.run(&["job", "cancel"]).code,
        2,
        "all jobs are not a filter"
    );
    assert_eq!(
        stack
            .run(&["job", "cancel", &jobs[0], "--workflow", "echo"])
            .code,
        2
    );

    let paused = stack.json(&[&["job", "pause", "--yes"], &filter[..]].concat());
    assert_eq!(
        (&paused["matched"], paused["done"].as_array().unwrap().len()),
        (&3.into(), 3)
    );
    let shown = stack.run(&["job", "show", &jobs[1]]);
    assert!(shown.out.contains("(paused)"), "{}", shown.out);
    assert_eq!(
        stack
            .run(&[&["job", "resume", "--yes"], &filter[..]].concat())
            .code,
        0
    );

    let done = stack.run(&[
        "job", "cancel", "--yes", "--text", &jobs[2], "--reason", "enough",
    ]);
    assert_eq!(done.code, 0, "{}", done.err);
    until("it is cancelled", || stack.status(&jobs[2]) == "CANCELLED");
    let done = stack.run(&[&["job", "cancel", "--yes"], &filter[..]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    until("all are cancelled", || {
        jobs.iter().all(|job| stack.status(job) == "CANCELLED")
    });
    let none = stack.run(&[&["job", "cancel"], &filter[..]].concat());
    assert_eq!(
        (none.code, none.err.contains("no such jobs")),
        (0, true),
        "{}",
        none.err
    );
    let listed = stack.json(&[
        "job",
        "list",
        "--status",
        "cancelled",
        "--status",
        "failed",
        "--since",
        "2020-01-01",
    ]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    let listed = stack.json(&["job", "list", "--until", "2020-01-01"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 0);
}

/// An API of its own beside the stack.
struct Api {
    process: Child,
    url: String,
}

impl Api {
    fn start(dir: &Path, listen: &str, log: &Path) -> Self {
        let file = File::create(log).unwrap();
        let mut command = strata(dir, &["api", "--listen", listen]);
        let process = command.stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let said = || {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            let line = text
                .lines()
                .find(|line| line.starts_with("the API answers on "));
            line.and_then(|line| line.split(' ').next_back())
                .map(str::to_owned)
        };
        until("the API answers", || said().is_some());
        Self {
            process,
            url: said().unwrap(),
        }
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_watch_goes_on_when_its_server_is_killed_and_comes_back() {
    let stack = Stack::up("watch");
    let logs = folder("watch-logs");
    let api = Api::start(&stack.dir, "127.0.0.1:0", &logs.join("api-1.txt"));
    let (url, key) = (api.url.clone(), stack.face().1);
    let job = stack.submit(&["echo", "-i", "steps=500", "-i", "step_delay=0.2"]);
    until("it runs", || stack.status(&job) == "RUNNING");
    let said = logs.join("watch.txt");
    let watching = || std::fs::read_to_string(&said).unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command
        .args(["job", "watch", &job])
        .env("STRATA_URL", &url)
        .env("STRATA_KEY", &key);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap());
    let mut watch = command.spawn().unwrap();
    until("it shows the job", || watching().contains("RUNNING"));

    // What happens while nobody answers is not missed.
    drop(api);
    until("it notices", || watching().contains("trying again"));
    assert_eq!(stack.run(&["job", "cancel", &job]).code, 0);
    let address = url.strip_prefix("http://").unwrap();
    let _api = Api::start(&stack.dir, address, &logs.join("api-2.txt"));
    let ended = watch.wait().unwrap();
    let text = watching();
    assert_eq!(ended.code(), Some(1), "{text}");
    assert!(text.contains("CANCELLED after"), "{text}");
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), count, "a line is repeated: {text}");
    let shown: Value = stack.json(&["job", "show", &job]);
    assert_eq!(shown["status"], "CANCELLED");
}
