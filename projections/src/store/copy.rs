//! Rows in the binary format of COPY: what PostgreSQL takes fastest, for tables that are filled from nothing.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

/// Signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: &[u8] = &[0xff, 0xff];
const NULL: &[u8] = &[0xff; 4];
/// From 1970 to 2000, where the time of PostgreSQL begins.
pub(super) const EPOCH_MICROS: i64 = 946_684_800_000_000;
/// Bytes of one message, at most.
const MESSAGE_BYTES: usize = 256 * 1024;

/// Rows of one table that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    bytes: Vec<u8>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Begins a row of so many columns, all of which must follow.
    pub(crate) fn row(&mut self, columns: u16) -> &mut Self {
        self.bytes.extend_from_slice(&columns.to_be_bytes());
        self
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.field(&[value.as_bytes()])
    }

    pub(crate) fn maybe_text(&mut self, value: Option<&str>) -> &mut Self {
        self.maybe(value, Self::text)
    }

    /// Text that says a value of JSON.
    pub(crate) fn json(&mut self, value: Option<&str>) -> &mut Self {
        // Version 1 of the format of jsonb.
        self.maybe(value, |rows, text| rows.field(&[&[1], text.as_bytes()]))
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.field(&[value])
    }

    pub(crate) fn smallint(&mut self, value: i16) -> &mut Self {
        self.field(&[&value.to_be_bytes()])
    }

    pub(crate) fn int(&mut self, value: i32) -> &mut Self {
        self.field(&[&value.to_be_bytes()])
    }

    pub(crate) fn maybe_int(&mut self, value: Option<i32>) -> &mut Self {
        self.maybe(value, Self::int)
    }

    pub(crate) fn bigint(&mut self, value: i64) -> &mut Self {
        self.field(&[&value.to_be_bytes()])
    }

    pub(crate) fn maybe_bigint(&mut self, value: Option<i64>) -> &mut Self {
        self.maybe(value, Self::bigint)
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.field(&[&[u8::from(value)]])
    }

    pub(crate) fn maybe_uuid(&mut self, value: Option<Uuid>) -> &mut Self {
        self.maybe(value, |rows, id| rows.field(&[id.as_bytes()]))
    }

    pub(crate) fn time(&mut self, value: DateTime<Utc>) -> &mut Self {
        self.bigint(value.timestamp_micros() - EPOCH_MICROS)
    }

    pub(crate) fn maybe_time(&mut self, value: Option<DateTime<Utc>>) -> &mut Self {
        self.maybe(value, Self::time)
    }

    fn maybe<T>(
        &mut self,
        value: Option<T>,
        write: impl FnOnce(&mut Self, T) -> &mut Self,
    ) -> &mut Self {
        match value {
            Some(value) => write(self, value),
            None => {
                self.bytes.extend_from_slice(NULL);
                self
            }
        }
    }

    fn field(&mut self, parts: &[&[u8]]) -> &mut Self {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        // A value that long is refused by the database, whatever is said here.
        let len = i32::try_from(len).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&len.to_be_bytes());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self
    }

    /// Writes them by `statement`, and keeps their room for the next ones.
    pub(crate) async fn write(
        &mut self,
        db: &mut PgConnection,
        statement: &str,
    ) -> sqlx::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut copy = db.copy_in_raw(statement).await?;
        copy.send(HEADER).await?;
        for message in self.bytes.chunks(MESSAGE_BYTES) {
            copy.send(message).await?;
        }
        copy.send(END).await?;
        copy.finish().await?;
        self.bytes.clear();
        Ok(())
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_as_postgres_documents_it() {
        let mut rows = Rows::default();
        let at = DateTime::from_timestamp(946_684_801, 5_000).unwrap();
        rows.row(4)
            .text("ab")
            .maybe_int(None)
            .time(at)
            .json(Some("{}"));
        let mut expected = vec![0, 4, 0, 0, 0, 2, b'a', b'b', 255, 255, 255, 255, 0, 0, 0, 8];
        expected.extend_from_slice(&1_000_005_i64.to_be_bytes());
        expected.extend_from_slice(&[0, 0, 0, 3, 1, b'{', b'}']);
        assert_eq!(rows.bytes, expected);
    }
}
