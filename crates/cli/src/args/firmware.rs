//! Options of `thalweg firmware`. Tests: `tests/all/help.rs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use thalweg_nrf52840::layout::BootLoader;
use thalweg_units::Channel;

use crate::values::{self, List, Node};

/// Write an image for an nRF52840 with a node's identity in it.
///
/// Each node has the same program; a record in a flash page of its own says which node it is, whether it is the base station, and on
/// which channels its network works. docs/motes.md tells how to build the images and how to flash them.
///
/// The file's ending says what it is for: .elf and .hex for a programmer, .uf2 for a drive to copy it to, .zip for nrfutil
/// and the boot loader of Nordic's dongle. No image has been tried on silicon.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg firmware --node 7 --out n7.hex
  thalweg firmware --node 1 --base --out base.elf && probe-rs run --chip nRF52840_xxAA base.elf
  thalweg firmware --node 7 --out n7.zip                         for Nordic's dongle
  thalweg firmware --node 7 --out n7.uf2                         for a board with a UF2 drive
  thalweg firmware --testbed site.toml --node 12 --out n12.hex    channels and base station as in the testbed")]
pub(crate) struct FirmwareArgs {
    /// The node's address, or what the testbed calls it.
    #[arg(long, value_name = "NODE", value_parser = values::number_or_name)]
    pub(crate) node: Node,
    /// The image: NAME.elf, NAME.hex, NAME.uf2 or NAME.zip.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// It is the base station.
    #[arg(long)]
    pub(crate) base: bool,
    /// Take channels, the control channel and the base station from this testbed.
    #[arg(long, value_name = "NAME|FILE", value_parser = values::name)]
    pub(crate) testbed: Option<String>,
    /// The channels that the network may use, such as 15,20,25,26 [default: all].
    #[arg(long, value_name = "LIST", value_parser = values::channels)]
    pub(crate) channels: Option<List<Channel>>,
    /// The channel of floods [default: the testbed's, else 26].
    #[arg(long, value_name = "CHANNEL", value_parser = values::channel)]
    pub(crate) control_channel: Option<Channel>,
    /// The boot loader that the board keeps [default: uf2 and dongle for .uf2 and .zip, else none].
    #[arg(long, value_name = "NAME")]
    pub(crate) boot_loader: Option<BootLoaderArg>,
    /// Another image of that folder, by its name, such as selftest.
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    /// The folder that `firmware/images.sh` made [default: the images that are built in, else firmware/images].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
    /// Replace the file that --out names.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The boot loader beside which an image lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BootLoaderArg {
    /// None: Nordic's development kit.
    None,
    /// Nordic's, on its dongle: the image begins at 0x1000.
    Dongle,
    /// Adafruit's with SoftDevice S140 6: the image begins at 0x26000.
    Uf2,
    /// The same with SoftDevice S140 7: the image begins at 0x27000.
    #[value(name = "uf2-s7")]
    Uf2S7,
}

impl From<BootLoaderArg> for BootLoader {
    fn from(arg: BootLoaderArg) -> Self {
        match arg {
            BootLoaderArg::None => Self::None,
            BootLoaderArg::Dongle => Self::Dongle,
            BootLoaderArg::Uf2 => Self::Uf2,
            BootLoaderArg::Uf2S7 => Self::Uf2S7,
        }
    }
}
