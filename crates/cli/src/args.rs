//! The command line: what may be typed, and its help. What a value may be: `values.rs`.
//! Tests: `tests/all/help.rs` (snapshots), `tests/all/bad_input.rs`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

mod client;
mod collect;
mod experiments;
mod fault;
mod firmware;
mod keys;
mod plan;
mod station;
mod sweep;
mod testbed;

pub(crate) use client::{At, JobsCommand, Remote};
pub(crate) use collect::CollectArgs;
pub(crate) use experiments::{
    ExperimentCommand, ForwardingArg, ReproduceArgs, RunArgs, TimelineArgs,
};
pub(crate) use fault::FaultArgs;
pub(crate) use firmware::FirmwareArgs;
pub(crate) use keys::KeysCommand;
pub(crate) use plan::PlanArgs;
#[cfg(feature = "daemon")]
pub(crate) use station::GatewayArgs;
pub(crate) use station::{BasestationArgs, CableArg};
pub(crate) use sweep::SweepArgs;
pub(crate) use testbed::TestbedCommand;

use crate::progress::Verbosity;

/// The folder for objects, their records and runs that are not finished.
pub(crate) const STORE: &str = "thalweg-data";

/// Bulk data out of IEEE 802.15.4 sensor networks at close to the radio's rate.
#[derive(Debug, Parser)]
#[command(
    name = "thalweg",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  thalweg collect                       a 59 kB object out of a simulated 139-node building
  thalweg collect --testbed links.csv   the same over links that you measured
  thalweg gateway                       a daemon with a page, beside a simulated network
  thalweg testbed list                  the networks that are built in
  thalweg reproduce p3                  the results of a paper, beside what it reports

Exit status: 0 done, 1 the job failed, 2 bad usage or bad input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How much a command prints while it runs.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Say {
    /// Print nothing but errors on standard error.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print every step on standard error, a line each.
    #[arg(short, long)]
    verbose: bool,
}

impl Say {
    pub(crate) const fn verbosity(self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, false) => Verbosity::Normal,
            (false, true) => Verbosity::Verbose,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Collect(Box<CollectArgs>),
    Plan(Box<PlanArgs>),
    #[cfg(feature = "daemon")]
    Gateway(GatewayArgs),
    Basestation(BasestationArgs),
    Firmware(FirmwareArgs),
    #[command(subcommand)]
    Keys(KeysCommand),
    /// List the protocols and the options of each.
    Protocols {
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Collected objects: list, show, take out, check.
    #[command(subcommand)]
    Objects(ObjectsCommand),
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Networks: list and show them, import links.
    #[command(subcommand)]
    Testbed(TestbedCommand),
    /// Experiments: list them, show one, print their schema.
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    Run(RunArgs),
    Sweep(SweepArgs),
    Reproduce(ReproduceArgs),
    Fault(FaultArgs),
    Timeline(TimelineArgs),
    /// Completions for a shell.
    #[command(after_help = "\
Examples:
  source <(thalweg completions bash)
  thalweg completions zsh > ~/.zfunc/_thalweg
  thalweg completions fish > ~/.config/fish/completions/thalweg.fish")]
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Manual pages: `thalweg`'s on standard output, or all in a folder.
    Man {
        /// The folder for `thalweg.1`, `thalweg-collect.1` and so on.
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ObjectsCommand {
    /// What `thalweg collect` has stored, or a gateway.
    List {
        /// The folder of objects and their records.
        #[arg(long = "out", value_name = "DIR", default_value = "thalweg-data")]
        store: PathBuf,
        #[command(flatten)]
        remote: Remote,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// One object: where it is, what brought it; with --json the transfer's whole report.
    Show {
        /// Its id, the first digits of its SHA-256, or the name of the file that was sent.
        #[arg(value_name = "OBJECT")]
        object: String,
        /// The folder of objects and their records.
        #[arg(long = "out", value_name = "DIR", default_value = "thalweg-data")]
        store: PathBuf,
        #[command(flatten)]
        remote: Remote,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Copy objects out of the store, under the names of the files that were sent.
    #[command(after_help = "\
Examples:
  thalweg objects export                  all, into the folder exported/
  thalweg objects export photo.jpg 12 --into .")]
    Export {
        /// Ids, first digits of SHA-256, or names of files that were sent [default: all].
        #[arg(value_name = "OBJECT")]
        objects: Vec<String>,
        /// The folder to copy them to.
        #[arg(long, value_name = "DIR", default_value = "exported")]
        into: PathBuf,
        /// Replace files that hold other bytes.
        #[arg(long)]
        force: bool,
        /// The folder of objects and their records.
        #[arg(long = "out", value_name = "DIR", default_value = "thalweg-data")]
        store: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Delete objects for good; their records stay.
    #[command(after_help = "\
Examples:
  thalweg objects delete 12 photo.jpg
  thalweg objects delete 12 --gateway http://127.0.0.1:8654")]
    Delete {
        /// Ids, first digits of SHA-256, or names of files that were sent.
        #[arg(value_name = "OBJECT", required = true)]
        objects: Vec<String>,
        /// The folder of objects and their records.
        #[arg(long = "out", value_name = "DIR", default_value = "thalweg-data")]
        store: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Check that every object is still what was stored; status 1 if one is not.
    Verify {
        /// The folder of objects and their records.
        #[arg(long = "out", value_name = "DIR", default_value = "thalweg-data")]
        store: PathBuf,
        #[command(flatten)]
        remote: Remote,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl ObjectsCommand {
    /// The gateway that is asked, if one is.
    pub(crate) const fn remote(&self) -> &Remote {
        match self {
            Self::List { remote, .. }
            | Self::Show { remote, .. }
            | Self::Export { remote, .. }
            | Self::Delete { remote, .. }
            | Self::Verify { remote, .. } => remote,
        }
    }
}
