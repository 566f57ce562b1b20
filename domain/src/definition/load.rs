//! The front door: a file becomes a workflow, or the list of what is wrong with it.

use super::code::Code;
use super::diagnostic::{Diagnostic, in_order};
use super::model::Workflow;
use super::place::Path;
use super::report::Report;
use super::{stages, structure, validate, yaml};
use crate::handler::Catalog;

/// Reads and checks a file. The workflow that comes back has nodes only: stages were turned into them.
pub fn load(file: &[u8], catalog: &Catalog) -> Result<Workflow, Vec<Diagnostic>> {
    read(file, Some(catalog))
}

/// Reads a file that was accepted when it was registered, perhaps by other code with other handlers: only
/// its shape is checked. What it means was judged then, and jobs run it.
pub fn load_registered(file: &[u8]) -> Result<Workflow, Vec<Diagnostic>> {
    read(file, None)
}

fn read(file: &[u8], catalog: Option<&Catalog>) -> Result<Workflow, Vec<Diagnostic>> {
    let read = yaml::parse(file);
    let Some(tree) = read.tree else {
        if read.problems.is_empty() {
            return Err(vec![empty_file()]);
        }
        return Err(in_order(read.problems, 0));
    };
    let mut report = Report::new(&tree, read.problems);
    for path in read.refused {
        report.poison(path);
    }
    let value = structure::check(&mut report, &tree);
    let mut workflow: Workflow = match serde_json::from_value(value) {
        Ok(workflow) => workflow,
        // The check repairs what it reports, so this is a mistake of the check; it must still be said.
        Err(error) => {
            let message = error.to_string();
            report.value(&Path::root(), Code::WrongType, message, None);
            return Err(report.finish());
        }
    };
    nodes_or_stages(&mut report, &workflow);
    if let Some(stages) = workflow.stages.take()
        && workflow.nodes.is_none()
        && !stages.is_empty()
    {
        workflow.nodes = Some(stages::to_nodes(&mut report, &stages));
    }
    if let Some(catalog) = catalog {
        validate::validate(&mut report, &workflow, catalog);
    }
    let found = report.finish();
    if found.is_empty() {
        Ok(workflow)
    } else {
        Err(found)
    }
}

/// The hash that tells two contents of one version apart: SHA-256 of the canonical JSON, in hex.
#[must_use]
pub fn content_hash(workflow: &Workflow) -> String {
    // A workflow is plain data with text keys, which always has a JSON form.
    let value = serde_json::to_value(workflow).unwrap_or_default();
    crate::json::sha256_hex(crate::json::canonical(&value).as_bytes())
}

fn empty_file() -> Diagnostic {
    Diagnostic {
        code: Code::NotYaml,
        line: 1,
        column: 1,
        path: String::new(),
        message: "the file is empty".to_owned(),
        hint: None,
    }
}

fn nodes_or_stages(report: &mut Report<'_>, workflow: &Workflow) {
    let given = |field: &str| report.is_doubtful(&Path::of([field]));
    let nodes = workflow.nodes.is_some() || given("nodes");
    let stages = workflow.stages.is_some() || given("stages");
    match (nodes, stages) {
        (true, true) => {
            let message = "the workflow has `nodes` and `stages`";
            let hint = "keep one of them".to_owned();
            report.key(
                &Path::of(["stages"]),
                Code::NodesOrStages,
                message,
                Some(hint),
            );
        }
        (false, false) => {
            let message = "the workflow has neither `nodes` nor `stages`";
            report.value(&Path::root(), Code::NodesOrStages, message, None);
        }
        _ => {}
    }
}
