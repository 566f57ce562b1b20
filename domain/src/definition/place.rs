//! Paths of fields, and where they stand in the file.

use super::alias;
use super::yaml::{Node, Span, Tree};

/// The way from the root of the file to a field, such as `nodes`, `validate`, `next`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path(pub(super) Vec<String>);

impl Path {
    pub(super) fn root() -> Self {
        Self::default()
    }

    /// A path of these fields.
    pub(super) fn of<const N: usize>(parts: [&str; N]) -> Self {
        Self(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// The field below it.
    #[must_use]
    pub(super) fn then(&self, part: impl ToString) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_string());
        Self(parts)
    }

    /// What lies further below it.
    #[must_use]
    pub(super) fn below(&self, rest: &[String]) -> Self {
        Self(self.0.iter().chain(rest).cloned().collect())
    }

    pub(super) fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

/// A path as text: `a.b[0].c`. Parts that begin with `[` are items of a list.
pub(super) fn join(parts: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() && !part.starts_with('[') {
            text.push('.');
        }
        text.push_str(&part);
    }
    text
}

/// Where a field stands.
pub(super) struct Located {
    /// Its key; the value itself if it is an item of a list.
    pub(super) key: Span,
    pub(super) value: Span,
    pub(super) text: String,
    pub(super) exists: bool,
}

/// Finds a field; the nearest field above it if it is not in the file.
pub(super) fn locate(tree: &Tree, path: &Path) -> Located {
    let mut here = Some(tree);
    let mut key = tree.span;
    let mut value = tree.span;
    let mut parts = Vec::with_capacity(path.0.len());
    for part in &path.0 {
        let mut name = part.clone();
        let mut next = None;
        match here.map(|tree| &tree.node) {
            Some(Node::Seq(items)) => {
                next = part.parse::<usize>().ok().and_then(|i| items.get(i));
                if let Some(item) = next {
                    (key, value) = (item.span, item.span);
                }
                name = format!("[{part}]");
            }
            Some(Node::Map(entries)) => {
                let entry = entries.iter().find(|entry| entry.key == *part);
                // The file may use the other word for the field.
                let entry = entry.or_else(|| {
                    let same = |key: &str| alias::field(key) == Some(part.as_str());
                    entries.iter().find(|entry| same(&entry.key))
                });
                if let Some(entry) = entry {
                    (key, value) = (entry.span, entry.value.span);
                    next = Some(&entry.value);
                    name.clone_from(&entry.key);
                } else {
                    value = key;
                }
            }
            _ => {}
        }
        parts.push(name);
        here = next;
    }
    Located {
        key,
        value,
        text: join(parts),
        exists: here.is_some(),
    }
}
