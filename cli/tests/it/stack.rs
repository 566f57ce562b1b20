//! A stack as a process of its own, and commands that are run against it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::folder;

const DEADLINE: Duration = Duration::from_secs(90);

/// A running `strata up`; it ends with the test.
pub(crate) struct Stack {
    pub(crate) dir: PathBuf,
    pub(crate) process: Child,
}

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stack {
    pub(crate) fn up(name: &str) -> Self {
        Self::on(folder(name))
    }

    /// The same data directory again.
    pub(crate) fn on(dir: PathBuf) -> Self {
        let log = std::fs::File::create(dir.join("up.txt")).unwrap();
        let process = strata(&dir, &["up", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let stack = Self { dir, process };
        let log = stack.dir.join("up.txt");
        until("the stack runs", || {
            std::fs::read_to_string(&log).is_ok_and(|text| text.contains("Strata runs on"))
        });
        stack
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(&strata(&self.dir, args).output().unwrap())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let done = self.run(&[args, &["--output", "json"]].concat());
        assert_eq!(done.code, 0, "{args:?}: {}", done.err);
        serde_json::from_str(&done.out).unwrap()
    }

    pub(crate) fn submit(&self, args: &[&str]) -> String {
        let args = [&["job", "submit"], args].concat();
        let ids = self.json(&args);
        ids["job_id"].as_str().unwrap().to_owned()
    }

    /// Address and key of its API.
    pub(crate) fn face(&self) -> (String, String) {
        let text = std::fs::read_to_string(self.dir.join("context.json")).unwrap();
        let context: Value = serde_json::from_str(&text).unwrap();
        let word = |name: &str| context[name].as_str().unwrap().to_owned();
        (word("url"), word("key"))
    }

    pub(crate) fn status(&self, job: &str) -> String {
        let shown = self.json(&["job", "show", job]);
        let status = &shown["status"];
        let status = if status.is_null() {
            &shown["job"]["status"]
        } else {
            status
        };
        status.as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.process.wait();
    }
}

pub(crate) fn strata(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(args).arg("--data-dir").arg(dir);
    command.env_remove("STRATA_DATABASE_URL");
    command.env_remove("STRATA_NATS_URL");
    command.env_remove("STRATA_URL");
    command.env_remove("STRATA_KEY");
    command.stdin(Stdio::null());
    command
}

pub(crate) fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    within(DEADLINE, what, condition);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test waits for a condition with a deadline"
)]
pub(crate) fn within(deadline: Duration, what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
