//! `thalweg plan`: what may be typed.

use std::path::PathBuf;

use clap::Args;
use thalweg_host::registry::Protocol;
use thalweg_units::{Channel, Duration};

use super::Say;
use crate::values::{self, List, Node};

/// Routes, channels and predicted time and energy from measured links.
///
/// With --lifetime it says how long the nodes' batteries last, with --base-stations where base stations stand best.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg plan --testbed links.csv --from 12 --to 1
  thalweg plan --testbed grenoble.k7.gz --svg plan.svg
  thalweg plan --testbed indriya --protocol p3-best
  thalweg plan --lifetime --every 6h --bytes 64k --mah 2400     days until batteries are empty
  thalweg plan --lifetime --every 1day --mah 2400 --idle-uw 300 --svg days.svg
  thalweg plan --testbed links.csv --base-stations 2            where two would stand best")]
pub(crate) struct PlanArgs {
    /// The network: a CSV of links (`src,dst,channel,prr[,rssi_dbm]`), a K7 link trace, or any testbed;
    /// `-` is standard input.
    #[arg(long, alias = "links", value_name = "NAME|FILE", default_value = "indriya", value_parser = values::name)]
    pub(crate) testbed: String,
    /// The node that has the object [default: the planner picks a far one].
    #[arg(long, value_name = "NODE", value_parser = values::number_or_name)]
    pub(crate) from: Option<Node>,
    /// The base station [default: the testbed's].
    #[arg(long, value_name = "NODE", value_parser = values::number_or_name)]
    pub(crate) to: Option<Node>,
    /// How the object is to travel.
    #[arg(long, value_name = "PROTOCOL", default_value = "thalweg", value_parser = values::Protocols::Planned)]
    pub(crate) protocol: &'static Protocol,
    /// The object's length in bytes, for the prediction, such as 59000, 64k or 1Mi.
    #[arg(long, value_name = "N", default_value = "59000", value_parser = values::bytes)]
    pub(crate) bytes: u32,
    /// The channels to use, such as 15,20,25,26 or 11-26 [default: the planner picks].
    #[arg(long, value_name = "LIST", value_parser = values::channels)]
    pub(crate) channels: Option<List<Channel>>,
    /// The control channel, on which floods go and idle nodes listen [default: the testbed's: 26, or on measured links
    /// the one on which floods reach most nodes].
    #[arg(long, value_name = "N", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// Object bytes in a packet, 1 to 118.
    #[arg(long, value_name = "BYTES", default_value_t = values::MAX_PAYLOAD, value_parser = values::payload)]
    pub(crate) payload: u8,
    /// Use at most this many node-distinct paths [default: all of the chosen length].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) paths: Option<u8>,
    /// Use paths of exactly this many hops [default: the shortest with enough paths].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) hops: Option<u8>,
    /// How long batteries last where the object of every node is collected again and again.
    #[arg(long, requires_all = ["every", "mah"], conflicts_with_all = ["from", "hops", "base_stations"])]
    pub(crate) lifetime: bool,
    /// From one object of a node to its next, such as 30min, 6h or 1day.
    #[arg(long, value_name = "TIME", requires = "lifetime", value_parser = values::time)]
    pub(crate) every: Option<Duration>,
    /// The charge of each node's battery, in milliampere-hours.
    #[arg(long, value_name = "MAH", requires = "lifetime", value_parser = values::charge)]
    pub(crate) mah: Option<f64>,
    /// The power of a node between collections, in microwatts [default: that of a node that rests and samples
    /// the channel; 56400 is a TelosB that listens all the time].
    #[arg(long, value_name = "UW", requires = "lifetime", value_parser = values::microwatts)]
    pub(crate) idle_uw: Option<f64>,
    /// Where this many base stations stand best, 1 to 8, and what they bring.
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "hops"], value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) base_stations: Option<u8>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the plan as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the plan over the map as an SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace files that another program wrote.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) say: Say,
}
