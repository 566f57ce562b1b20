//! Bounds on the documents that are sent: how many fields they name, and under how many other names.
//!
//! Depth, complexity, directives and cycles of fragments are judged by the library; a document that asks for the
//! same expensive thing a thousand times under a thousand names is judged here, before anything is validated.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextParseQuery};
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{ServerError, ServerResult, Variables};

use crate::error::{Category, Fault};

/// Fields of one document, wherever they stand.
const FIELDS_MAX: usize = 1_000;
/// Other names for fields.
const ALIASES_MAX: usize = 50;
/// Fields at the top: each of them may be a query of its own.
const ROOTS_MAX: usize = 20;
const FRAGMENTS_MAX: usize = 50;
/// Levels that are looked at; the parser refuses deeper ones.
const DEPTH_MAX: usize = 64;

pub(super) struct Limits;

impl ExtensionFactory for Limits {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Check)
    }
}

struct Check;

#[async_graphql::async_trait::async_trait]
impl Extension for Check {
    async fn parse_query(
        &self,
        ctx: &ExtensionContext<'_>,
        query: &str,
        variables: &Variables,
        next: NextParseQuery<'_>,
    ) -> ServerResult<ExecutableDocument> {
        let document = next.run(ctx, query, variables).await?;
        check(&document)?;
        Ok(document)
    }
}

fn check(document: &ExecutableDocument) -> ServerResult<()> {
    let mut count = Count::default();
    if document.fragments.len() > FRAGMENTS_MAX {
        return Err(refused("fragments", FRAGMENTS_MAX));
    }
    for (_, operation) in document.operations.iter() {
        let roots = &operation.node.selection_set.node;
        if roots.items.len() > ROOTS_MAX {
            return Err(refused("fields at the top", ROOTS_MAX));
        }
        count.walk(roots, 0)?;
    }
    for fragment in document.fragments.values() {
        count.walk(&fragment.node.selection_set.node, 0)?;
    }
    Ok(())
}

#[derive(Default)]
struct Count {
    fields: usize,
    aliases: usize,
}

impl Count {
    fn walk(&mut self, set: &SelectionSet, depth: usize) -> ServerResult<()> {
        if depth > DEPTH_MAX {
            return Err(refused("levels", DEPTH_MAX));
        }
        for item in &set.items {
            match &item.node {
                Selection::Field(field) => {
                    self.fields += 1;
                    self.aliases += usize::from(field.node.alias.is_some());
                    if self.fields > FIELDS_MAX {
                        return Err(refused("fields", FIELDS_MAX));
                    }
                    if self.aliases > ALIASES_MAX {
                        return Err(refused("aliases", ALIASES_MAX));
                    }
                    self.walk(&field.node.selection_set.node, depth + 1)?;
                }
                Selection::InlineFragment(inline) => {
                    self.walk(&inline.node.selection_set.node, depth + 1)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        Ok(())
    }
}

fn refused(what: &str, max: usize) -> ServerError {
    let fault = Fault::new(
        Category::Limit,
        "DOCUMENT_TOO_LARGE",
        format!("a document has at most {max} {what}"),
        "ask for less at once, or in several requests",
    );
    async_graphql::Error::from(fault).into_server_error(async_graphql::Pos::default())
}
