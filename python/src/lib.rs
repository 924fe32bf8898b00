//! The compiled half of the Python package `thalweg`: what crate `thalweg` does, as Python's values.
//!
//! It decides nothing that the command line decides: both stand on crate `thalweg`. Functions take their keyword
//! arguments as a dict, since `thalweg/__init__.py` has their signatures. Types: `thalweg/_thalweg.pyi`. Tests: `tests/`.

mod ask;
mod attend;
mod collect;
mod errors;
mod experiment;
mod foreign;
mod frames;
mod json;
mod known;
mod losses;
mod many;
mod network;
mod papers;
mod plan;
mod sweep;
mod table;
mod testbed;

/// What `thalweg/__init__.py` imports.
#[pyo3::pymodule]
mod _thalweg {
    #[pymodule_export]
    use crate::collect::{collect, collected_again, Collected};
    #[pymodule_export]
    use crate::experiment::{experiment_again, report_again, run, Experiment, Report};
    #[pymodule_export]
    use crate::known::{experiments, protocols};
    #[pymodule_export]
    use crate::losses::{losses_again, Losses};
    #[pymodule_export]
    use crate::many::{all_again, collect_all, gather, gathered_again, CollectedAll, Gathered};
    #[pymodule_export]
    use crate::network::{survey, survey_again, Survey};
    #[pymodule_export]
    use crate::papers::{judge, reproduce, reproduced_again, Reproduced};
    #[pymodule_export]
    use crate::plan::{plan, plan_again, Plan};
    #[pymodule_export]
    use crate::sweep::{columns, drawn, raise_failed, reports, run_part, sweep_of, Sweep};
    #[pymodule_export]
    use crate::table::{table_again, Table};
    #[pymodule_export]
    use crate::testbed::Testbed;
}
