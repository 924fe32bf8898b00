//! What the command line prints as JSON, as Python's own values.

use crate::errors::{bug, refused};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// `value` as dicts and lists.
pub(crate) fn python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    loaded(py, &text(value)?)
}

/// `value` as the command line prints it.
pub(crate) fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|why| bug(&why.to_string()))
}

/// The JSON `text` as dicts and lists.
pub(crate) fn loaded<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// What the JSON `text` says of a value.
///
/// # Errors
/// Where it is of another version.
pub(crate) fn said<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|why| refused(format!("a value of another version: {why}")))
}
