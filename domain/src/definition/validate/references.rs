//! One reference of a template or condition: does it name something that is there by then?

use std::collections::BTreeMap;

use super::super::code::Code;
use super::super::model::{Input, Node, ValueType};
use super::super::place::Path;
use super::super::report::Report;
use super::super::structure::cut;
use super::graph::Graph;
use super::outputs::{self, Returned};
use crate::expr::{Reference, Segment};
use crate::handler::{Catalog, Output};

const ROOTS: [&str; 9] = [
    "inputs",
    "nodes",
    "upstream",
    "env",
    "job",
    "index",
    "item",
    "previous_results",
    "next_stage_params",
];
const JOB_FIELDS: [&str; 4] = ["id", "workflow_id", "workflow_version", "request_id"];

/// What the references of a workflow are checked against.
pub(super) struct World<'w> {
    pub(super) inputs: &'w BTreeMap<String, Input>,
    pub(super) graph: &'w Graph<'w>,
    pub(super) catalog: &'w Catalog,
}

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Site {
    /// The node that reads; none for the result of the job.
    pub(super) reader: Option<usize>,
    pub(super) place: Place,
}

/// What a template stands in; some names only have a meaning in some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Parameters of a fan-out's tasks: they know `item` and `index`.
    ItemParams,
    /// Parameters of one task: they know `index`.
    Params,
    /// Anything else.
    Other,
}

/// Why a reference is wrong.
pub(super) struct Wrong {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// The type of what a reference reads, if it is declared.
type Read = Result<Option<ValueType>, Wrong>;

fn wrong<T>(code: Code, message: String, hint: Option<String>) -> Result<T, Wrong> {
    Err(Wrong {
        code,
        message,
        hint,
    })
}

impl World<'_> {
    /// Checks a reference.
    pub(super) fn read(&self, report: &Report<'_>, site: Site, reference: &Reference) -> Read {
        let Some((Segment::Key(root), rest)) = reference.path.split_first() else {
            return Ok(None);
        };
        match &**root {
            "inputs" => self.input(report, rest, reference.optional),
            "nodes" => self.node(report, site, rest, reference.optional),
            "upstream" => self.upstream(report, site, rest, reference.optional),
            "env" => match rest {
                [Segment::Key(_)] => Ok(Some(ValueType::String)),
                _ => {
                    let message = "`env` is read by name".to_owned();
                    wrong(
                        Code::UnknownName,
                        message,
                        Some("such as env.REGION".to_owned()),
                    )
                }
            },
            "job" => match rest {
                [Segment::Key(field)] if JOB_FIELDS.contains(&&**field) => Ok(None),
                _ => {
                    let hint = format!("known: job.{}", JOB_FIELDS.join(", job."));
                    let message = format!("`{}` is not known of a job", text(&reference.path));
                    wrong(Code::UnknownName, message, Some(hint))
                }
            },
            "item" | "index" => place_of_item(root, site.place),
            "previous_results" | "next_stage_params" => self.previous(root, site),
            _ => self.unknown(report, root),
        }
    }

    fn input(&self, report: &Report<'_>, rest: &[Segment], optional: bool) -> Read {
        let Some((first, deeper)) = rest.split_first() else {
            return Ok(None);
        };
        let name = first.to_string();
        let Some(input) = self.inputs.get(&name) else {
            let names = self.inputs.keys().map(String::as_str);
            let hint = report.suggest(&name, names).map_or_else(
                || "declare it below `inputs`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            let message = format!("the workflow declares no input `{}`", cut(&name));
            // A file whose inputs are wrong as a whole declares we do not know what.
            if report.is_doubtful(&Path::of(["inputs"])) && self.inputs.is_empty() {
                return Ok(None);
            }
            return wrong(Code::UndeclaredInput, message, Some(hint));
        };
        if report.is_doubtful(&Path::of(["inputs", &name])) {
            return Ok(None);
        }
        if !input.required && input.default.is_none() && !optional {
            let message = format!("the input `{name}` may not be given and has no default");
            let hint = "write | default(...) behind it, or declare a default".to_owned();
            return wrong(Code::OptionalInput, message, Some(hint));
        }
        outputs::below(&Output::new(input.kind, ""), deeper).or_else(|reason| {
            wrong(
                Code::UndeclaredInput,
                format!("the input `{name}`: {reason}"),
                None,
            )
        })
    }

    fn node(&self, report: &Report<'_>, site: Site, rest: &[Segment], optional: bool) -> Read {
        let Some((Segment::Key(name), rest)) = rest.split_first() else {
            let hint = "such as nodes.validate.output.size".to_owned();
            let message = "`nodes` is read by the name of a node".to_owned();
            return wrong(Code::UnknownNodeRead, message, Some(hint));
        };
        let number = self.known(report, name)?;
        let graph = self.graph;
        if let Some(reader) = site.reader
            && !graph.ancestors.contains(reader, number)
            && !graph.doubtful
        {
            let here = graph.name(reader);
            let message = if reader == number {
                format!("`{here}` reads its own output")
            } else {
                format!("`{name}` does not come before `{here}`")
            };
            let hint =
                format!("let a way lead from `{name}` to `{here}`, or write depends_on: {name}");
            return wrong(
                Code::NotUpstream,
                message,
                (reader != number).then_some(hint),
            );
        }
        match rest {
            [] if optional => Ok(None),
            [Segment::Key(field)] if &**field == "status" => Ok(Some(ValueType::String)),
            [Segment::Key(field), rest @ ..] if &**field == "output" => {
                let found = self.output(report, number, rest, "nodes.X.output.")?;
                self.runs_before(site, number, optional)?;
                Ok(found)
            }
            _ => {
                let message = format!("a node has `output` and `status`, not `{}`", text(rest));
                let hint = format!("write nodes.{name}.output.{}", text(rest));
                wrong(Code::UndeclaredOutput, message, Some(hint))
            }
        }
    }

    fn upstream(&self, report: &Report<'_>, site: Site, rest: &[Segment], optional: bool) -> Read {
        let (Some((Segment::Key(name), rest)), Some(reader)) = (rest.split_first(), site.reader)
        else {
            let message =
                "`upstream` is the output of a node just before, read by its name".to_owned();
            return wrong(Code::NameNotHere, message, None);
        };
        let number = self.known(report, name)?;
        if !self.graph.edges.before(reader).contains(&number) && !self.graph.doubtful {
            let here = self.graph.name(reader);
            let message = format!("`{name}` is not directly before `{here}`");
            let hint = format!("for nodes further up write nodes.{name}.output");
            return wrong(Code::NotUpstream, message, Some(hint));
        }
        let found = self.output(report, number, rest, "upstream.X.")?;
        self.runs_before(site, number, optional)?;
        Ok(found)
    }

    fn known(&self, report: &Report<'_>, name: &str) -> Result<usize, Wrong> {
        if let Some(number) = self.graph.number(name) {
            return Ok(number);
        }
        let meant = report.suggest(name, self.graph.names.iter().copied());
        let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
        wrong(
            Code::UnknownNodeRead,
            format!("the node `{}` does not exist", cut(name)),
            hint,
        )
    }

    fn output(&self, report: &Report<'_>, number: usize, rest: &[Segment], how: &str) -> Read {
        let name = self.graph.name(number);
        let path = Path::of(["nodes", name]);
        let unsure = ["type", "handler", "aggregation"]
            .iter()
            .any(|field| report.is_doubtful(&path.then(field)));
        let Some(node) = self.graph.node(number).filter(|_| !unsure) else {
            return Ok(None);
        };
        let fields = match outputs::of(node, self.catalog) {
            Returned::Unknown => return Ok(None),
            Returned::Nothing => {
                let message = format!("`{name}` is a start or an end and has no output");
                return wrong(Code::UndeclaredOutput, message, None);
            }
            Returned::Fields(fields) => fields,
        };
        let Some((first, deeper)) = rest.split_first() else {
            return Ok(Some(ValueType::Object));
        };
        match fields.get(&first.to_string()) {
            Some(Some(output)) => outputs::below(output, deeper).or_else(|reason| {
                wrong(
                    Code::UndeclaredOutput,
                    format!("the output `{first}` of `{name}`: {reason}"),
                    None,
                )
            }),
            Some(None) => Ok(None),
            None => {
                let first = first.to_string();
                let meant = report.suggest(&first, fields.keys().map(String::as_str));
                let hint = match (node, meant) {
                    (_, Some(meant)) => format!("did you mean `{meant}`?"),
                    (Node::FanOut(_), _) => {
                        "the results of its tasks are joined by a fan_in".to_owned()
                    }
                    _ => {
                        let names: Vec<_> = fields.keys().map(String::as_str).collect();
                        format!("{how}F, with F one of: {}", names.join(", ")).replace('X', name)
                    }
                };
                let message = format!("`{name}` returns no field `{}`", cut(&first));
                wrong(Code::UndeclaredOutput, message, Some(hint))
            }
        }
    }

    /// A node that may have been skipped, or is not waited for, may have no output.
    fn runs_before(&self, site: Site, number: usize, optional: bool) -> Result<(), Wrong> {
        let graph = self.graph;
        let Some(start) = graph
            .start_of_order()
            .filter(|_| !optional && !graph.doubtful)
        else {
            return Ok(());
        };
        let (edges, order) = (&graph.edges, &graph.ancestors.order);
        let name = graph.name(number);
        let hint = || Some("write | default(...) behind it, or ask `is defined`".to_owned());
        if edges.has_choices() && edges.runs_without(number, site.reader, start, order) {
            let message = format!("`{name}` may be skipped, and then has no output");
            return wrong(Code::MaySkip, message, hint());
        }
        match site.reader {
            Some(reader) if edges.has_any_of() && !edges.waits_for(number, reader, order) => {
                let message =
                    format!("`{name}` may still be running: only any_of several is waited for");
                wrong(Code::MaySkip, message, hint())
            }
            _ => Ok(()),
        }
    }

    fn previous(&self, root: &str, site: Site) -> Read {
        let before = site.reader.map(|reader| self.graph.edges.before(reader));
        let has_result = |number: &usize| {
            let node = self.graph.node(*number);
            matches!(node, Some(Node::Task(_) | Node::FanOut(_) | Node::FanIn(_)))
        };
        let some = before.is_some_and(|before| before.iter().any(has_result));
        if some || (self.graph.doubtful && site.reader.is_some()) {
            return Ok((root == "previous_results").then_some(ValueType::Array));
        }
        let message = format!("`{root}` needs a task, fan_out or fan_in directly before this node");
        let hint = "for nodes further up write nodes.NAME.output".to_owned();
        wrong(Code::NameNotHere, message, Some(hint))
    }

    fn unknown(&self, report: &Report<'_>, root: &str) -> Read {
        let hint = if self.inputs.contains_key(root) {
            format!("did you mean `inputs.{root}`?")
        } else if self.graph.number(root).is_some() {
            format!("did you mean `nodes.{root}.output`?")
        } else if let Some(meant) = report.suggest(root, ROOTS) {
            format!("did you mean `{meant}`?")
        } else {
            format!("known: {}", ROOTS.join(", "))
        };
        let message = format!("the name `{}` is not known", cut(root));
        wrong(Code::UnknownName, message, Some(hint))
    }
}

fn place_of_item(root: &str, place: Place) -> Read {
    let allowed = match place {
        Place::ItemParams => true,
        Place::Params => root == "index",
        Place::Other => false,
    };
    if allowed {
        return Ok((root == "index").then_some(ValueType::Integer));
    }
    let message = format!("`{root}` is known only in the params of a fan_out's task");
    wrong(Code::NameNotHere, message, None)
}

fn text(path: &[Segment]) -> String {
    let parts: Vec<_> = path.iter().map(ToString::to_string).collect();
    cut(&parts.join("."))
}
