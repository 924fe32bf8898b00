//! A radio and a clock on the model, driven as a node's interrupt handler does.
#![allow(dead_code)]

pub(crate) mod model;

use model::{Chip, RAM, US};
use thalweg_engine::{OpId, RadioEvent, RadioOp, Refusal, Request};
use thalweg_nrf52840::clock::{Clock, LowFrequency};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::radio::{Radio, Settled};
use thalweg_units::{Channel, Dbm, Instant};

/// What a radio reported, owned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    Done(u16),
    Sent(u16, Instant),
    Sensed(u16, f64),
    Refused(u16, Refusal),
    Head(Vec<u8>, Instant),
    Frame {
        mpdu: Vec<u8>,
        sfd: Instant,
        end: Instant,
        rssi: Dbm,
        lqi: u8,
    },
    Corrupt(Instant),
}

impl Told {
    pub(crate) fn of(event: RadioEvent<'_>) -> Self {
        match event {
            RadioEvent::Done { op } => Self::Done(op.0),
            RadioEvent::Sent { op, sfd } => Self::Sent(op.0, sfd),
            RadioEvent::Sensed { op, power, .. } => Self::Sensed(op.0, power.0),
            RadioEvent::Refused { op, why } => Self::Refused(op.0, why),
            RadioEvent::Head { bytes, sfd } => Self::Head(bytes.to_vec(), sfd),
            RadioEvent::Frame {
                mpdu,
                sfd,
                end,
                rssi,
                lqi,
            } => Self::Frame {
                mpdu: mpdu.to_vec(),
                sfd,
                end,
                rssi,
                lqi,
            },
            RadioEvent::Corrupt { sfd } => Self::Corrupt(sfd),
        }
    }
    /// The operation that it answers.
    pub(crate) fn answers(&self) -> Option<u16> {
        match self {
            Self::Done(op) | Self::Sent(op, _) | Self::Sensed(op, _) | Self::Refused(op, _) => {
                Some(*op)
            }
            _ => None,
        }
    }
}

pub(crate) struct Bench {
    pub(crate) chip: Chip,
    pub(crate) clock: Clock,
    pub(crate) radio: Radio,
    pub(crate) told: Vec<Told>,
    next: u16,
}

pub(crate) const CHANNEL: Channel = Channel::FIRST;

impl Bench {
    pub(crate) fn new() -> Self {
        let mut chip = Chip::new();
        let clock = Clock::start(&mut chip, LowFrequency::Crystal).unwrap();
        let mut radio = Radio::new(Region::at(RAM, Radio::DMA_BYTES / 4)).unwrap();
        radio.start(&mut chip);
        Self {
            chip,
            clock,
            radio,
            told: Vec::new(),
            next: 0,
        }
    }
    /// The model's tick at which the node's clock was 0.
    pub(crate) fn offset(&mut self) -> u64 {
        let now = self.clock.now(&mut self.chip);
        // The count was captured an access before it was read.
        self.chip.now() - now - 2
    }
    /// Asks for `op`; gives its number. Nothing is reported before [`Self::handle`].
    pub(crate) fn submit(&mut self, op: RadioOp<'_>) -> u16 {
        self.next += 1;
        let request = Request::new(OpId(self.next), op);
        self.radio.submit(&mut self.chip, &mut self.clock, request);
        self.next
    }
    /// The same in a handler of its own.
    pub(crate) fn ask(&mut self, op: RadioOp<'_>) -> u16 {
        let id = self.submit(op);
        self.handle();
        id
    }
    /// What an interrupt handler does.
    pub(crate) fn handle(&mut self) {
        self.handle_with(|_, _| {});
    }
    /// The same; `answer` is called with each event, and may ask for more.
    pub(crate) fn handle_with(&mut self, mut answer: impl FnMut(&mut Self, &Told)) {
        loop {
            let event = self
                .radio
                .poll(&mut self.chip, &mut self.clock)
                .map(Told::of);
            if let Some(told) = event {
                answer(self, &told);
                self.told.push(told);
            } else if self.radio.settle(&mut self.chip, &mut self.clock) == Settled::Quiet {
                break;
            }
        }
    }
    /// Time passes for so many microseconds, interrupts handled.
    pub(crate) fn run(&mut self, us: u64) {
        self.run_with(us, |_, _| {});
    }
    pub(crate) fn run_with(&mut self, us: u64, mut answer: impl FnMut(&mut Self, &Told)) {
        let until = self.chip.now() + us * US;
        let mut handlers = 0;
        while self.chip.now() < until {
            let mut at = until;
            if let Some(due) = self.radio.due() {
                let offset = self.offset();
                at = at.min(due + offset).max(self.chip.now() + 1);
            }
            self.chip.run(at);
            self.handle_with(&mut answer);
            handlers += 1;
            assert!(handlers < 20_000, "an interrupt is not taken back");
        }
    }
    pub(crate) fn listen(&mut self) {
        self.ask(RadioOp::Listen {
            channel: CHANNEL,
            head_bytes: 0,
        });
        self.run(100);
        self.told.clear();
    }
    pub(crate) fn listen_head(&mut self, head_bytes: u8) {
        let channel = CHANNEL;
        self.ask(RadioOp::Listen {
            channel,
            head_bytes,
        });
        self.run(100);
        self.told.clear();
    }
    /// A frame on the air, `us` from now; gives when its SFD and its end are, by the node's clock in ticks.
    pub(crate) fn incoming(&mut self, us: u64, mpdu: &[u8], good: bool) -> (u64, u64) {
        let offset = self.offset();
        let start = self.chip.now() + us * US;
        self.chip.send(start, CHANNEL.number(), mpdu, good);
        let sfd = start + 160 * US - offset;
        (sfd, sfd + 32 * US * (mpdu.len() as u64 + 3))
    }
    pub(crate) fn sent(&self) -> Vec<model::Sent> {
        self.chip.0.borrow().sent.clone()
    }
    pub(crate) fn answers(&self, id: u16) -> Vec<Told> {
        let of = |told: &&Told| told.answers() == Some(id);
        self.told.iter().filter(of).cloned().collect()
    }
    pub(crate) fn is_strobe_on(&self) -> bool {
        self.chip.0.borrow().ppi & 1 != 0
    }
}
