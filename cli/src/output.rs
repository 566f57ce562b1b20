//! The only place that prints: data to stdout, talk to stderr.
//!
//! Commands write to a [`Console`], so that tests can capture what a person would see. A reader that
//! goes away (`strata ... | head`) is not an error: the rest is written to nobody, and the exit code
//! stays that of the command.

use std::io::{self, ErrorKind, IsTerminal, Read, Write};

use comfy_table::{ContentArrangement, Table, presets};

/// Width of everything when there is no terminal to ask.
const WIDTH: usize = 80;

/// How the output should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub width: usize,
    pub colour: bool,
    /// Whether tables are broken to the width; in a file, lines may be long.
    pub wrap: bool,
}

/// What a command reads from and writes to.
pub struct Console<'a> {
    pub(crate) input: &'a mut dyn Read,
    out: Sink<'a>,
    err: Sink<'a>,
    pub(crate) look: Look,
}

struct Sink<'a> {
    to: &'a mut dyn Write,
    gone: bool,
}

/// A colour that supports a word; nothing is said by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Faint,
    Strong,
}

impl Look {
    /// Plain text of the usual width, for files, pipes and tests.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            width: WIDTH,
            colour: false,
            wrap: false,
        }
    }

    /// The look of the terminal that stdout is, or plain if it is none.
    #[must_use]
    pub fn of_terminal() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let tty = io::stdout().is_terminal();
        let columns = std::env::var("COLUMNS").ok();
        let width = columns.and_then(|text| text.parse().ok()).or_else(|| {
            let width = Table::new().width().filter(|_| tty)?;
            Some(usize::from(width))
        });
        Self {
            width: width.unwrap_or(WIDTH).max(40),
            colour: tty && !set("NO_COLOR"),
            wrap: tty,
        }
    }

    /// `text` in a colour, if there is any.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Good => "32",
            Paint::Bad => "31",
            Paint::Warn => "33",
            Paint::Faint => "2",
            Paint::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A table without lines, with this header.
    pub(crate) fn table(self, header: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header.iter().copied());
        if self.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        if self.wrap {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table
    }
}

impl<'a> Console<'a> {
    /// A console over these streams.
    pub fn new(
        input: &'a mut dyn Read,
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
        look: Look,
    ) -> Self {
        let sink = |to| Sink { to, gone: false };
        Self {
            input,
            out: sink(out),
            err: sink(err),
            look,
        }
    }

    /// Writes data to stdout, with a line end.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        self.out.line(text)
    }

    /// Writes words about the data to stderr, with a line end.
    pub(crate) fn talk(&mut self, text: &str) -> io::Result<()> {
        // In the order in which they were said, also when both go to one terminal.
        self.out.flush()?;
        self.err.line(text)
    }

    /// Hands everything on to its readers.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.err.flush()
    }
}

impl Sink<'_> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.try_to(|to| {
            to.write_all(text.as_bytes())?;
            to.write_all(end.as_bytes())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.try_to(|to| to.flush())
    }

    fn try_to(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        match act(self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            other => other,
        }
    }
}

/// A table as text, without the spaces that fill its last column.
pub(crate) fn lines_of(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let (mut input, mut out, mut err) = (io::empty(), Gone, Vec::new());
        let mut console = Console::new(&mut input, &mut out, &mut err, Look::plain());
        assert!(console.data("one").is_ok());
        assert!(console.data("two").is_ok());
        assert!(console.talk("three").is_ok());
        assert_eq!(err, b"three\n");
    }

    #[test]
    fn plain_text_has_no_colour() {
        assert_eq!(Look::plain().paint(Paint::Bad, "x"), "x");
        let colour = Look {
            colour: true,
            ..Look::plain()
        };
        assert_eq!(colour.paint(Paint::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
