//! Readings of signal strength, and assessments that take several. Each is taken when its notice is
//! delivered. Tests: `tests/sensing.rs`.

use crate::queue::Rank;
use crate::radio::OpenAssessment;
use crate::strength;
use crate::world::{Event, Notice, World};
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
        self.drop_assessment(n);
        self.radios[n].open_assessment = Some(OpenAssessment {
            op,
            assessment,
            left: assessment.samples,
            due: self.now,
        });
        self.sample(n, op);
    }

    /// The next sample of assessment `op`, if that still goes on.
    pub(crate) fn sample(&mut self, n: usize, op: OpId) {
        let now = self.now;
        let radio = &self.radios[n];
        let is_due = radio
            .open_assessment
            .is_some_and(|open| open.op == op && open.due == now);
        if !is_due || radio.dead {
            return; // one that was ended
        }
        let (power, activity) = self.measured(n);
        let Some(open) = &mut self.radios[n].open_assessment else {
            return;
        };
        let Assessment { between, clear, .. } = open.assessment;
        if activity != Activity::Idle || power.0 <= clear.0 || open.left <= 1 {
            self.radios[n].open_assessment = None;
            return self.notify(n, now, Notice::Found(op, power, activity));
        }
        open.left -= 1;
        open.due = now + between;
        let (due, node) = (open.due, n as u32);
        let what = Event::Assess { node, op };
        self.queue.push(due, Rank::Timeout, what);
    }

    /// Answers the assessment, if there is one, that it will not be.
    pub(crate) fn drop_assessment(&mut self, n: usize) {
        if let Some(open) = self.radios[n].open_assessment.take() {
            self.refuse(n, open.op, Refusal::Superseded);
        }
    }
}
