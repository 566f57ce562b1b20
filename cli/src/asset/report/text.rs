//! Text from outside, made harmless: for HTML, for Markdown, and for a block of plain text.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

use crate::output::is_invisible;

/// Longest text that is shown in full.
const CHARS_MAX: usize = 4_000;

/// What a reader sees of one character.
enum Seen {
    Plain(char),
    /// It has no picture, or turns text around: its number is shown.
    Odd(u32),
    Break,
}

/// A time as a report shows it.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// For HTML, between tags.
pub(super) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for seen in seen(text) {
        match seen {
            Seen::Plain('&') => safe.push_str("&amp;"),
            Seen::Plain('<') => safe.push_str("&lt;"),
            Seen::Plain('>') => safe.push_str("&gt;"),
            Seen::Plain('"') => safe.push_str("&quot;"),
            Seen::Plain('\'') => safe.push_str("&#39;"),
            Seen::Plain(c) => safe.push(c),
            Seen::Break => safe.push_str("<br>"),
            // Writing to a string cannot fail.
            Seen::Odd(number) => {
                let _ = write!(safe, "<span class=\"odd\">U+{number:04X}</span>");
            }
        }
    }
    safe
}

/// For Markdown, within a line or a cell of a table.
pub(super) fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for seen in seen(text) {
        match seen {
            Seen::Plain('&') => safe.push_str("&amp;"),
            Seen::Plain('<') => safe.push_str("&lt;"),
            Seen::Plain('>') => safe.push_str("&gt;"),
            Seen::Plain(c) if "\\`*_{}[]()#+-.!|~:@".contains(c) => {
                safe.push('\\');
                safe.push(c);
            }
            Seen::Plain(c) => safe.push(c),
            Seen::Break => safe.push(' '),
            Seen::Odd(number) => {
                let _ = write!(safe, "⟨U\\+{number:04X}⟩");
            }
        }
    }
    safe
}

/// For a block or a span of code in Markdown, which knows no way to escape.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for seen in seen(text) {
        match seen {
            Seen::Plain('`') => safe.push('\''),
            Seen::Plain('|') => safe.push('¦'),
            Seen::Plain(c) => safe.push(c),
            Seen::Break => safe.push(' '),
            Seen::Odd(number) => {
                let _ = write!(safe, "⟨U+{number:04X}⟩");
            }
        }
    }
    safe
}

fn seen(text: &str) -> impl Iterator<Item = Seen> {
    let rest = text.chars().nth(CHARS_MAX).map(|_| Seen::Plain('…'));
    text.chars()
        .take(CHARS_MAX)
        .map(|c| match c {
            '\n' => Seen::Break,
            '\t' => Seen::Plain(' '),
            c if c.is_control() || is_invisible(c) => Seen::Odd(c.into()),
            c => Seen::Plain(c),
        })
        .chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_text_and_nothing_else() {
        let hostile = "<script>alert('x')</script>\u{202e}gpj.\0 \"&amp;\"";
        assert_eq!(
            html(hostile),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;<span class=\"odd\">U+202E</span>gpj.\
             <span class=\"odd\">U+0000</span> &quot;&amp;amp;&quot;"
        );
        assert_eq!(
            markdown("[a](javascript:x) <b>|`*\u{2066}\n"),
            "\\[a\\]\\(javascript\\:x\\) &lt;b&gt;\\|\\`\\*⟨U\\+2066⟩ "
        );
        assert_eq!(plain("```\n|x\u{200b}"), "''' ¦x⟨U+200B⟩");
        assert!(html(&"x".repeat(1_000_000)).len() < 5_000);
    }
}
