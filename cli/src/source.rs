//! From a file to a definition that can run: the only place that reads and checks workflow files.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::definition::model::{ValueType, Workflow};
pub(crate) use domain::definition::{Code, Diagnostic, error_page};
use domain::definition::{
    Graph, InputProblem, TEXT_BYTES_MAX, compile, content_hash, json_schema, load, resolve_inputs,
};
use domain::handler::Catalog;
pub(crate) use domain::suggest::did_you_mean;
use serde_json::{Map, Value};

use crate::exit::Stop;
use crate::output::Console;
use crate::validate;

/// A workflow that passed all checks.
pub(crate) struct Definition {
    /// As written, with stages turned into nodes.
    pub(crate) workflow: Workflow,
    pub(crate) graph: Arc<Graph>,
    pub(crate) catalog: Catalog,
}

/// A text with the name under which problems mention it.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
}

/// Reads a file, or stdin for `-`.
pub(crate) fn read(path: &Path, console: &mut Console<'_>) -> io::Result<Source> {
    if path == Path::new("-") {
        let name = "<stdin>".to_owned();
        let text = limited(&mut *console.input)?;
        return Ok(Source { name, text });
    }
    let name = path.display().to_string();
    let text = limited(File::open(path)?)?;
    Ok(Source { name, text })
}

/// The text, or one byte more of it than is allowed: sources may have no end.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let most = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut text)?;
    Ok(text)
}

/// Why a file could not be read; what is not there is told apart.
fn unreadable(path: &Path, error: &io::Error, next: &str) -> anyhow::Error {
    let message = format!("cannot read `{}`: {error}", path.display());
    if error.kind() == ErrorKind::NotFound {
        Stop::not_found(message, next)
    } else {
        Stop::usage(message, next)
    }
}

/// The files that a path means: itself, or the workflow files of a folder, by name.
pub(crate) fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        let is_yaml = file.extension().is_some_and(|e| e == "yaml" || e == "yml");
        if is_yaml && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Checks a text; the answer is a definition, or everything that is wrong with it.
pub(crate) fn check(text: &[u8]) -> Result<Definition, Vec<Diagnostic>> {
    let catalog = Catalog::shipped();
    let workflow = load(text, &catalog)?;
    // The validator is stricter than the compiler, so this is a mistake of ours; it must still be said.
    let graph = compile(&workflow, &content_hash(&workflow), &catalog).map_err(|error| {
        vec![Diagnostic {
            code: Code::WrongType,
            line: 1,
            column: 1,
            path: String::new(),
            message: error.to_string(),
            hint: None,
        }]
    })?;
    Ok(Definition {
        workflow,
        graph: Arc::new(graph),
        catalog,
    })
}

/// Reads a definition that a command works on; its problems are printed and end the command.
pub(crate) fn open(path: &Path, console: &mut Console<'_>) -> anyhow::Result<Definition> {
    let shown = path.display();
    let source =
        read(path, console).map_err(|error| unreadable(path, &error, "strata workflow list"))?;
    check(&source.text).map_err(|problems| {
        let look = console.look;
        let texts = problems
            .iter()
            .map(|problem| validate::explained(&source, problem, look));
        let text = texts.collect::<Vec<_>>().join("\n");
        let next = validate::next_command(&problems);
        match console.talk(&text) {
            Ok(()) => {
                let count = validate::count(problems.len(), "problem");
                Stop::usage(format!("`{shown}` has {count}"), next)
            }
            Err(error) => error.into(),
        }
    })
}

/// The inputs of a job, completed by defaults; or everything that is wrong with them.
pub(crate) fn inputs(
    workflow: &Workflow,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<String>> {
    resolve_inputs(&workflow.inputs, given).map_err(|problems| {
        let text = |p: InputProblem| format!("{}: {}", p.name, p.message);
        problems.into_iter().map(text).collect()
    })
}

/// The JSON schema of the workflow language.
pub(crate) fn schema() -> Value {
    json_schema()
}

/// A JSON object from a file.
pub(crate) fn json_object(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let (shown, next) = (path.display(), "strata workflow simulate --help");
    let text = File::open(path).and_then(limited);
    let text = text.map_err(|error| unreadable(path, &error, next))?;
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("`{shown}` has more than {TEXT_BYTES_MAX} bytes");
        return Err(Stop::usage(message, next));
    }
    serde_json::from_slice(&text).map_err(|error| {
        let message = format!("`{shown}` does not hold one JSON object: {error}");
        Stop::usage(message, next)
    })
}

/// A value from the command line: text where text is wanted, else JSON if it is JSON.
pub(crate) fn value_of(text: &str, kind: Option<ValueType>) -> Value {
    if kind == Some(ValueType::String) {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
