//! The GraphQL schema: what can be asked, changed and watched.
//!
//! Resolvers hold no rules: they ask `commands` to write and `projections::read` to look, always for the
//! organisation of the [`Viewer`](crate::Viewer). What belongs to many parents is fetched by loaders, so that the
//! number of statements does not depend on the number of rows.

mod asset;
mod callback;
mod check;
mod context;
mod errors;
mod event;
mod fleet;
mod job;
mod limits;
mod loaders;
mod mutation;
mod node;
mod page;
mod proof;
mod query;
mod request;
mod revision;
mod subscription;
pub(crate) mod transport;
mod travel;
mod words;
mod workflow;

use async_graphql::{SDLExportOptions, Schema as GraphqlSchema};

use crate::app::Core;
pub(crate) use context::Position;
pub(crate) use fleet::Health;
use mutation::Mutation;
use query::Query;
use subscription::Subscription;

/// Nesting of one document. The schema's own introspection needs thirteen levels.
const DEPTH_MAX: usize = 15;
/// What one document may cost; a page multiplies what it contains by its size.
const COMPLEXITY_MAX: usize = 100_000;

pub(crate) type Schema = GraphqlSchema<Query, Mutation, Subscription>;

pub(crate) fn schema(core: Core) -> Schema {
    builder().data(core).finish()
}

/// The schema as text; a snapshot of it is kept in `docs/api/schema.graphql`.
#[must_use]
pub fn sdl() -> String {
    let options = SDLExportOptions::new().sorted_fields().sorted_enum_items();
    builder().finish().sdl_with_options(options)
}

fn builder() -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    GraphqlSchema::build(Query::default(), Mutation::default(), Subscription)
        .limit_depth(DEPTH_MAX)
        .limit_complexity(COMPLEXITY_MAX)
        .limit_recursive_depth(24)
        .limit_directives(16)
}
