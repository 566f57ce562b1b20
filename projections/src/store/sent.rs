//! Rows that PostgreSQL sends in the binary format of COPY: the cheapest way to read very many, on both sides.

use bytes::{Buf as _, Bytes};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::PgConnection;

use super::copy::{EPOCH_MICROS, HEADER};

/// The rows of a query, message by message: memory does not depend on how many there are.
pub(crate) struct Sent<'c> {
    messages: BoxStream<'c, sqlx::Result<Bytes>>,
    begun: bool,
}

impl<'c> Sent<'c> {
    /// Whoever does not read to the end leaves the rest to the next user of the connection.
    pub(crate) async fn of(db: &'c mut PgConnection, query: &str) -> sqlx::Result<Self> {
        let statement = format!("copy ({query}) to stdout (format binary)");
        Ok(Self {
            messages: db.copy_out_raw(&statement).await?,
            begun: false,
        })
    }

    /// Whole rows, one or more, for [`row`].
    pub(crate) async fn next(&mut self) -> sqlx::Result<Option<Bytes>> {
        let Some(mut message) = self.messages.try_next().await? else {
            return Ok(None);
        };
        if !self.begun {
            if !message.starts_with(HEADER) {
                return Err(broken());
            }
            message.advance(HEADER.len());
            self.begun = true;
        }
        Ok(Some(message))
    }
}

/// Takes the next row off; none of its columns is null. `None` after the last one.
pub(crate) fn row<'a, const N: usize>(bytes: &mut &'a [u8]) -> sqlx::Result<Option<[&'a [u8]; N]>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let count = i16::from_be_bytes(array(take(bytes, 2)?)?);
    if count == -1 {
        return Ok(None);
    }
    if usize::try_from(count) != Ok(N) {
        return Err(broken());
    }
    let mut columns: [&[u8]; N] = [&[]; N];
    for column in &mut columns {
        let len = i32::from_be_bytes(array(take(bytes, 4)?)?);
        *column = take(bytes, usize::try_from(len).map_err(|_| broken())?)?;
    }
    Ok(Some(columns))
}

pub(crate) fn text(column: &[u8]) -> sqlx::Result<&str> {
    std::str::from_utf8(column).map_err(|_| broken())
}

pub(crate) fn smallint(column: &[u8]) -> sqlx::Result<i16> {
    array(column).map(i16::from_be_bytes)
}

pub(crate) fn bigint(column: &[u8]) -> sqlx::Result<i64> {
    array(column).map(i64::from_be_bytes)
}

pub(crate) fn time(column: &[u8]) -> sqlx::Result<DateTime<Utc>> {
    let micros = bigint(column)?.checked_add(EPOCH_MICROS);
    micros
        .and_then(DateTime::from_timestamp_micros)
        .ok_or_else(broken)
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> sqlx::Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or_else(broken)?;
    *bytes = rest;
    Ok(taken)
}

fn array<const N: usize>(bytes: &[u8]) -> sqlx::Result<[u8; N]> {
    bytes.try_into().map_err(|_| broken())
}

fn broken() -> sqlx::Error {
    sqlx::Error::Protocol("PostgreSQL sent rows of COPY in an unknown form".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_postgres_documents_them() {
        let sent = [
            0, 2, 0, 0, 0, 2, b'a', b'b', 0, 0, 0, 2, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 7,
            255, 255,
        ];
        let mut rest = &sent[..];
        let [name, number] = row(&mut rest).unwrap().unwrap();
        assert_eq!(
            (text(name).unwrap(), smallint(number).unwrap()),
            ("ab", 258)
        );
        let [name, number] = row(&mut rest).unwrap().unwrap();
        assert_eq!((text(name).unwrap(), smallint(number).unwrap()), ("", 7));
        assert!(row::<2>(&mut rest).unwrap().is_none());
        assert_eq!(
            time(&1_000_005_i64.to_be_bytes()).unwrap(),
            DateTime::from_timestamp(946_684_801, 5_000).unwrap()
        );
    }

    #[test]
    fn a_row_that_is_cut_off_or_has_a_null_is_refused() {
        for sent in [
            &[0, 1, 0, 0, 0, 2, b'a'][..],
            &[0, 1, 255, 255, 255, 255],
            &[0, 2, 0, 0, 0, 0],
            &[0],
        ] {
            let mut rest = sent;
            assert!(row::<1>(&mut rest).is_err(), "{sent:?}");
        }
    }
}
