//! The workflow language: from YAML text to a graph that can run.

pub mod model;
