//! RAM of whole nodes, checked against the table in the crate's README and the boards' RAM.
//!
//! Sizes are those of a 64-bit host: no less than on a mote, whose words are shorter.
#![cfg(target_pointer_width = "64")]

use crate::mote::{AnyAdaptation, Mote};
use crate::object::{NoObject, NoRoom, ObjectInfo, ObjectStore};
use crate::rcrt::source::{Ready, Source, Supply};
use crate::seals::{Seals, SessionSeals, Unsealed};
use crate::{burst, fastforward, floodnet, forward, fusion, glossy, linkprobe, pipeline};
use crate::{ifrc, stack, tree};
use core::mem::size_of;
use std::vec::Vec;
use thalweg_units::Instant;
use thalweg_wire::rcrt::Flow;
use thalweg_wire::{route, FrameBuf, WireError, Writer};

/// What a driver keeps of an object in flash: a page to be written (256 bytes in TelosB's M25P80).
struct Flash {
    info: ObjectInfo,
    page: [u8; 256],
    offset: u32,
}

impl ObjectStore for Flash {
    fn info(&self) -> ObjectInfo {
        self.info
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        let from = offset.saturating_sub(self.offset) as usize;
        for (byte, kept) in into.iter_mut().zip(self.page.iter().skip(from)) {
            *byte = *kept;
        }
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        self.offset = offset;
        for (place, byte) in self.page.iter_mut().zip(bytes) {
            *place = *byte;
        }
        Ok(())
    }
}

impl Supply for Flash {
    fn room(&self) -> u16 {
        1024
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, _sequence: u32) -> Ready {
        Ready::End
    }
    fn read(&mut self, _: Flow, _: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.bytes(&self.page).map(|_| ())
    }
}

/// Stack and drivers have at least so much.
const REST: usize = 1_024;
/// MSP430F1611 of a TelosB.
const TELOSB: usize = 10 * 1024;
/// SAM3U4E of an Opal.
const OPAL: usize = 52 * 1024;

/// A node that is never sink, and has a table of 40 neighbours.
type Node = Mote<Flash, 40, 0>;
type Fusion = stack::Node<fusion::Fusion, stack::Readings>;
/// A source with one flow, ways back to 90 nodes and a queue of 11, as in RCRT's section 4.
type Rcrt = stack::Node<stack::Open, Source<Flash, 1>, 90, 11>;
type Ifrc = stack::Node<ifrc::Ifrc, stack::Readings, 0, { ifrc::QUEUE as usize }>;

/// Rows of the table: what is named there, and its size.
const SIZES: [(&str, usize); 23] = [
    ("`Mote`, 40 neighbours", size_of::<Node>()),
    ("flash page", size_of::<Flash>()),
    (
        "`Pipeline`",
        size_of::<pipeline::Pipeline<NoObject, AnyAdaptation>>(),
    ),
    ("its `Part`", size_of::<pipeline::Setup<AnyAdaptation>>()),
    (
        "`Floodnet`, 40 neighbours",
        size_of::<floodnet::Floodnet<40, 0>>(),
    ),
    ("its `LinkTable`", size_of::<linkprobe::LinkTable<40>>()),
    ("its `Flood`", size_of::<glossy::Flood>()),
    ("`Assembler`", size_of::<route::Assembler>()),
    ("`Route`", size_of::<route::Route>()),
    ("frame", size_of::<FrameBuf>()),
    (
        "`Mote`, sink of 256 nodes",
        size_of::<Mote<Flash, 160, 256>>(),
    ),
    (
        "`Mote`, sink of 1,024 nodes",
        size_of::<Mote<Flash, 160, 1024>>(),
    ),
    (
        "`FastForward`",
        size_of::<fastforward::FastForward<Flash>>(),
    ),
    ("`Burst`", size_of::<burst::Burst<Flash>>()),
    ("`Forwarder`", size_of::<forward::Forwarder<Flash>>()),
    ("`stack::Node` of Fusion", size_of::<Fusion>()),
    ("its `Router`", size_of::<tree::Router>()),
    ("`stack::Node` of RCRT", size_of::<Rcrt>()),
    ("its `Source`", size_of::<Source<Flash, 1>>()),
    ("its `Routes`", size_of::<tree::Routes<90>>()),
    ("`stack::Node` of IFRC", size_of::<Ifrc>()),
    ("`Seals`", size_of::<Seals<Unsealed>>()),
    ("`SessionSeals`", size_of::<SessionSeals<Unsealed>>()),
];

#[test]
fn every_node_fits_its_board() {
    let fits = |node: usize, board: usize| assert!(node + REST <= board, "{node} of {board} B");
    fits(size_of::<Node>(), TELOSB);
    fits(size_of::<Fusion>(), TELOSB);
    fits(size_of::<Rcrt>(), TELOSB);
    fits(size_of::<Ifrc>(), OPAL);
    fits(size_of::<burst::Burst<Flash>>(), TELOSB);
    fits(size_of::<forward::Forwarder<Flash>>(), TELOSB);
    fits(size_of::<Mote<Flash, 160, 256>>(), OPAL);
    fits(size_of::<Mote<Flash, 160, 1024>>(), OPAL);
    fits(size_of::<fastforward::FastForward<Flash>>(), OPAL);
    // With a store that takes nothing, and room for 16,384 packets.
    assert!(size_of::<pipeline::Pipeline<NoObject, AnyAdaptation>>() <= 3_072);
}

/// The table is no wish: sizes are at most what it says, and not much less. Compilers differ a little.
#[test]
fn the_readme_says_what_takes_the_ram() {
    let readme = include_str!("../README.md");
    let rows: Vec<(&str, usize)> = (readme.lines())
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (name, bytes) = (cells.next()?, cells.next()?);
            Some((name, bytes.replace(',', "").parse().ok()?))
        })
        .collect();
    assert_eq!(rows.len(), SIZES.len());
    for ((row, claimed), (name, bytes)) in rows.into_iter().zip(SIZES) {
        assert_eq!(row, name);
        let close = bytes <= claimed && claimed <= bytes + bytes / 20 + 64;
        assert!(close, "{name}: {bytes} bytes, README says {claimed}");
    }
}
