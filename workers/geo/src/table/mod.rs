//! Loading layers into PostGIS: prepare, copy chunk after chunk, finish.
//!
//! A load never touches the table that readers see until it is whole. Its chunks go into a staging table
//! that bears the load's id; `finish` puts it in the table's place in one transaction. So:
//! - a crash in the middle leaves the old table, and the next attempt goes on with what is staged;
//! - a chunk that is sent again replaces itself, by feature number, and needs no list of what was sent;
//! - rows that the source no longer has are gone, because they were never staged;
//! - rows need no column that says which load they came with, and the fast path has no dead rows.
//!
//! The newest load of a table wins: it drops what older ones had staged, and those are told so
//! (`load_superseded`).

pub(crate) mod binary;
mod finish;
mod held;
mod load;
pub(crate) mod marker;

use domain::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};

use crate::names::{NAME_BYTES_MAX, RESERVED, TableName, cut, quoted, short_hash};
use crate::vector::{Column, ColumnKind};

pub use finish::{Loaded, describe, finish};
pub use held::{Held, held};
pub use load::{Prepared, copy_chunk, discard, prepare};

/// Types of geometry that a column may be declared with.
const GEOMETRY_TYPES: [&str; 8] = [
    "Geometry",
    "Point",
    "LineString",
    "Polygon",
    "MultiPoint",
    "MultiLineString",
    "MultiPolygon",
    "GeometryCollection",
];

/// Where a load goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Always `geo`.
    pub schema: String,
    pub table: String,
    /// Without `fid` and `geom`, which every table has.
    pub columns: Vec<Column>,
    /// As PostGIS names it: `MultiPolygon`, `Geometry`, ...
    pub geometry_type: String,
    pub srid: i32,
    pub has_z: bool,
    /// What a retry of the same load has in common with its first attempt, and no other load has: job,
    /// node, and the hash of the source, since a changed source is another load.
    pub load_id: String,
}

/// What the comment of a loaded table says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shape {
    /// Of everything that makes two tables hold the same kind of rows.
    hash: String,
    /// The load whose rows it holds.
    load: String,
    geometry: String,
    columns: Vec<Column>,
}

impl Target {
    /// The table's checked name; every statement begins here.
    fn name(&self) -> Result<TableName, Failure> {
        TableName::new(&self.schema, &self.table)
    }

    /// Where this load gathers its rows.
    fn staging(&self, table: &TableName) -> Result<TableName, Failure> {
        let load = short_hash(&self.load_id);
        TableName::new(&self.schema, &format!("{}{load}", staging_prefix(table)))
    }

    fn check(&self) -> Result<(), Failure> {
        let refused = |message: &str| Failure::new(FailureClass::Contract, "table_target", message);
        if !GEOMETRY_TYPES.contains(&self.geometry_type.as_str()) {
            let message = format!("`{}` is no type of geometry", cut(&self.geometry_type));
            return Err(refused(&message));
        }
        if !(0..=999_999).contains(&self.srid) {
            return Err(refused("the CRS has no number that PostGIS knows"));
        }
        if self.load_id.is_empty() || self.load_id.len() > 200 {
            return Err(refused("a load needs an id of at most 200 bytes"));
        }
        if self.columns.len() > 1_500 {
            return Err(refused("a table has at most 1500 columns"));
        }
        let mut names: Vec<&str> = RESERVED.to_vec();
        for column in &self.columns {
            let name = column.name.as_str();
            let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('\0');
            if !fits || names.contains(&name) {
                let message = format!("`{}` cannot be the name of another column", cut(name));
                return Err(refused(&message));
            }
            names.push(name);
        }
        Ok(())
    }

    fn shape(&self) -> Shape {
        let geometry = self.geometry();
        let columns: Vec<(&str, &str)> = self
            .columns
            .iter()
            .map(|column| (column.name.as_str(), sql_type(column.kind)))
            .collect();
        Shape {
            hash: short_hash(&format!("{geometry} {columns:?}")),
            load: self.load_id.clone(),
            geometry,
            columns: self.columns.clone(),
        }
    }

    /// `MultiPolygonZ,4326`
    fn geometry(&self) -> String {
        let z = if self.has_z { "Z" } else { "" };
        format!("{}{z},{}", self.geometry_type, self.srid)
    }

    /// The body of `create table`.
    fn definition(&self) -> String {
        let mut lines = vec!["fid bigint primary key".to_owned()];
        for column in &self.columns {
            lines.push(format!(
                "{} {}",
                quoted(&column.name),
                sql_type(column.kind)
            ));
        }
        lines.push(format!("geom public.geometry({})", self.geometry()));
        lines.join(", ")
    }

    /// In the order of [`binary::Buffer::feature`].
    fn column_list(&self) -> String {
        let mut names = vec!["fid".to_owned()];
        names.extend(self.columns.iter().map(|column| quoted(&column.name)));
        names.push("geom".to_owned());
        names.join(", ")
    }
}

/// What staging tables of all loads of a table begin with.
fn staging_prefix(table: &TableName) -> String {
    format!("load_{}_", short_hash(table.bare()))
}

fn sql_type(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "integer",
        ColumnKind::BigInt => "bigint",
        ColumnKind::Real => "double precision",
        ColumnKind::Text => "text",
        ColumnKind::Boolean => "boolean",
        ColumnKind::Date => "date",
        ColumnKind::Time => "time",
        ColumnKind::DateTime => "timestamptz",
        ColumnKind::Binary => "bytea",
        ColumnKind::Json => "jsonb",
    }
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::vector::{Column, ColumnKind};

    fn target() -> Target {
        let column = |name: &str, kind| Column {
            source: name.to_uppercase(),
            name: name.to_owned(),
            kind,
        };
        Target {
            schema: "geo".to_owned(),
            table: "roads".to_owned(),
            columns: vec![
                column("na\"me", ColumnKind::Text),
                column("at", ColumnKind::DateTime),
            ],
            geometry_type: "MultiLineString".to_owned(),
            srid: 4326,
            has_z: true,
            load_id: "job-1".to_owned(),
        }
    }

    #[test]
    fn a_table_is_defined_with_quoted_columns() {
        assert_eq!(
            target().definition(),
            "fid bigint primary key, \"na\"\"me\" text, \"at\" timestamptz, \
             geom public.geometry(MultiLineStringZ,4326)"
        );
        assert_eq!(target().column_list(), "fid, \"na\"\"me\", \"at\", geom");
    }

    #[test]
    fn the_shape_depends_on_what_rows_can_be_and_on_nothing_else() {
        let hash = target().shape().hash;
        let other = |change: fn(&mut Target)| {
            let mut target = target();
            change(&mut target);
            target.shape().hash
        };
        assert_eq!(hash, other(|target| target.load_id = "job-2".to_owned()));
        assert_eq!(
            hash,
            other(|target| target.columns[0].source = "x".to_owned())
        );
        assert_ne!(hash, other(|target| target.srid = 3857));
        assert_ne!(hash, other(|target| target.has_z = false));
        assert_ne!(
            hash,
            other(|target| target.columns[1].kind = ColumnKind::Date)
        );
        assert_ne!(hash, other(|target| target.columns.reverse()));
    }

    #[test]
    fn loads_of_a_table_stage_apart_and_below_one_prefix() {
        let table = target().name().unwrap();
        let first = target().staging(&table).unwrap();
        let other = Target {
            load_id: "job-2".to_owned(),
            ..target()
        };
        let second = other.staging(&table).unwrap();
        assert_ne!(first, second);
        for staging in [first, second] {
            assert!(staging.bare().starts_with(&super::staging_prefix(&table)));
        }
    }

    #[test]
    fn what_cannot_be_a_table_is_refused() {
        let code = |change: fn(&mut Target)| {
            let mut target = target();
            change(&mut target);
            target.check().unwrap_err().code
        };
        assert!(target().check().is_ok());
        let cases: [fn(&mut Target); 6] = [
            |target| target.geometry_type = "Polygon); drop table x; --".to_owned(),
            |target| target.srid = -1,
            |target| target.load_id.clear(),
            |target| target.columns[0].name = "geom".to_owned(),
            |target| target.columns[0].name = "at".to_owned(),
            |target| target.columns[0].name.clear(),
        ];
        for case in cases {
            assert_eq!(code(case), "table_target");
        }
    }
}
