//! The workflow language: from YAML text to a graph that can run.

mod compile;
pub mod graph;
pub mod model;

pub use compile::{CompileError, ITEMS_MAX, compile};
pub use graph::{Graph, NodeIx, WorkflowRef};
