//! Options of `thalweg keys`. Tests: `tests/all/help.rs`, `tests/all/keys.rs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::values;
use thalweg_units::NodeId;

/// The keys of a secured network.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  thalweg keys new                                  makes network.key
  thalweg keys mote 17 --hex mote17.hex             a flash page for node 17
  thalweg keys revoke 17                            node 17 is lost: all others get new pages
  thalweg keys export                               the key, to be printed and locked away")]
pub(crate) enum KeysCommand {
    /// Make a network's key, from which all others come.
    ///
    /// This file decrypts what the nodes send and controls them, so only its owner may read it. If it is lost, all nodes
    /// must be flashed again.
    New {
        /// The file.
        #[arg(value_name = "FILE", default_value = "network.key")]
        file: PathBuf,
    },
    /// Write the flash page with a node's keys, beside one program for all nodes.
    ///
    /// For an nRF52840 without a boot loader. `thalweg firmware` writes it into an image by itself.
    Mote {
        /// The node's address.
        #[arg(value_name = "NODE", value_parser = values::node)]
        node: NodeId,
        /// Where the page goes, as Intel HEX. It holds the node's keys, and only its owner may read it.
        #[arg(long, value_name = "FILE")]
        hex: PathBuf,
        #[command(flatten)]
        keys: KeyFile,
    },
    /// Revoke a lost mote: none of its keys is used from now on.
    ///
    /// The other nodes need new pages of `thalweg keys mote`: keys do not go over the air yet.
    Revoke {
        /// Its address.
        #[arg(value_name = "NODE", value_parser = values::node)]
        node: NodeId,
        #[command(flatten)]
        keys: KeyFile,
    },
    /// Print the key file.
    Export {
        #[command(flatten)]
        keys: KeyFile,
    },
}

/// Where the network's key is.
#[derive(Debug, Args)]
pub(crate) struct KeyFile {
    /// The network's key.
    #[arg(long = "keys", value_name = "FILE", default_value = "network.key")]
    pub(crate) file: PathBuf,
}
