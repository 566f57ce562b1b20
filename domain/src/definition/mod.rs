//! The workflow language: from YAML text to a graph that can run.
//!
//! [`load`] reads a file in five steps, and says everything that is wrong with it at once:
//! text to a tree of values with places (`yaml`), the shape of the tree against the schema of the
//! [`model`] types (`structure`), `stages` to nodes, and the meaning (`validate`): graph, handlers,
//! inputs, and every reference of every template.

mod alias;
mod code;
mod compile;
mod diagnostic;
pub mod graph;
mod inputs;
mod link;
mod load;
pub mod model;
mod pages;
mod place;
mod reads;
mod report;
mod scalar;
mod schema;
mod shape;
mod stages;
mod structure;
#[cfg(test)]
mod tests;
mod validate;
mod yaml;

pub use code::Code;
pub use compile::{CompileError, ITEMS_MAX, compile};
pub use diagnostic::{DIAGNOSTICS_MAX, Diagnostic};
pub use graph::{Graph, NodeIx, WorkflowRef};
pub use inputs::{InputProblem, Misfit, fits, has_type, resolve_inputs, type_name};
pub use load::{content_hash, load, load_registered};
pub use pages::error_page;
pub use schema::json_schema;
pub use stages::{END, START};
pub use yaml::{DEPTH_MAX, TEXT_BYTES_MAX, VALUES_MAX};
