//! Schemathesis, which we did not write, reads the document and tries to break the API: with a key of every role.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::stage::Stage;
use crate::repo::root;

/// Examples per operation, unless told otherwise.
const EXAMPLES: &str = "200";

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing_with_a_key_of_any_role() {
    let python =
        std::env::var("STRATA_TEST_PYTHON").expect("STRATA_TEST_PYTHON, which ./strata test sets");
    let program = Path::new(&python).with_file_name("schemathesis");
    let stage = Stage::new("rest_schemathesis").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let serving = tokio::spawn(api::serve(
        listener,
        stage.app.clone(),
        stage.ops.clone(),
        stop.clone(),
    ));
    let roles = [
        ("reader", &stage.reader),
        ("writer", &stage.writer),
        ("admin", &stage.admin),
    ];
    let runs = roles.map(|(role, key)| run(&program, &url, role, key));
    let ended = futures_util::future::join_all(runs).await;
    let bad = ended.iter().filter(|(_, found)| !found.status.success());
    let bad =
        bad.map(|(role, found)| format!("as {role}:\n{}", String::from_utf8_lossy(&found.stdout)));
    let bad: Vec<String> = bad.collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), serving);
    ended.await.unwrap().unwrap();
}

async fn run(
    program: &Path,
    url: &str,
    role: &'static str,
    key: &str,
) -> (&'static str, std::process::Output) {
    let examples = std::env::var("STRATA_TEST_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    let mut command = Command::new(program);
    command
        .arg("--config-file")
        .arg(root().join("tests/python/schemathesis.toml"))
        .arg("run")
        .arg(format!("{url}/api/openapi.json"))
        .args([
            "--checks",
            "all",
            "--max-examples",
            &examples,
            "--no-color",
            "--continue-on-failure",
        ])
        .args(["--generation-deterministic", "--header"])
        .arg(format!("Authorization: Bearer {key}"))
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    (role, command.output().await.expect("schemathesis runs"))
}
