//! `thalweg firmware`: an image with a node's identity in it, as a programmer or a boot loader takes it.
//! Tests: `tests/all/firmware.rs`.

pub(crate) mod built_in;
mod dfu;
pub(crate) mod image;
mod uf2;
mod zip;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thalweg_host::security::file;
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::keys::KeyRecord;
use thalweg_nrf52840::layout::BootLoader;
use thalweg_nrf52840::mark::Program;
use thalweg_simnet::security::key_record;
use thalweg_testbeds::Testbed;
use thalweg_units::{Channel, ChannelSet};

use crate::args::FirmwareArgs;
use crate::failure::{one_line, Failure};
use crate::network;
use crate::output::{cannot_write, plain, print, write_bytes};
use crate::outputs::{Kind, Outputs};
use crate::values::Node;
use image::Image;

/// Where `firmware/images.sh` puts images.
pub(crate) const IMAGES: &str = "firmware/images";

/// Writes the image that `args` ask for.
pub(crate) fn run(args: &FirmwareArgs) -> Result<(), Failure> {
    let format = Format::of(&args.out)?;
    let boot_loader = format.beside(args.boot_loader.map(BootLoader::from))?;
    let (identity, page) = identity(args)?;
    let source = Source::of(args, boot_loader, identity.role);
    let outputs = Outputs::beside(args.force, source.path());
    outputs.check("--out", &args.out, Kind::Image)?;
    let mut image = source.image(boot_loader)?;
    // Both roles have the self-test, where it is what was asked for.
    if args.image.is_none() || image.program() != Program::Selftest {
        let checked = image.check(identity.role);
        checked.map_err(|why| source.named(why))?;
    }
    image.put(&identity);
    if let Some(keys) = &page {
        image.put_keys(keys).map_err(|why| source.named(why))?;
    }
    let bytes = match format {
        Format::Elf => image.elf().to_vec(),
        Format::Hex => image.hex().into_bytes(),
        Format::Uf2 => uf2::uf2(&image),
        Format::Dfu => dfu::package(&image.flat()),
    };
    match page {
        None => write_bytes(&args.out, &bytes)?,
        Some(_) => write_secret(&args.out, &bytes)?,
    }
    let what = match identity.role {
        Role::Mote => "a mote",
        Role::BaseStation => "a base station",
    };
    let keyed = match page {
        None => "",
        Some(_) => ", with its keys, which its owner alone may read",
    };
    let named = match &args.node {
        Node::Name(name) => format!("{} ({})", identity.node, one_line(name)),
        Node::Number(id) => id.to_string(),
    };
    let channels: Vec<String> = identity.channels.iter().map(|c| c.to_string()).collect();
    print(&format!(
        "{}: {what}, node {}, channels {}, floods on {}; {} bytes of flash from {:#x} on{keyed}\n",
        args.out.display(),
        named,
        channels.join(","),
        identity.floods,
        image.flash_bytes(),
        image.layout().program.first,
    ))
}

/// Writes `bytes` to a file that its owner alone may read; what is there goes, as the options allow.
fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(cannot_write(path, &why)),
    }
    Ok(file::create(path, bytes)?)
}

/// Where an image comes from.
enum Source {
    File(PathBuf),
    BuiltIn(&'static [u8]),
}

impl Source {
    fn of(args: &FirmwareArgs, boot_loader: BootLoader, role: Role) -> Self {
        if let (None, None, Some(image)) = (
            &args.images,
            &args.image,
            built_in::image(boot_loader, role),
        ) {
            return Self::BuiltIn(image);
        }
        let folder = args.images.as_deref().unwrap_or(Path::new(IMAGES));
        let folder = match boot_loader {
            BootLoader::None => folder.to_owned(),
            other => folder.join(name(other)),
        };
        let usual = match role {
            Role::Mote => "mote",
            Role::BaseStation => "station",
        };
        let image = args.image.as_deref().unwrap_or(usual);
        Self::File(folder.join(format!("{image}.elf")))
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::BuiltIn(_) => None,
        }
    }
    /// A failure that names it.
    fn named(&self, why: impl std::fmt::Display) -> Failure {
        let name = self.path().map_or("the image built in".into(), |path| {
            path.display().to_string()
        });
        Failure::Input(format!("{name}: {why}"))
    }

    /// Reads it; it is beside `boot_loader`.
    fn image(&self, boot_loader: BootLoader) -> Result<Image, Failure> {
        let wanted = name(boot_loader);
        let elf = match self {
            Self::BuiltIn(image) => image.to_vec(),
            Self::File(path) => fs::read(path).map_err(|why| {
                let why = plain(&why);
                let make = format!("`firmware/images.sh {wanted}` builds images");
                self.named(format!("{why}; {make}, --images says where they are"))
            })?,
        };
        let image = Image::read(elf).map_err(|why| self.named(why))?;
        let found = name(image.boot_loader());
        match found == wanted {
            true => Ok(image),
            false => Err(self.named(format!(
                "expected an image for --boot-loader {wanted}, found one for {found}"
            ))),
        }
    }
}

/// As `--boot-loader` and folders of images have it.
const fn name(boot_loader: BootLoader) -> &'static str {
    match boot_loader {
        BootLoader::None => "none",
        BootLoader::Dongle => "dongle",
        BootLoader::Uf2 => "uf2",
        BootLoader::Uf2S7 => "uf2-s7",
    }
}

/// How an image is written, by its file's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Elf,
    Hex,
    Uf2,
    Dfu,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("elf") => Ok(Self::Elf),
            Some("hex") => Ok(Self::Hex),
            Some("uf2") => Ok(Self::Uf2),
            Some("zip") => Ok(Self::Dfu),
            _ => Err(Failure::Input(format!(
                "--out {}: wanted NAME.elf (probe-rs), NAME.hex (nrfjprog, J-Link), NAME.uf2 (a drive) or NAME.zip (nrfutil)",
                path.display()
            ))),
        }
    }

    /// The boot loader: the one that was asked for, else the format's own, which takes no other's images.
    fn beside(self, asked: Option<BootLoader>) -> Result<BootLoader, Failure> {
        let (own, wanted) = match self {
            Self::Elf | Self::Hex => return Ok(asked.unwrap_or(BootLoader::None)),
            Self::Uf2 => (
                &[BootLoader::Uf2, BootLoader::Uf2S7][..],
                ".uf2 is for uf2 and uf2-s7",
            ),
            Self::Dfu => (&[BootLoader::Dongle][..], ".zip is for dongle"),
        };
        let mut fitting = own.iter().copied();
        fitting
            .find(|own| asked.is_none_or(|asked| asked == *own))
            .ok_or_else(|| {
                let asked = asked.map_or("", name);
                Failure::Input(format!(
                    "--boot-loader {asked}: {wanted}; .elf and .hex are for any"
                ))
            })
    }
}

/// The identity: what the options say, else what the testbed does; and the node's keys, if the testbed has some.
fn identity(args: &FirmwareArgs) -> Result<(Identity, Option<KeyRecord>), Failure> {
    let testbed = args.testbed.as_deref().map(Testbed::load).transpose()?;
    let testbed = testbed.as_ref();
    let keys = testbed.map_or(Ok(None), network::keys)?;
    let node = match (&args.node, testbed) {
        (Node::Number(id), _) => *id,
        (named, Some(testbed)) => network::id(testbed, "--node", named)?,
        (Node::Name(_), None) => {
            let line = "--node: a name needs --testbed, whose file has it";
            return Err(Failure::input(line));
        }
    };
    let is_node = |testbed: &Testbed| testbed.index_of(node).is_some();
    if let Some(other) = testbed.filter(|testbed| !is_node(testbed)) {
        return Err(Failure::Input(format!(
            "--node {}: {} has no such node",
            node, other.name
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
    let is_sink = testbed.is_some_and(|testbed| testbed.sink == node);
    let identity = Identity {
        node,
        role: role(args.base || is_sink),
        channels,
        floods,
    };
    Ok((identity, keys.map(|keys| key_record(&keys, node))))
}

const fn role(is_base: bool) -> Role {
    match is_base {
        true => Role::BaseStation,
        false => Role::Mote,
    }
}
