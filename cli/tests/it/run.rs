//! Runs a command line inside the test and keeps what it printed.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Read, Write};

use cli::exit::Exit;
use cli::output::{Console, Look};
use serde_json::Value;

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("stdout is JSON")
    }
}

/// Runs a command line, without `strata` in front.
pub(crate) fn strata(line: &[&str]) -> Ran {
    strata_with_stdin(line, "")
}

pub(crate) fn strata_with_stdin(line: &[&str], stdin: &str) -> Ran {
    strata_with_input(line, &mut stdin.as_bytes())
}

pub(crate) fn strata_with_input(line: &[&str], input: &mut dyn Read) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("strata").chain(line.iter().copied());
    let mut console = Console::new(input, &mut out, &mut err, Look::plain());
    let exit = cli::run(args.map(OsString::from), &mut console);
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Ran {
        exit,
        out: text(out),
        err: text(err),
    }
}

/// Runs a command line whose stdout fails in this way; the answer is the exit code and stderr.
pub(crate) fn strata_without_stdout(line: &[&str], why: ErrorKind) -> (Exit, String) {
    let (mut input, mut err) = (std::io::empty(), Vec::new());
    // Like that of the program: what is lost may show up only when it is flushed.
    let mut out = BufWriter::new(Broken(why));
    let args = std::iter::once("strata").chain(line.iter().copied());
    let mut console = Console::new(&mut input, &mut out, &mut err, Look::plain());
    let exit = cli::run(args.map(OsString::from), &mut console);
    (exit, String::from_utf8(err).expect("output is text"))
}

struct Broken(ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The path of a shipped workflow.
pub(crate) fn workflow(name: &str) -> String {
    format!("{}/../workflows/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

/// A folder of this test alone, empty.
pub(crate) fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}
