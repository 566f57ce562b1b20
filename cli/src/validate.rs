//! `strata workflow validate`: all problems of all files, like a compiler prints them.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::json;

use crate::args::{Format, ValidateArgs};
use crate::exit::Exit;
use crate::output::{Console, Look, Paint};
use crate::source::{self, Diagnostic, Source};

/// What was found, over all files.
#[derive(Default)]
struct Findings {
    files: usize,
    unreadable: usize,
    /// Those of the unreadable that are not there at all.
    missing: usize,
    bad_files: usize,
    problems: Vec<Diagnostic>,
    /// For programs.
    rows: Vec<serde_json::Value>,
}

pub(crate) fn run(args: &ValidateArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let mut found = Findings::default();
    for path in &args.files {
        match source::files_of(path) {
            Ok(files) if files.is_empty() => {
                let message = "has no *.yaml and no *.yml file";
                found.unreadable(path, message, args, console)?;
            }
            Ok(files) => {
                for file in files {
                    found.file(&file, args, console)?;
                }
            }
            Err(error) => found.unreadable(path, &error.to_string(), args, console)?,
        }
    }
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&found.rows)?)?;
    }
    console.talk(&found.summary(console.look))?;
    Ok(if found.is_clean() {
        Exit::Ok
    } else if found.problems.is_empty() && found.unreadable == found.missing {
        Exit::NotFound
    } else {
        Exit::Usage
    })
}

impl Findings {
    fn file(
        &mut self,
        path: &Path,
        args: &ValidateArgs,
        console: &mut Console<'_>,
    ) -> anyhow::Result<()> {
        let source = match source::read(path, console) {
            Ok(source) => source,
            Err(error) => {
                if error.kind() == ErrorKind::NotFound {
                    self.missing += 1;
                }
                return self.unreadable(path, &error.to_string(), args, console);
            }
        };
        self.files += 1;
        let Err(problems) = source::check(&source.text) else {
            return Ok(());
        };
        self.bad_files += 1;
        for problem in &problems {
            match args.output {
                Format::Table => {
                    console.data(&(explained(&source, problem, console.look) + "\n"))?
                }
                Format::Json => self.rows.push(json!({
                    "file": source.name,
                    "line": problem.line,
                    "column": problem.column,
                    "code": problem.code.to_string(),
                    "message": problem.message,
                    "hint": problem.hint,
                    "path": problem.path,
                })),
            }
        }
        self.problems.extend(problems);
        Ok(())
    }

    fn unreadable(
        &mut self,
        path: &Path,
        why: &str,
        args: &ValidateArgs,
        console: &mut Console<'_>,
    ) -> anyhow::Result<()> {
        self.unreadable += 1;
        let name = path.display().to_string();
        if args.output == Format::Json {
            self.rows.push(json!({
                "file": name, "line": null, "column": null, "code": null,
                "message": why, "hint": null, "path": "",
            }));
        }
        let word = console.look.paint(Paint::Bad, "error:");
        console.talk(&format!("{word} {name}: {why}"))?;
        Ok(())
    }

    fn is_clean(&self) -> bool {
        self.unreadable == 0 && self.problems.is_empty()
    }

    fn summary(&self, look: Look) -> String {
        let files = count(self.files, "file");
        if self.is_clean() {
            return format!("{}: {files} valid", look.paint(Paint::Good, "ok"));
        }
        let mut parts = Vec::new();
        if !self.problems.is_empty() {
            let problems = count(self.problems.len(), "problem");
            parts.push(format!("{problems} in {} of {files}", self.bad_files));
        }
        if self.unreadable > 0 {
            parts.push(format!("{} unreadable", self.unreadable));
        }
        let mut text = format!("{}: {}", look.paint(Paint::Bad, "failed"), parts.join(", "));
        if !self.problems.is_empty() {
            text.push_str(&format!("\ntry: {}", next_command(&self.problems)));
        }
        text
    }
}

/// One problem with its place, the line it stands in, and the hint.
pub(crate) fn explained(source: &Source, problem: &Diagnostic, look: Look) -> String {
    let Diagnostic {
        code,
        line,
        column,
        message,
        hint,
        ..
    } = problem;
    let place = format!("{}:{line}:{column}:", source.name);
    let code = look.paint(Paint::Bad, &code.to_string());
    let mut text = format!(
        "{} {code} {message}\n",
        look.paint(Paint::Strong, place.as_str())
    );
    let written = String::from_utf8_lossy(&source.text);
    let number = line.to_string();
    let nth = usize::try_from(*line).unwrap_or(1).saturating_sub(1);
    if let Some(line) = written.lines().nth(nth) {
        let (shown, caret) = window(line, usize::try_from(*column).unwrap_or(1), look.width);
        let margin = " ".repeat(number.len());
        let mark = look.paint(Paint::Bad, "^");
        text.push_str(&format!(" {number} | {shown}\n"));
        text.push_str(&format!(" {margin} | {}{mark}\n", " ".repeat(caret)));
    }
    if let Some(hint) = hint {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

/// The part of a line around a column (from 1) that fits, and where the column is in it.
fn window(line: &str, column: usize, width: usize) -> (String, usize) {
    // A tab would shift the caret, and other control characters could do anything.
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let chars: Vec<char> = line.chars().map(plain).collect();
    let room = width.saturating_sub(12).max(20);
    let caret = column.saturating_sub(1).min(chars.len());
    let skipped = if caret + 10 > room {
        caret - room / 2
    } else {
        0
    };
    let shown: String = chars.iter().skip(skipped).take(room).collect();
    (shown.trim_end().to_owned(), caret - skipped)
}

/// What to do about problems: have the first one explained.
pub(crate) fn next_command(problems: &[Diagnostic]) -> String {
    let code = problems.first().map(|problem| problem.code.to_string());
    format!("strata explain {}", code.unwrap_or_default())
}

/// `1 file`, `2 files`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{s}")
}
