//! What goes wrong, as Python's exceptions: one line, and the place that it is about. The classes are in
//! `thalweg/_errors.py`. Tests: `tests/test_errors.py`.

use pyo3::exceptions::PyOSError;
use pyo3::import_exception;
use pyo3::prelude::*;
use std::io;
use std::path::Path;
use thalweg::Error;
use thalweg_host::store::plain;
use thalweg_lab::experiment::Refused;
use thalweg_testbeds::{Location, TestbedError};

import_exception!(thalweg._errors, InputError);
import_exception!(thalweg._errors, JobError);
import_exception!(thalweg._errors, Bug);

/// What was asked cannot be: `line` says of `place` why.
pub(crate) fn input(place: &str, line: &str) -> PyErr {
    InputError::new_err((one_line(line), Some(place.to_owned())))
}

/// What should not happen did.
pub(crate) fn bug(line: &str) -> PyErr {
    Bug::new_err(one_line(line))
}

/// What came of writing to `path`: Python's own exception, which names it.
pub(crate) fn written(path: &Path, done: io::Result<()>) -> PyResult<()> {
    done.map_err(|why| {
        let (code, text) = (why.raw_os_error(), plain(&why));
        PyOSError::new_err((code, text, path.as_os_str().to_owned()))
    })
}

/// An input that is not as it should be, where its text names the place.
pub(crate) fn refused(why: impl std::fmt::Display) -> PyErr {
    InputError::new_err((one_line(&why.to_string()), None::<String>))
}

/// The exception that `error` of the library is.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Testbed(why) => of_testbed(&why),
        Error::NotTaken { option, protocol } => {
            let option = argument(option);
            input(
                &option,
                &format!("{option} is not for protocol {protocol:?}"),
            )
        }
        Error::Option { option, why } => {
            let option = argument(option);
            input(&option, &format!("{option}: {why}"))
        }
        Error::Refused { experiment, why } => {
            let (Refused::NotUsed(option) | Refused::Value(option, _)) = &why;
            let (typed, option) = (option.to_string(), argument(&option.to_string()));
            let why = why.to_string().replacen(&typed, &option, 1);
            input(&option, &format!("{experiment}: {why}"))
        }
        Error::Job(line) => JobError::new_err(one_line(&line)),
        Error::Stopped => JobError::new_err("stopped"),
        error => refused(error),
    }
}

fn of_testbed(why: &TestbedError) -> PyErr {
    let place = match &why.place {
        Location::Whole => why.source_name.clone(),
        Location::Line(line) => format!("line {line}"),
        Location::Cell { line, column } => format!("line {line}, column {column}"),
        Location::Row(row) => format!("row {row}"),
        Location::Key(key) => key.clone(),
    };
    input(&place, &shortened(&why.to_string()))
}

/// The argument that the library calls `option`.
fn argument(option: &str) -> String {
    match option {
        "from" => "source".to_owned(),
        "to" => "sink".to_owned(),
        "age" | "idle" | "patience" | "at" => format!("{option}_s"),
        "loss" => "losses".to_owned(),
        "all-nodes" => "collect_all".to_owned(),
        option => option.replace('-', "_"),
    }
}

/// The first lines of `text`: rows of a table that are all wrong are wrong in the same way.
fn shortened(text: &str) -> String {
    const LINES: usize = 3;
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push("and more");
    }
    lines.join("\n")
}

/// `text` in one line.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
