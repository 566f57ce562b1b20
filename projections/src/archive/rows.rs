//! A group of events as columns: what is written to an archive, and read from it, at once.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use parquet::data_type::{ByteArray, FixedLenByteArray};

use crate::store::audit::EventRow;

/// Events of one group, at most.
const ROWS_MAX: usize = 16_384;
/// Bytes of one group, about; a single larger event still stands alone.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// The columns of the table `dagapp.events`, in their order.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) pos: Vec<i64>,
    pub(super) stream_id: Vec<ByteArray>,
    pub(super) version: Vec<i64>,
    pub(super) kind: Vec<ByteArray>,
    pub(super) schema_ver: Vec<i32>,
    pub(super) org_id: Vec<ByteArray>,
    pub(super) payload: Vec<ByteArray>,
    pub(super) meta: Vec<ByteArray>,
    pub(super) recorded_at: Vec<i64>,
    pub(super) leaf: Vec<FixedLenByteArray>,
    bytes: usize,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.pos.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    pub(super) fn push(&mut self, row: &EventRow<'_>) {
        let array = |bytes: &[u8]| ByteArray::from(Bytes::copy_from_slice(bytes));
        self.pos.push(row.pos);
        self.stream_id.push(array(row.stream_id.as_bytes()));
        self.version.push(row.version);
        self.kind.push(array(row.kind.as_bytes()));
        self.schema_ver.push(i32::from(row.schema_ver));
        self.org_id.push(array(row.org_id.as_bytes()));
        self.payload.push(array(row.payload));
        self.meta.push(array(row.meta));
        self.recorded_at.push(row.recorded_at.timestamp_micros());
        self.leaf.push(array(row.leaf).into());
        self.bytes += row.payload.len() + row.meta.len() + row.stream_id.len() + 100;
    }

    /// One event; nothing if it is not there, or is not what an event can be.
    pub(super) fn get(&self, nth: usize) -> Option<EventRow<'_>> {
        Some(EventRow {
            pos: *self.pos.get(nth)?,
            stream_id: text(self.stream_id.get(nth)?)?,
            version: *self.version.get(nth)?,
            kind: text(self.kind.get(nth)?)?,
            schema_ver: i16::try_from(*self.schema_ver.get(nth)?).ok()?,
            org_id: text(self.org_id.get(nth)?)?,
            payload: self.payload.get(nth)?.data(),
            meta: self.meta.get(nth)?.data(),
            recorded_at: DateTime::<Utc>::from_timestamp_micros(*self.recorded_at.get(nth)?)?,
            leaf: self.leaf.get(nth)?.data(),
        })
    }
}

fn text(array: &ByteArray) -> Option<&str> {
    std::str::from_utf8(array.data()).ok()
}
