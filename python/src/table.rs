//! Tables: columns of one type each, handed to polars, DuckDB, pandas or pyarrow by the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), and taken from them by it.
//! Absent is null. Tests: `tests/test_tables.py`.

use crate::errors::{bug, refused};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The name of a capsule with a stream, by the interface.
pub(crate) const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// So many rows are shown in a notebook.
const SHOWN: usize = 10;

/// A table. `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)`, `pyarrow.table(table)` and a DuckDB query that
/// names it take it as it is; `to_dicts()` needs none of them.
#[pyclass(frozen, subclass, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let fields = self.batch.schema_ref().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }
    /// The units of the columns that have one.
    #[getter]
    fn units(&self) -> BTreeMap<String, String> {
        self.said(UNIT)
    }
    /// What the columns say, of those that are described.
    #[getter]
    fn about(&self) -> BTreeMap<String, String> {
        self.said(ABOUT)
    }
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = self.batch.column_by_name(column);
        let found = found.ok_or_else(|| {
            let names = self.columns().join(", ");
            PyKeyError::new_err(format!("no column {column:?}; there are {names}"))
        })?;
        (0..found.len()).map(|row| cell(py, found, row)).collect()
    }
    /// The rows, each as a dict; what is absent is None.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        let names = self.columns();
        for row in 0..self.batch.num_rows() {
            let dict = PyDict::new(py);
            for (name, column) in names.iter().zip(self.batch.columns()) {
                dict.set_item(name, cell(py, column, row)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }
    /// The table as a stream of one batch, by the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that casts nothing give its own schema.
        drop(requested_schema);
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<Sent<'py>>,))> {
        Ok((again(py, "table_again")?, (self.sent(py)?,)))
    }
    fn __repr__(&self) -> String {
        format!(
            "<thalweg.Table of {} rows: {}>",
            self.batch.num_rows(),
            self.columns().join(", ")
        )
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut html = String::from("<table><thead><tr>");
        for name in self.columns() {
            // Writing to a string does not fail.
            let _ = write!(html, "<th>{}</th>", escaped(&name));
        }
        html.push_str("</tr></thead><tbody>");
        let rows = self.batch.num_rows();
        for row in 0..rows.min(SHOWN) {
            html.push_str("<tr>");
            for column in self.batch.columns() {
                let text = match column.is_null(row) {
                    true => String::new(),
                    false => cell(py, column, row)?.str()?.to_string(),
                };
                let _ = write!(html, "<td>{}</td>", escaped(&text));
            }
            html.push_str("</tr>");
        }
        let _ = write!(html, "</tbody></table><p>{rows} rows</p>");
        Ok(html)
    }
}

impl Table {
    /// Its columns as lists, by name.
    pub(crate) fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lists = PyDict::new(py);
        for name in self.columns() {
            lists.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(lists)
    }
    /// Its columns on their way to another process.
    pub(crate) fn sent<'py>(&self, py: Python<'py>) -> PyResult<Vec<Sent<'py>>> {
        let sent = |field: &Arc<Field>| {
            Ok(Sent {
                name: field.name().clone(),
                kind: field.data_type().to_string(),
                said: field.metadata().clone().into_iter().collect(),
                values: self.__getitem__(py, field.name())?.into_pyobject(py)?,
            })
        };
        self.batch.schema_ref().fields().iter().map(sent).collect()
    }
    /// What the columns' metadata have under `key`.
    fn said(&self, key: &str) -> BTreeMap<String, String> {
        let fields = self.batch.schema_ref().fields().iter();
        let said = fields.filter_map(|f| Some((f.name().clone(), f.metadata().get(key)?.clone())));
        said.collect()
    }
}

/// A column on its way to another process.
#[derive(IntoPyObject, FromPyObject)]
pub(crate) struct Sent<'py> {
    #[pyo3(item)]
    name: String,
    #[pyo3(item)]
    kind: String,
    #[pyo3(item)]
    said: BTreeMap<String, String>,
    #[pyo3(item)]
    values: Bound<'py, PyAny>,
}

/// The function of the compiled half that makes again what was pickled.
pub(crate) fn again<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("thalweg._thalweg")?.getattr(name)
}

/// Makes again what was pickled.
#[pyfunction]
pub(crate) fn table_again(columns: Vec<Sent<'_>>) -> PyResult<Table> {
    let mut table = Columns::default();
    for Sent {
        name,
        kind,
        said,
        values,
    } in columns
    {
        table = match &*kind {
            "Int64" => table.whole(&name, values.extract::<Vec<_>>()?.into_iter()),
            "Float64" => table.numbers(&name, values.extract::<Vec<_>>()?.into_iter()),
            "Boolean" => table.flags(&name, values.extract::<Vec<_>>()?.into_iter()),
            "Utf8" => table.texts::<String>(&name, values.extract::<Vec<_>>()?.into_iter()),
            "Binary" => table.bytes::<Vec<u8>>(&name, values.extract::<Vec<_>>()?.into_iter()),
            kind => {
                return Err(refused(format!(
                    "a table of another version: column {name} of {kind}"
                )))
            }
        };
        if let Some(about) = said.get(ABOUT) {
            table = table.described(said.get(UNIT).map(String::as_str), about);
        }
    }
    table.table()
}

/// Keys of a column's metadata.
const UNIT: &str = "unit";
const ABOUT: &str = "about";

/// `text` within HTML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// The value of `column` in `row`; None where there is none.
fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Boolean => {
            let flag = column.as_boolean().value(row).into_pyobject(py)?;
            flag.to_owned().into_any()
        }
        DataType::Utf8 => column
            .as_string::<i32>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
        other => return Err(bug(&format!("a column of {other}"))),
    })
}

/// Columns on their way to a [`Table`].
#[derive(Default)]
pub(crate) struct Columns(Vec<(Field, ArrayRef)>);

impl Columns {
    /// And whole numbers.
    pub(crate) fn whole(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.and(name, Arc::new(Int64Array::from_iter(values)))
    }
    /// And numbers.
    pub(crate) fn numbers(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.and(name, Arc::new(Float64Array::from_iter(values)))
    }
    /// And texts.
    pub(crate) fn texts<T: AsRef<str>>(
        self,
        name: &str,
        values: impl Iterator<Item = Option<T>>,
    ) -> Self {
        self.and(name, Arc::new(StringArray::from_iter(values)))
    }
    /// And yes or no.
    pub(crate) fn flags(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.and(name, Arc::new(BooleanArray::from_iter(values)))
    }
    /// And bytes.
    pub(crate) fn bytes<T: AsRef<[u8]>>(
        self,
        name: &str,
        values: impl Iterator<Item = Option<T>>,
    ) -> Self {
        self.and(name, Arc::new(BinaryArray::from_iter(values)))
    }
    fn and(mut self, name: &str, values: ArrayRef) -> Self {
        let field = Field::new(name, values.data_type().clone(), true);
        self.0.push((field, values));
        self
    }
    /// The last column has `unit`, and says `about`.
    pub(crate) fn described(mut self, unit: Option<&str>, about: &str) -> Self {
        let of = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let said = unit
            .map(|unit| (UNIT, unit))
            .into_iter()
            .chain([(ABOUT, about)]);
        if let Some((field, _)) = self.0.last_mut() {
            field.set_metadata(said.map(of).collect::<BTreeMap<_, _>>());
        }
        self
    }
    /// The table.
    ///
    /// # Errors
    /// A bug where columns are of different lengths.
    pub(crate) fn table(self) -> PyResult<Table> {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = self.0.into_iter().unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Ok(Table {
            batch: batch.map_err(|why| bug(&why.to_string()))?,
        })
    }
}
