//! The options of `thalweg sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use thalweg::sweep::{Axis, Format, Shard};
use thalweg_testbeds::Loss;

use super::Say;
use crate::values::{self, Seeds};

/// Run an experiment at many settings, in parts that machines share.
///
/// A point is a setting of the experiment's keys. A part is a file in one folder: the rows of one seed at as many points as take some seconds. What is there is done: killed and started again the command continues, and
/// processes and machines that share the folder share the work. More seeds and points later take what is there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg sweep p3.fig5 --over run.payload=40,80 --over run.change_db=0,3 --seeds 1..9 --out runs
  thalweg sweep mine.toml --points points.csv --out runs
  thalweg sweep p3.fig5 --over run.payload=20..118 --latin-hypercube 50 --out runs
  thalweg sweep p3.fig5 --over run.payload=40,80 --shard 3/16 --out runs    one of 16 machines
  thalweg sweep --status runs --shards 16           what is missing, and which shards have it
  thalweg sweep --results runs                      a table of what is there")]
pub(crate) struct SweepArgs {
    /// A built-in experiment (see `thalweg experiment list`) or a TOML file.
    #[arg(value_name = "EXPERIMENT|FILE", value_parser = values::name, required_unless_present_any = ["status", "results"])]
    pub(crate) experiment: Option<String>,
    /// A key of the experiment and its values, as its file says them; may be given again: each value runs with each. With
    /// --random or --latin-hypercube values may be a range, such as run.payload=40..118.
    #[arg(long, value_name = "KEY=VALUES", value_parser = values::axis)]
    pub(crate) over: Vec<Axis>,
    /// A table of points (CSV): keys in its heading, a point in each row; an empty cell leaves the experiment's value.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["over", "random", "latin_hypercube"])]
    pub(crate) points: Option<PathBuf>,
    /// Draw this many points, each by itself: drawing more later keeps these.
    #[arg(
        long,
        value_name = "N",
        requires = "over",
        conflicts_with = "latin_hypercube"
    )]
    pub(crate) random: Option<NonZeroUsize>,
    /// Draw this many points, evenly over each key's range.
    #[arg(long, value_name = "N", requires = "over")]
    pub(crate) latin_hypercube: Option<NonZeroUsize>,
    /// The seed by which points are drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) draw: u64,
    /// The seeds, both ends included, such as 1..100 or 7 [default: the experiment's, mostly 1..10].
    #[arg(long, alias = "seed", value_name = "A..B", value_parser = values::seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Lose this share of what one node sends at another, such as 3-4:0.2; may be given again.
    #[arg(long, value_name = "FROM-TO:SHARE")]
    pub(crate) loss: Vec<Loss>,
    /// Do one share of the parts: 3/16 is the third of sixteen.
    #[arg(long, value_name = "K/N", default_value_t)]
    pub(crate) shard: Shard,
    /// Do this many parts at a time [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// The format of parts: csv, or parquet if the program was built with `--features parquet`.
    #[arg(long, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
    /// The folder for parts and a manifest of what was asked.
    #[arg(long, value_name = "DIR", required_unless_present_any = ["status", "results"])]
    pub(crate) out: Option<PathBuf>,
    /// Run nothing; say which parts are missing in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "over", "points", "seeds", "loss", "out"])]
    pub(crate) status: Option<PathBuf>,
    /// Run nothing; print the experiment's results at each point, over the seeds that are there in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "over", "points", "seeds", "loss", "out", "status"])]
    pub(crate) results: Option<PathBuf>,
    /// Say also which of this many shards have parts missing.
    #[arg(long, value_name = "N", requires = "status")]
    pub(crate) shards: Option<NonZeroUsize>,
    /// Print one JSON object; of results one a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) say: Say,
}
