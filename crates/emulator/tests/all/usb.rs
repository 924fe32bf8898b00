//! The driver of USB, which a base station's image has, on the chip's model and before the model's host.

use std::sync::{Arc, Mutex, MutexGuard};
use thalweg_emulator::soc::{Misuse, Port, RadioTimes, Setup, Soc, UsbHost};
use thalweg_emulator::RAM_BASE;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::usb::{Allocator, Usb};
use thalweg_nrf52840::Registers;

const MICROSECOND: u64 = 64;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const HFCLKSTART: u32 = 0x4000_0000;
const USBD: u32 = 0x4002_7000;
/// Cycles of an access to a register.
const ACCESS: u64 = 8;

/// A chip that test and driver share.
#[derive(Clone)]
struct Chip(Arc<Mutex<Soc>>);

impl Chip {
    fn new() -> Self {
        let setup = Setup {
            identity: 1,
            radio: RadioTimes::TYPICAL,
        };
        let mut soc = Soc::new(setup, ACCESS);
        soc.write(HFCLKSTART, 1);
        soc.advance(MILLISECOND);
        Self(Arc::new(Mutex::new(soc)))
    }
    fn soc(&self) -> MutexGuard<'_, Soc> {
        self.0.lock().unwrap()
    }
    fn plug(&self) {
        let now = self.soc().now();
        self.soc().devices.plug(now);
    }
    fn unplug(&self) {
        let now = self.soc().now();
        self.soc().devices.unplug(now);
    }
    fn set_port(&self, port: Port) {
        let now = self.soc().now();
        self.soc().devices.set_port(now, port);
    }
    fn send(&self, bytes: &[u8]) {
        let now = self.soc().now();
        self.soc().devices.send_usb(now, bytes);
    }
    fn take(&self) -> Vec<u8> {
        let now = self.soc().now();
        self.soc().devices.take_usb(now)
    }
    fn allocator(&self) -> Allocator<Self> {
        Usb::bus(self.clone(), Region::at(RAM_BASE, 16)).unwrap()
    }
    /// A device that its host knows.
    fn known<'a>(&self, bus: &'a Allocator<Self>) -> Usb<'a, Self> {
        let mut usb = Usb::new(bus, "1").unwrap();
        self.plug();
        self.serve(&mut usb, ENUMERATED_MS, |_| {});
        usb
    }
    /// The main loop runs for some milliseconds, a turn each 20 us.
    fn serve(
        &self,
        usb: &mut Usb<'_, Self>,
        milliseconds: u64,
        mut turn: impl FnMut(&mut Usb<'_, Self>),
    ) {
        let end = self.soc().now() + milliseconds * MILLISECOND;
        while self.soc().now() < end {
            usb.poll();
            turn(usb);
            self.soc().advance(20 * MICROSECOND);
        }
    }
}

impl Registers for Chip {
    fn read(&mut self, address: u32) -> u32 {
        self.soc().read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        self.soc().write(address, value);
    }
}

/// Time enough for a host to know a device.
const ENUMERATED_MS: u64 = 200;

fn bytes(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251 + seed) as u8).collect()
}

#[test]
fn a_host_knows_the_base_station_by_its_names() {
    let chip = Chip::new();
    let bus = chip.allocator();
    let mut usb = Usb::new(&bus, "0123456789ABCDEF").unwrap();
    // Without a cable nothing is on.
    chip.serve(&mut usb, 5, |_| {});
    assert_eq!(chip.soc().read(USBD + 0x500), 0);
    chip.plug();
    chip.serve(&mut usb, ENUMERATED_MS, |_| {});
    {
        let soc = chip.soc();
        let UsbHost::Knows(identity) = soc.devices.usb_host() else {
            panic!("{:?}", soc.devices.usb_host());
        };
        assert_eq!(identity.numbers, (0x1209, 1));
        let names = ["Thalweg", "Thalweg base station", "0123456789ABCDEF"];
        assert_eq!(identity.names, names);
        assert_eq!(soc.devices.misuse(), Misuse::default());
    }
    assert!(usb.is_open());
    chip.set_port(Port::Closed);
    chip.serve(&mut usb, 5, |_| {});
    assert!(!usb.is_open());
}

/// Sends all of `out` in frames of up to 256 bytes, and gives what came in meanwhile.
fn exchange(
    chip: &Chip,
    usb: &mut Usb<'_, Chip>,
    milliseconds: u64,
    out: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let (mut came, mut left) = (Vec::new(), out);
    let mut at_host = Vec::new();
    chip.serve(usb, milliseconds, |usb| {
        let mut room = [0; 64];
        let len = usb.read(&mut room);
        came.extend(&room[..len]);
        if usb.is_free() && !left.is_empty() {
            let frame = &left[..left.len().min(200 + left.len() % 57)];
            assert_eq!(usb.send(frame), Ok(frame.len()));
            left = &left[frame.len()..];
        }
        at_host.extend(chip.take());
    });
    assert_eq!(left, &[0; 0]);
    (came, at_host)
}

#[test]
fn bytes_pass_both_ways_and_a_new_cable_begins_anew() {
    let chip = Chip::new();
    let bus = chip.allocator();
    let mut usb = Usb::new(&bus, "1").unwrap();
    for seed in 0..3 {
        chip.plug();
        chip.serve(&mut usb, ENUMERATED_MS, |_| {});
        let (to_device, to_host) = (bytes(seed, 4_003), bytes(seed + 1, 9_984));
        chip.send(&to_device);
        let (came, at_host) = exchange(&chip, &mut usb, 60, &to_host);
        assert!(came == to_device, "{} of {}", came.len(), to_device.len());
        assert!(at_host == to_host, "{} of {}", at_host.len(), to_host.len());
        // A frame half sent and bytes half read go with the cable.
        usb.send(&[0xAA; 256]).unwrap();
        chip.send(&[0xBB; 300]);
        chip.unplug();
        chip.serve(&mut usb, 10, |usb| assert!(!usb.is_open()));
        assert_eq!(chip.soc().read(USBD + 0x500), 0);
        chip.take();
    }
    assert_eq!(chip.soc().devices.misuse(), Misuse::default());
}

#[test]
fn a_host_that_does_not_read_holds_up_nothing() {
    let chip = Chip::new();
    let bus = chip.allocator();
    let mut usb = chip.known(&bus);
    chip.set_port(Port::Closed);
    let mut sent = 0;
    chip.serve(&mut usb, 50, |usb| sent += usb.send(&[7; 256]).unwrap_or(0));
    // A packet at the endpoint, and a frame in the queue.
    assert!(sent <= 2 * 256, "{sent}");
    chip.send(b"still heard");
    let (came, _) = exchange(&chip, &mut usb, 5, &[]);
    assert_eq!(came, b"still heard");
    // It opens the port again, and finds the end of the last session first.
    chip.set_port(Port::Open);
    chip.serve(&mut usb, 10, |_| {});
    assert_eq!(chip.take(), vec![7; sent]);
    assert_eq!(exchange(&chip, &mut usb, 5, b"new").1, b"new");
}

#[test]
fn packets_pass_at_the_rate_of_the_bus() {
    let chip = Chip::new();
    let bus = chip.allocator();
    let mut usb = chip.known(&bus);
    let (mut sent, mut came) = (0, 0);
    chip.serve(&mut usb, 100, |usb| {
        sent += usb.send(&[7; 256]).unwrap_or(0);
        came += chip.take().len();
    });
    // 19 packets of 64 bytes a millisecond at most.
    assert!((50_000..=121_600).contains(&came), "{came} of {sent}");
}
