//! A host: it enumerates the device that it sees, opens its serial port, and moves bytes.
//!
//! Invariants: a request that is not answered within 5 s is given up, and so is the device until it is plugged in again;
//! the host fetches no packet while 4 kB wait to be read, or while its program has the port closed.

use super::endpoints::{Endpoints, Handshake};
use super::script::{Learned, Step, STEPS};
use super::{Way, MICROSECOND};
use std::collections::VecDeque;

pub use super::script::Identity;

const MILLISECOND: u64 = 1_000 * MICROSECOND;
/// From a new device to its reset, and the reset with the recovery after it (USB 2.0, 7.1.7.3 and 7.1.7.5).
const DEBOUNCE: u64 = 100 * MILLISECOND;
const RESET: u64 = 20 * MILLISECOND;
/// The longest that a request may take (USB 2.0, 9.2.6.1).
const PATIENCE: u64 = 5_000 * MILLISECOND;
/// Bytes that wait for the host's program at most.
const ROOM: usize = 4_096;
const PACKET: usize = 64;

/// What a program at the host does with the serial port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// It has opened it, and reads.
    #[default]
    Open,
    /// It has closed it.
    Closed,
}

/// How far a host is with its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsbHost<'a> {
    /// It sees none, or asks it what it is.
    Waits,
    /// It knows it, and its serial port works.
    Knows(&'a Identity),
    /// It could not make sense of it: why.
    GaveUp(&'static str),
}

/// What a transaction did at the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happened {
    Nothing,
    Reset,
    Setup,
    /// An IN endpoint's packet was fetched, an OUT endpoint got one.
    In(usize),
    Out(usize),
}

/// A control transfer that runs.
#[derive(Debug, Clone)]
struct Transfer {
    step: Step,
    began: u64,
    setup: [u8; 8],
    phase: Phase,
    /// What the device has reported.
    data: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Setup,
    In,
    Out(&'static [u8]),
    Status,
}

#[derive(Debug, Clone, Default)]
enum Stage {
    #[default]
    Gone,
    /// It is reset at a cycle, at that step of enumeration.
    Resets(u64, usize),
    /// It rests from its reset until a cycle, at that step.
    Recovers(u64, usize),
    /// It is asked, at that step.
    Asked(Transfer, usize),
    /// It works, and may be asked something.
    Works(Option<Transfer>),
    Useless(&'static str),
}

#[derive(Debug, Default)]
pub(in crate::soc) struct Host {
    stage: Stage,
    learned: Learned,
    port: Port,
    /// What the device was told of the port.
    told: Option<Port>,
    to_device: VecDeque<u8>,
    from_device: Vec<u8>,
    /// Which way the last packet went.
    last: Option<Way>,
}

impl Transfer {
    fn new(step: Step, now: u64, learned: &Learned) -> Self {
        let (setup, _) = step.setup(learned);
        Self {
            step,
            began: now,
            setup,
            phase: Phase::Setup,
            data: Vec::new(),
        }
    }
    fn length(&self) -> usize {
        usize::from(u16::from_le_bytes([self.setup[6], self.setup[7]]))
    }

    /// A transaction of it.
    fn act(&mut self, learned: &Learned, endpoints: &mut Endpoints) -> (Happened, Handshake) {
        match self.phase {
            Phase::Setup => {
                endpoints.begin(self.setup);
                let (_, data) = self.step.setup(learned);
                self.phase = match (self.setup[0] & 0x80 != 0, data) {
                    (true, _) => Phase::In,
                    (false, []) => Phase::Status,
                    (false, data) => Phase::Out(data),
                };
                (Happened::Setup, Handshake::Nak)
            }
            Phase::In => {
                let would = endpoints.would(Way::ToHost, 0);
                let Some(packet) = endpoints.take(0) else {
                    return (Happened::Nothing, would);
                };
                self.data.extend(&packet);
                // A packet that is not full is the last.
                if packet.len() < PACKET || self.data.len() >= self.length() {
                    self.phase = Phase::Status;
                }
                (Happened::In(0), Handshake::Nak)
            }
            Phase::Out(data) => match endpoints.would(Way::FromHost, 0) {
                Handshake::Ack => {
                    let (now, later) = data.split_at(data.len().min(PACKET));
                    endpoints.give(0, now.to_vec());
                    self.phase = match later {
                        [] => Phase::Status,
                        later => Phase::Out(later),
                    };
                    (Happened::Out(0), Handshake::Nak)
                }
                would => (Happened::Nothing, would),
            },
            Phase::Status => (Happened::Nothing, endpoints.end()),
        }
    }
}

impl Host {
    /// The device is gone.
    pub(super) fn leave(&mut self) {
        self.stage = Stage::Gone;
        self.told = None;
        self.to_device.clear();
    }
    pub(in crate::soc) fn state(&self) -> UsbHost<'_> {
        match &self.stage {
            Stage::Works(_) => UsbHost::Knows(&self.learned.identity),
            Stage::Useless(why) => UsbHost::GaveUp(why),
            _ => UsbHost::Waits,
        }
    }
    pub(in crate::soc) fn send(&mut self, bytes: &[u8]) {
        self.to_device.extend(bytes);
    }
    pub(in crate::soc) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.from_device)
    }
    pub(in crate::soc) fn set_port(&mut self, port: Port) {
        self.port = port;
    }

    /// Which way the next packet goes, if any can: by turns where both can.
    fn way(&self, endpoints: &Endpoints) -> Option<Way> {
        let (to_host, from_host) = self.learned.bulk?;
        let can = |way, n| endpoints.would(way, n) == Handshake::Ack;
        let reads = self.port == Port::Open && self.from_device.len() < ROOM;
        let fetch = reads && can(Way::ToHost, to_host);
        let give = !self.to_device.is_empty() && can(Way::FromHost, from_host);
        match (fetch, give) {
            (true, true) if self.last == Some(Way::ToHost) => Some(Way::FromHost),
            (true, _) => Some(Way::ToHost),
            (false, true) => Some(Way::FromHost),
            (false, false) => None,
        }
    }

    /// When it has something to do: a cycle to come, any that has passed for the next slot, the last one of all for never.
    pub(super) fn waits(&self, now: u64, endpoints: &Endpoints) -> u64 {
        match &self.stage {
            Stage::Gone => now,
            Stage::Resets(at, _) | Stage::Recovers(at, _) => *at,
            Stage::Asked(..) | Stage::Works(Some(_)) => now,
            Stage::Works(None) if self.told != Some(self.port) => now,
            Stage::Works(None) if self.way(endpoints).is_some() => now,
            Stage::Works(None) | Stage::Useless(_) => u64::MAX,
        }
    }

    /// A transaction, or what else there is to do at `now`.
    pub(super) fn act(&mut self, now: u64, endpoints: &mut Endpoints) -> Happened {
        match std::mem::take(&mut self.stage) {
            Stage::Gone => {
                self.learned = Learned::default();
                self.stage = Stage::Resets(now + DEBOUNCE, 0);
                Happened::Nothing
            }
            Stage::Resets(_, step) => {
                self.stage = Stage::Recovers(now + RESET, step);
                Happened::Reset
            }
            Stage::Recovers(_, step) => {
                self.stage = self.ask(now, step);
                Happened::Nothing
            }
            Stage::Asked(mut transfer, step) => {
                let (happened, ended) = self.go_on(now, &mut transfer, endpoints);
                self.stage = match ended {
                    None => Stage::Asked(transfer, step),
                    Some(Ok(())) if step == 0 => Stage::Resets(now, 1),
                    Some(Ok(())) => self.ask(now, step + 1),
                    Some(Err(why)) => Stage::Useless(why),
                };
                happened
            }
            Stage::Works(Some(mut transfer)) => {
                let (happened, ended) = self.go_on(now, &mut transfer, endpoints);
                self.stage = match ended {
                    None => Stage::Works(Some(transfer)),
                    Some(Ok(())) => Stage::Works(None),
                    Some(Err(why)) => Stage::Useless(why),
                };
                happened
            }
            Stage::Works(None) => {
                self.stage = Stage::Works(self.next_request(now));
                self.pass(endpoints)
            }
            Stage::Useless(why) => {
                self.stage = Stage::Useless(why);
                Happened::Nothing
            }
        }
    }

    /// The step of enumeration, or the end of it.
    fn ask(&self, now: u64, step: usize) -> Stage {
        match STEPS.get(step) {
            Some(next) => Stage::Asked(Transfer::new(*next, now, &self.learned), step),
            None => Stage::Works(Some(Transfer::new(Step::Coding, now, &self.learned))),
        }
    }

    /// What the device is to be told of its port, if it does not know.
    fn next_request(&mut self, now: u64) -> Option<Transfer> {
        if self.told == Some(self.port) {
            return None;
        }
        self.told = Some(self.port);
        let lines = match self.port {
            Port::Open => 3,
            Port::Closed => 0,
        };
        Some(Transfer::new(Step::Lines(lines), now, &self.learned))
    }

    /// A transaction of a control transfer, and how the transfer ended, if it did.
    fn go_on(
        &mut self,
        now: u64,
        transfer: &mut Transfer,
        endpoints: &mut Endpoints,
    ) -> (Happened, Option<Result<(), &'static str>>) {
        let (happened, handshake) = transfer.act(&self.learned, endpoints);
        let ended = match handshake {
            Handshake::Ack => Some(transfer.step.learn(&transfer.data, &mut self.learned)),
            Handshake::Stall => Some(Err("a request was refused")),
            _ if transfer.data.len() > transfer.length() => Some(Err("more than was asked for")),
            _ if now > transfer.began + PATIENCE => Some(Err("a request was not answered")),
            Handshake::Nak | Handshake::Silence => None,
        };
        (happened, ended)
    }

    /// A packet of the serial port's.
    fn pass(&mut self, endpoints: &mut Endpoints) -> Happened {
        let (Some(way), Some((to_host, from_host))) = (self.way(endpoints), self.learned.bulk)
        else {
            return Happened::Nothing;
        };
        self.last = Some(way);
        match way {
            Way::ToHost => {
                self.from_device
                    .extend(endpoints.take(to_host).unwrap_or_default());
                Happened::In(to_host)
            }
            Way::FromHost => {
                let bytes = self.to_device.len().min(PACKET);
                endpoints.give(from_host, self.to_device.drain(..bytes).collect());
                Happened::Out(from_host)
            }
        }
    }
}
