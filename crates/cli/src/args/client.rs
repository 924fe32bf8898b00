//! Options of commands for a gateway. Tests: `tests/all/help.rs`, `tests/all/gateway/client.rs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Say;
use crate::address::{Address, USUAL};

/// A gateway in place of a folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct Remote {
    /// Ask the `thalweg gateway` at this address, such as http://127.0.0.1:8654, instead of a folder.
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
    /// List what runs, what waits, and what has ended, newest first.
    List {
        /// How many that have ended.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        limit: u16,
        #[command(flatten)]
        at: At,
        /// Print a JSON array, as the gateway's API has it (docs/gateway.md).
        #[arg(long)]
        json: bool,
    },
    /// Show one job: how far it is, or how it ended.
    Show {
        /// Its number.
        #[arg(value_name = "JOB")]
        job: i64,
        #[command(flatten)]
        at: At,
        /// Print one JSON object, as the gateway's API has it.
        #[arg(long)]
        json: bool,
    },
    /// Cancel jobs; a running one ends a moment later.
    Cancel {
        /// Their numbers.
        #[arg(value_name = "JOB", required_unless_present = "group")]
        jobs: Vec<i64>,
        /// All jobs of the request whose first job this is.
        #[arg(long, value_name = "JOB", conflicts_with = "jobs")]
        group: Option<i64>,
        #[command(flatten)]
        at: At,
        /// Print a JSON array of the jobs as they are then; for a group the gateway's answer.
        #[arg(long)]
        json: bool,
    },
    /// Follow jobs until they have ended; status 1 if one brought nothing. Ctrl-C leaves them alone.
    Follow {
        /// Their numbers [default: all, new ones included, until Ctrl-C].
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
