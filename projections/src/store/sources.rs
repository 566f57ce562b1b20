//! What registered workflows are made of, from the tables that everybody reads or from those that are being rebuilt.

use sqlx::PgConnection;

/// Which of the two sets of read models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    Live,
    Next,
}

/// Workflows by the hash of their content: source, and what they leave to their handlers.
pub(crate) async fn sources(
    db: &mut PgConnection,
    set: Set,
    hashes: &[String],
) -> sqlx::Result<Vec<(String, String, serde_json::Value)>> {
    sqlx::query_as(match set {
        Set::Live => {
            "select distinct on (hash) hash, source, handlers from dagapp.workflows where hash = any($1)"
        }
        Set::Next => {
            "select distinct on (hash) hash, source, handlers from dagapp_next.workflows where hash = any($1)"
        }
    })
    .bind(hashes)
    .fetch_all(db)
    .await
}
