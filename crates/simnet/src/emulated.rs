//! A site's motes on emulated chips, each with its real image, and the base station among them.
//!
//! Behind the host's seam in this process ([`thalweg_host::line::SteppedNetwork`]), where time is the chips' own, or
//! behind a line. Time base: true time of the emulated world. Invariant: same images, site and perturbation, same bytes.
//! Tests: below, `crates/thalweg/tests/all/emulated/mod.rs`, `.ci/emulated.py`.

use crate::security::key_record;
use thalweg_emulator::elf::ElfError;
use thalweg_emulator::network::{Flash, Line, Network};
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::world::Stopped;
use thalweg_host::line::Steps;
use thalweg_host::network::{NetworkFault, NetworkTime};
use thalweg_host::security::NetworkKeys;
use thalweg_medium::chip::NRF52840;
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::layout::BootLoader;
use thalweg_sim::{Currents, Energy};
use thalweg_testbeds::Site;
use thalweg_units::{NodeId, SimTime};

/// By then every mote is on, and has made the recording that it lacked.
const READY: SimTime = SimTime::from_nanos(3_000_000_000);

/// Why there is no emulated network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatedError {
    /// The site's boards have another chip.
    #[error("{testbed} has boards {board:?}; only chips nRF52840 are emulated (board = \"nrf52840\" in the testbed's file)")]
    Chip {
        /// The testbed.
        testbed: String,
        /// Its board.
        board: String,
    },
    /// The testbed has no such node.
    #[error("{testbed} has no node {node} to be the base station")]
    NoNode {
        /// The testbed.
        testbed: String,
        /// The node.
        node: NodeId,
    },
    /// A file is no image.
    #[error(transparent)]
    Image(#[from] ElfError),
    /// An image cannot go on.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// An image, and where in flash it looks for its identity.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// An ELF file.
    pub elf: &'a [u8],
    /// Address of the identity's first byte.
    pub identity: u32,
}

/// The images of a network.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Of each mote but the base station.
    pub mote: Program<'a>,
    /// Of the base station.
    pub station: Program<'a>,
    /// What their pages of keys come from, where the network is secured; images beside no boot loader read them.
    pub keys: Option<&'a NetworkKeys>,
}

/// A base station and motes that run their images.
pub struct Emulated {
    /// Their chips, by the testbed's order, and their air.
    pub network: Network,
    ids: Vec<NodeId>,
    station: usize,
    line: Line,
    currents: Currents,
}

/// Whether the boards of `site` can be emulated.
///
/// # Errors
/// [`EmulatedError::Chip`].
pub fn check(site: &Site) -> Result<(), EmulatedError> {
    match *site.board.chip == NRF52840 {
        true => Ok(()),
        false => Err(EmulatedError::Chip {
            testbed: site.testbed.name.clone(),
            board: site.testbed.board_name.clone(),
        }),
    }
}

impl Emulated {
    /// The network of `site` with node `to` or its sink as base station, whose host is at `line`, switched on: three
    /// seconds have passed.
    ///
    /// # Errors
    /// [`EmulatedError`].
    pub fn open(
        site: &Site,
        (to, line): (Option<NodeId>, Line),
        images: &Images<'_>,
        perturbation: Perturbation,
    ) -> Result<Self, EmulatedError> {
        check(site)?;
        let testbed = &site.testbed;
        let node = to.unwrap_or(testbed.sink);
        let station = testbed
            .index_of(node)
            .ok_or_else(|| EmulatedError::NoNode {
                testbed: testbed.name.clone(),
                node,
            })?;
        let pages = BootLoader::None.layout().keys;
        let keys = images.keys.zip(pages.map(|areas| areas.page.first));
        let motes: Vec<_> = testbed
            .nodes
            .iter()
            .map(|at| {
                let (image, role) = match at.id == node {
                    true => (images.station, Role::BaseStation),
                    false => (images.mote, Role::Mote),
                };
                let (channels, floods) = (testbed.channels, testbed.control);
                let identity = Identity {
                    node: at.id,
                    role,
                    channels,
                    floods,
                };
                let page = keys.map(|(keys, page)| (page, key_record(keys, at.id).bytes()));
                (image, identity.bytes(), page)
            })
            .collect();
        let motes: Vec<Flash<'_>> = motes
            .iter()
            .map(|(image, identity, keys)| Flash {
                image: image.elf,
                identity: (image.identity, identity),
                keys: keys.as_ref().map(|(page, bytes)| (*page, &bytes[..])),
            })
            .collect();
        let environment = site.environment.clone();
        let mut network = Network::open(environment, &motes, (site.seed, perturbation))?;
        if line == Line::Usb {
            network.plug(station);
        }
        network.run_until(READY)?;
        Ok(Self {
            network,
            ids: testbed.nodes.iter().map(|node| node.id).collect(),
            station,
            line,
            currents: site.board.currents,
        })
    }

    /// The base station's index.
    pub const fn station(&self) -> usize {
        self.station
    }
    /// Time and energy of the mote of index `mote` so far, as its board's file has currents.
    pub fn energy(&self, mote: usize) -> Energy {
        self.network.spent(mote).energy(&self.currents)
    }
    /// Bytes of the host's that are still on the serial line.
    pub fn unheard(&mut self) -> usize {
        self.network.line_waiting(self.station)
    }
    /// How many motes there are, the base station among them.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl Steps for Emulated {
    fn now(&self) -> NetworkTime {
        self.network.now()
    }
    fn run(&mut self, until: NetworkTime) -> Result<(), NetworkFault> {
        let ran = self.network.run_until(until);
        ran.map_err(|why| NetworkFault::Broken(Box::new(why)))
    }
    fn write(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.network.send_line(self.station, self.line, bytes);
        }
    }
    fn read(&mut self) -> Vec<u8> {
        self.network.take_line(self.station, self.line)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        let mote = self.ids.iter().position(|id| *id == node)?;
        Some(self.energy(mote).joules())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_testbeds::Testbed;

    #[test]
    fn a_base_station_is_one_of_the_nodes() {
        let site = Site::new(Testbed::load("motes20").unwrap(), 1);
        // It is refused before an image is looked at.
        let none = Program {
            elf: &[],
            identity: 0,
        };
        let images = Images {
            mote: none,
            station: none,
            keys: None,
        };
        let to = Some(NodeId::new(999).unwrap());
        let opened = Emulated::open(&site, (to, Line::Uart), &images, Perturbation::NONE);
        assert!(matches!(opened, Err(EmulatedError::NoNode { .. })));
    }
}
