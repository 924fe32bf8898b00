//! Readings of signal strength, and assessments that take several. Each is taken when the engine is
//! told of it. Tests: `tests/sensing.rs`.

use crate::queue::Rank;
use crate::radio::Looking;
use crate::world::{Telling, What, World};
use thalweg_engine::{Activity, Assessment, OpId, Refusal};
use thalweg_medium::{Air, EarId};
use thalweg_units::Channel;

impl<A: Air> World<A> {
    /// What the radio senses now on the channel that it was turned to last, and what it receives.
    pub(crate) fn sense(&mut self, n: usize, op: OpId) -> Telling {
        let ear = EarId(n as u32);
        let activity = match self.air.receiving(ear) {
            Some(receiving) => Activity::Receiving {
                since: self.radios[n].read(receiving.since),
            },
            None => Activity::Idle,
        };
        let radio = &mut self.radios[n];
        let channel = radio.aimed_at.unwrap_or(Channel::LAST);
        let power = self.air.sensed(self.now, ear, channel);
        let (chip, detector) = (radio.board.chip, radio.board.detector);
        let power = self
            .strength
            .read(power, chip, detector, &mut radio.fluctuation);
        Telling::Sensed {
            op,
            power,
            activity,
        }
    }

    /// Begins an assessment in place of the one that goes on.
    pub(crate) fn assess(&mut self, n: usize, op: OpId, assessment: Assessment) {
        self.drop_looking(n);
        self.radios[n].looking = Some(Looking {
            op,
            assessment,
            left: assessment.looks,
            due: self.now,
        });
        self.tell(n, self.now, Telling::Look(op));
    }

    /// The next look of assessment `op`, if that still goes on: its answer, where it is the last.
    pub(crate) fn look(&mut self, n: usize, op: OpId) -> Option<Telling> {
        let looking = self.radios[n].looking?;
        if looking.op != op || looking.due != self.now {
            return None; // one that was ended
        }
        let found = self.sense(n, op);
        let Telling::Sensed {
            power, activity, ..
        } = found
        else {
            return None;
        };
        let Assessment { between, clear, .. } = looking.assessment;
        if activity != Activity::Idle || power.0 <= clear.0 || looking.left <= 1 {
            self.radios[n].looking = None;
            return Some(found);
        }
        let due = self.now + between;
        self.radios[n].looking = Some(Looking {
            left: looking.left - 1,
            due,
            ..looking
        });
        let node = n as u32;
        self.queue
            .push(due, Rank::Timeout, What::Assess { node, op });
        None
    }

    /// Answers the assessment, if there is one, that it will not be.
    pub(crate) fn drop_looking(&mut self, n: usize) {
        if let Some(looking) = self.radios[n].looking.take() {
            self.refuse(n, looking.op, Refusal::Superseded);
        }
    }
}
