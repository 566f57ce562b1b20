//! The `stages:` notation: a row of stages becomes a graph of the same names.
//!
//! START leads to the stages that depend on none, each stage to those that depend on it, and all
//! that nobody depends on to END.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::code::Code;
use super::model::{
    DependsOn, End, FanIn, FanOut, ItemTask, Node, OnEmpty, OneOrMany, Parallelism, Stage, Start,
    Task,
};
use super::place::Path;
use super::report::Report;

/// The entry point of a workflow made from stages.
pub const START: &str = "START";
/// The exit point of a workflow made from stages.
pub const END: &str = "END";

const TIMEOUT_MINUTES: u32 = 30;
const TASKS_MAX: u64 = 100_000;

/// The nodes of the stages. What is wrong with the stages is reported, and repaired.
pub(super) fn to_nodes(report: &mut Report<'_>, stages: &[Stage]) -> BTreeMap<String, Node> {
    let names = names(report, stages);
    numbers(report, stages);
    let before: Vec<Option<usize>> = (0..stages.len())
        .map(|index| predecessor(report, stages, index))
        .collect();
    let mut nodes = BTreeMap::new();
    let followed: BTreeSet<usize> = before.iter().flatten().copied().collect();
    let pairs = stages.iter().zip(&names).zip(&before);
    for (index, ((stage, name), before)) in pairs.enumerate() {
        report.made_from_stage(name, index);
        fields(report, stage, index);
        let parent = before.and_then(|i| names.get(i)).map(|name| one(name));
        let next = (!followed.contains(&index)).then(|| one(END));
        nodes.insert(
            name.clone(),
            node(stage, parent.map(DependsOn::Names), next),
        );
    }
    let first: Vec<String> = names
        .iter()
        .zip(&before)
        .filter(|(_, before)| before.is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let start = Start {
        next: OneOrMany::Many(first),
        description: None,
    };
    nodes.insert(START.to_owned(), Node::Start(start));
    nodes.insert(END.to_owned(), Node::End(End::default()));
    nodes
}

fn one(name: &str) -> OneOrMany {
    OneOrMany::One(name.to_owned())
}

fn at(index: usize) -> Path {
    Path::of(["stages", &index.to_string()])
}

/// A distinct name for each stage.
fn names(report: &mut Report<'_>, stages: &[Stage]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(stages.len());
    for (index, stage) in stages.iter().enumerate() {
        let path = at(index).then("name");
        let name = &stage.name;
        if name == START || name == END {
            let message = format!("`{name}` is the name of a node that every row of stages has");
            report.value(
                &path,
                Code::NodeName,
                message,
                Some("choose another name".to_owned()),
            );
        } else if names.contains(name) {
            let message = format!("another stage is called `{name}` already");
            report.value(&path, Code::StageNames, message, None);
        } else {
            super::validate::node_name(report, name, &path, false);
            names.push(name.clone());
            continue;
        }
        // No file can name it like this.
        names.push(format!("{name}#{index}"));
    }
    names
}

fn numbers(report: &mut Report<'_>, stages: &[Stage]) {
    for (index, stage) in stages.iter().enumerate() {
        let expected = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let path = at(index).then("number");
        if stage.number != expected && !report.is_doubtful(&path) {
            let message = format!(
                "the stage has number {}, but is number {expected}",
                stage.number
            );
            let hint = "stages stand in order and are numbered 1, 2, 3, ...".to_owned();
            report.value(&path, Code::StageNumbers, message, Some(hint));
            // One gap or repetition shifts all that follow.
            return;
        }
    }
}

/// The index of the stage that must be complete before.
fn predecessor(report: &mut Report<'_>, stages: &[Stage], index: usize) -> Option<usize> {
    let stage = stages.get(index)?;
    let previous = index.checked_sub(1);
    let Some(wanted) = stage.depends_on_stage else {
        return previous;
    };
    let found = stages.iter().position(|other| other.number == wanted);
    if let Some(found) = found.filter(|found| *found < index) {
        return Some(found);
    }
    let message = match found {
        Some(_) => format!("stage {wanted} does not come before stage {}", stage.number),
        None => format!("there is no stage {wanted}"),
    };
    let hint = "the first stage depends on none: leave the field out there".to_owned();
    let hint = (index == 0).then_some(hint);
    report.value(
        &at(index).then("depends_on_stage"),
        Code::StageOrder,
        message,
        hint,
    );
    previous
}

/// Nothing is accepted that would then be ignored.
fn fields(report: &mut Report<'_>, stage: &Stage, index: usize) {
    let path = at(index);
    let mut refuse = |field: &str, message: &str| {
        report.key(&path.then(field), Code::StageFields, message, None);
    };
    let single = stage.parallelism == Parallelism::Single;
    let fan_out = stage.parallelism == Parallelism::FanOut;
    if stage.count.is_some() && !single {
        refuse("count", "only a `single` stage has a `count`");
    }
    if stage.source.is_some() && !fan_out {
        refuse("source", "only a `fan_out` stage has a `source`");
    }
    let many = fan_out || (single && stage.count.is_some());
    if stage.max_parallel_tasks.is_some() && !many {
        refuse("max_parallel_tasks", "the stage has one task only");
    }
    if fan_out && stage.source.is_none() && !report.is_doubtful(&path.then("source")) {
        let message = "a `fan_out` stage needs a `source`: N comes from previous_results";
        let hint = "such as source: \"{{ previous_results }}\"".to_owned();
        report.key(&path, Code::StageFields, message, Some(hint));
        report.poison(path.then("source"));
    }
    if let (true, Some(count)) = (single, &stage.count) {
        let whole = count.as_u64().is_some_and(|n| (1..=TASKS_MAX).contains(&n));
        let template = count.as_str().is_some_and(|text| text.contains("{{"));
        if !whole && !template {
            let message =
                format!("the count is a number from 1 to {TASKS_MAX}, or a template of one");
            report.value(&path.then("count"), Code::StageFields, message, None);
            report.poison(path.then("count"));
        }
    }
}

fn node(stage: &Stage, depends_on: Option<DependsOn>, next: Option<OneOrMany>) -> Node {
    let minutes = stage.timeout_minutes.unwrap_or(TIMEOUT_MINUTES);
    let timeout_seconds = Some(minutes.saturating_mul(60));
    let source = match stage.parallelism {
        Parallelism::Single => stage.count.clone(),
        Parallelism::FanOut => Some(stage.source.clone().unwrap_or(Value::Null)),
        Parallelism::FanIn => {
            return Node::FanIn(FanIn {
                handler: Some(stage.task_type.clone()),
                queue: stage.queue.clone(),
                params: stage.params.clone(),
                timeout_seconds,
                retry: stage.retry.clone(),
                depends_on,
                next,
                description: stage.description.clone(),
                ..FanIn::default()
            });
        }
    };
    let task = ItemTask {
        handler: stage.task_type.clone(),
        queue: stage.queue.clone(),
        params: stage.params.clone(),
        timeout_seconds,
        dispatch_timeout_seconds: None,
        retry: stage.retry.clone(),
        priority: None,
    };
    match source {
        Some(source) => Node::FanOut(FanOut {
            source,
            task,
            max_parallel: stage.max_parallel_tasks,
            max_items: None,
            on_empty: OnEmpty::default(),
            when: None,
            depends_on,
            next,
            description: stage.description.clone(),
        }),
        None => Node::Task(Task {
            handler: task.handler,
            queue: task.queue,
            params: task.params,
            timeout_seconds,
            dispatch_timeout_seconds: None,
            retry: task.retry,
            priority: None,
            when: None,
            depends_on,
            next,
            description: stage.description.clone(),
        }),
    }
}
