//! The command line: what may be typed, and its help. What a value may be: `values.rs`.
//! Tests: `tests/all/help.rs` (snapshots), `tests/all/bad_input.rs`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use thalweg_host::registry::Protocol;
use thalweg_testbeds::Loss;
use thalweg_units::{Channel, Duration};

mod client;
mod fault;
mod firmware;
mod keys;
mod plan;
mod station;
mod sweep;
mod testbed;

pub(crate) use client::{At, JobsCommand, Remote};
pub(crate) use fault::FaultArgs;
pub(crate) use firmware::FirmwareArgs;
pub(crate) use keys::KeysCommand;
pub(crate) use plan::PlanArgs;
#[cfg(feature = "daemon")]
pub(crate) use station::GatewayArgs;
pub(crate) use station::{BasestationArgs, CableArg};
pub(crate) use sweep::SweepArgs;
pub(crate) use testbed::TestbedCommand;

use crate::address::Address;
use crate::progress::Verbosity;
use crate::values::{self, List, Node, Seeds};

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

/// Fetch an object from a node to the base station, verify it and store it.
///
/// The network is simulated, or a replay of links that were measured: no motes are needed. With --port it is behind
/// a base station's line (docs/line.md). It measures its own links, the planner picks node-distinct routes, a flood installs them, the object moves and is repaired until it is whole. The object is stored under --out with a record
/// in the database there. Progress is shown on standard error, the result on standard output.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg collect --from 93 --to 1 --seed 7
  thalweg collect --file photo.jpg --channels 15,20,25,26 --pcap air.pcapng
  thalweg collect --testbed grenoble.k7.gz --json > result.json
  thalweg collect --seed 7 --explain=map.svg
  thalweg collect --protocol p3-best    the fastest
  thalweg collect --all-nodes           every node in turn; goes on when started again
  thalweg collect --all-nodes --to 1,93 the same into two base stations at once
  thalweg collect --protocol rcrt --testbed rcrt40 --all-nodes --policy weighted:7=2
  thalweg collect --port /dev/ttyUSB0 --testbed site.toml --from 12     over a base station's serial line
  thalweg collect --gateway http://127.0.0.1:8654 --from 12     by a `thalweg gateway` that runs")]
pub(crate) struct CollectArgs {
    /// The network: a built-in name (see `thalweg testbed list`), a testbed TOML, a K7 link trace
    /// or a CSV of links (`src,dst,channel,prr[,rssi_dbm]`); `-` is standard input.
    #[arg(long, value_name = "NAME|FILE", default_value = "indriya", value_parser = values::name)]
    pub(crate) testbed: String,
    /// The node that has the object, by its number or the name in its file [default: the planner picks a far one]; with
    /// --protocol rcrt several, such as 3,7,12, whose objects come at once.
    #[arg(long, value_name = "NODE[,NODE]", value_delimiter = ',', value_parser = values::number_or_name)]
    pub(crate) from: Vec<Node>,
    /// The base station [default: the testbed's]; with --all-nodes several, such as 1,50: then
    /// transfers run at once, one into each, over nodes and channels of their own.
    #[arg(long, value_name = "NODE[,NODE]", value_delimiter = ',', value_parser = values::number_or_name)]
    pub(crate) to: Vec<Node>,
    /// Send this file.
    #[arg(long, value_name = "FILE", conflicts_with = "bytes")]
    pub(crate) file: Option<PathBuf>,
    /// Send this many random bytes, such as 59000, 64k or 1Mi [default: 59000].
    #[arg(long, value_name = "N", value_parser = values::bytes)]
    pub(crate) bytes: Option<u32>,
    /// How the object travels. `rcrt` is `rcrt-steady`: its sink lowers rates to what arrives. `rcrt-published` lowers
    /// them as the paper does, which is what experiments call `rcrt`.
    #[arg(long, value_name = "PROTOCOL", default_value = "thalweg", value_parser = values::Protocols::All)]
    pub(crate) protocol: &'static Protocol,
    /// The channels to use, such as 15,20,25,26 or 11-26 [default: the planner picks].
    #[arg(long, value_name = "LIST", value_parser = values::channels)]
    pub(crate) channels: Option<List<Channel>>,
    /// The control channel, on which floods go and idle nodes listen [default: the testbed's: 26, or on measured links
    /// the one on which floods reach most nodes].
    #[arg(long, value_name = "N", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// Object bytes in a packet, 1 to 118 [default: as many as a frame of the protocol holds; of rcrt 64].
    #[arg(long, value_name = "BYTES", value_parser = values::payload)]
    pub(crate) payload: Option<u8>,
    /// Who gets how much of the network (rcrt): fair, demand-proportional, demand-limited, weighted:7=2,12=0.5
    /// (all others 1) or priority:7=1 (all others 0) [default: fair].
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// Packets per second that each source wants (rcrt) [default: 1].
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(crate) demand: Option<f64>,
    /// What happens to nodes on the way (rcrt), as `[[incident]] at = "500 s"`, `what = "dies"` or "starts",
    /// `node = 7` in a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Use at most this many node-distinct paths [default: all of the chosen length].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) paths: Option<u8>,
    /// Use paths of exactly this many hops [default: the shortest with enough paths].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) hops: Option<u8>,
    /// Lose this share of what one node sends at another, such as 3-4:0.2; may be given again. It
    /// begins after the survey: no plan knows of it.
    #[arg(long, value_name = "FROM-TO:SHARE")]
    pub(crate) loss: Vec<Loss>,
    /// Let this pass between survey and transfer, such as 90s, 15min, 2h or 1day; links change meanwhile
    /// [default: none].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) age: Option<Duration>,
    /// The network has been idle for this long, such as 7days: its nodes sleep and must be woken first
    /// [default: they have just been switched on].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) idle: Option<Duration>,
    /// The simulated nodes have keys: they act on sealed orders alone, and objects travel encrypted (thalweg,
    /// hop-by-hop).
    #[arg(long, conflicts_with_all = ["gateway", "port"])]
    pub(crate) secure: bool,
    /// Go on measuring links for this long, in the network's time, while no working route leads to a node (thalweg,
    /// hop-by-hop) [default: 12h for a node that was heard, or where links come and go; 30min for another, which is
    /// probably off].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) patience: Option<Duration>,
    /// Survey this long after the beginning of a K7 trace of several visits [default: drawn by the seed].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) at: Option<Duration>,
    /// The seed of everything random; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Fetch from every node in turn; interrupted and started again it continues. With --protocol rcrt from all
    /// at once.
    #[arg(long, conflicts_with = "from")]
    pub(crate) all_nodes: bool,
    /// Do it in the network behind this base station: a serial port, the pseudo-terminal of `thalweg basestation`, or
    /// tcp:HOST:PORT. --testbed names its nodes, --bytes the length that a plan expects.
    #[arg(long, value_name = "PORT", requires = "testbed", conflicts_with_all = ["file", "loss", "age", "idle", "at", "pcap", "explain", "to", "control_channel", "scenario"])]
    pub(crate) port: Option<String>,
    /// The speed of the serial port.
    #[arg(long, value_name = "BAUD", default_value_t = 1_000_000, requires = "port", value_parser = clap::value_parser!(u32).range(1_200..=12_000_000))]
    pub(crate) baud: u32,
    /// Have the `thalweg gateway` at this address fetch it, such as http://127.0.0.1:8654; its configuration says how.
    /// Ctrl-C cancels the job.
    #[arg(long, value_name = "URL", value_parser = Address::parse, conflicts_with_all = ["testbed", "to", "file", "bytes",
        "protocol", "channels", "control_channel", "payload", "policy", "demand", "scenario", "paths", "hops", "loss", "age", "patience", "at", "seed",
        "port", "baud", "pcap", "explain", "force"])]
    pub(crate) gateway: Option<Address>,
    /// The station that has the nodes, if the gateway has several [default: with --all-nodes all of them].
    #[arg(long, value_name = "NAME", requires = "gateway")]
    pub(crate) station: Option<String>,
    /// Jobs with a higher number go first, -128 to 127.
    #[arg(
        long,
        value_name = "N",
        requires = "gateway",
        allow_negative_numbers = true,
        default_value_t = 0
    )]
    pub(crate) priority: i8,
    /// The gateway's token, in a file [default: what THALWEG_TOKEN holds in the environment].
    #[arg(long, value_name = "FILE", requires = "gateway")]
    pub(crate) token_file: Option<PathBuf>,
    /// Write every frame on the air to this file (pcapng, for Wireshark).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Show where packets were lost and why, stage by stage (for streams: why links repeated them); with
    /// a file, draw it as SVG too.
    #[arg(long, value_name = "SVG", num_args = 0..=1, require_equals = true, conflicts_with = "all_nodes")]
    pub(crate) explain: Option<Option<PathBuf>>,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// The folder for objects and their records.
    #[arg(long, value_name = "DIR", default_value = STORE)]
    pub(crate) out: PathBuf,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: Say,
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
    /// The seeds, both ends included, such as 1..10 or 7 [default: the experiment's, mostly 1..10].
    #[arg(long, alias = "seed", value_name = "A..B", value_parser = values::seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Run it in this network instead of its own: a built-in name or a file.
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// The control channel, on which floods go and idle nodes listen [default: the testbed's: 26, or on measured links
    /// the one on which floods reach most nodes].
    #[arg(long, value_name = "N", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// Lose this share of what one node sends at another, such as 3-4:0.2; may be given again. It
    /// begins after the survey, but where a whole network is emptied.
    #[arg(long, value_name = "FROM-TO:SHARE")]
    pub(crate) loss: Vec<Loss>,
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
    /// Use this many threads [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print the results as JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write rows (CSV, JSON), results and figures to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: Say,
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
    /// The seeds, both ends included, such as 1..10 or 7 [default: the experiments', mostly 1..10].
    #[arg(long, alias = "seed", value_name = "A..B", value_parser = values::seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Use this many threads [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print the results as JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write pages to this folder: index.html with all of it, and of each paper PAPER.md with its figures. What PAPER.json
    /// there has of other results of that paper stays on its page.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Write rows (CSV, JSON), results and figures to this folder, one folder for each result.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Simulate nothing: take rows that --out has written to this folder, and leave out results without rows.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "seeds", "jobs"])]
    pub(crate) rows: Option<PathBuf>,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: Say,
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
