//! USBD as a bus of `usb-device` (product specification, 6.35): power, endpoints, and their DMA.
//!
//! All is done in thread mode, by [`UsbBus::poll`] and what follows from it. There is no handler and no critical section:
//! a radio's handler may come in anywhere. A packet's DMA is waited for, some microseconds. The caller keeps the crystal
//! running, which USB needs (6.35.4). Invariants: one DMA at a time, and nothing else is asked of USBD meanwhile; an OUT
//! endpoint is armed when the bus is reset, and from then on by hardware alone. Not done: isochronous endpoints, and low
//! power while the host sleeps. Tests: `crates/emulator/tests/all/usb.rs`.

use super::anomalies;
use crate::dma::Region;
use crate::registers::{clock, usbd};
use crate::Registers;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use usb_device::bus::{PollResult, UsbBus};
use usb_device::endpoint::{EndpointAddress, EndpointType};
use usb_device::{Result, UsbDirection, UsbError};

/// Bytes of the largest packet (USB 2.0, 5.8.3: bulk at full speed), and of RAM for DMA.
pub(super) const PACKET: u32 = 64;
/// Endpoints each way, but the isochronous one.
const ENDPOINTS: u32 = 8;
/// Bytes that begin a control transfer (USB 2.0, 9.3).
const SETUP_BYTES: usize = 8;
/// The request SET_ADDRESS, to the device (USB 2.0, 9.4).
const SET_ADDRESS: (u32, u32) = (0, 5);
/// The most reads of a register that waits for USBD: over 100 us at 64 MHz.
const PATIENCE: u32 = 2_000;
/// The supply is there and has settled.
const POWERED: u32 = clock::VBUSDETECT | clock::OUTPUTRDY;

/// USBD. `R` is a handle: a clone of it reaches the same registers.
#[derive(Debug)]
pub struct Bus<R> {
    r: R,
    memory: Region,
    /// Endpoints in use, a bit each.
    ins: u32,
    outs: u32,
    /// IN endpoints whose packet the host has not fetched.
    busy: AtomicU32,
    /// Bytes that are left of a control transfer's data stage.
    left: AtomicU32,
}

/// Which way a control transfer's data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    ToHost,
    FromHost,
}

impl<R: Registers + Clone + Sync> Bus<R> {
    /// USBD behind `r`, its packets in `memory`, off the bus; none where that is shorter than a packet.
    pub(super) fn new(mut r: R, memory: Region) -> Option<Self> {
        let (memory, _) = memory.split(PACKET / 4)?;
        // A boot loader may have left it on, with a host that still speaks to it.
        leave(&mut r);
        Some(Self {
            r,
            memory,
            ins: 0,
            outs: 0,
            busy: AtomicU32::new(0),
            left: AtomicU32::new(0),
        })
    }

    /// What has happened on the bus.
    fn happened(&self, r: &mut R) -> PollResult {
        if r.read(usbd::USBRESET) != 0 {
            r.write(usbd::USBRESET, 0);
            return PollResult::Reset;
        }
        let begins = r.read(usbd::EP0SETUP) != 0;
        // Before its register, so that what comes meanwhile is reported again.
        r.write(usbd::EPDATA, 0);
        let passed = r.read(usbd::EPDATASTATUS);
        let mut sent = passed & self.ins;
        if sent != 0 {
            r.write(usbd::EPDATASTATUS, sent);
        }
        let mut came = passed >> 16 & self.outs;
        // Where a transfer begins, this is of the one before.
        if !begins && r.read(usbd::EP0DATADONE) != 0 {
            match stage(r) {
                Stage::ToHost => {
                    r.write(usbd::EP0DATADONE, 0);
                    sent |= 1;
                }
                Stage::FromHost => came |= 1,
            }
        }
        self.busy.fetch_and(!sent, Relaxed);
        match (sent | came, begins) {
            (0, false) => PollResult::None,
            _ => PollResult::Data {
                ep_out: came as u16,
                ep_in_complete: sent as u16,
                ep_setup: u16::from(begins),
            },
        }
    }

    /// A control transfer begins: its eight bytes.
    fn begin(&self, r: &mut R, into: &mut [u8]) -> Result<usize> {
        let into = into
            .get_mut(..SETUP_BYTES)
            .ok_or(UsbError::BufferOverflow)?;
        for gone in [usbd::EP0SETUP, usbd::EP0DATADONE, usbd::SHORTS] {
            r.write(gone, 0);
        }
        self.busy.fetch_and(!1, Relaxed);
        for (n, byte) in (0..).zip(into.iter_mut()) {
            *byte = r.read(usbd::setup(n)) as u8;
        }
        let left = into
            .last_chunk()
            .map_or(0, |length| u16::from_le_bytes(*length));
        self.left.store(u32::from(left), Relaxed);
        // Asked for without data to come, it would let in those of the next transfer.
        if left > 0 && stage(r) == Stage::FromHost {
            r.write(usbd::EP0RCVOUT, 1);
        }
        Ok(SETUP_BYTES)
    }

    /// Whether the empty packet that ends a control transfer is hardware's; then it is let go.
    fn ends(&self, r: &mut R) -> bool {
        let request = (r.read(usbd::setup(0)), r.read(usbd::setup(1)));
        match stage(r) {
            // Hardware answers it, and takes the address.
            Stage::FromHost if request == SET_ADDRESS => true,
            Stage::ToHost if self.left.load(Relaxed) > 0 => false,
            Stage::FromHost | Stage::ToHost => {
                r.write(usbd::EP0STATUS, 1);
                true
            }
        }
    }

    /// The data of a packet go between RAM and the endpoint's buffer.
    ///
    /// # Errors
    /// `InvalidState` where USBD does not: it has lost its power.
    fn transfer(
        &self,
        r: &mut R,
        pointer: u32,
        bytes: u32,
        (start, end): (u32, u32),
    ) -> Result<()> {
        r.write(pointer, self.memory.address());
        r.write(pointer + usbd::MAXCNT, bytes);
        r.write(end, 0);
        anomalies::dma_begins(r);
        r.write(start, 1);
        let ended = (0..PATIENCE).any(|_| r.read(end) != 0);
        anomalies::dma_ends(r);
        r.write(end, 0);
        match ended {
            true => Ok(()),
            false => Err(UsbError::InvalidState),
        }
    }

    /// Takes the packet that OUT endpoint `n` has.
    fn fetch(&self, r: &mut R, n: u32, into: &mut [u8]) -> Result<usize> {
        let bytes = r.read(usbd::size_out(n)).min(PACKET);
        let task = (usbd::start_out(n), usbd::end_out(n));
        self.transfer(r, usbd::out_pointer(n), bytes, task)?;
        let into = into.get_mut(..bytes as usize);
        let into = into.ok_or(UsbError::BufferOverflow)?;
        self.memory.read(r, 0, into);
        Ok(into.len())
    }
}

/// Which way the data of the control transfer go (USB 2.0, 9.3.1).
fn stage(r: &mut impl Registers) -> Stage {
    match r.read(usbd::setup(0)) & 0x80 {
        0 => Stage::FromHost,
        _ => Stage::ToHost,
    }
}

/// USBD goes on, and the host sees a device. Without effect where USBD is not ready in time: it is tried again.
fn join(r: &mut impl Registers) {
    // Twice, for anomaly 223.
    for _ in 0..2 {
        r.write(usbd::ENABLE, 0);
        anomalies::enabling_begins(r);
        r.write(usbd::EVENTCAUSE, usbd::READY);
        r.write(usbd::ENABLE, 1);
        let ready = (0..PATIENCE).any(|_| r.read(usbd::EVENTCAUSE) & usbd::READY != 0);
        anomalies::enabling_ends(r);
        if !ready {
            return r.write(usbd::ENABLE, 0);
        }
    }
    r.write(usbd::INTENSET, usbd::INTERRUPTS);
    r.write(usbd::USBPULLUP, 1);
}

/// USBD goes off.
fn leave(r: &mut impl Registers) {
    r.write(usbd::USBPULLUP, 0);
    r.write(usbd::INTENCLR, u32::MAX);
    r.write(usbd::ENABLE, 0);
}

impl<R: Registers + Clone + Sync> UsbBus for Bus<R> {
    fn alloc_ep(
        &mut self,
        direction: UsbDirection,
        address: Option<EndpointAddress>,
        kind: EndpointType,
        bytes: u16,
        _interval: u8,
    ) -> Result<EndpointAddress> {
        let used = match direction {
            UsbDirection::In => &mut self.ins,
            UsbDirection::Out => &mut self.outs,
        };
        let n = match (address, kind) {
            (Some(address), _) => address.index() as u32,
            (None, EndpointType::Control) => 0,
            // The first that is free behind number 0.
            (None, _) => (*used | 1).trailing_ones(),
        };
        if n >= ENDPOINTS || *used & 1 << n != 0 || u32::from(bytes) > PACKET {
            return Err(UsbError::EndpointOverflow);
        }
        *used |= 1 << n;
        Ok(EndpointAddress::from_parts(n as usize, direction))
    }

    /// Nothing yet: [`Self::poll`] does so where there is power.
    fn enable(&mut self) {}

    fn reset(&self) {
        let r = &mut self.r.clone();
        for gone in [
            usbd::EP0SETUP,
            usbd::EP0DATADONE,
            usbd::EPDATA,
            usbd::SHORTS,
        ] {
            r.write(gone, 0);
        }
        r.write(usbd::EPDATASTATUS, u32::MAX);
        r.write(usbd::EPINEN, self.ins);
        r.write(usbd::EPOUTEN, self.outs);
        self.busy.store(0, Relaxed);
        for n in (1..ENDPOINTS).filter(|n| self.outs & 1 << n != 0) {
            r.write(usbd::size_out(n), 0);
        }
    }

    /// Hardware takes it by itself.
    fn set_device_address(&self, _address: u8) {}

    fn write(&self, endpoint: EndpointAddress, packet: &[u8]) -> Result<usize> {
        let (r, n) = (&mut self.r.clone(), endpoint.index() as u32);
        let bytes = packet.len() as u32;
        if bytes > PACKET {
            return Err(UsbError::BufferOverflow);
        }
        if n == 0 && packet.is_empty() && self.ends(r) {
            return Ok(0);
        }
        if self.busy.load(Relaxed) & 1 << n != 0 {
            return Err(UsbError::WouldBlock);
        }
        if n == 0 {
            let left = self.left.load(Relaxed).saturating_sub(bytes);
            self.left.store(left, Relaxed);
            // A short packet is the last one, and the host's answer comes next.
            let shortcut = match bytes < PACKET {
                true => usbd::EP0DATADONE_EP0STATUS,
                false => 0,
            };
            r.write(usbd::SHORTS, shortcut);
        }
        self.memory.write(r, 0, packet);
        self.busy.fetch_or(1 << n, Relaxed);
        let task = (usbd::start_in(n), usbd::end_in(n));
        self.transfer(r, usbd::in_pointer(n), bytes, task)?;
        Ok(packet.len())
    }

    fn read(&self, endpoint: EndpointAddress, into: &mut [u8]) -> Result<usize> {
        let (r, n) = (&mut self.r.clone(), endpoint.index() as u32);
        if n > 0 {
            let bit = 1 << (16 + n);
            if r.read(usbd::EPDATASTATUS) & bit == 0 {
                return Err(UsbError::WouldBlock);
            }
            // Before its DMA, after which the next packet may come.
            r.write(usbd::EPDATASTATUS, bit);
            return self.fetch(r, n, into);
        }
        if r.read(usbd::EP0SETUP) != 0 {
            return self.begin(r, into);
        }
        if r.read(usbd::EP0DATADONE) == 0 {
            return Err(UsbError::WouldBlock);
        }
        r.write(usbd::EP0DATADONE, 0);
        let bytes = self.fetch(r, 0, into)?;
        let left = self.left.load(Relaxed).saturating_sub(bytes as u32);
        self.left.store(left, Relaxed);
        if left > 0 {
            r.write(usbd::EP0RCVOUT, 1);
        }
        Ok(bytes)
    }

    fn set_stalled(&self, endpoint: EndpointAddress, stalled: bool) {
        let (r, n) = (&mut self.r.clone(), endpoint.index() as u32);
        if n == 0 {
            // The next transfer ends a stall by itself.
            if stalled {
                r.write(usbd::EP0STALL, 1);
            }
            return;
        }
        let was_stalled = self.is_stalled(endpoint);
        let place = n | u32::from(endpoint.is_in()) << 7;
        r.write(usbd::EPSTALL, place | u32::from(stalled) << 8);
        if !stalled {
            // The endpoint is chosen first, then set to DATA0 (USB 2.0, 9.4.5).
            r.write(usbd::DTOGGLE, place);
            r.write(usbd::DTOGGLE, place | 1 << 8);
        }
        if was_stalled && !stalled && endpoint.is_out() {
            r.write(usbd::size_out(n), 0);
        }
    }

    fn is_stalled(&self, endpoint: EndpointAddress) -> bool {
        let (r, n) = (&mut self.r.clone(), endpoint.index() as u32);
        let halted = match endpoint.is_in() {
            true => usbd::halted_in(n),
            false => usbd::halted_out(n),
        };
        r.read(halted) & 1 != 0
    }

    /// Never called: [`Self::poll`] tells of no sleep. A base station's radio takes more than a sleeping host grants anyway.
    fn suspend(&self) {}
    fn resume(&self) {}

    fn poll(&self) -> PollResult {
        let r = &mut self.r.clone();
        let powered = r.read(clock::USBREGSTATUS) & POWERED == POWERED;
        match (powered, r.read(usbd::ENABLE) & 1 != 0) {
            (true, true) => self.happened(r),
            (true, false) => {
                join(r);
                PollResult::None
            }
            // What was half done for this host is not for the next.
            (false, true) => {
                leave(r);
                PollResult::Reset
            }
            (false, false) => PollResult::None,
        }
    }
}
