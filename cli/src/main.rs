//! The `strata` program; what it does is in the library.

use std::io::{BufWriter, stderr, stdin, stdout};
use std::process::ExitCode;

use cli::output::{Console, Look};

fn main() -> ExitCode {
    let (mut input, mut out, mut err) = (stdin(), BufWriter::new(stdout().lock()), stderr());
    let mut console = Console::new(&mut input, &mut out, &mut err, Look::of_terminal());
    cli::run(std::env::args_os(), &mut console).into()
}
