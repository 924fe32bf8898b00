//! The peripherals of an nRF52840 that Thalweg's firmware touches (product specification, Rev 1.7; clauses by name).
//!
//! [`Devices`] is what the core's bus leads to; [`Soc`] is the same without a core, for drivers that run on the host.
//! Time base: cycles of the 64 MHz clock since power-on. Events happen at their own cycle, in order, also where the
//! processor looks later. Tests: `tests/all/babblesim.rs`, `tests/all/devices.rs`.

mod aes;
mod air;
mod clock;
mod ecb;
mod events;
mod flash;
mod native;
mod ppi;
mod radio;
mod radio_names;
mod radio_registers;
mod rtc;
mod saadc;
mod small;
mod starts;
mod timer;
mod uarte;
mod usbd;

pub use air::{Act, Arrival, Carrier, Check, Deed, FrameStart, RadioTimes};
pub use clock::ResetReason;
pub use native::{Native, Program, Soc};
pub use radio::State as RadioState;
pub use starts::Times;
pub use usbd::{Identity as UsbIdentity, Port, UsbHost};

use crate::core::{Activity, Peripherals, Written};
use crate::memory::{Memory, FICR_BASE};
use events::{Device, Event, Id, Task, Wires};
use small::draw;
use starts::{Ended, Starts};

/// Cycles of a second.
pub const CLOCK_HZ: u64 = 64_000_000;

const CLOCK: Id = 0;
const RADIO: Id = 1;
const PPI: Id = 0x1f;
const NVMC: Id = 0x1e;
const USBD: Id = 39;
/// All that have events, in the order in which they act where several do at once.
const IDS: [Id; 24] = [
    CLOCK, RADIO, 2, 7, 8, 9, 10, 26, 27, 11, 17, 36, 12, 13, 14, 16, 20, 21, 22, 23, 24, 25, 6,
    USBD,
];
/// RADIO.TXEN.
const TXEN: u32 = 0x4000_1000;
/// At most so many addresses without a register are kept.
const STRANGERS: usize = 16;

/// What a chip is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Its device identifier in FICR, and the seed of its random numbers.
    pub identity: u64,
    /// What its radio takes.
    pub radio: RadioTimes,
}

/// What software did that the specification forbids, or that this model does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Misuse {
    /// The radio was started, or USB joined its bus, while HFXO did not run.
    pub without_crystal: u64,
    /// DMA pointers that were not in RAM.
    pub bad_pointers: u64,
    /// Bytes that came over the line and found no buffer.
    pub lost_bytes: u64,
    /// Endpoints of USB's that were armed while they took a packet already: it may be lost.
    pub armed_twice: u64,
    /// Tasks of USBD's that were lost to its DMA.
    pub lost_tasks: u64,
}

/// All peripherals of a chip.
#[derive(Debug)]
pub struct Devices {
    setup: Setup,
    clock: clock::Clock,
    radio: radio::Radio,
    uarte: uarte::Uarte,
    usbd: usbd::Usbd,
    timers: [timer::Timer; 5],
    rtcs: [rtc::Rtc; 3],
    saadc: saadc::Saadc,
    temp: small::Temp,
    rng: small::Rng,
    ecb: ecb::Ecb,
    wdt: small::Wdt,
    egus: [small::Egu; 6],
    gpiote: small::Egu,
    ppi: ppi::Ppi,
    nvmc: flash::Nvmc,
    gpio: small::Gpio,
    raised: Vec<(Id, Event)>,
    due: u64,
    lines: u64,
    starts: Starts,
    strangers: Vec<u32>,
}

impl Devices {
    /// After power-on, at cycle nought; `memory` gets the factory's information.
    pub fn new(setup: Setup, memory: &mut Memory) -> Self {
        let identity = setup.identity;
        let words = [
            (0x10, 4096),
            (0x14, 256),
            (0x60, identity as u32),
            (0x64, (identity >> 32) as u32),
            (0xa0, 1),
            (0xa4, identity.rotate_left(17) as u32),
            (0xa8, (identity >> 40) as u32 & 0xffff),
            (0x100, 0x52840),
            (0x10c, 256),
            (0x110, 1024),
        ];
        for (offset, word) in words {
            // FICR takes any word.
            let _ = memory.program(FICR_BASE + offset, &u32::to_le_bytes(word));
        }
        let mut devices = Self {
            setup,
            clock: clock::Clock::new(),
            radio: radio::Radio::new(RADIO, setup.radio),
            uarte: uarte::Uarte::new(2),
            usbd: usbd::Usbd::new(USBD),
            timers: [(8, 4), (9, 4), (10, 4), (26, 6), (27, 6)]
                .map(|(id, registers)| timer::Timer::new(id, registers)),
            rtcs: [11, 17, 36].map(rtc::Rtc::new),
            saadc: saadc::Saadc::new(7),
            temp: small::Temp::new(12),
            rng: small::Rng::new(13, identity),
            ecb: ecb::Ecb::new(14),
            wdt: small::Wdt::new(16),
            egus: [20, 21, 22, 23, 24, 25].map(small::Egu::new),
            gpiote: small::Egu::new(6),
            ppi: ppi::Ppi::default(),
            nvmc: flash::Nvmc::default(),
            gpio: small::Gpio::default(),
            raised: Vec::new(),
            due: u64::MAX,
            lines: 0,
            starts: Starts::NONE,
            strangers: Vec::new(),
        };
        devices.refresh();
        devices
    }

    /// The same after a reset at cycle `now`; what the radio did to the air is not forgotten.
    pub fn reset(&mut self, memory: &mut Memory, now: u64, reason: ResetReason) {
        // What flash was about is not waited for.
        self.nvmc.cut(memory, now, now);
        // Power off: the air learns that the receiver is off, and what was spent is kept.
        let _ = self.radio.write(now, 0xffc, 0);
        let mut fresh = Self::new(self.setup, memory);
        std::mem::swap(&mut fresh.radio, &mut self.radio);
        std::mem::swap(&mut fresh.clock, &mut self.clock);
        // Chance does not repeat itself.
        fresh.rng.follow(&self.rng);
        std::mem::swap(&mut fresh.usbd, &mut self.usbd);
        fresh.clock.reset(now, reason);
        fresh.usbd.reset(USBD);
        std::mem::swap(&mut fresh.starts, &mut self.starts);
        fresh.refresh();
        *self = fresh;
    }

    /// Power fails at cycle `now`, and comes again: what flash was about is half done, RAM has what chance brings, and
    /// nothing is known of before.
    pub fn cut_power(&mut self, memory: &mut Memory, now: u64, seed: u64) {
        self.nvmc.cut(memory, now, seed);
        let mut state = !seed;
        memory.fill_ram(|| draw(&mut state));
        self.reset(memory, now, ResetReason::PowerOn);
    }

    /// Why the watchdog or software wants a reset.
    pub fn reset_reason(&self) -> ResetReason {
        match self.wdt.bites() {
            true => ResetReason::Watchdog,
            false => ResetReason::Software,
        }
    }

    fn find(&mut self, id: Id) -> Option<&mut dyn Device> {
        Some(match id {
            CLOCK => &mut self.clock,
            RADIO => &mut self.radio,
            2 => &mut self.uarte,
            USBD => &mut self.usbd,
            6 => &mut self.gpiote,
            8..=10 => &mut self.timers[id as usize - 8],
            26 | 27 => &mut self.timers[id as usize - 23],
            11 => &mut self.rtcs[0],
            17 => &mut self.rtcs[1],
            36 => &mut self.rtcs[2],
            7 => &mut self.saadc,
            12 => &mut self.temp,
            13 => &mut self.rng,
            14 => &mut self.ecb,
            16 => &mut self.wdt,
            20..=25 => &mut self.egus[id as usize - 20],
            _ => return None,
        })
    }

    /// Computes again when the next event is due, and which interrupt lines are up.
    fn refresh(&mut self) {
        let (mut due, mut lines) = (u64::MAX, 0);
        for id in IDS {
            if let Some(device) = self.find(id) {
                due = due.min(device.due());
                lines |= u64::from(device.events().line()) << id;
            }
        }
        (self.due, self.lines) = (due, lines);
    }

    fn with(
        &mut self,
        memory: &mut Memory,
        id: Id,
        act: impl FnOnce(&mut dyn Device, &mut Wires<'_>),
    ) {
        let mut raised = std::mem::take(&mut self.raised);
        if let Some(device) = self.find(id) {
            let wires = &mut Wires {
                memory,
                raised: &mut raised,
            };
            act(device, wires);
        }
        self.raised = raised;
    }

    fn task(&mut self, memory: &mut Memory, now: u64, id: Id, task: Task) {
        if id == PPI {
            return self.ppi.task(task);
        }
        if id == RADIO && radio::Radio::needs_crystal(task) && !self.clock.has_crystal() {
            self.radio.note_without_crystal();
        }
        if (id, task) == (RADIO, TXEN & 0xff) {
            self.starts.started(now);
        }
        self.with(memory, id, |device, wires| device.task(now, task, wires));
    }

    /// Passes on what has happened: shortcuts first, then PPI, until nothing follows.
    fn settle(&mut self, memory: &mut Memory, now: u64) {
        // A circle of shortcuts would go on for ever in no time; the chip would be as busy.
        for _ in 0..64 {
            if self.raised.is_empty() {
                break;
            }
            let (id, event) = self.raised.remove(0);
            self.note_end(now, id, event);
            let shorts = self.find(id).map_or(&[][..], |device| device.shorts());
            for &(bit, on, task) in shorts.iter().filter(|short| short.1 == event) {
                debug_assert_eq!(on, event);
                if self
                    .find(id)
                    .is_some_and(|device| device.events().has_short(bit))
                {
                    self.task(memory, now, id, task);
                }
            }
            if !self.ppi.is_idle() {
                for address in self.ppi.triggered(id, event) {
                    self.task(memory, now, place(address), (address & 0xff) / 4);
                }
            }
        }
        self.raised.clear();
    }

    /// Everything up to `now` happens, each at its own time.
    fn catch_up(&mut self, memory: &mut Memory, now: u64) {
        while self.due <= now {
            let due = self.due;
            for id in IDS {
                if self.find(id).is_some_and(|device| device.due() <= due) {
                    self.with(memory, id, |device, wires| device.advance(due, wires));
                    self.settle(memory, due);
                }
            }
            self.refresh();
        }
    }

    /// What the radio did to the air since this was last asked, each deed at its cycle; some a little ahead.
    pub fn take_acts(&mut self) -> Vec<Act> {
        self.radio.take_acts()
    }
    /// Whether there is any.
    pub fn has_acts(&self) -> bool {
        self.radio.has_acts()
    }
    /// Something reaches the radio at cycle `at`.
    pub fn arrive(&mut self, at: u64, arrival: Arrival) {
        self.radio.arrive(at, arrival);
        self.refresh();
    }
    /// Bits after FRAMESTART at which the radio tells of a frame's head, where it is set up to.
    pub fn head_bits(&self) -> Option<u32> {
        self.radio.head_bits()
    }
    /// What the radio takes.
    pub fn radio_times(&self) -> &RadioTimes {
        self.radio.times()
    }
    /// What the radio does.
    pub fn radio_state(&self) -> RadioState {
        self.radio.state()
    }
    /// Cycles that the radio has spent in a state up to `now`.
    pub fn radio_cycles(&self, state: RadioState, now: u64) -> u64 {
        self.radio.spent(state, now)
    }
    /// Cycles in which HFXO was on, up to `now`.
    pub fn crystal_cycles(&self, now: u64) -> u64 {
        self.clock.crystal_cycles(now)
    }
    /// The host puts bytes on the line to UARTE0.
    pub fn send_line(&mut self, now: u64, bytes: &[u8]) {
        self.uarte.receive(now, bytes);
        self.refresh();
    }
    /// Bytes that are on the line to UARTE0.
    pub fn line_waiting(&self) -> usize {
        self.uarte.waiting()
    }
    /// The host takes what UARTE0 has sent.
    pub fn take_line(&mut self) -> Vec<u8> {
        self.uarte.take_sent()
    }
    /// A USB host is plugged in.
    pub fn plug(&mut self, now: u64) {
        self.clock.plug(now);
        self.usbd.plug(now);
        self.refresh();
    }
    /// It is pulled out.
    pub fn unplug(&mut self, now: u64) {
        self.clock.unplug(now);
        self.usbd.unplug();
        self.refresh();
    }
    /// How far it is.
    pub fn usb_host(&self) -> UsbHost<'_> {
        self.usbd.host().state()
    }
    /// A program at it opens the device's serial port or closes it.
    pub fn set_port(&mut self, now: u64, port: Port) {
        self.usbd.tell_host(now, |host| host.set_port(port));
        self.refresh();
    }
    /// The program puts bytes into the serial port.
    pub fn send_usb(&mut self, now: u64, bytes: &[u8]) {
        self.usbd.tell_host(now, |host| host.send(bytes));
        self.refresh();
    }
    /// It takes what has come.
    pub fn take_usb(&mut self, now: u64) -> Vec<u8> {
        let mut taken = Vec::new();
        self.usbd.tell_host(now, |host| taken = host.take());
        self.refresh();
        taken
    }
    /// How soon after frames that came in and went out starts were armed, since power-on.
    pub fn starts(&self) -> [&Times; 2] {
        [&self.starts.after_received, &self.starts.after_sent]
    }
    fn note_end(&mut self, now: u64, id: Id, event: Event) {
        let ended = match self.radio.state() {
            _ if (id, event) != (RADIO, radio_names::PHYEND) => return,
            RadioState::TxIdle => Ended::Sent,
            _ => Ended::Received,
        };
        self.starts.ended(now, ended);
    }
    /// What software should not have done.
    pub fn misuse(&self) -> Misuse {
        let (without_crystal, bad_pointers) = self.radio.misuses();
        let [crystal, pointers, armed_twice, lost_tasks] = self.usbd.misuses();
        Misuse {
            without_crystal: without_crystal + crystal,
            bad_pointers: bad_pointers + pointers,
            lost_bytes: self.uarte.lost(),
            armed_twice,
            lost_tasks,
        }
    }
    /// Addresses within the peripherals that were touched and are not modelled: the first sixteen.
    pub fn strangers(&self) -> &[u32] {
        &self.strangers
    }

    /// On silicon a register that is not there reads as nought and takes anything.
    fn stranger(&mut self, address: u32) {
        if self.strangers.len() < STRANGERS && !self.strangers.contains(&address) {
            self.strangers.push(address);
        }
    }
}

/// Which peripheral an address belongs to.
const fn place(address: u32) -> Id {
    address >> 12 & 0xff
}

/// The peripheral bus, and the port of pins (product specification, 4.2).
fn is_peripheral(address: u32) -> bool {
    (0x4000_0000..0x4008_0000).contains(&address) || is_pin(address)
}
fn is_pin(address: u32) -> bool {
    (0x5000_0000..0x5000_1000).contains(&address)
}

impl Peripherals for Devices {
    fn read(&mut self, memory: &mut Memory, now: u64, address: u32) -> Option<u32> {
        if !is_peripheral(address) {
            return None;
        }
        self.catch_up(memory, now);
        let (id, offset) = (place(address), address & 0xfff);
        let value = match id {
            _ if is_pin(address) => self.gpio.read(offset),
            PPI => self.ppi.read(offset),
            NVMC => self.nvmc.read(offset),
            _ => self.find(id).and_then(|device| {
                let common = device.events().read(offset);
                // Some have registers of their own among the common ones.
                device.read(now, offset).or(common)
            }),
        };
        if value.is_none() {
            self.stranger(address);
        }
        Some(value.unwrap_or(0))
    }

    fn write(
        &mut self,
        memory: &mut Memory,
        now: u64,
        address: u32,
        value: u32,
    ) -> Option<Written> {
        if !is_peripheral(address) {
            return self.nvmc.store(memory, now, address, value);
        }
        self.catch_up(memory, now);
        let (id, offset) = (place(address), address & 0xfff);
        if id == USBD && usbd::Usbd::joins(offset, value) && !self.clock.has_crystal() {
            self.usbd.note_without_crystal();
        }
        let known = match id {
            _ if is_pin(address) => self.gpio.write(offset, value),
            NVMC => return self.nvmc.write(memory, now, offset, value),
            0..0x80 if offset < 0x100 => {
                if value & 1 != 0 {
                    self.task(memory, now, id, offset / 4);
                }
                Some(())
            }
            PPI => {
                let was_armed = self.ppi.leads_to(TXEN);
                let known = self.ppi.write(offset, value);
                if !was_armed && self.ppi.leads_to(TXEN) {
                    self.starts.armed(now);
                }
                known
            }
            _ => self.find(id).and_then(|device| {
                let own = device.write(now, offset, value);
                own.or_else(|| device.events_mut().write(offset, value))
            }),
        };
        if known.is_none() {
            self.stranger(address);
        }
        self.settle(memory, now);
        self.refresh();
        Some(Written::Done)
    }

    fn advance(&mut self, memory: &mut Memory, now: u64) -> Written {
        self.catch_up(memory, now);
        match self.wdt.bites() {
            true => Written::Resets,
            false => Written::Done,
        }
    }
    fn due(&self) -> u64 {
        self.due
    }
    fn lines(&self) -> u64 {
        self.lines
    }
    fn turns(&mut self, now: u64, to: Activity) {
        self.wdt.processor(now, to);
        self.refresh();
    }
}
