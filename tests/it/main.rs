//! System tests, one module per capability.
