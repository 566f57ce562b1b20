//! The only place that prints: data to stdout, talk to stderr.
//!
//! Commands write to a [`Console`], so that tests can capture what a person would see. A reader that
//! goes away (`strata ... | head`) is not an error: the rest is written to nobody, and the exit code
//! stays that of the command. Data that cannot be written for another reason, such as a full disk, is
//! one; talk that cannot be written leaves only the exit code.

use std::io::{self, ErrorKind, IsTerminal, Read, Write};

use comfy_table::{ContentArrangement, Table, presets};

/// Width of everything when there is no terminal to ask.
const WIDTH: usize = 80;
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// How the output should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub width: usize,
    pub colour: bool,
    /// Whether tables are broken to the width; in a file, lines may be long.
    pub wrap: bool,
    /// Whether stderr is a terminal, where progress may be drawn over itself.
    pub live: bool,
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
    /// Why something could not be written, unless its reader went away.
    lost: Option<io::Error>,
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
            live: false,
        }
    }

    /// The look of the terminal that stdout is, or plain if it is none.
    #[must_use]
    pub fn of_terminal() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let tty = io::stdout().is_terminal();
        let columns = std::env::var("COLUMNS").ok();
        let terminal = Table::new().width().filter(|_| tty);
        Self {
            width: width(columns.as_deref(), terminal),
            colour: tty && !set("NO_COLOR"),
            wrap: tty,
            live: io::stderr().is_terminal()
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb"),
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

/// Text from outside in one line: what would steer the terminal is shown, not done.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' => shown.push_str(" ⏎ "),
            '\t' => shown.push(' '),
            c if c.is_control() || is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether nobody sees the character, or it turns text around: marks of direction, spaces without width, separators
/// of lines, tags. Joiners, which scripts need, are left alone.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The same with its lines.
pub(crate) fn lines_shown(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(one_line).collect();
    lines.join("\n")
}

/// The beginning of a text that is too long for a table.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

impl<'a> Console<'a> {
    /// A console over these streams.
    pub fn new(
        input: &'a mut dyn Read,
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
        look: Look,
    ) -> Self {
        let sink = |to| Sink {
            to,
            gone: false,
            lost: None,
        };
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
        let data = self.out.flush();
        // Nobody is left to be told if this fails.
        let _ = self.err.line(text);
        data
    }

    /// Hands everything on to its readers; the answer is why data was lost, if any was.
    pub(crate) fn finish(&mut self) -> Option<io::Error> {
        // Kept by the sink.
        let _ = self.out.flush();
        // As above.
        let _ = self.err.flush();
        self.out.lost.take()
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
            Err(error) => {
                let kind = error.kind();
                self.gone = true;
                self.lost = Some(error);
                Err(kind.into())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Columns of tables and charts: as asked for, or those of the terminal, within reason.
fn width(columns: Option<&str>, terminal: Option<u16>) -> usize {
    let asked = columns.and_then(|text| text.parse().ok());
    let width = asked.or_else(|| terminal.map(usize::from));
    width.unwrap_or(WIDTH).clamp(NARROWEST, WIDEST)
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
    fn what_steers_a_terminal_is_shown_and_not_done() {
        assert_eq!(one_line("a\x1b[2J\x07b\nc\n"), "a\\u{1b}[2J\\u{7}b ⏎ c");
        assert_eq!(one_line("a\u{202e}b\u{200d}"), "a\\u{202e}b\u{200d}");
        assert_eq!(lines_shown("a\n\x1bb"), "a\n\\u{1b}b");
        assert_eq!(
            (cut("abcd", 3), cut("abc", 3)),
            ("ab…".to_owned(), "abc".to_owned())
        );
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
    fn the_width_stays_within_reason() {
        let cases = [
            (None, None, 80),
            (None, Some(120), 120),
            (Some("100"), Some(120), 100),
            (Some("wide"), None, 80),
            (Some("1"), None, 40),
            (Some("4000000000"), None, 200),
            (None, Some(u16::MAX), 200),
        ];
        for (columns, terminal, expected) in cases {
            let found = width(columns, terminal);
            assert_eq!(found, expected, "{columns:?} {terminal:?}");
        }
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
