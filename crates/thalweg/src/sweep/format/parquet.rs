//! Rows as Apache Parquet, without Arrow: one group of rows, a column for each of theirs, none of which must have a value.

use super::Columns;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use thalweg_lab::results::{ColumnKind, Row, Value};

/// `rows` as a file with `columns`.
pub(super) fn encoded(columns: &Columns, rows: &[Row]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|(name, kind)| field(name, *kind));
    let schema = Type::group_type_builder("rows")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    // A version would make the same rows other bytes; the manifest has it.
    let properties = WriterProperties::builder().set_created_by("thalweg".to_owned());
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for (name, kind) in columns {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        let cells = || rows.iter().map(|row| row.0.get(name));
        match kind {
            ColumnKind::Whole => fill::<Int64Type>(&mut column, cells().map(whole)),
            ColumnKind::Number => {
                fill::<DoubleType>(&mut column, cells().map(|cell| cell?.number()))
            }
            ColumnKind::YesNo => {
                let yes = |cell| whole(cell).map(|n| n != 0);
                fill::<BoolType>(&mut column, cells().map(yes))
            }
            ColumnKind::Text => {
                let text = |cell: Option<&Value>| Some(ByteArray::from(&*cell?.to_string()));
                fill::<ByteArrayType>(&mut column, cells().map(text))
            }
        }?;
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// The rows of `file`.
pub(super) fn decoded(file: &Path) -> Result<Vec<Row>> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let mut rows = Vec::new();
    for found in reader.get_row_iter(None)? {
        let mut row = Row::new();
        for (name, cell) in found?.get_column_iter() {
            match cell {
                Field::Long(n) => row.set(name, Value::Whole(*n)),
                Field::Double(x) => row.set(name, *x),
                Field::Bool(yes) => row.set(name, u32::from(*yes)),
                Field::Str(text) => row.set(name, text.as_str()),
                _ => {}
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

fn field(name: &str, kind: ColumnKind) -> Result<TypePtr> {
    let (physical, logical) = match kind {
        ColumnKind::Whole => (Physical::INT64, None),
        ColumnKind::Number => (Physical::DOUBLE, None),
        ColumnKind::YesNo => (Physical::BOOLEAN, None),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.build()?))
}

const fn whole(cell: Option<&Value>) -> Option<i64> {
    match cell {
        Some(Value::Whole(n)) => Some(*n),
        _ => None,
    }
}

/// Writes `cells` to `column`; those that are none are null.
fn fill<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_is_read_again_with_its_types() {
        let rows = [
            Row::new()
                .with("a", 40u64)
                .with("b", 0.1 + 0.2)
                .with("d", 1u64),
            // Whole where it might have been a number, and a name that is not ASCII.
            Row::new().with("b", 3u64).with("c", "Zürich"),
        ];
        let columns = [
            ("a", ColumnKind::Whole),
            ("b", ColumnKind::Number),
            ("c", ColumnKind::Text),
            ("d", ColumnKind::YesNo),
            ("e", ColumnKind::Text),
        ];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).into();
        let bytes = encoded(&columns, &rows).unwrap();
        assert_eq!(bytes, encoded(&columns, &rows).unwrap());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let read = decoded(file.path()).unwrap();
        assert_eq!(read[0], rows[0]);
        assert_eq!(read[1], Row::new().with("b", 3.0).with("c", "Zürich"));
    }
}
