//! Sweeps: an experiment at many points with many seeds, in parts that are files of one folder.
//!
//! ```
//! # fn main() -> Result<(), thalweg::Error> {
//! use std::ops::ControlFlow::Continue;
//! use thalweg::sweep::{points, Axis, Design, Folder, Program, Sweep};
//! use thalweg::Experiment;
//! # let dir = tempfile::tempdir().map_err(|why| thalweg::Error::Job(why.to_string()))?;
//! # let (out, exe) = (dir.path().join("runs"), std::env::current_exe().unwrap_or_default());
//! let program = Program::of(&exe).map_err(|why| thalweg::Error::Job(why.to_string()))?;
//! let axes = [Axis::parse("run.hops=[2],[3]")?, Axis::parse("run.payload=40,80")?];
//! let experiment = Experiment::load("cit.bounds").map_err(|why| thalweg::Error::Input(why.to_string()))?;
//! let sweep = Sweep::new(experiment, points(&axes, Design::Grid, 1)?, (1..=3).collect(), program)?;
//! let folder = Folder::of(&out, &sweep)?;
//! for task in folder.missing() {
//!     let made = task.run(folder.path(), sweep.program(), &|_| Continue(()))?;
//!     task.write(folder.path(), &made)?;
//! }
//! assert_eq!(Folder::of(&out, &sweep)?.missing().count(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! A part is one seed and some points, whose file is there whole or not at all: what is there is done, whoever did it. So a
//! killed sweep goes on, several processes and machines share a folder, and a second run costs a listing. A point that fails
//! leaves the others of its part alone: instead of its rows the file has why, and its name says so. Seeds are
//! outermost: the first seeds of all points are there before the next. Time base: none; rows depend on experiment, point
//! and seed alone. Tests: beside each file, `crates/cli/tests/all/sweep.rs`, `.ci/sweep.py`.

mod ask;
mod files;
mod folder;
mod format;
mod networks;
mod points;
mod read;
mod task;
mod work;

pub use ask::{Sweep, MAX_RUNS};
pub use folder::{Folder, Status};
pub use format::Format;
pub use networks::Networks;
pub use points::{points, table, Axis, Design, Values, MAX_POINTS};
pub use task::{Failed, Keys, Made, Point, Task};
pub use thalweg_lab::experiment::Program;
pub use work::{run, Outcome, Shard, Step, StepObserver};
