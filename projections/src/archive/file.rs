//! Files of an archive: Parquet, readable by any program that knows the format.
//!
//! Both ways go group by group, so that memory does not depend on the file. The same events give the same bytes.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::ArchiveError;
use super::rows::Rows;
use crate::store::audit::BatchRow;

/// The columns of `dagapp.events`.
const EVENTS: &str = "message event {
    required int64 pos;
    required binary stream_id (STRING);
    required int64 version;
    required binary type (STRING);
    required int32 schema_ver (INTEGER(16, true));
    required binary org_id (STRING);
    required binary payload;
    required binary meta;
    required int64 recorded_at (TIMESTAMP(MICROS, true));
    required fixed_len_byte_array(32) leaf;
}";
/// The columns of `dagapp.log_batches` that the chain is made of.
const BATCHES: &str = "message batch {
    required int64 first_pos;
    required int64 last_pos;
    required int64 recorded_at (TIMESTAMP(MICROS, true));
    required fixed_len_byte_array(32) hash;
}";

/// A file that is being written.
pub(super) struct Writer {
    inner: SerializedFileWriter<BufWriter<File>>,
}

impl Writer {
    pub(super) fn events(path: &Path) -> Result<Self, ArchiveError> {
        Self::new(path, EVENTS)
    }

    pub(super) fn batches(path: &Path) -> Result<Self, ArchiveError> {
        Self::new(path, BATCHES)
    }

    fn new(path: &Path, schema: &str) -> Result<Self, ArchiveError> {
        let schema = Arc::new(parse_message_type(schema)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // Which build wrote it must not change its bytes.
            .set_created_by("strata".to_owned())
            .build();
        let file = File::create(path).map_err(ArchiveError::file(path))?;
        let inner = SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties))?;
        Ok(Self { inner })
    }

    pub(super) fn put_events(&mut self, rows: &Rows) -> Result<(), ArchiveError> {
        let mut group = self.inner.next_row_group()?;
        column::<Int64Type>(&mut group, &rows.pos)?;
        column::<ByteArrayType>(&mut group, &rows.stream_id)?;
        column::<Int64Type>(&mut group, &rows.version)?;
        column::<ByteArrayType>(&mut group, &rows.kind)?;
        column::<Int32Type>(&mut group, &rows.schema_ver)?;
        column::<ByteArrayType>(&mut group, &rows.org_id)?;
        column::<ByteArrayType>(&mut group, &rows.payload)?;
        column::<ByteArrayType>(&mut group, &rows.meta)?;
        column::<Int64Type>(&mut group, &rows.recorded_at)?;
        column::<FixedLenByteArrayType>(&mut group, &rows.leaf)?;
        group.close()?;
        Ok(())
    }

    pub(super) fn put_batches(&mut self, rows: &[BatchRow]) -> Result<(), ArchiveError> {
        let mut group = self.inner.next_row_group()?;
        let hash = |row: &BatchRow| row.hash.clone().into();
        let time = |row: &BatchRow| row.recorded_at.timestamp_micros();
        let of = |get: fn(&BatchRow) -> i64| rows.iter().map(get).collect::<Vec<_>>();
        column::<Int64Type>(&mut group, &of(|row| row.first_pos))?;
        column::<Int64Type>(&mut group, &of(|row| row.last_pos))?;
        column::<Int64Type>(&mut group, &rows.iter().map(time).collect::<Vec<_>>())?;
        column::<FixedLenByteArrayType>(&mut group, &rows.iter().map(hash).collect::<Vec<_>>())?;
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        self.inner.close()?;
        Ok(())
    }
}

/// The next column of a group.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    values: &[T::T],
) -> Result<(), ArchiveError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column too many".to_owned()).into());
    };
    let writer: &mut ColumnWriterImpl<'_, T> = column.typed::<T>();
    writer.write_batch(values, None, None)?;
    column.close()?;
    Ok(())
}

/// The events of an archive.
pub(super) struct Reader {
    inner: SerializedFileReader<File>,
    /// Row number of the first event of each group.
    starts: Vec<u64>,
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let file = File::open(path).map_err(ArchiveError::file(path))?;
        let inner = SerializedFileReader::new(file)?;
        let mut starts = Vec::new();
        let mut next = 0;
        for group in inner.metadata().row_groups() {
            starts.push(next);
            next += u64::try_from(group.num_rows()).unwrap_or(0);
        }
        Ok(Self { inner, starts })
    }

    pub(super) fn groups(&self) -> usize {
        self.starts.len()
    }

    /// The group that has a row.
    pub(super) fn group_of(&self, row: u64) -> usize {
        self.starts
            .partition_point(|start| *start <= row)
            .saturating_sub(1)
    }

    pub(super) fn group(&self, nth: usize) -> Result<Rows, ArchiveError> {
        let group = self.inner.get_row_group(nth)?;
        let group = group.as_ref();
        let mut rows = Rows::default();
        read::<Int64Type>(group, 0, &mut rows.pos)?;
        read::<ByteArrayType>(group, 1, &mut rows.stream_id)?;
        read::<Int64Type>(group, 2, &mut rows.version)?;
        read::<ByteArrayType>(group, 3, &mut rows.kind)?;
        read::<Int32Type>(group, 4, &mut rows.schema_ver)?;
        read::<ByteArrayType>(group, 5, &mut rows.org_id)?;
        read::<ByteArrayType>(group, 6, &mut rows.payload)?;
        read::<ByteArrayType>(group, 7, &mut rows.meta)?;
        read::<Int64Type>(group, 8, &mut rows.recorded_at)?;
        read::<FixedLenByteArrayType>(group, 9, &mut rows.leaf)?;
        Ok(rows)
    }
}

fn read<T: DataType>(
    group: &dyn RowGroupReader,
    nth: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ArchiveError> {
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut column = get_typed_column_reader::<T>(group.get_column_reader(nth)?);
    while values.len() < count {
        let (read, ..) = column.read_records(count - values.len(), None, None, values)?;
        if read == 0 {
            let short = format!("column {nth} has {} of {count} values", values.len());
            return Err(ParquetError::General(short).into());
        }
    }
    Ok(())
}
