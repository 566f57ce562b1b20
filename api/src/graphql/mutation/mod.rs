//! What can be changed. Each answer has the position of what was written; queries may wait for it.

mod assets;
mod bulk;
mod callbacks;
mod jobs;
mod operation;
mod reuse;
mod rollback;
mod submit;

use async_graphql::MergedObject;

/// Everything that can be changed.
#[derive(Default, MergedObject)]
pub(crate) struct Mutation(
    submit::Submissions,
    jobs::Jobs,
    bulk::Bulk,
    assets::Assets,
    rollback::Rollbacks,
    callbacks::CallbackWishes,
    operation::Operation,
);
