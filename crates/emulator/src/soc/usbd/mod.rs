//! USBD (product specification, 6.35), and the host that its cable leads to.
//!
//! Registers and tasks are here, endpoints in `endpoints`, the host in `host` and what it asks in `script`. The bus has 19
//! transactions of 64 bytes in a frame of a millisecond (USB 2.0, 5.8.4), one at a time; those that would change nothing
//! do not happen. Not modelled: isochronous endpoints, SOF, sleep, errors on the wire, data toggles.

mod endpoints;
mod host;
mod script;

pub use host::{Identity, Port, UsbHost};

use super::events::{Device, Event, Events, Id, Short, Task, Wires, MICROSECOND};
use endpoints::Endpoints;
use host::Host;

const USB_RESET: Event = 0;
const STARTED: Event = 1;
const END_IN: Event = 2;
const EP0_DATA_DONE: Event = 10;
const END_OUT: Event = 12;
const USB_EVENT: Event = 22;
const EP0_SETUP: Event = 23;
const EP_DATA: Event = 24;
const START_IN: Task = 1;
const START_OUT: Task = 10;
const EP0_RECEIVE: Task = 19;
const EP0_STATUS: Task = 20;
const EP0_STALL: Task = 21;
/// EVENTCAUSE.READY.
const READY: u32 = 1 << 11;

/// From VBUS to a regulator that has settled, and from ENABLE to READY: round numbers, no source.
pub(super) const SETTLES: u64 = 1_000 * MICROSECOND;
const GETS_READY: u64 = 10 * MICROSECOND;
/// A transaction on the bus: at most 19 a millisecond (USB 2.0, 5.8.4).
const SLOT: u64 = 1_000 * MICROSECOND / 19;
/// What DMA takes, for each and for a byte: no source.
const DMA: u64 = 2 * MICROSECOND;
const DMA_BYTE: u64 = MICROSECOND / 8;

/// ENABLE, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    Off,
    /// Enabled; ready at a cycle, or never where there was no supply.
    Starts(u64),
    Ready,
}

/// A DMA that runs.
#[derive(Debug, Clone, Copy)]
struct Dma {
    until: u64,
    endpoint: usize,
    way: Way,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    ToHost,
    FromHost,
}

#[derive(Debug)]
pub(super) struct Usbd {
    events: Events,
    /// When the supply has settled, where there is one.
    supply: Option<u64>,
    power: Power,
    pull_up: u32,
    cause: u32,
    /// EPDATASTATUS, and EPSTATUS.
    passed: u32,
    captured: u32,
    toggle: u32,
    /// Anomaly 199's register.
    guard: u32,
    endpoints: Endpoints,
    dma: Option<Dma>,
    host: Host,
    /// When the host's next transaction is, where it wants one.
    turn: u64,
    bad_pointers: u64,
    lost_tasks: u64,
    without_crystal: u64,
}

impl Usbd {
    pub(super) fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            supply: None,
            power: Power::Off,
            pull_up: 0,
            cause: 0,
            passed: 0,
            captured: 0,
            toggle: 0,
            guard: 0,
            endpoints: Endpoints::default(),
            dma: None,
            host: Host::default(),
            turn: u64::MAX,
            bad_pointers: 0,
            lost_tasks: 0,
            without_crystal: 0,
        }
    }
    /// The same after the chip's reset: the cable and what the host knows stay.
    pub(super) fn reset(&mut self, id: Id) {
        let fresh = Self::new(id);
        let old = std::mem::replace(self, fresh);
        (self.supply, self.host) = (old.supply, old.host);
        self.host.leave();
    }

    /// A host is plugged in, or out.
    pub(super) fn plug(&mut self, now: u64) {
        self.supply = Some(now + SETTLES);
    }
    pub(super) fn unplug(&mut self) {
        self.supply = None;
        if self.power != Power::Off {
            self.power = Power::Starts(u64::MAX);
        }
        (self.dma, self.turn) = (None, u64::MAX);
        self.endpoints.clear();
        self.host.leave();
    }
    pub(super) const fn host(&self) -> &Host {
        &self.host
    }
    /// Bytes and wishes for the host, which acts from its next transaction on.
    pub(super) fn tell_host(&mut self, now: u64, tell: impl FnOnce(&mut Host)) {
        tell(&mut self.host);
        self.plan(now);
    }
    pub(super) fn note_without_crystal(&mut self) {
        self.without_crystal += 1;
    }
    /// Whether a write has the host see a device.
    pub(super) const fn joins(offset: u32, value: u32) -> bool {
        offset == 0x504 && value & 1 != 0
    }
    /// Times without the crystal, DMA pointers that were not in RAM, endpoints armed twice, tasks lost.
    pub(super) const fn misuses(&self) -> [u64; 4] {
        let armed_twice = self.endpoints.armed_twice();
        [
            self.without_crystal,
            self.bad_pointers,
            armed_twice,
            self.lost_tasks,
        ]
    }

    /// Sets when the host's next transaction is: at the next slot, where one would change something.
    fn plan(&mut self, now: u64) {
        let joined = self.power == Power::Ready && self.pull_up != 0;
        let waits = match joined {
            true => self.host.waits(now, &self.endpoints),
            false => u64::MAX,
        };
        self.turn = match waits {
            u64::MAX => u64::MAX,
            at if at > now => at,
            _ => self.turn.min((now / SLOT + 1) * SLOT),
        };
    }

    fn start_dma(&mut self, now: u64, endpoint: usize, way: Way, wires: &mut Wires<'_>) {
        let bytes = match way {
            Way::ToHost => self.endpoints.ins[endpoint].most,
            Way::FromHost => self.endpoints.outs[endpoint].most,
        };
        let until = now + DMA + DMA_BYTE * u64::from(bytes);
        self.dma = Some(Dma {
            until,
            endpoint,
            way,
        });
        self.captured |= 1 << (endpoint + 16 * usize::from(way == Way::FromHost));
        self.events.raise(STARTED, wires);
    }
    fn end_dma(&mut self, Dma { endpoint, way, .. }: Dma, wires: &mut Wires<'_>) {
        let (done, event) = match way {
            Way::ToHost => (self.endpoints.load(endpoint, wires.memory), END_IN),
            Way::FromHost => (self.endpoints.unload(endpoint, wires.memory), END_OUT),
        };
        self.bad_pointers += u64::from(done.is_none());
        self.events.raise(event + endpoint as Event, wires);
    }

    /// What the host did, as events.
    fn tell(&mut self, happened: host::Happened, wires: &mut Wires<'_>) {
        use host::Happened;
        match happened {
            Happened::Nothing => (),
            Happened::Reset => {
                self.endpoints.clear();
                self.events.raise(USB_RESET, wires);
            }
            Happened::Setup => self.events.raise(EP0_SETUP, wires),
            Happened::In(0) | Happened::Out(0) => self.events.raise(EP0_DATA_DONE, wires),
            Happened::In(n) => {
                self.passed |= 1 << n;
                self.events.raise(EP_DATA, wires);
            }
            Happened::Out(n) => {
                self.passed |= 1 << (16 + n);
                self.events.raise(EP_DATA, wires);
            }
        }
    }

    fn enable(&mut self, now: u64, value: u32) {
        match (value & 1, self.power) {
            (0, _) => {
                self.power = Power::Off;
                (self.pull_up, self.cause, self.passed, self.captured) = (0, 0, 0, 0);
                (self.dma, self.endpoints) = (None, self.endpoints.off());
                self.host.leave();
            }
            (_, Power::Off) => {
                let settled = self.supply.is_some_and(|settled| settled <= now);
                self.power = Power::Starts(if settled { now + GETS_READY } else { u64::MAX });
            }
            _ => (),
        }
    }
}

/// Registers of an endpoint's DMA: which endpoint, and which of them.
const fn dma_register(offset: u32) -> (usize, u32) {
    let place = offset & 0xff;
    ((place / 0x14) as usize, place % 0x14)
}

impl Device for Usbd {
    fn shorts(&self) -> &'static [Short] {
        &[
            (0, EP0_DATA_DONE, START_IN),
            (1, EP0_DATA_DONE, START_OUT),
            (2, EP0_DATA_DONE, EP0_STATUS),
            (3, END_OUT, EP0_STATUS),
            (4, END_OUT, EP0_RECEIVE),
        ]
    }
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        if self.power != Power::Ready {
            return;
        }
        if self.dma.is_some() || (START_IN..START_OUT + 8).contains(&task) && self.guard != 0x82 {
            // Anomaly 199: no tasks during DMA, which software has to announce.
            self.lost_tasks += 1;
            return;
        }
        match task {
            START_IN..=8 => self.start_dma(now, (task - START_IN) as usize, Way::ToHost, wires),
            START_OUT..=17 => {
                self.start_dma(now, (task - START_OUT) as usize, Way::FromHost, wires);
            }
            EP0_RECEIVE => self.endpoints.arm_control(),
            EP0_STATUS => self.endpoints.allow_status(),
            EP0_STALL => self.endpoints.stall_control(),
            _ => (),
        }
        self.plan(now);
    }

    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        let ends = &self.endpoints;
        Some(match offset {
            0x400 => self.cause,
            0x420..0x440 => u32::from(ends.is_stalled(Way::ToHost, (offset as usize - 0x420) / 4)),
            0x444..0x464 => {
                u32::from(ends.is_stalled(Way::FromHost, (offset as usize - 0x444) / 4))
            }
            0x468 => self.captured,
            0x46c => self.passed,
            0x470 => u32::from(ends.address),
            0x480..0x4a0 => u32::from(ends.setup[(offset as usize - 0x480) / 4]),
            0x4a0..0x4c0 => ends.outs[(offset as usize - 0x4a0) / 4].size,
            0x500 => u32::from(self.power != Power::Off),
            0x504 => self.pull_up,
            0x50c => self.toggle,
            0x510 => ends.enabled_in,
            0x514 => ends.enabled_out,
            0x600..0x6a0 | 0x700..0x7a0 => {
                let (n, register) = dma_register(offset);
                let of = match offset < 0x700 {
                    true => &ends.ins[n].registers(),
                    false => &ends.outs[n].registers(),
                };
                *of.get(register as usize / 4)?
            }
            0xc1c => self.guard,
            _ => return None,
        })
    }

    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x400 => self.cause &= !value,
            0x468 => self.captured &= !value,
            0x46c => self.passed &= !value,
            0x4a0..0x4c0 => self.endpoints.arm((offset as usize - 0x4a0) / 4),
            0x500 => self.enable(now, value),
            0x504 => {
                self.pull_up = value & 1;
                if self.pull_up == 0 {
                    self.host.leave();
                }
            }
            0x50c => self.toggle = value,
            0x510 => self.endpoints.enabled_in = value,
            0x514 => self.endpoints.enabled_out = value,
            0x518 => self.endpoints.stall(value),
            0x600..0x6a0 | 0x700..0x7a0 => {
                let (n, register) = dma_register(offset);
                let ends = &mut self.endpoints;
                let (pointer, most) = match offset < 0x700 {
                    true => (&mut ends.ins[n].pointer, &mut ends.ins[n].most),
                    false => (&mut ends.outs[n].pointer, &mut ends.outs[n].most),
                };
                match register {
                    0 => *pointer = value,
                    4 => *most = value & 0x7f,
                    _ => return None,
                }
            }
            0xc1c => self.guard = value,
            _ => return None,
        }
        self.plan(now);
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if matches!(self.power, Power::Starts(at) if at <= now) {
            (self.power, self.cause) = (Power::Ready, self.cause | READY);
            self.events.raise(USB_EVENT, wires);
        }
        if let Some(dma) = self.dma.filter(|dma| dma.until <= now) {
            self.dma = None;
            self.end_dma(dma, wires);
        }
        if self.turn <= now {
            self.turn = u64::MAX;
            let happened = self.host.act(now, &mut self.endpoints);
            self.tell(happened, wires);
        }
        self.plan(now);
    }
    fn due(&self) -> u64 {
        let ready = match self.power {
            Power::Starts(at) => at,
            Power::Off | Power::Ready => u64::MAX,
        };
        let dma = self.dma.map_or(u64::MAX, |dma| dma.until);
        self.turn.min(ready).min(dma)
    }
}
