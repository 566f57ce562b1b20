//! Where canaries are looked for: messages, log lines, metrics, every table, and every file that the processes leave.

use std::path::Path;

use sqlx::Row as _;

use super::{CONTENT, PERSON_MARK};
use crate::api::server::Server;
use crate::system::rig::Rig;

/// Tables that keep what is secret or personal, beside the log: the secrets of callbacks, and the labels of keys.
const KEEPS_SECRETS: &[&str] = &["callback_secrets"];
const KEEPS_PERSONS: &[&str] = &["callback_secrets", "api_keys"];

pub(super) async fn check(
    rig: &Rig,
    server: &Server,
    secrets: &[String],
    heard: [(&str, Vec<u8>); 2],
) {
    let [messages, logs] = &heard;
    let is_said = String::from_utf8_lossy(&logs.1).contains("answered");
    assert!(
        is_said && !messages.1.is_empty(),
        "requests are logged, and the wire is heard"
    );
    let metrics = server.http.get(format!("{}/metrics", server.url));
    let metrics = metrics
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap()
        .to_vec();
    let nowhere = secrets.iter().map(String::as_str).chain([PERSON_MARK]);
    for canary in nowhere.clone() {
        for (place, bytes) in [
            (messages.0, &messages.1),
            (logs.0, &logs.1),
            ("a metric", &metrics),
        ] {
            assert!(
                !has(bytes, canary),
                "{place} has {canary}: {}",
                around(bytes, canary)
            );
        }
        let but = if canary == PERSON_MARK {
            KEEPS_PERSONS
        } else {
            KEEPS_SECRETS
        };
        let found = tables_with(rig, canary, but).await;
        assert!(found.is_empty(), "{found:?} have {canary}");
    }
    // Content is in events and task messages, where it belongs, and in no log line.
    for (place, bytes) in [(logs.0, &logs.1), ("a metric", &metrics)] {
        assert!(
            !has(bytes, CONTENT),
            "{place} has content: {}",
            around(bytes, CONTENT)
        );
    }
    assert!(
        has(&messages.1, CONTENT),
        "tasks were sent with their parameters"
    );
    let events = tables_with(rig, CONTENT, &[]).await;
    assert!(
        events.iter().any(|table| table.contains("events")),
        "{events:?}"
    );
    let all: Vec<&str> = nowhere.collect();
    in_files(&rig.dir, &all);
}

/// Files of all kinds have no secret and no person; what processes said has no content either.
fn in_files(folder: &Path, nowhere: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            in_files(&path, nowhere);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let is_log = path.extension().is_some_and(|end| end == "log");
        for canary in nowhere.iter().chain(is_log.then_some(&CONTENT)) {
            assert!(
                !has(&bytes, canary),
                "{} has {canary}: {}",
                path.display(),
                around(&bytes, canary)
            );
        }
    }
}

fn has(bytes: &[u8], canary: &str) -> bool {
    bytes
        .windows(canary.len())
        .any(|window| window.eq_ignore_ascii_case(canary.as_bytes()))
}

/// The neighbourhood of the first one, for whoever looks for the leak.
fn around(bytes: &[u8], canary: &str) -> String {
    let at = bytes
        .windows(canary.len())
        .position(|w| w.eq_ignore_ascii_case(canary.as_bytes()));
    let at = at.unwrap_or(0);
    let end = (at + canary.len() + 80).min(bytes.len());
    String::from_utf8_lossy(&bytes[at.saturating_sub(300)..end]).into_owned()
}

/// Tables of the log and of the read models that have it, but for some; bytes are looked at as text.
async fn tables_with(rig: &Rig, canary: &str, but: &[&str]) -> Vec<String> {
    let tables = sqlx::query(
        "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'dagapp' and c.relkind = 'r' and c.relname <> all($1)",
    );
    let tables = tables.bind(but).fetch_all(&rig.pool).await.unwrap();
    assert!(tables.len() > 15);
    let mut found = Vec::new();
    for table in tables {
        let name: String = table.get("name");
        // Names of our own tables.
        let sql = format!(
            "select exists (select from {name} t where position(lower($1) in lower(t::text)) > 0
                or position(encode(convert_to($1, 'UTF8'), 'hex') in t::text) > 0)"
        );
        let query = sqlx::query_scalar::<_, bool>(sqlx::AssertSqlSafe(sql)).bind(canary);
        if query.fetch_one(&rig.pool).await.unwrap() {
            found.push(name);
        }
    }
    found
}
