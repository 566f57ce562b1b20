//! The log lines of one attempt, kept as `logs/{task_id}.jsonl` in the object store.
//!
//! Lines are gathered in memory, at most 1 MB; the object is written as a whole, now and then and at the
//! end. An attempt that logs nothing leaves no object.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use domain::id::RunId;
use domain::json::clean_text;
use serde_json::json;
use tokio::time::timeout;

use crate::clock;
use crate::store::{Store, StoreError};

/// Largest log of an attempt.
const LOG_BYTES_MAX: usize = 1024 * 1024;
/// Room for the line that says that lines are missing.
const LAST_LINE_BYTES: usize = 256;
/// How long a broken store may hold up the end of a run.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// How important a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The log of one attempt. Clones write to the same log.
#[derive(Debug, Clone)]
pub struct AttemptLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    key: String,
    run: RunId,
    /// Another run of this attempt may have left lines, which stay.
    inherits: bool,
    lines: Mutex<Lines>,
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Lines {
    text: Vec<u8>,
    full: bool,
    /// Lines so far, and how many of them the object has.
    count: u64,
    written: u64,
    inherited: bool,
}

impl AttemptLog {
    pub(crate) fn new(store: Store, task_id: &str, run: RunId, inherits: bool) -> Self {
        Self(Arc::new(Inner {
            store,
            key: format!("logs/{task_id}.jsonl"),
            run,
            inherits,
            lines: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }))
    }

    /// Adds a line.
    pub fn line(&self, level: Level, message: &str) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let time = clock::now().to_rfc3339();
        let line = json!({
            "time": time, "level": level, "run_id": self.0.run, "message": clean_text(message),
        });
        let mut lines = self.lock();
        if lines.full {
            return;
        }
        let line = line.to_string();
        lines.count += 1;
        if lines.text.len() + line.len() + LAST_LINE_BYTES > LOG_BYTES_MAX {
            lines.full = true;
            let last = json!({
                "time": time, "level": "warn", "run_id": self.0.run,
                "message": "the log is full; later lines are missing",
            });
            lines.text.extend(last.to_string().bytes());
        } else {
            lines.text.extend(line.bytes());
        }
        lines.text.push(b'\n');
    }

    /// Whether there are lines that the object store does not have yet.
    pub(crate) fn is_dirty(&self) -> bool {
        let lines = self.lock();
        lines.count > lines.written
    }

    /// Writes what is new. A failure costs lines, never the task.
    pub(crate) async fn flush(&self) {
        if !self.is_dirty() {
            return;
        }
        match timeout(FLUSH_TIMEOUT, self.write()).await {
            Ok(()) => {}
            Err(_) => tracing::warn!(key = self.0.key, "a log could not be written in time"),
        }
    }

    async fn write(&self) {
        let _one_at_a_time = self.0.writing.lock().await;
        if self.0.inherits && !self.lock().inherited {
            let earlier = match self.0.store.get(&self.0.key).await {
                Ok(earlier) => earlier,
                Err(StoreError::Missing { .. }) => Bytes::new(),
                Err(error) => {
                    // Better no new lines yet than the loss of the old ones.
                    return tracing::warn!(key = self.0.key, %error, "a log could not be read");
                }
            };
            let mut lines = self.lock();
            lines.inherited = true;
            let room = LOG_BYTES_MAX.saturating_sub(lines.text.len());
            let kept = earlier.get(..room.min(earlier.len())).unwrap_or_default();
            lines.text.splice(0..0, kept.iter().copied());
        }
        let (text, count) = {
            let lines = self.lock();
            (Bytes::copy_from_slice(&lines.text), lines.count)
        };
        match self.0.store.put(&self.0.key, text).await {
            Ok(_) => self.lock().written = count,
            Err(error) => tracing::warn!(key = self.0.key, %error, "a log could not be written"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[tokio::test]
    async fn a_log_is_capped_and_keeps_the_lines_of_an_earlier_run() {
        let dir = TempDir::new("log");
        let store = crate::store::open(dir.path().to_str().unwrap()).unwrap();
        let first = AttemptLog::new(store.clone(), "t_1", clock::fresh_run(), false);
        first.flush().await;
        assert!(!store.exists("logs/t_1.jsonl").await.unwrap());
        first.line(Level::Info, "first");
        first.flush().await;
        let second = AttemptLog::new(store.clone(), "t_1", clock::fresh_run(), true);
        for _ in 0..200 {
            second.line(Level::Debug, &"x".repeat(10_000));
        }
        second.flush().await;
        let text = store.get("logs/t_1.jsonl").await.unwrap();
        assert!(text.len() <= LOG_BYTES_MAX + 1024, "{}", text.len());
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.lines().next().unwrap().contains("first"));
        assert!(text.lines().last().unwrap().contains("the log is full"));
    }
}
