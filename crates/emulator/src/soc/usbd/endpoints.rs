//! USBD's endpoints: a buffer for a packet each, and what the host finds there (product specification, 6.35.8 to 6.35.11).

use super::Way;
use crate::memory::Memory;

/// Endpoints each way, but the isochronous one.
const COUNT: usize = 8;

/// What the host gets for a transaction (USB 2.0, 8.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    Ack,
    Nak,
    Stall,
    /// The endpoint is off.
    Silence,
}

/// An IN endpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct In {
    pub(super) pointer: u32,
    pub(super) most: u32,
    amount: u32,
    packet: Option<Vec<u8>>,
}

/// What an OUT endpoint does with a packet that comes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Buffer {
    /// It has the host wait.
    #[default]
    Closed,
    Open,
    Full(Vec<u8>),
}

/// An OUT endpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct Out {
    pub(super) pointer: u32,
    pub(super) most: u32,
    amount: u32,
    pub(super) size: u32,
    buffer: Buffer,
}

impl In {
    pub(super) const fn registers(&self) -> [u32; 3] {
        [self.pointer, self.most, self.amount]
    }
}
impl Out {
    pub(super) const fn registers(&self) -> [u32; 3] {
        [self.pointer, self.most, self.amount]
    }
}

/// The status stage of a control transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Status {
    #[default]
    Waits,
    Allowed,
    Refused,
}

#[derive(Debug, Clone)]
pub(super) struct Endpoints {
    pub(super) ins: [In; COUNT],
    pub(super) outs: [Out; COUNT],
    pub(super) enabled_in: u32,
    pub(super) enabled_out: u32,
    stalled_in: u32,
    stalled_out: u32,
    pub(super) setup: [u8; 8],
    pub(super) address: u8,
    status: Status,
    armed_twice: u64,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            ins: Default::default(),
            outs: Default::default(),
            // Only the control endpoint (6.35.13, EPINEN and EPOUTEN).
            enabled_in: 1,
            enabled_out: 1,
            stalled_in: 0,
            stalled_out: 0,
            setup: [0; 8],
            address: 0,
            status: Status::Waits,
            armed_twice: 0,
        }
    }
}

impl Endpoints {
    /// All as at power-on, but what is counted.
    pub(super) fn off(&self) -> Self {
        Self {
            armed_twice: self.armed_twice,
            ..Self::default()
        }
    }
    /// The bus is reset: no packet, no stall, no address.
    pub(super) fn clear(&mut self) {
        self.ins.iter_mut().for_each(|of| of.packet = None);
        let outs = self.outs.iter_mut();
        outs.for_each(|of| of.buffer = Buffer::Closed);
        (self.stalled_in, self.stalled_out, self.address) = (0, 0, 0);
        self.status = Status::Waits;
    }
    pub(super) const fn armed_twice(&self) -> u64 {
        self.armed_twice
    }

    /// DMA to an IN endpoint is over; none where there was no memory.
    pub(super) fn load(&mut self, n: usize, memory: &Memory) -> Option<()> {
        let of = self.ins.get_mut(n)?;
        of.amount = of.most;
        let bytes = match of.most {
            0 => Some(&[][..]),
            most => memory.read(of.pointer, most as usize),
        };
        of.packet = Some(bytes.unwrap_or(&[]).to_vec());
        bytes.map(|_| ())
    }
    /// DMA from an OUT endpoint is over. Hardware takes the next packet then, but of a control transfer.
    pub(super) fn unload(&mut self, n: usize, memory: &mut Memory) -> Option<()> {
        let of = self.outs.get_mut(n)?;
        let next = if n == 0 { Buffer::Closed } else { Buffer::Open };
        let Buffer::Full(bytes) = std::mem::replace(&mut of.buffer, next) else {
            return Some(());
        };
        let bytes = bytes.get(..of.most as usize).unwrap_or(&bytes);
        of.amount = bytes.len() as u32;
        memory.write_ram(of.pointer, bytes).then_some(())
    }

    /// SIZE is written: the endpoint takes a packet. One that it has is gone. Where it takes one already, as it does after
    /// DMA, silicon may have one by then (tinyusb's pull request 733, embassy's 6688): both are counted.
    pub(super) fn arm(&mut self, n: usize) {
        if let Some(of) = self.outs.get_mut(n).filter(|_| n > 0) {
            self.armed_twice += u64::from(of.buffer != Buffer::Closed);
            (of.buffer, of.size) = (Buffer::Open, 0);
        }
    }
    pub(super) fn arm_control(&mut self) {
        self.outs[0].buffer = Buffer::Open;
    }
    pub(super) fn allow_status(&mut self) {
        self.status = Status::Allowed;
    }
    pub(super) fn stall_control(&mut self) {
        self.status = Status::Refused;
    }
    /// EPSTALL is written.
    pub(super) fn stall(&mut self, value: u32) {
        let bit = 1 << (value & 7);
        let set = match value >> 7 & 1 {
            0 => &mut self.stalled_out,
            _ => &mut self.stalled_in,
        };
        *set = *set & !bit | if value >> 8 & 1 != 0 { bit } else { 0 };
    }
    pub(super) const fn is_stalled(&self, way: Way, n: usize) -> bool {
        let set = match way {
            Way::ToHost => self.stalled_in,
            Way::FromHost => self.stalled_out,
        };
        set >> n & 1 != 0
    }

    /// The host begins a control transfer, which is always taken (USB 2.0, 8.5.3).
    pub(super) fn begin(&mut self, setup: [u8; 8]) {
        self.setup = setup;
        (self.ins[0].packet, self.outs[0].buffer) = (None, Buffer::Closed);
        self.status = Status::Waits;
        // Hardware answers SET_ADDRESS (6.35.9).
        if setup[..2] == [0, 5] {
            (self.address, self.status) = (setup[2] & 0x7f, Status::Allowed);
        }
    }
    /// It asks for the end of a control transfer.
    pub(super) fn end(&mut self) -> Handshake {
        match self.status {
            Status::Allowed => {
                self.status = Status::Waits;
                Handshake::Ack
            }
            Status::Refused => Handshake::Stall,
            Status::Waits => Handshake::Nak,
        }
    }

    /// What it would get from an IN endpoint, or for a packet to an OUT endpoint.
    pub(super) fn would(&self, way: Way, n: usize) -> Handshake {
        let (enabled, has) = match way {
            Way::ToHost => (self.enabled_in, self.ins[n].packet.is_some()),
            Way::FromHost => (self.enabled_out, self.outs[n].buffer == Buffer::Open),
        };
        match has {
            _ if enabled >> n & 1 == 0 => Handshake::Silence,
            _ if self.is_stalled(way, n) => Handshake::Stall,
            _ if n == 0 && self.status == Status::Refused => Handshake::Stall,
            true => Handshake::Ack,
            false => Handshake::Nak,
        }
    }
    /// Takes a packet from an IN endpoint; none where [`Self::would`] says so.
    pub(super) fn take(&mut self, n: usize) -> Option<Vec<u8>> {
        match self.would(Way::ToHost, n) {
            Handshake::Ack => self.ins[n].packet.take(),
            _ => None,
        }
    }
    /// Gives a packet to an OUT endpoint, which is ready for it.
    pub(super) fn give(&mut self, n: usize, bytes: Vec<u8>) {
        let of = &mut self.outs[n];
        of.size = bytes.len() as u32;
        of.buffer = Buffer::Full(bytes);
    }
}
