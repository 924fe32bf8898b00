//! The compiled half of the Python package `thalweg`: what crate `thalweg` does, as Python's values.
//!
//! It decides nothing that the command line decides: both stand on crate `thalweg`. Functions take their keyword
//! arguments as a dict, since `thalweg/__init__.py` has their signatures. Types: `thalweg/_thalweg.pyi`. Tests: `tests/`.

mod ask;
mod attend;
mod errors;
mod experiment;
mod frames;
mod json;
mod losses;
mod network;
mod table;
mod testbed;

/// What `thalweg/__init__.py` imports.
#[pyo3::pymodule]
mod _thalweg {
    #[pymodule_export]
    use crate::experiment::{run, Experiment, Report};
    #[pymodule_export]
    use crate::losses::Losses;
    #[pymodule_export]
    use crate::network::{collect, plan, survey, Collected, Plan, Survey};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::testbed::Testbed;
}
