//! Writing what is on the air to a file: the [`Capture`] trait and its pcapng writer.
//!
//! The format is pcapng (draft-ietf-opsawg-pcapng, sections 4.1 to 4.3) with link type 283, IEEE
//! 802.15.4 TAP, whose TLVs hold channel (and its page, which differs between a node's two radios), time
//! of the SFD, RSS and LQI. One interface per node, named `node NAME`: a transmission is a packet sent on its sender's interface, a reception (only if
//! asked for) one received on its receiver's. Frames carry their real FCS. Packets are stamped
//! with the end of their last symbol in true time, so stamps never go back. Tests: at the end.

use std::io::{self, Write};
use thalweg_units::{Dbm, SimTime, Tuning};
use thalweg_wire::{mac, phy};

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the packet capture cannot be written: {0}")]
pub struct CaptureError(#[from] pub io::Error);

/// A frame on the air, or at a receiver.
#[derive(Debug, Clone, Copy)]
pub struct Captured<'a> {
    /// When its SFD ended.
    pub sfd: SimTime,
    /// When its last symbol ended.
    pub end: SimTime,
    /// Band and channel.
    pub on: Tuning,
    /// The frame, without FCS.
    pub mpdu: &'a [u8],
    /// Whose frame this is.
    pub side: Side,
}

/// From which side a frame is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Side {
    /// Sent by this node.
    Sent {
        /// The sender.
        node: usize,
    },
    /// Received, with a right FCS, by this node.
    Received {
        /// The receiver.
        node: usize,
        /// Received signal strength.
        rssi: Dbm,
        /// Link quality indication.
        lqi: u8,
    },
}

/// Takes every frame. Calls come with non-decreasing `end`.
pub trait Capture: Send {
    /// Takes a frame.
    ///
    /// # Errors
    /// [`CaptureError`]; the simulator then stops with it and calls no more.
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError>;
    /// Writes out what is buffered.
    ///
    /// # Errors
    /// [`CaptureError`].
    fn flush(&mut self) -> Result<(), CaptureError>;
}

/// Which frames a capture holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each transmission once.
    Transmissions,
    /// Each transmission, and each good reception of it.
    Receptions,
}

/// LINKTYPE_IEEE802_15_4_TAP.
const LINK_TYPE: u16 = 283;
/// Block types.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Options of a section (shb_userappl), an interface (if_name, if_tsresol) and a packet (epb_flags).
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
/// Resolution 10^-9 s.
const NANOSECONDS: u8 = 9;
/// epb_flags: direction in the two lowest bits.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// TLV types of the TAP header.
const TLV_FCS: u16 = 0;
const TLV_RSS: u16 = 1;
const TLV_CHANNEL: u16 = 3;
const TLV_SFD_TIME: u16 = 5;
const TLV_LQI: u16 = 10;
/// Channel pages (IEEE 802.15.4-2006, 6.1.2.1): in each, channels count from its own first.
const PAGE_2450_MHZ: u8 = 0;
const PAGE_915_MHZ_OQPSK: u8 = 2;
/// FCS type: 16-bit CRC.
const FCS_16: u8 = 1;

/// Writes pcapng to any writer; give it a buffered one. It flushes when dropped, silently; call
/// [`Capture::flush`] (or take it off the network) to see errors.
pub struct Pcapng<W: Write + Send> {
    out: W,
    scope: Scope,
    block: Vec<u8>,
    tap: Vec<u8>,
}

impl<W: Write + Send> Pcapng<W> {
    /// Begins a file for `nodes` nodes, named by their indices.
    ///
    /// # Errors
    /// [`CaptureError`] where the head of the file cannot be written.
    pub fn new(out: W, nodes: usize, scope: Scope) -> Result<Self, CaptureError> {
        Self::named(out, 0..nodes, scope)
    }

    /// Begins a file for nodes with these names, one for each node in order.
    ///
    /// # Errors
    /// [`CaptureError`] where the head of the file cannot be written.
    pub fn named(
        out: W,
        names: impl IntoIterator<Item = impl std::fmt::Display>,
        scope: Scope,
    ) -> Result<Self, CaptureError> {
        let mut file = Self {
            out,
            scope,
            block: Vec::new(),
            tap: Vec::new(),
        };
        file.begin(SECTION_HEADER);
        file.u32(0x1a2b_3c4d); // byte order
        file.u16(1); // version 1.0
        file.u16(0);
        file.block.extend(u64::MAX.to_le_bytes()); // length of the section not known
        file.option(SHB_USERAPPL, b"thalweg");
        file.option(0, &[]);
        file.finish()?;
        for node in names {
            file.begin(INTERFACE_DESCRIPTION);
            file.u16(LINK_TYPE);
            file.u16(0);
            file.u32(0); // no limit on the length of packets
            file.option(IF_NAME, format!("node {node}").as_bytes());
            file.option(IF_TSRESOL, &[NANOSECONDS]);
            file.option(0, &[]);
            file.finish()?;
        }
        Ok(file)
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }
    fn option(&mut self, code: u16, value: &[u8]) {
        tlv(&mut self.block, code, value);
    }
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0); // total length, filled in at the end
    }
    fn finish(&mut self) -> Result<(), CaptureError> {
        let total = (self.block.len() + 4) as u32;
        self.block[4..8].copy_from_slice(&total.to_le_bytes());
        self.u32(total);
        Ok(self.out.write_all(&self.block)?)
    }
}

/// Type, length, value, padded to four bytes: pcapng's options and TAP's fields alike.
fn tlv(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend(kind.to_le_bytes());
    into.extend((value.len() as u16).to_le_bytes());
    into.extend(value);
    pad(into);
}
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

impl<W: Write + Send> Capture for Pcapng<W> {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        let (node, direction) = match frame.side {
            Side::Sent { node } => (node, OUTBOUND),
            Side::Received { .. } if self.scope == Scope::Transmissions => return Ok(()),
            Side::Received { node, .. } => (node, INBOUND),
        };
        self.tap.clear();
        self.tap.extend([0, 0, 0, 0]); // version 0, length filled in below
        tlv(&mut self.tap, TLV_FCS, &[FCS_16]);
        let (channel, page) = match frame.on {
            Tuning::Ghz2_4(channel) => (channel.number(), PAGE_2450_MHZ),
            Tuning::Mhz900(channel) => (channel.number(), PAGE_915_MHZ_OQPSK),
        };
        tlv(&mut self.tap, TLV_CHANNEL, &[channel, 0, page]);
        tlv(
            &mut self.tap,
            TLV_SFD_TIME,
            &frame.sfd.as_nanos().to_le_bytes(),
        );
        if let Side::Received { rssi, lqi, .. } = frame.side {
            tlv(&mut self.tap, TLV_RSS, &(rssi.0 as f32).to_le_bytes());
            tlv(&mut self.tap, TLV_LQI, &[lqi]);
        }
        let length = (self.tap.len() as u16).to_le_bytes();
        self.tap[2..4].copy_from_slice(&length);

        let end = frame.end.as_nanos();
        let packet = (self.tap.len() + frame.mpdu.len() + phy::FCS_BYTES) as u32;
        self.begin(ENHANCED_PACKET);
        self.u32(node as u32);
        self.u32((end >> 32) as u32);
        self.u32(end as u32);
        self.u32(packet);
        self.u32(packet);
        self.block.extend(&self.tap);
        self.block.extend(frame.mpdu);
        self.block.extend(mac::fcs(frame.mpdu).to_le_bytes());
        pad(&mut self.block);
        self.option(EPB_FLAGS, &direction.to_le_bytes());
        self.option(0, &[]);
        self.finish()
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(self.out.flush()?)
    }
}

impl<W: Write + Send> Drop for Pcapng<W> {
    fn drop(&mut self) {
        // No caller is left to report to.
        drop(self.out.flush());
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
