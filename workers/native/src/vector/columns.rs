//! Names and kinds of the columns of a table, from the fields of a layer.

use std::collections::HashSet;

use domain::failure::Failure;
use gdal_sys::{OGRFieldSubType, OGRFieldType};
use geo::vector::{Column, ColumnKind};

use crate::failure::permanent;
use crate::ffi::feature::Field;

/// PostgreSQL has no more; the number and the geometry of the feature take two of them.
const COLUMNS_MAX: usize = 1600 - 2;
/// PostgreSQL cuts longer names, and two could become one.
const NAME_BYTES_MAX: usize = 63;
const RESERVED: &[&str] = &["fid", "geom"];

/// The columns for these fields, in their order.
pub(super) fn columns(fields: &[Field], shown: &str) -> Result<Vec<Column>, Failure> {
    if fields.len() > COLUMNS_MAX {
        return Err(permanent(
            "too_many_columns",
            &format!(
                "`{shown}` has {} columns; a table takes {COLUMNS_MAX}. Leave some out.",
                fields.len()
            ),
        ));
    }
    let mut taken: HashSet<String> = RESERVED.iter().map(|name| (*name).to_owned()).collect();
    let column = |(index, field): (usize, &Field)| {
        let name = distinct(&clean(&field.name, index), &mut taken);
        Column {
            source: field.name.clone(),
            name,
            kind: kind(field),
        }
    };
    Ok(fields.iter().enumerate().map(column).collect())
}

/// The kind that takes every value of the field.
fn kind(field: &Field) -> ColumnKind {
    match (field.kind, field.subkind) {
        (OGRFieldType::OFTInteger, OGRFieldSubType::OFSTBoolean) => ColumnKind::Boolean,
        (OGRFieldType::OFTInteger, _) => ColumnKind::Integer,
        (OGRFieldType::OFTInteger64, _) => ColumnKind::BigInt,
        (OGRFieldType::OFTReal, _) => ColumnKind::Real,
        (OGRFieldType::OFTString, OGRFieldSubType::OFSTJSON) => ColumnKind::Json,
        (OGRFieldType::OFTDate, _) => ColumnKind::Date,
        (OGRFieldType::OFTTime, _) => ColumnKind::Time,
        (OGRFieldType::OFTDateTime, _) => ColumnKind::DateTime,
        (OGRFieldType::OFTBinary, _) => ColumnKind::Binary,
        (
            OGRFieldType::OFTIntegerList
            | OGRFieldType::OFTInteger64List
            | OGRFieldType::OFTRealList
            | OGRFieldType::OFTStringList,
            _,
        ) => ColumnKind::Json,
        _ => ColumnKind::Text,
    }
}

/// Lower case, without what would need care in quotes.
fn clean(name: &str, index: usize) -> String {
    let safe = |c: char| {
        if c.is_control() || matches!(c, '"' | '\'' | '\\' | '\u{FFFD}') {
            '_'
        } else {
            c
        }
    };
    let name: String = name.trim().to_lowercase().chars().map(safe).collect();
    if name.is_empty() {
        return format!("column_{}", index + 1);
    }
    cut(&name, NAME_BYTES_MAX).to_owned()
}

/// The name, or the name with the first ending that nobody has.
fn distinct(name: &str, taken: &mut HashSet<String>) -> String {
    let endings = std::iter::once(String::new())
        .chain(RESERVED.contains(&name).then(|| "_".to_owned()))
        .chain((2_u32..).map(|number| format!("_{number}")));
    for ending in endings {
        let start = cut(name, NAME_BYTES_MAX - ending.len());
        let candidate = format!("{start}{ending}");
        if taken.insert(candidate.clone()) {
            return candidate;
        }
    }
    name.to_owned()
}

/// At most so many bytes, never half a character.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sources: &[&str]) -> Vec<String> {
        let field = |name: &&str| Field {
            name: (*name).to_owned(),
            kind: OGRFieldType::OFTString,
            subkind: OGRFieldSubType::OFSTNone,
        };
        let fields: Vec<Field> = sources.iter().map(field).collect();
        let columns = columns(&fields, "a.gpkg").unwrap();
        columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn names_are_safe_distinct_and_never_reserved() {
        let found = names(&[
            "Name", "NAME", "name_2", "fid", "GEOM", "geom_", "", "a\"b", "id",
        ]);
        assert_eq!(
            found,
            [
                "name", "name_2", "name_2_2", "fid_", "geom_", "geom__2", "column_7", "a_b", "id"
            ]
        );
    }

    #[test]
    fn long_names_are_cut_between_characters_and_stay_distinct() {
        let long = "ü".repeat(60);
        let found = names(&[&long, &long]);
        assert_eq!(found[0], "ü".repeat(31));
        assert_eq!(found[1], format!("{}_2", "ü".repeat(30)));
        assert!(found.iter().all(|name| name.len() <= 63));
    }

    #[test]
    fn more_columns_than_a_table_takes_are_refused() {
        let field = |index: usize| Field {
            name: format!("c{index}"),
            kind: OGRFieldType::OFTInteger,
            subkind: OGRFieldSubType::OFSTNone,
        };
        let fields: Vec<Field> = (0..1599).map(field).collect();
        assert_eq!(
            columns(&fields, "a.csv").unwrap_err().code,
            "too_many_columns"
        );
        assert!(columns(&fields[..1598], "a.csv").is_ok());
    }
}
