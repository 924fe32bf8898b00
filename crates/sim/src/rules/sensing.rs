//! Readings of signal strength, and assessments that take several. Each is taken when the engine is
//! told of it. Tests: `tests/sensing.rs`.

use crate::queue::Rank;
use crate::radio::Looking;
use crate::strength;
use crate::world::{Telling, What, World};
use thalweg_engine::{Activity, Assessment, OpId, RadioEvent, Refusal};
use thalweg_medium::{Air, EarId};
use thalweg_units::{Channel, Dbm};

impl<A: Air> World<A> {
    /// What the radio senses now on the channel that it was turned to last, and what it receives.
    #[inline]
    fn measured(&mut self, n: usize) -> (Dbm, Activity) {
        let ear = EarId(n as u32);
        let receiving = self.air.receiving(ear);
        let radio = &mut self.radios[n];
        let activity = receiving.map_or(Activity::Idle, |receiving| Activity::Receiving {
            since: radio.read(receiving.since),
        });
        let channel = radio.aimed_at.unwrap_or(Channel::LAST);
        let power = self.air.sensed(self.now, ear, channel);
        let (chip, detector) = (radio.board.chip, radio.board.detector.as_ref());
        let fluctuation = &mut radio.fluctuation;
        let read = strength::read(&self.logarithm, power, chip, detector, fluctuation);
        (read, activity)
    }

    /// A reading.
    #[inline]
    pub(crate) fn sense(&mut self, n: usize, op: OpId) -> RadioEvent<'static> {
        let (power, activity) = self.measured(n);
        RadioEvent::Sensed {
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
            left: assessment.samples,
            due: self.now,
        });
        self.look(n, op);
    }

    /// The next look of assessment `op`, if that still goes on.
    pub(crate) fn look(&mut self, n: usize, op: OpId) {
        let now = self.now;
        let radio = &self.radios[n];
        let is_due = radio
            .looking
            .is_some_and(|looking| looking.op == op && looking.due == now);
        if !is_due || radio.dead {
            return; // one that was ended
        }
        let (power, activity) = self.measured(n);
        let Some(looking) = &mut self.radios[n].looking else {
            return;
        };
        let Assessment { between, clear, .. } = looking.assessment;
        if activity != Activity::Idle || power.0 <= clear.0 || looking.left <= 1 {
            self.radios[n].looking = None;
            return self.tell(n, now, Telling::Found(op, power, activity));
        }
        looking.left -= 1;
        looking.due = now + between;
        let (due, node) = (looking.due, n as u32);
        let what = What::Assess { node, op };
        self.queue.push(due, Rank::Timeout, what);
    }

    /// Answers the assessment, if there is one, that it will not be.
    pub(crate) fn drop_looking(&mut self, n: usize) {
        if let Some(looking) = self.radios[n].looking.take() {
            self.refuse(n, looking.op, Refusal::Superseded);
        }
    }
}
