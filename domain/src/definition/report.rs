//! Collects the problems of one file and knows what not to say.
//!
//! A field that is wrong in itself is poisoned: what follows from it is not reported again.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::code::Code;
use super::diagnostic::Diagnostic;
use super::place::{Path, locate};
use super::yaml::Tree;
use crate::suggest::suggest;

/// Most problems that are kept, so that a file of nothing but mistakes costs bounded time and memory.
/// Far more than are shown: the first ones of the file are, in whatever order they were found.
const KEPT_MAX: usize = 5_000;
/// Most names that are compared in search of near ones; a file may have thousands of each.
const COMPARED_MAX: usize = 200_000;

pub(super) struct Report<'t> {
    tree: &'t Tree,
    poisoned: BTreeSet<Path>,
    /// Nodes that were made from stages, with the index of the stage.
    stages: BTreeMap<String, usize>,
    found: Vec<Diagnostic>,
    dropped: usize,
    compared: Cell<usize>,
}

impl<'t> Report<'t> {
    pub(super) fn new(tree: &'t Tree, found: Vec<Diagnostic>) -> Self {
        Self {
            tree,
            poisoned: BTreeSet::new(),
            stages: BTreeMap::new(),
            found,
            dropped: 0,
            compared: Cell::new(0),
        }
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        super::diagnostic::in_order(self.found, self.dropped)
    }

    /// The name that is probably meant.
    pub(super) fn suggest<'n>(
        &self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        let left = COMPARED_MAX.saturating_sub(self.compared.get());
        let count = |_: &&str| self.compared.set(self.compared.get() + 1);
        suggest(name, names.into_iter().take(left).inspect(count))
    }

    /// Reports a problem of a value.
    pub(super) fn value(
        &mut self,
        path: &Path,
        code: Code,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let path = self.in_file(path);
        if !self.is_poisoned(&path) && self.keeps() {
            let at = locate(self.tree, &path);
            self.push(at.value, at.text, code, message.into(), hint);
        }
    }

    /// Reports a problem of a field as a whole, at its key.
    pub(super) fn key(
        &mut self,
        path: &Path,
        code: Code,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let path = self.in_file(path);
        if !self.is_poisoned(&path) && self.keeps() {
            let at = locate(self.tree, &path);
            self.push(at.key, at.text, code, message.into(), hint);
        }
    }

    /// Reports a problem at a place that the path alone does not tell, such as a second key.
    pub(super) fn at(&mut self, span: super::yaml::Span, path: &Path, code: Code, message: String) {
        if self.keeps() {
            let text = locate(self.tree, path).text;
            self.push(span, text, code, message, None);
        }
    }

    /// From now on nothing is said about this field and what lies below it.
    pub(super) fn poison(&mut self, path: Path) {
        self.poisoned.insert(path);
    }

    /// Whether something at, above or below this field was wrong in itself.
    pub(super) fn is_doubtful(&self, path: &Path) -> bool {
        let path = self.in_file(path);
        let below = self.poisoned.range(path.clone()..).next();
        self.is_poisoned(&path) || below.is_some_and(|found| found.starts_with(&path))
    }

    /// From now on this node means that stage.
    pub(super) fn made_from_stage(&mut self, node: &str, index: usize) {
        self.stages.insert(node.to_owned(), index);
    }

    /// Whether a node was made from a stage.
    pub(super) fn is_stage(&self, node: &str) -> bool {
        self.stages.contains_key(node)
    }

    /// Line and column of a field's key.
    pub(super) fn position(&self, path: &Path) -> (u32, u32) {
        let key = locate(self.tree, &self.in_file(path)).key;
        (key.line, key.column)
    }

    fn keeps(&mut self) -> bool {
        let keeps = self.found.len() < KEPT_MAX;
        self.dropped += usize::from(!keeps);
        keeps
    }

    fn is_poisoned(&self, path: &Path) -> bool {
        (0..=path.0.len()).any(|n| {
            let prefix = path.0.get(..n).unwrap_or_default();
            self.poisoned.contains(&Path(prefix.to_vec()))
        })
    }

    /// The path of a field as it stands in the file, where a stage may stand for the node.
    fn in_file(&self, path: &Path) -> Path {
        let [first, node, rest @ ..] = path.0.as_slice() else {
            return path.clone();
        };
        let Some(index) = self.stages.get(node).filter(|_| first == "nodes") else {
            return path.clone();
        };
        let stage = Path::of(["stages", &index.to_string()]);
        let rest = match rest {
            [task, rest @ ..] if task == "task" => rest,
            rest => rest,
        };
        let Some((field, below)) = rest.split_first() else {
            return stage;
        };
        let field = match field.as_str() {
            "handler" => "task_type",
            "source" if !self.lacks(&stage.then("count")) => "count",
            "next" | "depends_on" => "depends_on_stage",
            "timeout_seconds" => "timeout_minutes",
            "max_parallel" => "max_parallel_tasks",
            other => other,
        };
        stage.then(field).below(below)
    }

    fn lacks(&self, path: &Path) -> bool {
        !locate(self.tree, path).exists
    }

    fn push(
        &mut self,
        span: super::yaml::Span,
        path: String,
        code: Code,
        message: String,
        hint: Option<String>,
    ) {
        self.found.push(Diagnostic {
            code,
            line: span.line,
            column: span.column,
            path,
            message,
            hint,
        });
    }
}
