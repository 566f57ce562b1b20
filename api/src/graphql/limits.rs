//! Bounds on the documents that are sent, checked before the library looks at them.
//!
//! A fragment may be used many times, and use others many times: what a document really asks for is counted with
//! every fragment spelled out, each of them looked at once. Depth and complexity are judged again by the library, which
//! spells fragments out itself and would never end with some documents.

use std::collections::HashMap;

use async_graphql::Name;
use async_graphql::parser::types::{ExecutableDocument, OperationType, Selection, SelectionSet};

use crate::error::{Category, Fault};

/// Fields of one document, fragments spelled out.
const FIELDS_MAX: usize = 2_000;
/// Other names for fields.
const ALIASES_MAX: usize = 50;
/// Fields at the top: each of them may be a query of its own.
const ROOTS_MAX: usize = 20;
const FRAGMENTS_MAX: usize = 50;
/// Uses of fragments, as they are written.
const SPREADS_MAX: usize = 200;
/// Levels, fragments spelled out; the introspection of clients needs fifteen.
const DEPTH_MAX: usize = 24;

/// What a part of a document asks for.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    fields: usize,
    aliases: usize,
    /// Fields at its top.
    roots: usize,
    depth: usize,
}

struct Count<'a> {
    document: &'a ExecutableDocument,
    /// Fragments that were looked at; nothing while one is being looked at.
    known: HashMap<&'a Name, Option<Cost>>,
    spreads: usize,
}

/// Refuses what is too much to look at.
pub(super) fn check(document: &ExecutableDocument) -> Result<(), Fault> {
    if document.fragments.len() > FRAGMENTS_MAX {
        return Err(refused("fragments", FRAGMENTS_MAX));
    }
    let mut count = Count {
        document,
        known: HashMap::new(),
        spreads: 0,
    };
    for (_, operation) in document.operations.iter() {
        let cost = count.of(&operation.node.selection_set.node, 0)?;
        let is_subscription = operation.node.ty == OperationType::Subscription;
        let roots_max = if is_subscription { 1 } else { ROOTS_MAX };
        for (what, found, max) in [
            ("fields", cost.fields, FIELDS_MAX),
            ("aliases", cost.aliases, ALIASES_MAX),
            ("fields at the top", cost.roots, roots_max),
            ("levels", cost.depth, DEPTH_MAX),
        ] {
            if found > max {
                return Err(refused(what, max));
            }
        }
    }
    Ok(())
}

/// Whether every operation of a document only watches.
pub(super) fn only_watches(document: &ExecutableDocument) -> bool {
    let mut operations = document.operations.iter();
    operations.all(|(_, operation)| operation.node.ty == OperationType::Subscription)
}

impl<'a> Count<'a> {
    fn of(&mut self, set: &'a SelectionSet, written: usize) -> Result<Cost, Fault> {
        if written > DEPTH_MAX {
            return Err(refused("levels", DEPTH_MAX));
        }
        let mut sum = Cost::default();
        for item in &set.items {
            let cost = match &item.node {
                Selection::Field(field) => {
                    let inner = self.of(&field.node.selection_set.node, written + 1)?;
                    Cost {
                        fields: inner.fields.saturating_add(1),
                        aliases: inner
                            .aliases
                            .saturating_add(usize::from(field.node.alias.is_some())),
                        roots: 1,
                        depth: inner.depth.saturating_add(1),
                    }
                }
                Selection::InlineFragment(inline) => {
                    self.of(&inline.node.selection_set.node, written + 1)?
                }
                Selection::FragmentSpread(spread) => {
                    self.fragment(&spread.node.fragment_name.node)?
                }
            };
            sum.fields = sum.fields.saturating_add(cost.fields);
            sum.aliases = sum.aliases.saturating_add(cost.aliases);
            sum.roots = sum.roots.saturating_add(cost.roots);
            sum.depth = sum.depth.max(cost.depth);
        }
        Ok(sum)
    }

    fn fragment(&mut self, name: &'a Name) -> Result<Cost, Fault> {
        self.spreads += 1;
        if self.spreads > SPREADS_MAX {
            return Err(refused("uses of fragments", SPREADS_MAX));
        }
        match self.known.get(name) {
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => {
                let message = format!("fragment `{name}` uses itself");
                return Err(Fault::invalid(
                    "FRAGMENT_CYCLE",
                    message,
                    "take the circle out",
                ));
            }
            None => {}
        }
        // One that does not exist is reported by the library, with its place.
        let Some(fragment) = self.document.fragments.get(name) else {
            return Ok(Cost::default());
        };
        self.known.insert(name, None);
        let cost = self.of(&fragment.node.selection_set.node, 1)?;
        self.known.insert(name, Some(cost));
        Ok(cost)
    }
}

fn refused(what: &str, max: usize) -> Fault {
    Fault::new(
        Category::Limit,
        "DOCUMENT_TOO_LARGE",
        format!("a document has at most {max} {what}"),
        "ask for less at once, or in several requests",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(document: &str) -> Option<String> {
        let parsed = async_graphql::parser::parse_query(document).unwrap();
        check(&parsed).err().map(|fault| fault.code)
    }

    #[test]
    fn fragments_that_multiply_are_counted_and_not_spelled_out() {
        let mut bomb = "{ ...F0 }".to_owned();
        for level in 0..20 {
            let next = format!("...F{} ", level + 1).repeat(9);
            bomb.push_str(&format!(" fragment F{level} on Query {{ {next} }}"));
        }
        bomb.push_str(" fragment F20 on Query { head }");
        assert_eq!(code(&bomb).as_deref(), Some("DOCUMENT_TOO_LARGE"));
        let roots = "{ ...A } fragment A on Query { ".to_owned() + &"head ".repeat(21) + "}";
        assert_eq!(code(&roots).as_deref(), Some("DOCUMENT_TOO_LARGE"));
        let circle = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }";
        assert_eq!(code(circle).as_deref(), Some("FRAGMENT_CYCLE"));
        let two = "subscription { a: events { cursor } b: events { cursor } }";
        assert_eq!(code(two).as_deref(), Some("DOCUMENT_TOO_LARGE"));
        assert_eq!(code("{ ...A ...A } fragment A on Query { head }"), None);
    }
}
