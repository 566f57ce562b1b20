//! `strata job logs`: what attempts wrote, out of the object store.

use projections::read::{self, TaskResult};
use serde_json::{Value, json};
use workers::store::StoreError;

use super::args::LogsArgs;
use super::client;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, one_line};
use crate::roles::stack::Stack;

pub(super) async fn run(args: &LogsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::look(&args.of.stack).await?;
    let store = Stack::find(&args.of.stack)?.store(&args.store)?;
    let found = client::find(&write, args.of.job).await;
    let job = args.of.job.to_string();
    let node = args.node.as_deref();
    let attempts = read::attempts(&write.pool, &job, node, read::PAGE_MAX).await;
    let known = match node {
        Some(node) => read::has_node(&write.pool, &job, node).await,
        None => Ok(true),
    };
    write.stop().await;
    found?;
    let attempts = attempts.map_err(client::unreadable)?;
    let cut = i64::try_from(attempts.len()).is_ok_and(|count| count == read::PAGE_MAX);
    let wanted = attempts
        .into_iter()
        .filter(|attempt| !args.failed || attempt.failure.is_some());
    let mut all = Vec::new();
    let mut count = 0;
    for attempt in wanted {
        let lines = lines(&store, &attempt).await?;
        count += 1;
        match args.of.output {
            Format::Json => all.push(json_of(&attempt, &lines)),
            // At once: together the logs of a large job do not fit into memory.
            Format::Table => print(&attempt, &lines, console)?,
        }
    }
    if args.of.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&all)?)?;
    } else if count == 0 {
        if let Some(node) = &args.node
            && !known.map_err(client::unreadable)?
        {
            let message = format!("{job} has no node `{node}`");
            return Err(Stop::not_found(message, format!("strata job show {job}")));
        }
        console.talk("there is no such attempt yet")?;
    }
    if cut {
        console.talk("only the first 1000 attempts are shown; name a node for the others")?;
    }
    Ok(Exit::Ok)
}

/// The lines of an attempt; one that logged nothing has no object.
async fn lines(store: &workers::Store, attempt: &TaskResult) -> anyhow::Result<Vec<Value>> {
    let text = match store.get(&format!("logs/{}.jsonl", attempt.task_id)).await {
        Ok(text) => text,
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(Stop::unreachable(error.to_string(), "")),
    };
    let text = String::from_utf8_lossy(&text);
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| json!({"message": line}));
    Ok(text.lines().map(line).collect())
}

fn json_of(attempt: &TaskResult, lines: &[Value]) -> Value {
    json!({
        "task_id": attempt.task_id, "node_id": attempt.node_id, "attempt": attempt.attempt,
        "status": attempt.status, "failure": attempt.failure, "lines": lines,
    })
}

fn print(attempt: &TaskResult, lines: &[Value], console: &mut Console<'_>) -> anyhow::Result<()> {
    let title = format!(
        "{} attempt {}: {}",
        attempt.node_id, attempt.attempt, attempt.status
    );
    console.data(&console.look.paint(Paint::Strong, &title))?;
    for line in lines {
        let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = format!(
            "  {} {:<5} {}",
            field("time"),
            field("level"),
            one_line(field("message"))
        );
        console.data(&text)?;
    }
    if let Some(message) = &attempt.error_message {
        console.data(&format!("  failed: {}", one_line(message)))?;
    } else if lines.is_empty() {
        console.data("  (nothing was logged)")?;
    }
    Ok(())
}
