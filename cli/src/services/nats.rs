//! The private nats-server with JetStream, reachable only from this machine with a password.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::folder::Folder;
use super::process::{Ending, Spec};
use super::{files, find, probe};

const USER: &str = "strata";
/// The largest message. Tasks and reports stay far below; larger things go by reference.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
const STOP_WAIT: Duration = Duration::from_secs(20);

/// A server that is ready to be started.
#[derive(Debug)]
pub(crate) struct Nats {
    pub(crate) spec: Spec,
    pub(crate) port: u16,
    pub(crate) url: String,
}

impl Nats {
    pub(crate) fn ending(folder: &Folder) -> Ending {
        Ending {
            name: "nats",
            pid_file: folder.file("nats.pid"),
            gentle: (Signal::TERM, STOP_WAIT),
            firm: Signal::INT,
            outside: None,
        }
    }

    /// Writes the settings.
    pub(crate) fn prepare(folder: &Folder) -> anyhow::Result<Self> {
        let found = find::nats()?;
        let password = files::password(&folder.file("nats.password"))?;
        let port = folder.port("nats.port")?;
        let store = folder.file("nats");
        fs::create_dir_all(&store)?;
        let conf = folder.file("nats.conf");
        let text = settings(&store, port, &password);
        files::write(&conf, text.as_bytes(), files::SECRET)?;
        let spec = Spec {
            program: found.path,
            args: vec!["-c".into(), conf.into()],
            user: None,
            folder: folder.path.clone(),
            log: folder.file("logs/nats.log"),
            ending: Self::ending(folder),
        };
        let url = format!("nats://{USER}:{password}@127.0.0.1:{port}");
        Ok(Self { spec, port, url })
    }

    pub(crate) async fn look(&self) -> Result<(), probe::Silence> {
        probe::nats(&self.url).await
    }
}

fn settings(store: &Path, port: u16, password: &str) -> String {
    // Its strings have the escapes of JSON.
    let store = serde_json::Value::from(store.to_string_lossy().as_ref());
    format!(
        "# Written at every start.
server_name: strata
listen: \"127.0.0.1:{port}\"
max_payload: {PAYLOAD_BYTES_MAX}
authorization {{ user: \"{USER}\", password: \"{password}\" }}
jetstream {{ store_dir: {store} }}
"
    )
}
