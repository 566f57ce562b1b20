//! The `strata` program; what it does is in the library.

use std::io::{BufWriter, stderr, stdin, stdout};
use std::process::ExitCode;

use cli::output::{Console, Look};

fn main() -> ExitCode {
    // A worker started this process for one piece of native work; it speaks over stdin and stdout.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == cli::NATIVE)
    {
        cli::native()
    }
    let (mut input, mut out, mut err) = (stdin(), BufWriter::new(stdout().lock()), stderr());
    let mut console = Console::new(&mut input, &mut out, &mut err, Look::of_terminal());
    cli::run(std::env::args_os(), &mut console).into()
}
