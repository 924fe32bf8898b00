//! Options of the gateway beside a base station, and of a simulated one. Tests: `tests/all/help.rs`.

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};

use super::Say;
use crate::values::{self, Node};

/// Stand beside a base station: keep jobs, fetch objects, serve an API and a page.
///
/// The network is simulated, in real time, or with --port behind a base station's line. Jobs, objects and surveys are
/// kept in --data and outlive the process. Options win over the configuration.
#[cfg(feature = "daemon")]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg gateway                       a simulated network; the page is at http://127.0.0.1:8654/
  thalweg gateway --testbed floor21 --speed 10
  thalweg gateway --port /dev/ttyUSB0 --testbed site.toml     over a base station's serial line
  thalweg gateway --config gateway.toml
  curl -d '{\"kind\": \"fetch\", \"from\": 70}' -H 'Content-Type: application/json' http://127.0.0.1:8654/api/jobs

docs/gateway.md tells the rest.")]
#[command(group = clap::ArgGroup::new("nodes").args(["testbed", "config"]).multiple(true))]
pub(crate) struct GatewayArgs {
    /// Where to listen; beyond this machine only with a token in the configuration [default: 127.0.0.1:8654].
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The folder for objects, jobs and surveys [default: thalweg-data].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The base station: a serial port, the pseudo-terminal of `thalweg basestation`, or tcp:HOST:PORT [default: a
    /// simulated network].
    #[arg(
        long,
        value_name = "PORT",
        requires = "nodes",
        conflicts_with = "speed"
    )]
    pub(crate) port: Option<String>,
    /// The speed of the serial port [default: 1000000].
    #[arg(long, value_name = "BAUD", value_parser = clap::value_parser!(u32).range(1_200..=12_000_000))]
    pub(crate) baud: Option<u32>,
    /// The network that is simulated, or whose nodes are behind --port: a built-in name or a file [default: indriya].
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// The seed of everything random [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The base stations of a simulation, such as 1,50: as many objects come at once [default: the testbed's].
    #[arg(long, value_name = "NODE[,NODE]", value_delimiter = ',', value_parser = values::node, conflicts_with = "port")]
    pub(crate) to: Vec<thalweg_units::NodeId>,
    /// How many times faster than real time a simulation runs, if this machine is fast enough [default: 1].
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<f64>,
    /// Approximate size of each node's object in bytes, in simulation and for plans [default: 59000].
    #[arg(long, value_name = "N", value_parser = values::object_bytes)]
    pub(crate) bytes: Option<u32>,
    /// A configuration: docs/examples/gateway.toml explains every key.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration, and exit.
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) say: Say,
}

/// How a host reaches a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CableArg {
    /// UARTE0, at 1 Mbaud.
    Uart,
    /// USB.
    Usb,
}

/// A simulated network behind a base station's serial line, to try a gateway without motes.
///
/// The base station is at a pseudo-terminal, or a TCP port, and speaks what a real one would (docs/line.md). Every
/// other node offers an object of random bytes. Prints where the line is, and runs until it is stopped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg basestation --testbed floor21 --link /tmp/station --speed 10
  thalweg collect --testbed floor21 --port /tmp/station         in another terminal
  thalweg basestation --testbed office12 --tcp 127.0.0.1:8655")]
pub(crate) struct BasestationArgs {
    /// The network: as of `thalweg collect`. With --emulated motes20 is the default.
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "indriya",
        default_value_if("emulated", ArgPredicate::IsPresent, "motes20"),
        value_parser = values::name
    )]
    pub(crate) testbed: String,
    /// The node that is the base station [default: the testbed's].
    #[arg(long, value_name = "NODE", value_parser = values::number_or_name)]
    pub(crate) to: Option<Node>,
    /// A pseudo-terminal (the default).
    #[arg(long)]
    pub(crate) pty: bool,
    /// Make this symbolic link to the pseudo-terminal; an existing link is replaced.
    #[arg(long, value_name = "PATH", conflicts_with = "tcp")]
    pub(crate) link: Option<PathBuf>,
    /// Listen here instead, for one host at a time.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "pty")]
    pub(crate) tcp: Option<String>,
    /// Run the images in this folder, mote.elf and station.elf, on emulated chips (docs/motes.md) [default: the images that
    /// are built in, else firmware/images]. The testbed's board is nrf52840 then, and a node that has no recording makes one
    /// of 59,000 bytes.
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["bytes", "save", "baud", "room"])]
    pub(crate) emulated: Option<Option<PathBuf>>,
    /// How to reach the emulated base station: its serial port, or a USB cable.
    #[arg(long, value_enum, default_value_t = CableArg::Uart, requires = "emulated")]
    pub(crate) line: CableArg,
    /// Random bytes of each node's object, such as 59000, 64k or 1Mi.
    #[arg(long, value_name = "N", default_value = "59000", value_parser = values::object_bytes)]
    pub(crate) bytes: u32,
    /// Write each node's object into this folder, as NODE.bin, to compare it with what arrives.
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// Run the network's time this many times as fast as the clock, if the computer keeps up.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = values::speed)]
    pub(crate) speed: f64,
    /// Carry no more than a serial line of this speed would [default: the network waits for the line].
    #[arg(long, value_name = "BAUD", value_parser = clap::value_parser!(u32).range(1_200..=12_000_000))]
    pub(crate) baud: Option<u32>,
    /// Object bytes that the base station keeps while the line is busy; with --baud, packets beyond are refused and
    /// come again.
    #[arg(long, value_name = "N", default_value = "16Ki", value_parser = values::bytes)]
    pub(crate) room: u32,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) say: Say,
}
