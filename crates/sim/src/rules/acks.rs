//! Acknowledgements: by hardware, by a driver that has read the frame, or on command of the engine; and
//! the bus meanwhile.
//!
//! A good frame that is addressed to the node and asks for it (IEEE 802.15.4-2006, 7.5.6.4) is
//! answered as [`crate::AckBy`] says. An acknowledgement needs no transmit buffer of the engine's; one
//! that the radio sends by itself and that finds its radio busy is not sent. Tests: `tests/dual.rs`,
//! `tests/sensing.rs`.

use crate::board::{AckBy, Bus};
use crate::hooks::{Activity, Kind};
use crate::mcu::{Job, Level};
use crate::queue::Rank;
use crate::radio::{frame, CcaStep, Excursion, Filling, Mode, Pending, Trigger};
use crate::world::{Event, Notice, World};
use thalweg_engine::{Answering, OpId, Refusal};
use thalweg_medium::{Air, EarId};
use thalweg_units::{Channel, Duration, SimTime};
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::{FrameBuf, Reader};

impl<A: Air> World<A> {
    /// How radio `r` would acknowledge `mpdu`.
    fn wanted_ack(&self, r: usize, mpdu: &[u8]) -> Option<Ack> {
        if self.radios[r].answering == Answering::Withheld {
            return None;
        }
        let header = Header::parse(&mut Reader::new(mpdu)).ok()?;
        let own = self.filters[r].address;
        (own.is_some() && header.to == own).then_some(Ack {
            sequence: header.sequence,
            congestion: Congestion::Clear,
        })
    }

    /// How hardware acknowledges `mpdu`, which has ended at radio `r`.
    #[inline]
    pub(crate) fn hardware_ack(&self, r: usize, mpdu: &[u8]) -> Option<Ack> {
        match self.radios[r].board.acks.by {
            AckBy::Hardware => self.wanted_ack(r, mpdu),
            _ => None,
        }
    }

    /// The driver has read a frame out of radio `r`: it acknowledges.
    pub(crate) fn acknowledge_read(&mut self, r: usize, notice: u32) {
        let AckBy::Driver { strobe } = self.radios[r].board.acks.by else {
            return;
        };
        let mpdu = match self.notices.get(notice) {
            Some(Notice::Frame { frame, .. }) => self.frames.get(*frame).map(|kept| kept.mpdu),
            _ => None,
        };
        if let Some(ack) = mpdu.and_then(|mpdu| self.wanted_ack(r, &mpdu)) {
            let job = Job::Acknowledge(ack);
            self.work(r, Level::Interrupt, job, strobe, Activity::Strobe);
        }
    }

    /// The driver has commanded radio `r` to acknowledge.
    pub(crate) fn acknowledge(&mut self, r: usize, ack: Ack) {
        self.send_ack(r, ack, self.now + self.radios[r].board.timing.turnaround);
    }

    pub(crate) fn send_ack(&mut self, r: usize, ack: Ack, start: SimTime) {
        let Ok(frame) = FrameBuf::from_slice(&ack.bytes()) else {
            return;
        };
        let radio = &self.radios[r];
        let Mode::Listen { channel, .. } = radio.mode else {
            return;
        };
        if radio.pending.is_some() || radio.excursion != Excursion::No || radio.dead {
            return;
        }
        let turnaround = radio.board.timing.turnaround;
        let strobe = start.saturating_sub(turnaround).max(self.now);
        let pending = pending_ack(None, frame, channel, strobe, strobe + turnaround);
        self.pend(r, pending, strobe);
    }

    /// The engine asks radio `r` to acknowledge the frame received last. The radio turns round at once,
    /// and waits for the gap to pass.
    pub(crate) fn acknowledge_asked(&mut self, r: usize, id: OpId, mpdu: &[u8]) {
        let radio = &self.radios[r];
        let last = self.filters[r].last_rx;
        let (Some(last), Mode::Listen { channel, .. }) = (last, radio.mode) else {
            return self.refuse(r, id, Refusal::Empty);
        };
        let ready = radio.soonest_strobe(self.now) + radio.board.timing.turnaround;
        let start = last.end + radio.board.acks.gap;
        if start < ready {
            let by = ready.since(start);
            return self.refuse(r, id, Refusal::Late { by });
        }
        let strobe = self.now;
        self.pend(
            r,
            pending_ack(Some(id), frame(mpdu), channel, strobe, start),
            strobe,
        );
    }

    /// Whether a driver that keeps the bus to itself until its radio's frame is over does so, and
    /// is not that of radio `r`.
    pub(crate) fn is_bus_held(&mut self, r: usize) -> bool {
        if self.radios[r].board.bus == Bus::Released {
            return false;
        }
        let others = self.radios_of(self.node_of(r)).filter(|other| *other != r);
        let mut until: Option<SimTime> = None;
        for other in others {
            let radio = &self.radios[other];
            if let Excursion::OnAir { until: end } = radio.excursion {
                until = until.max(Some(end));
            } else if let Some(pending) = &radio.pending {
                until = until.max(Some(pending.start));
            }
            let receiving = self.air.receiving(EarId(other as u32));
            until = until.max(receiving.map(|r| r.until).filter(|end| *end > self.now));
        }
        let Some(until) = until else { return false };
        // Tries again when it is over: nothing else may happen then.
        let node = self.node_of(r) as u32;
        let soon = until.max(self.now + Duration::from_nanos(1));
        self.queue
            .push(soon, Rank::Software, Event::Resume { node });
        true
    }
}

fn pending_ack(
    id: Option<OpId>,
    frame: FrameBuf,
    channel: Channel,
    strobe: SimTime,
    start: SimTime,
) -> Pending {
    Pending {
        id,
        token: 0,
        strobe,
        start,
        channel,
        cca_step: CcaStep::No,
        filling: Filling::Loaded,
        trigger: Trigger::Timer,
        kind: Kind::Acknowledgement,
        frame,
    }
}
