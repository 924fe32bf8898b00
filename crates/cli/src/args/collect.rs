//! Arguments of `thalweg collect`.

use std::path::PathBuf;

use super::{Say, STORE};
use crate::address::Address;
use crate::values::{self, List, LossOn, Node};
use clap::Args;
use thalweg_host::registry::Protocol;
use thalweg_units::{Channel, Duration};

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
    /// Lose this share of what one node sends at another, such as 3-4:0.2, or by names; may be given
    /// again. It begins after the survey: no plan knows of it.
    #[arg(long, value_name = "FROM-TO:SHARE", value_parser = values::loss)]
    pub(crate) loss: Vec<LossOn>,
    /// Let this pass between survey and transfer, such as 90s, 15min, 2h or 1day; links change meanwhile
    /// [default: none].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) age: Option<Duration>,
    /// The network has been idle for this long, such as 7days: its nodes sleep and must be woken first
    /// [default: they have just been switched on].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) idle: Option<Duration>,
    /// The simulated nodes have keys: they act on sealed orders alone, and objects travel encrypted (thalweg,
    /// hop-by-hop, rcrt).
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
