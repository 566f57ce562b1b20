//! From text to a tree of values that know their place in the file.
//!
//! Limits are checked while reading, so that a hostile file costs bounded time and memory: aliases
//! share what they repeat, and count with everything that they stand for. The builder keeps its own
//! stack and a tree is at most [`DEPTH_MAX`] deep, so that walking it cannot exhaust the real one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};
use serde_json::Value;

use super::code::Code;
use super::diagnostic::Diagnostic;
use super::place::Path;
use super::scalar;

/// Longest file, and most text after aliases are expanded.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting.
pub const DEPTH_MAX: usize = 100;
/// Most keys and values in a file, counted after aliases are expanded.
pub const VALUES_MAX: usize = 100_000;

/// A place in the file; both numbers start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    pub(super) node: Node,
    pub(super) span: Span,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// Never an array or object.
    Scalar(Rc<Value>),
    Seq(Rc<Vec<Tree>>),
    /// In the order of the file; a key may stand there twice.
    Map(Rc<Vec<Entry>>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) span: Span,
    pub(super) value: Tree,
}

/// What was read of a file.
pub(super) struct Parsed {
    /// There unless the file cannot be read at all.
    pub(super) tree: Option<Tree>,
    pub(super) problems: Vec<Diagnostic>,
    /// Fields whose values were refused: the tree has something else in their place.
    pub(super) refused: Vec<Path>,
}

/// Reads a file.
#[must_use]
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut builder = Builder::default();
    let tree = builder.read(bytes);
    Parsed {
        tree: tree.filter(|_| !builder.fatal),
        problems: builder.problems,
        refused: builder.refused,
    }
}

/// The size of a finished part of the tree.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
    height: usize,
}

/// A list or map that is not closed yet.
struct Open {
    span: Span,
    anchor: usize,
    size: Size,
    kind: Kind,
}

enum Kind {
    Seq(Vec<Tree>),
    Map(Vec<Entry>, Option<(String, Span)>),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Tree, Size)>,
    root: Option<Tree>,
    total: Size,
    problems: Vec<Diagnostic>,
    refused: Vec<Path>,
    fatal: bool,
}

impl Builder {
    fn read(&mut self, bytes: &[u8]) -> Option<Tree> {
        let start = Span { line: 1, column: 1 };
        if bytes.len() > TEXT_BYTES_MAX {
            // Not how many: what reads files stops there.
            let message = format!("the file has more than {TEXT_BYTES_MAX} bytes");
            self.stop(Code::TooLarge, start, message);
            return None;
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let span = place_of_byte(bytes, error.valid_up_to());
                self.stop(Code::NotYaml, span, "the file is not UTF-8 text".to_owned());
                return None;
            }
        };
        let options = granit_parser::options! {
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
            emit_comments: false,
        };
        let mut documents = 0_u32;
        for next in Parser::new_from_str_with_options(text, options) {
            match next {
                Ok((Event::DocumentStart(..), span)) => {
                    documents += 1;
                    if documents > 1 {
                        let message = "a second document begins here; one file is one workflow";
                        self.refuse(place(span.start), message, None);
                        break;
                    }
                }
                Ok((event, span)) => {
                    if let Some(tag) = event.tag() {
                        let start = span.tag_start().unwrap_or(span.start);
                        let message = format!("the tag `{}` has no meaning here", tag.original());
                        self.refuse(place(start), message, Some("remove it"));
                    }
                    let here = place(span.start);
                    match event {
                        // The parser writes `~` for a value that is left out.
                        Event::Scalar(_, style, anchor, _) if span.is_empty() => {
                            self.scalar("".into(), style, anchor, here);
                        }
                        event => self.take(event, here),
                    }
                }
                Err(error) => self.scan_error(&error, text),
            }
            if self.fatal {
                break;
            }
        }
        self.root.take()
    }

    fn take(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::Scalar(text, style, anchor, _) => self.scalar(text, style, anchor, span),
            Event::SequenceStart(_, anchor, _) => self.open(Kind::Seq(Vec::new()), anchor, span),
            Event::MappingStart(_, anchor, _) => {
                self.open(Kind::Map(Vec::new(), None), anchor, span);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some((tree, size)) => {
                    let node = tree.node;
                    self.add(Tree { node, span }, size);
                }
                // Its anchor stands on a list or map that is still open.
                None => {
                    let message = "the alias refers to the value that it is part of".to_owned();
                    self.stop(Code::UnsupportedYaml, span, message);
                }
            },
            _ => {}
        }
    }

    fn scalar(&mut self, text: Cow<'_, str>, style: ScalarStyle, anchor: usize, span: Span) {
        let is_key = matches!(
            self.open.last(),
            Some(Open {
                kind: Kind::Map(_, None),
                ..
            })
        );
        let bytes = text.len();
        let value = if style == ScalarStyle::Plain && !is_key {
            scalar::resolve(&text).unwrap_or_else(|message| {
                let hint = "put it in quotes if it is text";
                self.refuse(span, message, Some(hint));
                self.refused.push(self.path());
                Value::from(0)
            })
        } else {
            Value::String(text.into_owned())
        };
        let size = Size {
            values: 1,
            bytes,
            height: 0,
        };
        let node = Node::Scalar(Rc::new(value));
        self.finish(Tree { node, span }, size, anchor);
    }

    fn open(&mut self, kind: Kind, anchor: usize, span: Span) {
        if self.open.len() >= DEPTH_MAX {
            self.too_deep(span);
            return;
        }
        let size = Size {
            values: 1,
            ..Size::default()
        };
        self.open.push(Open {
            span,
            anchor,
            size,
            kind,
        });
    }

    fn close(&mut self) {
        let Some(done) = self.open.pop() else { return };
        let node = match done.kind {
            Kind::Seq(items) => Node::Seq(Rc::new(items)),
            Kind::Map(entries, _) => Node::Map(Rc::new(entries)),
        };
        let span = done.span;
        self.finish(Tree { node, span }, done.size, done.anchor);
    }

    fn finish(&mut self, tree: Tree, size: Size, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (tree.clone(), size));
        }
        self.add(tree, size);
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, tree: Tree, size: Size) {
        let span = tree.span;
        if self.open.len() + size.height > DEPTH_MAX {
            return self.too_deep(span);
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(tree);
            return;
        };
        parent.size.values = parent.size.values.saturating_add(size.values);
        parent.size.bytes = parent.size.bytes.saturating_add(size.bytes);
        parent.size.height = parent.size.height.max(size.height + 1);
        self.total.values = self.total.values.max(parent.size.values);
        self.total.bytes = self.total.bytes.max(parent.size.bytes);
        if self.total.values > VALUES_MAX || self.total.bytes > TEXT_BYTES_MAX {
            let message = format!(
                "the file has more than {VALUES_MAX} values or {TEXT_BYTES_MAX} bytes of text, \
                 counting what aliases repeat"
            );
            return self.stop(Code::TooLarge, span, message);
        }
        match &mut parent.kind {
            Kind::Seq(items) => items.push(tree),
            Kind::Map(entries, key) => match key.take() {
                Some((key, span)) => {
                    let mut value = tree;
                    // A value that is left out has no place of its own.
                    if size.bytes == 0 && matches!(&value.node, Node::Scalar(v) if v.is_null()) {
                        value.span = span;
                    }
                    entries.push(Entry { key, span, value });
                }
                None => self.key(tree),
            },
        }
    }

    fn key(&mut self, tree: Tree) {
        let text = match &tree.node {
            Node::Scalar(value) => match &**value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            Node::Seq(_) | Node::Map(_) => {
                let template = self.begins_template(&tree);
                let hint = template.then_some(QUOTE_TEMPLATES);
                self.refuse(tree.span, "a list or map cannot be a key", hint);
                let path = self.path();
                self.refused
                    .push(if template { path } else { path.then("") });
                String::new()
            }
        };
        if text == MERGE_KEY {
            let hint = "write the fields out, or repeat a whole value by an alias";
            self.refuse(tree.span, "merge keys `<<` are not supported", Some(hint));
            let path = self.path();
            // What it would bring is not known; near the root, too much would go unsaid.
            self.refused.push(if path.0.len() < 2 {
                path.then(MERGE_KEY)
            } else {
                path
            });
        }
        if let Some(Open {
            kind: Kind::Map(_, key),
            ..
        }) = self.open.last_mut()
        {
            *key = Some((text, tree.span));
        }
    }

    /// Whether a map that stands as a key is the inner one of `{{`.
    fn begins_template(&self, key: &Tree) -> bool {
        let outer = self.open.last().map(|open| open.span);
        let inner = key.span;
        matches!(key.node, Node::Map(_))
            && outer.is_some_and(|o| (o.line, o.column + 1) == (inner.line, inner.column))
    }

    fn scan_error(&mut self, error: &ScanError, text: &str) {
        let span = place(*error.marker());
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            return self.too_deep(span);
        }
        self.fatal = true;
        // What follows a template without quotes is part of the same mistake.
        let said =
            |d: &Diagnostic| (d.line, d.hint.as_deref()) == (span.line, Some(QUOTE_TEMPLATES));
        if self.problems.last().is_some_and(said) {
            return;
        }
        let line = usize::try_from(span.line).unwrap_or(1).saturating_sub(1);
        let line = text.lines().nth(line).unwrap_or_default();
        let before = line.split_once("{{").map(|(before, _)| before.trim_end());
        let bare = before.is_some_and(|before| before.ends_with([':', '-', ',', '[']));
        let hint = bare.then(|| QUOTE_TEMPLATES.to_owned());
        self.report(Code::NotYaml, span, error.info(), hint);
    }

    fn too_deep(&mut self, span: Span) {
        let message = format!("values are nested more than {DEPTH_MAX} deep");
        self.stop(Code::TooLarge, span, message);
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, hint: Option<&str>) {
        let hint = hint.map(str::to_owned);
        self.report(Code::UnsupportedYaml, span, message.into(), hint);
    }

    /// Reports what makes the rest unreadable; nothing else is said about the file.
    fn stop(&mut self, code: Code, span: Span, message: String) {
        self.fatal = true;
        self.report(code, span, message, None);
    }

    /// The field that is being read.
    fn path(&self) -> Path {
        let parts = self.open.iter().filter_map(|open| match &open.kind {
            Kind::Map(_, Some((key, _))) => Some(key.clone()),
            Kind::Map(_, None) => None,
            Kind::Seq(items) => Some(items.len().to_string()),
        });
        Path(parts.collect())
    }

    fn report(&mut self, code: Code, span: Span, message: String, hint: Option<String>) {
        let keys = self.open.iter().filter_map(|open| match &open.kind {
            Kind::Map(_, Some((key, _))) => Some(key.clone()),
            Kind::Map(_, None) => None,
            Kind::Seq(items) => Some(format!("[{}]", items.len())),
        });
        let path = super::place::join(keys);
        self.problems.push(Diagnostic {
            code,
            line: span.line,
            column: span.column,
            path,
            message,
            hint,
        });
    }
}

/// For `{{` without quotes, which YAML takes for a map in a map.
const QUOTE_TEMPLATES: &str = "put quotes around the template: \"{{ ... }}\"";

/// The key by which YAML 1.1 merged maps.
pub(super) const MERGE_KEY: &str = "<<";

fn place(marker: granit_parser::Marker) -> Span {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Span {
        line: number(marker.line()).max(1),
        column: number(marker.col()).saturating_add(1),
    }
}

fn place_of_byte(bytes: &[u8], offset: usize) -> Span {
    let before = bytes.get(..offset).unwrap_or_default();
    let text = String::from_utf8_lossy(before);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let column = text
        .rsplit('\n')
        .next()
        .map_or(0, |line| line.chars().count());
    Span {
        line: number(text.matches('\n').count()).saturating_add(1),
        column: number(column).saturating_add(1),
    }
}
