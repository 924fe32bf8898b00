//! Options of commands for a gateway. Tests: `tests/all/help.rs`, `tests/all/gateway/client.rs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Say;
use crate::address::{Address, USUAL};

/// A gateway that is asked in the place of a folder here.
#[derive(Debug, Clone, Args)]
pub(crate) struct Remote {
    /// Ask the `thalweg gateway` at this address, such as http://127.0.0.1:8654, in the place of a folder.
    #[arg(long, value_name = "URL", value_parser = Address::parse, conflicts_with = "store")]
    pub(crate) gateway: Option<Address>,
    /// The gateway's token, in a file [default: what THALWEG_TOKEN holds in the environment].
    #[arg(long, value_name = "FILE", requires = "gateway")]
    pub(crate) token_file: Option<PathBuf>,
}

/// The gateway that is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct At {
    /// The address of the `thalweg gateway`.
    #[arg(long, value_name = "URL", value_parser = Address::parse, default_value = USUAL)]
    pub(crate) gateway: Address,
    /// Its token, in a file [default: what THALWEG_TOKEN holds in the environment].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Jobs of a gateway: list, show, cancel, follow.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  thalweg jobs list
  thalweg jobs follow 7 --gateway http://gateway.example:8654 --token-file token
  thalweg jobs cancel 7 8
  thalweg jobs cancel --group 9

`thalweg collect --gateway URL --from NODE` asks for one.")]
pub(crate) enum JobsCommand {
    /// What runs, what waits, and what has ended, the youngest first.
    List {
        /// So many that have ended.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        limit: u16,
        #[command(flatten)]
        at: At,
        /// Print a JSON array of what the gateway tells (docs/gateway.md).
        #[arg(long)]
        json: bool,
    },
    /// One job: how far it is, or how it ended.
    Show {
        /// Its number.
        #[arg(value_name = "JOB")]
        job: i64,
        #[command(flatten)]
        at: At,
        /// Print what the gateway tells, as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Cancel jobs; one that runs ends a moment later.
    Cancel {
        /// Their numbers.
        #[arg(value_name = "JOB", required_unless_present = "group")]
        jobs: Vec<i64>,
        /// All jobs that were asked for at once with this one, which is the first of them.
        #[arg(long, value_name = "JOB", conflicts_with = "jobs")]
        group: Option<i64>,
        #[command(flatten)]
        at: At,
        /// Print a JSON array of the jobs as they are then; of a group what the gateway tells of it.
        #[arg(long)]
        json: bool,
    },
    /// Show how far jobs are until they have ended; status 1 if one brought nothing. Ctrl-C leaves them alone.
    Follow {
        /// Their numbers [default: all, those that are asked for meanwhile included, until Ctrl-C].
        #[arg(value_name = "JOB")]
        jobs: Vec<i64>,
        #[command(flatten)]
        at: At,
        /// Print a job as one JSON object, one a line, whenever it has moved.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        say: Say,
    },
}
