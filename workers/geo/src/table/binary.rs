//! Rows in the binary format of COPY: nothing is turned into text and parsed back on the other side.

use domain::failure::{Failure, FailureClass};
use sqlx::PgConnection;
use sqlx::postgres::PgCopyIn;

use crate::names::cut;
use crate::sql::failed;
use crate::vector::{Cell, Column, ColumnKind, Row};

/// Sent at once: large enough for few system calls, small beside a chunk of rows.
const SEND_BYTES: usize = 1024 * 1024;
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Of a value, above which Postgres refuses it anyway.
const VALUE_BYTES_MAX: usize = 1024 * 1024 * 1024 - 1024;

/// A COPY under way. Dropped before its end it leaves a connection that must not be used again: call
/// [`CopyIn::abort`] on every early way out.
pub(crate) struct CopyIn<'c> {
    copy: PgCopyIn<&'c mut PgConnection>,
    pub(crate) buffer: Buffer,
}

impl<'c> CopyIn<'c> {
    /// `into` is a table and its columns, quoted.
    pub(crate) async fn begin(conn: &'c mut PgConnection, into: &str) -> Result<Self, Failure> {
        let statement = format!("COPY {into} FROM STDIN (FORMAT binary)");
        let copy = conn.copy_in_raw(&statement).await;
        let mut buffer = Buffer(Vec::with_capacity(SEND_BYTES + SEND_BYTES / 4));
        buffer.0.extend_from_slice(SIGNATURE);
        Ok(Self {
            copy: copy.map_err(failed("cannot begin to copy"))?,
            buffer,
        })
    }

    /// Sends what has gathered, if it is worth it.
    pub(crate) async fn flush(&mut self) -> Result<(), Failure> {
        if self.buffer.0.len() >= SEND_BYTES {
            self.send().await?;
        }
        Ok(())
    }

    /// How many rows were copied.
    pub(crate) async fn finish(mut self) -> Result<u64, sqlx::Error> {
        self.buffer.0.extend_from_slice(&(-1_i16).to_be_bytes());
        if let Err(error) = self.copy.send(self.buffer.0.as_slice()).await {
            // What the server had against it is a better answer than the broken pipe.
            return self.copy.finish().await.and(Err(error));
        }
        self.copy.finish().await
    }

    pub(crate) async fn abort(self, why: Failure) -> Failure {
        // The server answers an abort with an error, which is what we asked for.
        let _ = self.copy.abort(&why.code).await;
        why
    }

    async fn send(&mut self) -> Result<(), Failure> {
        let sent = self.copy.send(self.buffer.0.as_slice()).await;
        sent.map_err(failed("cannot copy rows"))?;
        self.buffer.0.clear();
        Ok(())
    }
}

/// Rows that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// Begins a row of so many fields.
    pub(crate) fn row(&mut self, fields: usize) {
        // Tables have at most 1600 columns.
        let fields = i16::try_from(fields).unwrap_or(i16::MAX);
        self.0.extend_from_slice(&fields.to_be_bytes());
    }

    pub(crate) fn null(&mut self) {
        self.0.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.0.extend_from_slice(&2_i32.to_be_bytes());
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&4_i32.to_be_bytes());
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&8_i32.to_be_bytes());
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, prefix: &[u8], value: &[u8]) -> Result<(), Failure> {
        let length = prefix.len() + value.len();
        let length = i32::try_from(length).ok();
        let Some(length) = length.filter(|_| value.len() <= VALUE_BYTES_MAX) else {
            let message = "a value of more than a gigabyte cannot be stored";
            return Err(Failure::new(
                FailureClass::Permanent,
                "value_too_large",
                message,
            ));
        };
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(prefix);
        self.0.extend_from_slice(value);
        Ok(())
    }

    /// A feature: its number, its values in the order of `columns`, its geometry.
    pub(crate) fn feature(&mut self, columns: &[Column], row: &Row) -> Result<(), Failure> {
        if row.cells.len() != columns.len() {
            let message = format!(
                "feature {} has {} values for {} columns",
                row.fid,
                row.cells.len(),
                columns.len()
            );
            return Err(Failure::new(FailureClass::Contract, "row_shape", &message));
        }
        self.row(columns.len() + 2);
        self.i64(row.fid);
        for (column, cell) in columns.iter().zip(&row.cells) {
            self.cell(column, cell, row.fid)?;
        }
        match &row.geometry {
            Some(ewkb) => self.bytes(&[], ewkb),
            None => {
                self.null();
                Ok(())
            }
        }
    }

    /// The server takes the bytes for what the column is, so a value of another kind must never get
    /// there: eight bytes of a float are a fine integer.
    fn cell(&mut self, column: &Column, cell: &Cell, fid: i64) -> Result<(), Failure> {
        match (column.kind, cell) {
            (_, Cell::Null) => self.null(),
            (ColumnKind::Integer, Cell::Integer(value)) => self.i32(*value),
            (ColumnKind::BigInt, Cell::BigInt(value)) => self.i64(*value),
            (ColumnKind::BigInt, Cell::Integer(value)) => self.i64(i64::from(*value)),
            (ColumnKind::Real, Cell::Real(value)) => self.bytes(&[], &value.to_be_bytes())?,
            (ColumnKind::Real, Cell::Integer(value)) => {
                self.bytes(&[], &f64::from(*value).to_be_bytes())?;
            }
            (ColumnKind::Boolean, Cell::Boolean(value)) => self.bytes(&[], &[u8::from(*value)])?,
            (ColumnKind::Date, Cell::Date(days)) => self.i32(*days),
            (ColumnKind::Time, Cell::Time(micros))
            | (ColumnKind::DateTime, Cell::DateTime(micros)) => self.i64(*micros),
            (ColumnKind::Binary, Cell::Binary(value)) => self.bytes(&[], value)?,
            (ColumnKind::Text, Cell::Text(value)) => self.text(value)?,
            (ColumnKind::Json, Cell::Json(value)) => self.json(column, value, fid)?,
            (kind, other) => {
                let message = format!(
                    "feature {fid} has {} in the column `{}`, which is {kind:?}",
                    cut(&format!("{other:?}")),
                    column.name
                );
                return Err(Failure::new(FailureClass::Contract, "cell_type", &message));
            }
        }
        Ok(())
    }

    /// Postgres keeps no U+0000, which old shapefiles pad their texts with.
    fn text(&mut self, value: &str) -> Result<(), Failure> {
        if value.contains('\0') {
            return self.bytes(&[], value.replace('\0', "").as_bytes());
        }
        self.bytes(&[], value.as_bytes())
    }

    /// Read once here, because one bad value would stop the whole chunk without a name.
    fn json(&mut self, column: &Column, value: &str, fid: i64) -> Result<(), Failure> {
        let read: Result<serde_json::Value, _> = serde_json::from_str(value);
        let read = read.map_err(|error| {
            let message = format!(
                "feature {fid} has no JSON in the column `{}`: {error}",
                column.name
            );
            Failure::new(FailureClass::Permanent, "cell_json", &message)
        })?;
        // The format of `jsonb` begins with its version.
        self.bytes(&[1], domain::json::clean(read).to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use crate::vector::{Cell, Column, ColumnKind, Row};

    fn column(kind: ColumnKind) -> Column {
        Column {
            source: "A".to_owned(),
            name: "a".to_owned(),
            kind,
        }
    }

    fn encoded(kind: ColumnKind, cell: Cell) -> Result<Vec<u8>, String> {
        let mut buffer = Buffer::default();
        let done = buffer.cell(&column(kind), &cell, 7);
        done.map(|()| buffer.0).map_err(|failure| failure.code)
    }

    #[test]
    fn values_have_the_bytes_that_postgres_expects() {
        let cases = [
            (ColumnKind::Text, Cell::Null, vec![255, 255, 255, 255]),
            (
                ColumnKind::Integer,
                Cell::Integer(-2),
                vec![0, 0, 0, 4, 255, 255, 255, 254],
            ),
            (
                ColumnKind::BigInt,
                Cell::Integer(1),
                vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1],
            ),
            (
                ColumnKind::Real,
                Cell::Real(1.0),
                vec![0, 0, 0, 8, 63, 240, 0, 0, 0, 0, 0, 0],
            ),
            (
                ColumnKind::Boolean,
                Cell::Boolean(true),
                vec![0, 0, 0, 1, 1],
            ),
            (
                ColumnKind::Text,
                Cell::Text("a\0ü".to_owned()),
                vec![0, 0, 0, 3, 97, 195, 188],
            ),
            (
                ColumnKind::Json,
                Cell::Json("[ 1 ]".to_owned()),
                b"\0\0\0\x04\x01[1]".to_vec(),
            ),
        ];
        for (kind, cell, bytes) in cases {
            assert_eq!(encoded(kind, cell).unwrap(), bytes);
        }
    }

    #[test]
    fn a_value_of_another_kind_never_reaches_the_server() {
        let real = encoded(ColumnKind::BigInt, Cell::Real(1.0));
        assert_eq!(real.unwrap_err(), "cell_type");
        let text = encoded(ColumnKind::Json, Cell::Json("{".to_owned()));
        assert_eq!(text.unwrap_err(), "cell_json");
    }

    #[test]
    fn a_row_without_geometry_ends_with_null() {
        let row = Row {
            fid: 1,
            geometry: None,
            cells: vec![Cell::Date(3)],
        };
        let mut buffer = Buffer::default();
        buffer.feature(&[column(ColumnKind::Date)], &row).unwrap();
        let expected = [
            &[0, 3][..],
            &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 4, 0, 0, 0, 3],
            &[255, 255, 255, 255],
        ];
        assert_eq!(buffer.0, expected.concat());
        assert_eq!(buffer.feature(&[], &row).unwrap_err().code, "row_shape");
    }
}
