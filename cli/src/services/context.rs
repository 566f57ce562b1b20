//! `context.json`: where the stack of a data directory can be reached, for commands that use it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;
use crate::exit::Stop;

/// Addresses of a stack that others run; they win over those of a data directory.
pub const DATABASE_URL: &str = "STRATA_DATABASE_URL";
pub const NATS_URL: &str = "STRATA_NATS_URL";

/// Where a stack can be reached. It holds passwords: do not print it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub database_url: String,
    pub nats_url: String,
    /// Address and key of the API, if it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The catalog, with the role of workers, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_url: Option<String>,
}

impl Context {
    /// Where client commands go: the addresses of the environment, else those that the data
    /// directory notes. Nothing is asked whether it answers.
    pub fn find(data_dir: &Path) -> anyhow::Result<Self> {
        let (database, nats) = (from_env(DATABASE_URL), from_env(NATS_URL));
        if let (Some(database_url), Some(nats_url)) = (&database, &nats) {
            return Ok(Self {
                database_url: database_url.clone(),
                nats_url: nats_url.clone(),
                url: None,
                key: None,
                catalog_url: None,
            });
        }
        let mut noted = Self::read(data_dir)?.ok_or_else(|| {
            Stop::unreachable(
                format!("Strata does not run on {}", data_dir.display()),
                format!("strata up --data-dir {}", data_dir.display()),
            )
        })?;
        noted.database_url = database.unwrap_or(noted.database_url);
        noted.nats_url = nats.unwrap_or(noted.nats_url);
        Ok(noted)
    }

    /// The address of NATS alone: workers have no business with the database.
    pub fn find_nats(data_dir: &Path) -> anyhow::Result<String> {
        match from_env(NATS_URL) {
            Some(nats_url) => Ok(nats_url),
            None => Ok(Self::find(data_dir)?.nats_url),
        }
    }

    /// What the data directory notes; nothing if no stack runs there.
    pub fn read(data_dir: &Path) -> anyhow::Result<Option<Self>> {
        let path = file(data_dir);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|error| unreadable(&path, &error))
    }

    /// Notes it for others, readable for its owner only.
    pub fn write(&self, data_dir: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        files::write(&file(data_dir), text.as_bytes(), files::SECRET)?;
        Ok(())
    }

    /// Forgets it, because the stack has stopped.
    pub fn remove(data_dir: &Path) {
        files::remove(&file(data_dir));
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

/// The value of a variable, unless it is empty.
pub(crate) fn from_env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("context.json")
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    let message = format!("cannot read {}: {error}", path.display());
    Stop::unreachable(message, "strata doctor")
}
