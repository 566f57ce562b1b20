//! The real stack with its portal, and a browser in a program of its own.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use commands::access::{Access, NewKey};
use domain::access::Role;
use serde_json::{Value, json};

use crate::repo::root;
use crate::system::rig::{Process, Rig, target};

pub(super) const DEADLINE: Duration = Duration::from_secs(120);
/// The organisation of [`Rig::submit`].
const ORG: &str = "acme";

pub(super) struct Stage {
    pub(super) rig: Rig,
    pub(super) url: String,
    pub(super) admin: Holder,
    api: Option<Process>,
    _roles: [Process; 3],
}

/// A key, and who it is.
pub(super) struct Holder {
    pub(super) key: String,
    id: String,
}

impl Stage {
    /// All roles as processes, and so many places for tasks.
    pub(super) async fn new(name: &str, places: u32) -> Self {
        let rig = Rig::new(name).await;
        // What an earlier run has signed is another log.
        for file in std::fs::read_dir(&rig.dir).unwrap().flatten() {
            if file.file_name().to_string_lossy().starts_with("audit") {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        // Without it nobody signs the log.
        let dir = rig.dir.display().to_string();
        strata(&["audit", "key", "--make", "--data-dir", &dir], &[]);
        rig.writer.register_platforms().await.unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        drop(free);
        let roles = [
            rig.orchestrator(&[]),
            rig.worker(places, &[]),
            rig.projector(),
        ];
        let admin = holder(&rig, Role::Admin, true).await;
        let mut stage = Self {
            rig,
            url,
            admin,
            api: None,
            _roles: roles,
        };
        stage.start_api().await;
        stage
    }

    /// At the address where it was before.
    pub(super) async fn start_api(&mut self) {
        let listen = self.url.trim_start_matches("http://");
        let api = self.rig.spawn("api", &["--listen", listen], &[]);
        let answers = async || api.says("the API answers");
        let what = "the API answers";
        self.rig.eventually(what, DEADLINE, answers).await;
        self.api = Some(api);
    }

    /// Without a word to anybody.
    pub(super) fn kill_api(&mut self) {
        drop(self.api.take());
    }

    pub(super) async fn holder(&self, role: Role) -> Holder {
        holder(&self.rig, role, false).await
    }

    /// What signs a browser in, once.
    pub(super) async fn token(&self, holder: &Holder) -> String {
        let access = Access::new(self.rig.pool.clone());
        access.sign_in(&holder.id).await.unwrap()
    }

    /// Starts a program of `portal/tests` that is signed in as the admin.
    pub(super) async fn browse(&self, program: &str, more: Value) -> Browser {
        let dist = root().join("portal/dist/index.html");
        assert!(
            dist.exists(),
            "build the portal first: ./strata test does, or: npm install --no-save && npm run build, in portal"
        );
        let mut given = json!({"url": self.url, "token": self.token(&self.admin).await});
        let fields = more.as_object().cloned().unwrap_or_default();
        given.as_object_mut().unwrap().extend(fields);
        Browser::start(&root().join("portal/tests").join(program), &given)
    }

    /// What `strata` says, as JSON, to whoever asks this server.
    pub(super) fn strata(&self, args: &[&str]) -> Value {
        let (url, key) = (self.url.as_str(), self.admin.key.as_str());
        let asks = [("STRATA_URL", url), ("STRATA_KEY", key)];
        let said = strata(&[args, &["--output", "json"]].concat(), &asks);
        serde_json::from_slice(&said).unwrap()
    }

    pub(super) async fn caught_up(&self) {
        let head = self.rig.count("select max(pos) from dagapp.events").await;
        let waited = projections::read::wait_for(&self.rig.pool, head, DEADLINE).await;
        waited.unwrap();
    }
}

/// What the command line prints; it must go well.
pub(super) fn strata(args: &[&str], env: &[(&str, &str)]) -> Vec<u8> {
    let mut command = Command::new(target().join("debug/strata"));
    let command = command.args(args).envs(env.iter().copied());
    let output = command
        .output()
        .expect("build it first: cargo build -p cli");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    output.stdout
}

async fn holder(rig: &Rig, role: Role, operator: bool) -> Holder {
    let wanted = NewKey {
        org_id: ORG.to_owned(),
        label: format!("{role:?} of a test").to_lowercase(),
        role,
        operator,
        lifetime: None,
    };
    let made = Access::new(rig.pool.clone()).create(wanted, "test").await;
    let (key, token) = made.unwrap();
    Holder {
        key: token.reveal().to_owned(),
        id: key.key_id,
    }
}

/// A program with a browser; killed when it is dropped.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Browser {
    fn start(program: &Path, given: &Value) -> Self {
        let mut child = Command::new("node")
            .arg(program)
            .arg(given.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("node starts");
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, to, from }
    }

    /// The next thing that it says.
    pub(super) fn hear(&mut self) -> String {
        let line = self.from.next().expect("it says something before it ends");
        line.unwrap()
    }

    pub(super) fn say(&mut self, word: &str) {
        writeln!(self.to, "{word}").unwrap();
    }

    /// Everything that it says until it ends; it must end well.
    pub(super) fn finish(mut self) -> Vec<String> {
        let said: Vec<String> = self.from.by_ref().map(Result::unwrap).collect();
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "the browser found something: {said:?}");
        said
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
