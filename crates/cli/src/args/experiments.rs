//! Arguments of what runs experiments and shows their results.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::Say;
use crate::values::{self, LossOn, Seeds};
use clap::{Args, Subcommand, ValueEnum};
use thalweg_units::Channel;

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// The built-in experiments.
    List {
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// One experiment's plan.
    Show {
        /// A built-in name or a TOML file.
        #[arg(value_name = "NAME|FILE", value_parser = values::name)]
        experiment: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The JSON Schema of experiments' files, for editors.
    Schema,
}

/// What `run` and `reproduce` have in common.
#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// The seeds, both ends included, such as 1..10 or 7 [default: an experiment's own, mostly 1..10].
    #[arg(long, alias = "seed", value_name = "A..B", value_parser = values::seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Use this many threads [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print the results as JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write rows (CSV, JSON), results and figures to this folder, of `reproduce` in one folder for each result.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: Say,
}

/// Run an experiment and print its results beside the paper's.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run p3.fig5
  thalweg run my-sweep.toml --seeds 1..20 --out results
  thalweg run p3.fig5 --testbed grenoble.k7.gz
  thalweg run p3.fig5 --seeds 7 --routes 1 --explain

Interrupted, by Ctrl-C or a crash, and started again it goes on: seeds that are done are kept in
the folder `runs` under --out, or under thalweg-data, until the command is finished.")]
pub(crate) struct RunArgs {
    /// A built-in experiment (see `thalweg experiment list`) or a TOML file.
    #[arg(value_name = "EXPERIMENT|FILE", value_parser = values::name)]
    pub(crate) experiment: String,
    /// Run it in this network instead of its own: a built-in name or a file.
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// The control channel, on which floods go and idle nodes listen [default: the testbed's: 26, or on measured links
    /// the one on which floods reach most nodes].
    #[arg(long, value_name = "N", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// Lose this share of what one node sends at another, such as 3-4:0.2, or by names of --testbed; may
    /// be given again. It begins after the survey, but where a whole network is emptied.
    #[arg(long, value_name = "FROM-TO:SHARE", value_parser = values::loss)]
    pub(crate) loss: Vec<LossOn>,
    /// Draw this many routes (or links, or sources) per seed [default: the experiment's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) routes: Option<u32>,
    /// Show where the transfers' packets were lost and why: in sums over all of them, and hop by hop if there
    /// are few; hop by hop for all in a JSON file, which is explain.json with --out.
    #[arg(long, value_name = "JSON", num_args = 0..=1, require_equals = true)]
    pub(crate) explain: Option<Option<PathBuf>>,
    /// How many nodes `bench.w1` has, 2 to 10000 [default: 139].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) nodes: Option<u32>,
    /// Write every frame of a convergecast's first run to this file (pcapng, for Wireshark).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runs: Runs,
}

/// Reproduce the papers' tables and figures beside what the papers report.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg reproduce                     every result of every paper
  thalweg reproduce p3.fig5 p3.table1   two of them
  thalweg reproduce p3 --report page    one paper, as a page to read
  thalweg reproduce --quick --check     a subset, for continuous integration

Interrupted and started again it goes on, as `run` does. `thalweg experiment list` tells what each
result costs.")]
pub(crate) struct ReproduceArgs {
    /// Papers (such as p3) and results (such as p3.fig5) [default: all].
    #[arg(value_name = "PAPER|ID", value_parser = values::name)]
    pub(crate) what: Vec<String>,
    /// Run few seeds and routes of each; results that take longest only if named.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Exit with status 1 if a result is outside its band and no written exception excuses it. Over
    /// three to nine seeds only if its whole 95 % interval is.
    #[arg(long)]
    pub(crate) check: bool,
    /// Write pages to this folder: index.html with all of it, and of each paper PAPER.md with its figures. What PAPER.json
    /// there has of other results of that paper stays on its page.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Simulate nothing: take rows that --out has written to this folder, and leave out results without rows.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "seeds", "jobs"])]
    pub(crate) rows: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runs: Runs,
}

/// Show what radio, bus and microcontroller of forwarding nodes do over time.
///
/// A chain forwards packets at its highest rate without loss; one packet's time is shown, beginning
/// when the source sends it: by default with copying and with conditional immediate transmission. A
/// stream sets its own pace.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg timeline                                   two hops, copying and conditional
  thalweg timeline --hops 4 --forwarding conditional --svg cit.svg
  thalweg timeline --one-channel --show 1,2 --interval-us 30000
  thalweg timeline --forwarding fastforward --hops 3        both radios, the bus, the microcontroller
  thalweg timeline --board my-board.toml --payload 40 --json")]
pub(crate) struct TimelineArgs {
    /// Hops of the chain.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub(crate) hops: u8,
    /// How relays forward; more than one for pictures below each other.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "copying,conditional"
    )]
    pub(crate) forwarding: Vec<ForwardingArg>,
    /// All hops on one channel [default: each has its own].
    #[arg(long)]
    pub(crate) one_channel: bool,
    /// The nodes' board: a built-in name or a TOML file [default: telosb-contiki; streams run on opal].
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) board: Option<String>,
    /// The network, whose first nodes are the chain [default: ring12, of streams office12].
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// Payload bytes of a packet, 0 to 117; of streams 111 at most.
    #[arg(long, value_name = "BYTES", default_value_t = 117, value_parser = clap::value_parser!(u8).range(0..=117))]
    pub(crate) payload: u8,
    /// From packet to packet, in microseconds [default: the shortest without loss].
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) interval_us: Option<u32>,
    /// How much to show, in microseconds [default: a little more than from packet to packet].
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub(crate) length_us: Option<u32>,
    /// Show only these nodes, by their place in the chain, the source being 0.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) show: Option<Vec<u8>>,
    /// Look at the channel before sending.
    #[arg(long)]
    pub(crate) cca: bool,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Draw it as an SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object for each, one a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How relays forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForwardingArg {
    /// Every packet is read out and written.
    Copying,
    /// One frame is sent again for every packet; no data moves.
    Resending,
    /// Conditional immediate transmission.
    Conditional,
    /// A stream over two radios (FastForward).
    Fastforward,
}
