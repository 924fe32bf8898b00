//! A line to a host over USB: a serial port (CDC ACM), for boards without another.
//!
//! It is served in thread mode: [`Usb::poll`] at each turn of the main loop, and at least every 10 ms. Its interrupt has
//! nothing to do but wake the processor. Plugging in and out is seen there, too. Invariants: bytes come and go once, in
//! order; where nobody reads, [`Usb::is_free`] stays false and nothing waits. Tests: `crates/emulator/tests/all/usb.rs`.

mod anomalies;
mod bus;

pub use bus::Bus;

use crate::dma::Region;
use crate::uart::Busy;
use crate::Registers;
use usb_device::bus::UsbBusAllocator;
use usb_device::device::{
    StringDescriptors, UsbDevice, UsbDeviceBuilder, UsbDeviceState, UsbRev, UsbVidPid,
};
use usb_device::prelude::BuilderError;
use usb_device::LangID;
use usbd_serial::{SerialPort, USB_CLASS_CDC};

/// Vendor and product of pid.codes that are free for tests: not for boards that are sold.
const IDENTITY: UsbVidPid = UsbVidPid(0x1209, 0x0001);
/// Bytes that wait to be read: two packets.
const RX: usize = 2 * bus::PACKET as usize;
/// Bytes that are sent at a time, as of [`crate::uart`].
const TX: usize = 256;

/// What [`Usb::new`] borrows.
pub type Allocator<R> = UsbBusAllocator<Bus<R>>;

/// Whether something came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nothing.
    Quiet,
    /// Something: there may be more.
    Busy,
}

/// The line.
pub struct Usb<'a, R: Registers + Clone + Sync> {
    device: UsbDevice<'a, Bus<R>>,
    port: SerialPort<'a, Bus<R>, [u8; RX], [u8; TX]>,
}

impl<'a, R: Registers + Clone + Sync> Usb<'a, R> {
    /// Bytes of RAM that it needs for its DMA.
    pub const DMA_BYTES: u32 = bus::PACKET;

    /// USBD behind `r`, with its packets in `memory`; none where that is shorter than [`Self::DMA_BYTES`].
    pub fn bus(r: R, memory: Region) -> Option<Allocator<R>> {
        Bus::new(r, memory).map(UsbBusAllocator::new)
    }

    /// The line on a bus, which calls itself `serial_number` to the host.
    ///
    /// # Errors
    /// [`BuilderError`], which none of its constants gives.
    pub fn new(bus: &'a Allocator<R>, serial_number: &'a str) -> Result<Self, BuilderError> {
        let port = SerialPort::new_with_store(bus, [0; RX], [0; TX]);
        let names = StringDescriptors::new(LangID::EN_US)
            .manufacturer("Thalweg")
            .product("Thalweg base station")
            .serial_number(serial_number);
        let device = UsbDeviceBuilder::new(bus, IDENTITY)
            .usb_rev(UsbRev::Usb200)
            .device_class(USB_CLASS_CDC)
            .max_packet_size_0(bus::PACKET as u8)?
            .strings(&[names])?
            .build();
        Ok(Self { device, port })
    }

    /// Does what the host asks for.
    pub fn poll(&mut self) -> Turn {
        match self.device.poll(&mut [&mut self.port]) {
            true => Turn::Busy,
            false => Turn::Quiet,
        }
    }

    /// Whether a program at the host has the port open: it has raised DTR, as operating systems do for it.
    pub fn is_open(&self) -> bool {
        self.device.state() == UsbDeviceState::Configured && self.port.dtr()
    }

    /// Takes what came in; says how many bytes.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        // What cannot be read now is not there.
        self.port.read(into).unwrap_or(0)
    }

    /// Whether what was sent has gone out, or at least is USBD's.
    pub fn is_free(&mut self) -> bool {
        self.port.flush().is_ok()
    }

    /// Sends what fits of `bytes`, 256 at most; says how many.
    ///
    /// # Errors
    /// [`Busy`] until what was sent before has gone out.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Busy> {
        if !self.is_free() {
            return Err(Busy);
        }
        self.port.write(bytes).map_err(|_| Busy)
    }
}
