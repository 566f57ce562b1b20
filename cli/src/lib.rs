//! The `strata` binary: composition root and subcommands.
