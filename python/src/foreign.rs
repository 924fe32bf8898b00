//! Tables of other libraries, row by row: whatever has the Arrow PyCapsule interface, or columns by name.
//! Tests: `tests/test_testbed.py`, `tests/test_experiments.py`.

use crate::errors::input;
use crate::table::STREAM;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Int8Type,
    UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use thalweg::Row;
use thalweg_lab::results::Value;

/// Whether a column counts: others may hold times, lists or whatever.
pub(crate) type Counts = fn(&str) -> bool;

/// The rows of `table`, each with the columns in which it has a number or a text.
///
/// # Errors
/// `what` it was to be, where it is no table; a column that counts and holds something else.
pub(crate) fn rows(what: &str, table: &Bound<'_, PyAny>, counts: Counts) -> PyResult<Vec<Row>> {
    match table.hasattr("__arrow_c_stream__")? {
        true => match of_stream(table, counts) {
            // pandas has the interface, and needs pyarrow for it.
            Err(why) if is_import_error(table, &why) => of_columns(what, table, counts),
            rows => rows,
        },
        false => of_columns(what, table, counts),
    }
}

fn is_import_error(table: &Bound<'_, PyAny>, why: &PyErr) -> bool {
    why.is_instance_of::<pyo3::exceptions::PyImportError>(table.py())
}

fn of_stream(table: &Bound<'_, PyAny>, counts: Counts) -> PyResult<Vec<Row>> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: by the interface a capsule of this name holds a stream, which stays there until the capsule goes. It is
    // moved out: what is left is a released stream, that the capsule's destructor leaves alone.
    #[allow(unsafe_code)]
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr())
    };
    let unread = |why: arrow_schema::ArrowError| input("the table", &why.to_string());
    let mut rows = Vec::new();
    for batch in reader.map_err(unread)? {
        add(&mut rows, &batch.map_err(unread)?, counts)?;
    }
    Ok(rows)
}

/// Adds the rows of `batch`.
fn add(rows: &mut Vec<Row>, batch: &RecordBatch, counts: Counts) -> PyResult<()> {
    let first = rows.len();
    rows.resize(first + batch.num_rows(), Row::new());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let name = field.name();
        let values = match values(column) {
            Some(values) => values,
            None if !counts(name) => continue,
            None => {
                let kind = column.data_type();
                let line = format!("column {name}: expected numbers or texts, got {kind}");
                return Err(input(name, &line));
            }
        };
        for (row, value) in rows.iter_mut().skip(first).zip(values) {
            row.set_some(name, value);
        }
    }
    Ok(())
}

/// The values of `column`; none where it has neither numbers nor texts.
fn values(column: &ArrayRef) -> Option<Vec<Option<Value>>> {
    macro_rules! numbers {
        ($Type:ty, $value:expr) => {
            column
                .as_primitive::<$Type>()
                .iter()
                .map(|v| v.map($value))
                .collect()
        };
    }
    let text = |text: Option<&str>| text.map(Value::from);
    Some(match column.data_type() {
        DataType::Int8 => numbers!(Int8Type, |n| Value::Whole(n.into())),
        DataType::Int16 => numbers!(Int16Type, |n| Value::Whole(n.into())),
        DataType::Int32 => numbers!(Int32Type, |n| Value::Whole(n.into())),
        DataType::Int64 => numbers!(Int64Type, Value::Whole),
        DataType::UInt8 => numbers!(UInt8Type, |n| Value::Whole(n.into())),
        DataType::UInt16 => numbers!(UInt16Type, |n| Value::Whole(n.into())),
        DataType::UInt32 => numbers!(UInt32Type, |n| Value::Whole(n.into())),
        DataType::UInt64 => numbers!(UInt64Type, Value::from),
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().iter();
            values.map(|v| v.and_then(|x| number(x.into()))).collect()
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>().iter();
            values.map(|v| v.and_then(number)).collect()
        }
        // DuckDB's literals are decimals.
        DataType::Decimal128(_, scale) => {
            let unit = 10f64.powi((*scale).into());
            numbers!(Decimal128Type, |n| Value::Number(n as f64 / unit))
        }
        DataType::Boolean => {
            let values = column.as_boolean().iter();
            values
                .map(|v| v.map(|yes| Value::Whole(yes.into())))
                .collect()
        }
        DataType::Utf8 => column.as_string::<i32>().iter().map(text).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(text).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(text).collect(),
        DataType::Null => vec![None; column.len()],
        DataType::Dictionary(_, _) => {
            let column = column.as_any_dictionary_opt()?;
            let known = values(column.values())?;
            let of = |key: usize| known.get(key).cloned().flatten();
            let keys = column.normalized_keys();
            let nulls = column.nulls();
            let is_null = |row| nulls.is_some_and(|nulls| nulls.is_null(row));
            let keys = keys.into_iter().enumerate();
            keys.map(|(row, key)| (!is_null(row)).then(|| of(key)).flatten())
                .collect()
        }
        _ => return None,
    })
}

/// A number; pandas writes NaN for none.
fn number(x: f64) -> Option<Value> {
    (!x.is_nan()).then_some(Value::Number(x))
}

/// The rows of a mapping of names to columns, as a dict of lists or a DataFrame.
fn of_columns(what: &str, table: &Bound<'_, PyAny>, counts: Counts) -> PyResult<Vec<Row>> {
    let unfit = || {
        let kind = table
            .get_type()
            .name()
            .map_or_else(|_| "it".to_owned(), |n| n.to_string());
        let is_lazy = table.hasattr("collect").unwrap_or(false);
        let hint = if is_lazy { ": collect it first" } else { "" };
        input(
            what,
            &format!("{what}: expected a table, or a dict of columns; {kind} is neither{hint}"),
        )
    };
    let names = table.try_iter().map_err(|_| unfit())?;
    let mut rows: Vec<Row> = Vec::new();
    let mut length = None;
    for name in names {
        let name = name.and_then(|name| name.extract::<String>());
        let name = name.map_err(|_| unfit())?;
        let column = table.get_item(&name).map_err(|_| unfit())?;
        let mut count = 0;
        for value in column.try_iter().map_err(|_| unfit())? {
            let value = match cell(&value?) {
                Some(value) => value,
                None if !counts(&name) => None,
                None => {
                    let line = format!("column {name}, row {count}: expected a number or a text");
                    return Err(input(&format!("row {count}"), &line));
                }
            };
            if rows.len() == count {
                rows.push(Row::new());
            }
            if let Some(row) = rows.get_mut(count) {
                row.set_some(&name, value);
            }
            count += 1;
        }
        if *length.get_or_insert(count) != count {
            return Err(input(
                &name,
                &format!("column {name} has {count} rows, others have {}", rows.len()),
            ));
        }
    }
    Ok(rows)
}

/// A value of Python's: none of NaN and None.
#[allow(clippy::option_option)]
fn cell(value: &Bound<'_, PyAny>) -> Option<Option<Value>> {
    if value.is_none() {
        return Some(None);
    }
    if let Ok(n) = value.extract::<i64>() {
        return Some(Some(Value::Whole(n)));
    }
    if let Ok(x) = value.extract::<f64>() {
        return Some(number(x));
    }
    value.extract::<String>().ok().map(|text| Some(text.into()))
}
