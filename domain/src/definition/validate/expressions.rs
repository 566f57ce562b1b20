//! All templates and conditions of a workflow, each at its place.

use serde_json::Value;

use super::super::code::Code;
use super::super::inputs::type_name;
use super::super::model::{Input, Node, ValueType, Workflow};
use super::super::place::Path;
use super::super::report::Report;
use super::graph::Graph;
use super::handlers;
use super::references::{Place, Site, World};
use crate::expr::{Expr, Reference, Template, parse};
use crate::handler::Catalog;

/// Checks every reference of every template and condition.
pub(super) fn check(
    report: &mut Report<'_>,
    workflow: &Workflow,
    graph: &Graph<'_>,
    catalog: &Catalog,
) {
    let world = World {
        inputs: &workflow.inputs,
        graph,
        catalog,
    };
    for (number, (name, node)) in graph.names.iter().zip(&graph.nodes).enumerate() {
        params(report, &world, number, name, node);
        let site = Site {
            reader: Some(number),
            place: Place::Other,
        };
        let path = Path::of(["nodes", name]);
        match node {
            Node::Start(_) | Node::End(_) => {}
            Node::Task(task) => when(report, &world, site, task.when.as_deref(), &path),
            Node::FanIn(fan_in) => when(report, &world, site, fan_in.when.as_deref(), &path),
            Node::FanOut(fan_out) => {
                when(report, &world, site, fan_out.when.as_deref(), &path);
                let path = path.then("source");
                let wanted = [ValueType::Array, ValueType::Integer];
                template(
                    report,
                    &world,
                    site,
                    &fan_out.source,
                    &path,
                    Wanted::Types(&wanted),
                );
            }
            Node::Conditional(node) => {
                if let Some(field) = &node.condition_field {
                    let path = path.then("condition_field");
                    template(report, &world, site, field, &path, Wanted::Anything);
                }
                for (index, branch) in node.branches.iter().enumerate() {
                    let path = path.then("branches").then(index);
                    when(report, &world, site, branch.when.as_deref(), &path);
                }
            }
        }
    }
    if let Some(result) = &workflow.result {
        let site = Site {
            reader: None,
            place: Place::Other,
        };
        template(
            report,
            &world,
            site,
            result,
            &Path::of(["result"]),
            Wanted::Anything,
        );
    }
}

/// What a template is for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Anything,
    Types(&'a [ValueType]),
    Param(&'a Input),
}

fn params(report: &mut Report<'_>, world: &World<'_>, number: usize, name: &str, node: &Node) {
    // A fan_in without a handler may have params all the same; that is reported elsewhere.
    let Some(call) = handlers::call(name, node) else {
        return;
    };
    let place = match node {
        Node::FanOut(_) => Place::ItemParams,
        _ => Place::Params,
    };
    let site = Site {
        reader: Some(number),
        place,
    };
    let handler = world.catalog.find(call.handler);
    for (name, value) in call.params {
        let declared = handler.and_then(|handler| handler.params.get(name));
        let wanted = declared.map_or(Wanted::Anything, Wanted::Param);
        let path = call.path.then("params").then(name);
        template(report, world, site, value, &path, wanted);
    }
}

fn template(
    report: &mut Report<'_>,
    world: &World<'_>,
    site: Site,
    value: &Value,
    path: &Path,
    wanted: Wanted<'_>,
) {
    let template = match Template::compile(value) {
        Ok(template) => template,
        Err(errors) => {
            for (at, error) in errors {
                report.value(
                    &path.below(&at),
                    Code::BadExpression,
                    error.to_string(),
                    None,
                );
            }
            return;
        }
    };
    if let Wanted::Param(input) = wanted {
        handlers::value(report, input, &template, path);
    }
    let mut all_known = true;
    for (at, reference) in template.references() {
        all_known &= self::reference(report, world, site, &reference, &path.below(&at));
    }
    // The type is known when the whole value is one reference.
    if let (true, Template::Expr(Expr::Path(segments))) = (all_known, &template) {
        let reference = Reference {
            path: segments.clone(),
            optional: false,
        };
        if let Ok(Some(found)) = world.read(report, site, &reference) {
            same_type(report, found, wanted, path);
        }
    }
}

fn when(
    report: &mut Report<'_>,
    world: &World<'_>,
    site: Site,
    condition: Option<&str>,
    path: &Path,
) {
    let path = path.then("when");
    let Some(condition) = condition else { return };
    match parse(condition) {
        Ok(expr) => {
            let mut references = Vec::new();
            expr.references(&mut references);
            for each in references {
                reference(report, world, site, &each, &path);
            }
        }
        Err(error) => {
            let hint = "`when` is an expression by itself: leave out {{ and }}".to_owned();
            let hint = condition.contains("{{").then_some(hint);
            report.value(&path, Code::BadExpression, error.to_string(), hint);
        }
    }
}

fn reference(
    report: &mut Report<'_>,
    world: &World<'_>,
    site: Site,
    reference: &Reference,
    path: &Path,
) -> bool {
    match world.read(report, site, reference) {
        Ok(_) => true,
        Err(wrong) => {
            report.value(path, wrong.code, wrong.message, wrong.hint);
            false
        }
    }
}

fn same_type(report: &mut Report<'_>, found: ValueType, wanted: Wanted<'_>, path: &Path) {
    let fits = |wanted: ValueType| {
        wanted == found || (wanted == ValueType::Number && found == ValueType::Integer)
    };
    let names = match wanted {
        Wanted::Anything => return,
        Wanted::Param(input) if fits(input.kind) => return,
        Wanted::Types(types) if types.iter().any(|kind| fits(*kind)) => return,
        Wanted::Param(input) => type_name(input.kind).to_owned(),
        Wanted::Types(types) => {
            let names: Vec<_> = types.iter().map(|kind| type_name(*kind)).collect();
            names.join(" or ")
        }
    };
    let message = format!(
        "expected {names}, but the template gives {}",
        type_name(found)
    );
    report.value(path, Code::TypeMismatch, message, None);
}
