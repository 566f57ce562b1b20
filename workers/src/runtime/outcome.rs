//! From what a handler gives back to what is reported: large outputs go to the object store (G-46).

use bytes::Bytes;
use domain::failure::{Failure, FailureClass};
use domain::handler::Handler as Declaration;
use domain::job::OUTPUT_BYTES_MAX;
use domain::job::event::Blob;
use domain::json::{clean_text, size_bytes};
use domain::message::{ReportOutcome, TaskMessage};
use serde_json::{Map, Value};

use super::link::Link;
use crate::handler::Finished;
use crate::store::{Store, StoreError};

/// Largest field that stays inline when the whole does not.
const FIELD_BYTES_MAX: usize = 4 * 1024;
/// Room that the fields which stay inline may take together.
const INLINE_BYTES_MAX: usize = OUTPUT_BYTES_MAX - 2 * FIELD_BYTES_MAX;
/// Largest metrics of one report; the owner would leave larger ones out, too.
const METRICS_BYTES_MAX: usize = 16 * 1024;
/// How often the object store is tried.
const PUT_TRIES: u32 = 3;

/// The report of a finished handler.
pub(super) async fn report(
    task: &TaskMessage,
    link: &Link,
    declared: &Declaration,
    store: &Store,
    finished: Finished,
) -> ReportOutcome {
    let Finished { output, metrics } = finished;
    let metrics = if size_bytes(&metrics) <= METRICS_BYTES_MAX {
        metrics
    } else {
        tracing::warn!(
            task_id = task.task_id,
            "the metrics are too large: left out"
        );
        Map::new()
    };
    if size_bytes(&output) <= OUTPUT_BYTES_MAX {
        return ReportOutcome::Completed {
            output: Value::Object(output),
            external: None,
            metrics,
        };
    }
    let key = format!("results/{}/{}.json", task.task_id, link.run());
    match put(store, &key, &output).await {
        Ok(blob) => ReportOutcome::Completed {
            output: Value::Object(abridged(output, declared, &key)),
            external: Some(blob),
            metrics,
        },
        Err(error) => failed(Failure::from(error)),
    }
}

/// The report of a failure, with its texts cut.
pub(super) fn failed(failure: Failure) -> ReportOutcome {
    ReportOutcome::Failed {
        failure: failure.cleaned(),
    }
}

/// The report of a handler that panicked.
pub(super) fn panicked(text: &str) -> Failure {
    let message = format!("the handler panicked: {}", clean_text(text));
    Failure::new(FailureClass::Permanent, "handler_panicked", &message)
}

async fn put(store: &Store, key: &str, output: &Map<String, Value>) -> Result<Blob, StoreError> {
    let text = serde_json::to_vec(output).map_err(|error| StoreError::Failed {
        key: key.to_owned(),
        reason: error.to_string(),
    })?;
    let text = Bytes::from(text);
    let mut tries = 1;
    loop {
        match store.put(key, text.clone()).await {
            Err(error) if tries < PUT_TRIES => {
                tracing::warn!(key, %error, "an output could not be stored: trying again");
                tries += 1;
            }
            done => return done,
        }
    }
}

/// The small fields of an output, declared ones first, and where the whole lies.
fn abridged(output: Map<String, Value>, declared: &Declaration, key: &str) -> Map<String, Value> {
    let (first, rest): (Vec<_>, Vec<_>) = output
        .into_iter()
        .filter(|(_, value)| size_bytes(value) <= FIELD_BYTES_MAX)
        .partition(|(name, _)| declared.outputs.contains_key(name));
    let mut kept = Map::new();
    let mut total = 0;
    for (name, value) in first.into_iter().chain(rest) {
        total += size_bytes(&name) + size_bytes(&value) + 2;
        if total > INLINE_BYTES_MAX {
            break;
        }
        kept.insert(name, value);
    }
    kept.insert("status".to_owned(), Value::from("stored_externally"));
    kept.insert("result_path".to_owned(), Value::from(key));
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_fields_stay_inline_and_declared_ones_come_first() {
        let catalog = domain::handler::Catalog::shipped();
        let declared = catalog.find("size_check").unwrap();
        let mut output = Map::new();
        for n in 0..100 {
            output.insert(format!("a{n}"), json!("x".repeat(4_000)));
        }
        output.insert("category".to_owned(), json!("light"));
        output.insert("large".to_owned(), json!("x".repeat(5_000)));
        let kept = abridged(output, declared, "results/t/r.json");
        assert!(size_bytes(&kept) <= OUTPUT_BYTES_MAX);
        assert_eq!(kept.get("category"), Some(&json!("light")));
        assert_eq!(kept.get("status"), Some(&json!("stored_externally")));
        assert_eq!(kept.get("result_path"), Some(&json!("results/t/r.json")));
        assert!(!kept.contains_key("large"));
    }
}
