//! `thalweg keys`: a network's key file, and the flash pages of its nodes. Tests: `tests/all/keys.rs`.

use std::path::Path;

use thalweg_host::security::file::{self, KeyFileError};
use thalweg_host::security::NetworkKeys;
use thalweg_nrf52840::layout::BootLoader;
use thalweg_simnet::security::key_record;
use thalweg_units::NodeId;
use zeroize::{Zeroize, Zeroizing};

use crate::args::KeysCommand;
use crate::failure::Failure;
use crate::firmware::image::intel_hex;
use crate::output::print;

impl From<KeyFileError> for Failure {
    fn from(why: KeyFileError) -> Self {
        Self::input(why)
    }
}

/// Carries out `command`.
pub(crate) fn run(command: &KeysCommand) -> Result<(), Failure> {
    match command {
        KeysCommand::New { file: path } => {
            let keys = file::random(path)?;
            file::create(path, file::text(&keys).as_bytes())?;
            print(&format!(
                "{}: the key of a new network; keep a copy where no disk can lose it\n",
                path.display()
            ))
        }
        KeysCommand::Mote { node, hex, keys } => {
            let keys = file::read(&keys.file)?;
            file::create(hex, page(&keys, *node).as_bytes())?;
            print_page(hex, &keys, *node)
        }
        KeysCommand::Revoke { node, keys: path } => {
            let keys = file::read(&path.file)?;
            let next = keys.revoked(*node).ok_or_else(|| {
                Failure::Input(format!("node {node} was revoked as often as can be"))
            })?;
            file::replace(&path.file, &next)?;
            print(&format!(
                "{}: node {node} is revoked, epoch {}; flash new pages of `thalweg keys mote` to all other nodes\n",
                path.file.display(),
                next.epoch()
            ))
        }
        KeysCommand::Export { keys } => print(&file::text(&file::read(&keys.file)?)),
    }
}

fn print_page(hex: &Path, keys: &NetworkKeys, node: NodeId) -> Result<(), Failure> {
    print(&format!(
        "{}: the keys of node {node}, generation {}, epoch {}; it is for a page of flash beside the program\n",
        hex.display(),
        keys.generation(node),
        keys.epoch()
    ))
}

/// The flash page of `node`, as Intel HEX.
fn page(keys: &NetworkKeys, node: NodeId) -> Zeroizing<String> {
    let mut bytes = key_record(keys, node).bytes();
    // The one layout that has a page for keys.
    let at = BootLoader::None
        .layout()
        .keys
        .map_or(0, |areas| areas.page.first);
    let hex = Zeroizing::new(intel_hex([(at, &bytes[..])]));
    bytes.zeroize();
    hex
}
