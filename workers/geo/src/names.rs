//! Names in SQL: which ones are allowed, and the only place that quotes them.
//!
//! What a workflow calls a table ends up in DDL, where no parameter can be bound. So a table's name is
//! checked against a narrow pattern first and quoted all the same; columns come from foreign files and
//! are made to fit instead.

use std::collections::HashSet;
use std::fmt;

use domain::failure::{Failure, FailureClass};

/// The only schema that Strata loads data into.
pub const SCHEMA: &str = "geo";
/// Longest name that Postgres keeps; what is longer would be cut silently.
pub const NAME_BYTES_MAX: usize = 63;
/// Columns that every loaded table has of its own.
pub const RESERVED: [&str; 2] = ["fid", "geom"];

/// A name as SQL wants it, whatever it holds.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "").replace('"', "\"\""))
}

/// A text as a literal of SQL, for the few statements that take no parameters.
#[must_use]
pub fn literal(text: &str) -> String {
    let text = text.replace('\0', "").replace('\'', "''");
    // The E form is read the same whatever `standard_conforming_strings` says.
    format!("E'{}'", text.replace('\\', "\\\\"))
}

/// A table of the schema `geo` whose name has been checked; shown quoted, ready for SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName(String);

impl TableName {
    /// Refuses every other schema, and names that do not match `[a-z][a-z0-9_]{0,62}`.
    pub fn new(schema: &str, table: &str) -> Result<Self, Failure> {
        if schema != SCHEMA {
            let message = format!(
                "tables live in the schema `{SCHEMA}`, not in `{}`",
                cut(schema)
            );
            return Err(Failure::new(
                FailureClass::Contract,
                "schema_name",
                &message,
            ));
        }
        if !is_name(table) {
            let message = format!(
                "`{}` cannot be the name of a table: a lower-case letter, then at most 62 lower-case \
                 letters, digits and `_`",
                cut(table)
            );
            return Err(Failure::new(FailureClass::Contract, "table_name", &message));
        }
        Ok(Self(table.to_owned()))
    }

    /// Without schema and quotes.
    #[must_use]
    pub fn bare(&self) -> &str {
        &self.0
    }

    /// Another name in the same schema that says where it comes from: cut so that `suffix` fits, with
    /// a hash when something was cut off.
    #[must_use]
    pub fn derived(&self, suffix: &str) -> Self {
        let room = NAME_BYTES_MAX.saturating_sub(suffix.len());
        if self.0.len() <= room {
            return Self(format!("{}{suffix}", self.0));
        }
        let hash = short_hash(&self.0);
        let kept: String = self.0.chars().take(room.saturating_sub(9)).collect();
        Self(format!(
            "{kept}_{}{suffix}",
            hash.get(..8).unwrap_or_default()
        ))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quoted(SCHEMA), quoted(&self.0))
    }
}

/// Whether a name matches `[a-z][a-z0-9_]{0,62}`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// Names of columns for the fields of a source, in their order: lower case, at most 63 bytes, distinct,
/// none of [`RESERVED`]. The same fields always give the same names.
#[must_use]
pub fn columns<S: AsRef<str>>(sources: &[S]) -> Vec<String> {
    let mut taken: HashSet<String> = RESERVED.iter().map(|&name| name.to_owned()).collect();
    let mut names = Vec::with_capacity(sources.len());
    for source in sources {
        let wanted = column(source.as_ref());
        let mut name = fitted(&wanted, "");
        let mut number: u32 = 2;
        while !taken.insert(name.clone()) {
            name = fitted(&wanted, &format!("_{number}"));
            number += 1;
        }
        names.push(name);
    }
    names
}

/// Letters of every alphabet stay; everything else becomes one `_`.
fn column(source: &str) -> String {
    let mut name = String::with_capacity(source.len());
    for char in source.trim().chars().flat_map(char::to_lowercase) {
        if char.is_alphanumeric() {
            name.push(char);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        None => "column".to_owned(),
        Some(first) if first.is_numeric() => format!("_{name}"),
        Some(_) => name.to_owned(),
    }
}

fn fitted(name: &str, suffix: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX.saturating_sub(suffix.len()));
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", name.get(..end).unwrap_or_default())
}

/// Enough of a SHA-256 to tell things apart that somebody names; not for secrets.
pub(crate) fn short_hash(text: &str) -> String {
    let mut hash = domain::json::sha256_hex(text.as_bytes());
    hash.truncate(16);
    hash
}

/// As much of a foreign text as a message needs.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::{TableName, columns, literal, quoted};

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        assert_eq!(
            quoted("a\"; drop table x; --"),
            "\"a\"\"; drop table x; --\""
        );
        assert_eq!(literal(r"it's \ '"), r"E'it''s \\ '''");
    }

    #[test]
    fn only_plain_names_in_the_schema_geo_are_tables() {
        let name = TableName::new("geo", "roads_2024").unwrap();
        assert_eq!(name.to_string(), "\"geo\".\"roads_2024\"");
        let long = "x".repeat(64);
        for table in [
            "",
            "Roads",
            "1roads",
            "a-b",
            "a\"b",
            "_x",
            "straße",
            long.as_str(),
        ] {
            assert_eq!(TableName::new("geo", table).unwrap_err().code, "table_name");
        }
        for schema in ["public", "dagapp", "pgstac", "GEO", ""] {
            assert_eq!(TableName::new(schema, "t").unwrap_err().code, "schema_name");
        }
    }

    #[test]
    fn a_derived_name_stays_within_the_limit_and_distinct() {
        let [a, b] = ["a", "b"].map(|last| format!("{}{last}", "x".repeat(62)));
        let [a, b] = [a, b].map(|name| TableName::new("geo", &name).unwrap().derived("_pkey"));
        assert_eq!(a.bare().len(), 63);
        assert_ne!(a, b);
        assert!(a.bare().ends_with("_pkey"));
        let short = TableName::new("geo", "t").unwrap();
        assert_eq!(short.derived("_pkey").bare(), "t_pkey");
    }

    #[test]
    fn columns_are_distinct_and_never_reserved() {
        let names = columns(&[
            "Name", "NAME", "name_2", "geom", "FID", "id", "", "  ", "2nd", "a b-c",
        ]);
        let expected = [
            "name", "name_2", "name_2_2", "geom_2", "fid_2", "id", "column", "column_2", "_2nd",
            "a_b_c",
        ];
        assert_eq!(names, expected);
        let long = columns(&["é".repeat(60), "é".repeat(60)]);
        assert!(long.iter().all(|name| name.len() <= 63));
        assert_ne!(long[0], long[1]);
    }
}
