//! Options of `thalweg firmware`. Tests: `tests/all/help.rs`.

use std::path::PathBuf;

use clap::Args;
use thalweg_units::{Channel, NodeId};

use crate::values::{self, List};

/// Write an image for an nRF52840 with a node's identity in it.
///
/// Each node has the same program; a record in a flash page of its own says which node it is, whether it is the base station, and on
/// which channels its network works. docs/motes.md tells how to build the images and how to flash them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg firmware --node 7 --out n7.hex
  thalweg firmware --node 1 --base --out base.elf && probe-rs run --chip nRF52840_xxAA base.elf
  thalweg firmware --testbed site.toml --node 12 --out n12.hex    channels and base station as in the testbed")]
pub(crate) struct FirmwareArgs {
    /// The node's address.
    #[arg(long, value_name = "NODE", value_parser = values::node)]
    pub(crate) node: NodeId,
    /// The image: NAME.elf or NAME.hex.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// It is the base station.
    #[arg(long)]
    pub(crate) base: bool,
    /// Take channels, the control channel and who is the base station from this testbed.
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// The channels that the network may use, such as 15,20,25,26 [default: all].
    #[arg(long, value_name = "LIST", value_parser = values::channels)]
    pub(crate) channels: Option<List<Channel>>,
    /// The channel of floods [default: the testbed's, else 26].
    #[arg(long, value_name = "CHANNEL", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// The folder with mote.elf and station.elf.
    #[arg(long, value_name = "DIR", default_value = "firmware/images")]
    pub(crate) images: PathBuf,
    /// Replace the file that --out names.
    #[arg(long)]
    pub(crate) force: bool,
}
