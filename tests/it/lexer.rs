//! Rust text as the checks of the house read it.
//!
//! This is a lexer of the few things that matter to them (comments, literals, paths), not a parser:
//! it takes any text and never fails.

/// A path such as `std::fs::read`, one segment per element, and the line it is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
}

impl Mention {
    /// Whether the segments of `rule` occur in a row: `Utc::now` in `chrono::Utc::now`.
    pub(crate) fn contains(&self, rule: &str) -> bool {
        let rule: Vec<&str> = rule.split("::").collect();
        self.segments
            .windows(rule.len())
            .any(|window| window == rule)
    }
}

/// `text` with comments and the contents of literals turned into spaces; lines stay where they are.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_hidden(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|&c| if c == '\n' { c } else { ' ' }),
            );
            at = end;
        }
    }
    code
}

/// Every path in `code` (see [`code_only`]); `use a::{b, c::d}` mentions `a::b` and `a::c::d`.
pub(crate) fn mentions(code: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut prefix: Vec<String> = Vec::new();
    // Where the prefix of each open `{` ends; `None` for a brace that opens no group of paths.
    let mut groups: Vec<Option<usize>> = Vec::new();
    let group_length = |groups: &[Option<usize>]| groups.last().copied().flatten().unwrap_or(0);
    let mut tokens = tokens(code).peekable();
    while let Some((line, token)) = tokens.next() {
        match token.as_str() {
            "::" => {}
            "{" => groups.push((!prefix.is_empty()).then_some(prefix.len())),
            "}" => {
                groups.pop();
                prefix.truncate(group_length(&groups));
            }
            name if is_name(name) => {
                prefix.push(token);
                let goes_on = tokens.peek().is_some_and(|(_, next)| next == "::");
                if !goes_on {
                    found.push(Mention {
                        line,
                        segments: prefix.clone(),
                    });
                    prefix.truncate(group_length(&groups));
                }
            }
            _ => {
                // The end of `a::*` or `a::<T>`.
                if prefix.len() > group_length(&groups) {
                    found.push(Mention {
                        line,
                        segments: prefix.clone(),
                    });
                }
                prefix.truncate(group_length(&groups));
            }
        }
    }
    found
}

/// Where the comment or literal that starts at `at` ends, or `at` if none starts there.
fn end_of_hidden(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let previous_is_name = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let length = match rest {
        ['/', '/', ..] => rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment_length(rest),
        ['"', ..] => quoted_length(rest, '"'),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => quoted_length(rest, '\''),
        ['r', '"' | '#', ..] if !previous_is_name => raw_string_length(rest),
        ['b' | 'c', 'r', '"' | '#', ..] if !previous_is_name => 1 + raw_string_length(&rest[1..]),
        _ => 0,
    };
    at + length
}

fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Zero for `r#name`, which is no string.
fn raw_string_length(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    let body = 1 + hashes;
    if rest.get(body) != Some(&'"') {
        return 0;
    }
    let closes = |at: usize| {
        rest[at] == '"'
            && rest[at + 1..]
                .iter()
                .take(hashes)
                .filter(|&&c| c == '#')
                .count()
                == hashes
    };
    (body + 1..rest.len())
        .find(|&at| closes(at))
        .map_or(rest.len(), |at| at + 1 + hashes)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single other characters, each with its line; space is left out.
fn tokens(code: &str) -> impl Iterator<Item = (usize, String)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        let mut found = Vec::new();
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let in_name = |c: char| c.is_alphanumeric() || c == '_';
            let length = if in_name(first) {
                rest.find(|c| !in_name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.push((index + 1, rest[..length].to_owned()));
            rest = rest[length..].trim_start();
        }
        found
    })
}

#[test]
fn comments_and_literals_are_not_code() {
    let text = concat!(
        "a // b\n/* c /* d */\n e */ f(\"g \\\" // h\", 'i', '\\'', '\"');\n",
        "r#\"j \" k\"# br\"l\" r#m 'n: loop {} o\n",
    );
    let words: Vec<String> = tokens(&code_only(text))
        .filter(|(_, token)| is_name(token))
        .map(|(line, token)| format!("{token}{line}"))
        .collect();
    assert_eq!(words, ["a1", "f3", "r4", "m4", "n4", "loop4", "o4"]);
}

#[test]
fn groups_of_imports_are_taken_apart() {
    let code = "use std::{fs, time::{Instant as Now, SystemTime}};\nuse a::*; b::c(d::<e::f>())";
    let paths: Vec<String> = mentions(code)
        .iter()
        .filter(|mention| mention.segments.len() > 1)
        .map(|mention| format!("{} {}", mention.line, mention.segments.join("::")))
        .collect();
    let times = [
        "1 std::time::Instant",
        "1 std::time::as",
        "1 std::time::Now",
    ];
    let expected = [
        &["1 std::fs"],
        &times[..],
        &["1 std::time::SystemTime", "2 b::c", "2 e::f"],
    ];
    assert_eq!(paths, expected.concat());
    assert!(
        mentions(code)
            .iter()
            .any(|mention| mention.segments == ["a"])
    );
}
