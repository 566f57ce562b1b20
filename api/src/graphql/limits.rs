//! Bounds on the documents that are sent: how many fields they name, and under how many other names.
//!
//! Depth, complexity, directives and cycles of fragments are judged by the library; a document that asks for the
//! same expensive thing a thousand times under a thousand names is judged here, before anything is validated.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextParseQuery};
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Response, ServerError, ServerResult, Variables};

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

    async fn request(
        &self,
        ctx: &ExtensionContext<'_>,
        next: async_graphql::extensions::NextRequest<'_>,
    ) -> Response {
        let mut response = next.run(ctx).await;
        for error in &mut response.errors {
            code(error);
        }
        response
    }
}

/// Gives errors of the library itself a code too, so that every error has one.
pub(super) fn code(error: &mut ServerError) {
    let extensions = error.extensions.get_or_insert_default();
    if extensions.get("code").is_none() {
        extensions.set("code", "INVALID_DOCUMENT");
        extensions.set("category", "validation");
        extensions.set("remediation", "check the document against the schema");
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
    let mut error = ServerError::new(format!("a document has at most {max} {what}"), None);
    let extensions = error.extensions.get_or_insert_default();
    extensions.set("code", "DOCUMENT_TOO_LARGE");
    extensions.set("category", "limit");
    extensions.set("remediation", "ask for less at once, or in several requests");
    error
}
