//! Acknowledgements that a radio or its driver sends by itself, and who holds the bus meanwhile.
//!
//! A good frame that is addressed to the node and asks for it (IEEE 802.15.4-2006, 7.5.6.4) is
//! answered as [`crate::AckStyle`] says. An acknowledgement needs no transmit buffer of the
//! engine's; one that finds its radio busy is not sent. Tests: `tests/dual.rs`.

use crate::board::{AckStyle, Bus};
use crate::queue::Rank;
use crate::radio::{Excursion, Filling, Mode, Pending, Trigger};
use crate::software::{Job, Level};
use crate::timeline::Activity;
use crate::world::{Telling, What, World};
use thalweg_engine::{Answering, Cca};
use thalweg_units::{Duration, SimTime};
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::{FrameBuf, Reader};

impl World {
    /// How radio `r` would acknowledge `mpdu`.
    fn wanted_ack(&self, r: usize, mpdu: &[u8]) -> Option<Ack> {
        let congestion = match self.radios[r].answering {
            Answering::Withheld => return None,
            Answering::Clear => Congestion::Clear,
            Answering::Congested => Congestion::Congested,
        };
        let header = Header::parse(&mut Reader::new(mpdu)).ok()?;
        let me = self.radios[r].address;
        (me.is_some() && header.to == me).then_some(Ack {
            sequence: header.sequence,
            congestion,
        })
    }

    /// A good frame has ended at radio `r`: hardware acknowledges.
    pub(crate) fn acknowledge_in_hardware(&mut self, r: usize, mpdu: &[u8], end: SimTime) {
        let AckStyle::Hardware { gap } = self.radios[r].board.acks else {
            return;
        };
        if let Some(ack) = self.wanted_ack(r, mpdu) {
            self.send_ack(r, ack, end + gap);
        }
    }

    /// The driver has read a frame out of radio `r`: it acknowledges.
    pub(crate) fn acknowledge_read(&mut self, r: usize, telling: u32) {
        let AckStyle::Driver { strobe } = self.radios[r].board.acks else {
            return;
        };
        let mpdu = match self.tellings.get(telling) {
            Some(Telling::Frame { air, .. }) => self.airs.get(*air).map(|air| air.mpdu),
            _ => None,
        };
        if let Some(ack) = mpdu.and_then(|mpdu| self.wanted_ack(r, &mpdu)) {
            let job = Job::Acknowledge(ack);
            self.work(r, Level::Interrupt, job, strobe, Activity::Strobe);
        }
    }

    /// The driver has told radio `r` to acknowledge.
    pub(crate) fn acknowledge(&mut self, r: usize, ack: Ack) {
        self.send_ack(r, ack, self.now + self.radios[r].board.timing.turnaround);
    }

    fn send_ack(&mut self, r: usize, ack: Ack, start: SimTime) {
        let Ok(frame) = FrameBuf::from_slice(&ack.bytes()) else {
            return;
        };
        let radio = &mut self.radios[r];
        let Mode::Listen { channel, .. } = radio.mode else {
            return;
        };
        if radio.pending.is_some() || radio.excursion != Excursion::No || radio.dead {
            return;
        }
        let strobe = start
            .saturating_sub(radio.board.timing.turnaround)
            .max(self.now);
        radio.tokens = radio.tokens.wrapping_add(1);
        let token = radio.tokens;
        radio.pending = Some(Pending {
            id: None,
            token,
            strobe,
            start: strobe + radio.board.timing.turnaround,
            channel,
            cca: Cca::Skip,
            filling: Filling::Loaded,
            trigger: Trigger::Timer,
            frame,
        });
        let node = r as u32;
        self.queue
            .push(strobe, Rank::Turn, What::Strobe { node, token });
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
            if radio.receiving_until > self.now {
                until = until.max(Some(radio.receiving_until));
            }
        }
        let Some(until) = until else {
            return false;
        };
        // Looks again when it is over: nothing else may happen then.
        let node = self.node_of(r) as u32;
        let soon = until.max(self.now + Duration::from_nanos(1));
        self.queue.push(soon, Rank::Software, What::Look { node });
        true
    }
}
