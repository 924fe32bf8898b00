//! `thalweg firmware`: an image with a node's identity in it, as a programmer takes it. Tests: `tests/all/firmware.rs`.

mod image;

use std::fs;
use std::path::Path;

use thalweg_nrf52840::identity::{Identity, Role, ADDRESS};
use thalweg_testbeds::Testbed;
use thalweg_units::{Channel, ChannelSet};

use crate::args::FirmwareArgs;
use crate::failure::Failure;
use crate::output::{plain, print, write_bytes};
use crate::outputs::{Kind, Outputs};
use image::Image;

/// Writes the image that `args` ask for.
pub(crate) fn run(args: &FirmwareArgs) -> Result<(), Failure> {
    let format = Format::of(&args.out)?;
    let identity = identity(args)?;
    let (name, what) = match identity.role {
        Role::Mote => ("mote.elf", "a mote"),
        Role::BaseStation => ("station.elf", "a base station"),
    };
    let path = args.images.join(name);
    let outputs = Outputs::beside(args.force, [path.as_path()]);
    outputs.check("--out", &args.out, Kind::Image)?;
    let named = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let elf = fs::read(&path).map_err(|why| {
        let why = plain(&why);
        named(format!(
            "{why}; `firmware/images.sh` builds images, --images says where they are"
        ))
    })?;
    let mut image = Image::read(elf).map_err(|why| named(why.to_string()))?;
    image
        .put(ADDRESS, &identity.bytes())
        .map_err(|why| named(why.to_string()))?;
    let bytes = match format {
        Format::Elf => image.elf().to_vec(),
        Format::Hex => image.hex().into_bytes(),
    };
    write_bytes(&args.out, &bytes)?;
    let channels: Vec<String> = identity.channels.iter().map(|c| c.to_string()).collect();
    print(&format!(
        "{}: {what}, node {}, channels {}, floods on {}; {} bytes of flash\n",
        args.out.display(),
        identity.node,
        channels.join(","),
        identity.floods,
        image.flash_bytes()
    ))
}

/// How an image is written, by its file's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Elf,
    Hex,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("elf") => Ok(Self::Elf),
            Some("hex") => Ok(Self::Hex),
            _ => Err(Failure::Input(format!(
                "--out {}: wanted NAME.elf (probe-rs) or NAME.hex (nrfjprog, J-Link)",
                path.display()
            ))),
        }
    }
}

/// The identity: what the options say, else what the testbed does.
fn identity(args: &FirmwareArgs) -> Result<Identity, Failure> {
    let testbed = args.testbed.as_deref().map(Testbed::load).transpose()?;
    let testbed = testbed.as_ref();
    let is_node = |testbed: &Testbed| testbed.index_of(args.node).is_some();
    if let Some(other) = testbed.filter(|testbed| !is_node(testbed)) {
        return Err(Failure::Input(format!(
            "--node {}: {} has no such node",
            args.node, other.name
        )));
    }
    let channels = match (&args.channels, testbed) {
        (Some(list), _) => list.0.iter().copied().collect(),
        (None, Some(testbed)) => testbed.channels,
        (None, None) => ChannelSet::ALL,
    };
    let floods = args.control_channel.or(testbed.map(|t| t.control));
    let floods = floods.unwrap_or(Channel::LAST);
    if !channels.contains(floods) {
        return Err(Failure::Input(format!(
            "--control-channel {floods}: is none of the node's channels"
        )));
    }
    let is_sink = testbed.is_some_and(|testbed| testbed.sink == args.node);
    Ok(Identity {
        node: args.node,
        role: role(args.base || is_sink),
        channels,
        floods,
    })
}

const fn role(is_base: bool) -> Role {
    match is_base {
        true => Role::BaseStation,
        false => Role::Mote,
    }
}
