//! The key that checkpoints of the log are signed with: found, or made where the data is.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use domain::event::checkpoint::SigningKey;
use projections::notary::{EVERY, Options};

use super::args::duration;
use crate::exit::Stop;
use crate::services::files;

/// The key of a data directory.
const FILE: &str = "audit.key";
/// The checkpoints that it signed, beside it.
const CHECKPOINTS: &str = "checkpoints.log";

/// Which key it is.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditKeyArgs {
    /// The key that signs checkpoints of the log [default: DIR/audit.key]
    #[arg(long, value_name = "FILE", env = "STRATA_AUDIT_KEY")]
    pub(crate) audit_key: Option<PathBuf>,
}

/// How checkpoints are signed.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) key: AuditKeyArgs,
    /// Sign a checkpoint of the log at least every so many events
    #[arg(long, value_name = "N", default_value_t = EVERY, value_parser = clap::value_parser!(u32).range(100..=50_000), hide_short_help = true)]
    pub(crate) checkpoint_every: u32,
    /// And at the latest so long after an event
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, hide_short_help = true)]
    pub(crate) checkpoint_after: Duration,
}

impl AuditKeyArgs {
    pub(crate) fn file(&self, data_dir: &Path) -> PathBuf {
        let given = self.audit_key.clone();
        given.unwrap_or_else(|| data_dir.join(FILE))
    }

    /// Where the checkpoints are that this key signed.
    pub(crate) fn checkpoints(&self, data_dir: &Path) -> PathBuf {
        self.file(data_dir).with_file_name(CHECKPOINTS)
    }

    /// The key, if it is there. One that was named must be.
    pub(crate) fn find(&self, data_dir: &Path) -> anyhow::Result<Option<SigningKey>> {
        let file = self.file(data_dir);
        match fs::read_to_string(&file) {
            Ok(text) => {
                let key = SigningKey::parse(text.trim());
                let refused = |error| Stop::usage(format!("{}: {error}", file.display()), "");
                key.map(Some).map_err(refused)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.audit_key.is_none() => {
                Ok(None)
            }
            Err(error) => Err(Stop::usage(
                format!("--audit-key: {} cannot be read: {error}", file.display()),
                format!("strata audit key --make --audit-key {}", file.display()),
            )),
        }
    }

    /// The key; made for its owner only if there is none.
    pub(crate) fn ensure(&self, data_dir: &Path) -> anyhow::Result<SigningKey> {
        let file = self.file(data_dir);
        if file.exists() {
            let found = self.find(data_dir)?;
            return found.ok_or_else(|| Stop::failed("the key was removed just now", ""));
        }
        let mut seed = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut seed)?;
        let key = SigningKey::new(&seed);
        let text = format!("{}\n", key.secret_text());
        files::write(&file, text.as_bytes(), files::SECRET).map_err(|error| {
            Stop::failed(format!("cannot write {}: {error}", file.display()), "")
        })?;
        Ok(key)
    }
}

impl AuditArgs {
    /// For the stack of this machine: there is always a key.
    pub(crate) fn own(&self, data_dir: &Path) -> anyhow::Result<Arc<Options>> {
        Ok(self.options(self.key.ensure(data_dir)?, data_dir))
    }

    /// For one process of many, which must not make a key of its own.
    pub(crate) fn shared(&self, data_dir: &Path) -> anyhow::Result<Option<Arc<Options>>> {
        let key = self.key.find(data_dir)?;
        if key.is_none() {
            tracing::warn!(
                "there is no key, so this process signs no checkpoints of the log; make one with \
                 `strata audit key --make` and give the same to all projectors with --audit-key"
            );
        }
        Ok(key.map(|key| self.options(key, data_dir)))
    }

    fn options(&self, key: SigningKey, data_dir: &Path) -> Arc<Options> {
        tracing::info!(
            key = key.public().fingerprint(),
            "checkpoints of the log are signed"
        );
        Arc::new(Options {
            key,
            file: self.key.checkpoints(data_dir),
            every: self.checkpoint_every,
            latest: self.checkpoint_after,
        })
    }
}
