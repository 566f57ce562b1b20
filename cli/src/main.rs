//! The `strata` program; what it does is in the library.

fn main() {}
