//! Readings of signal strength, and assessments that take several. An assessment looks when the clock's alarm says so.

use super::{Radio, Receiver};
use crate::clock::{instant, span, Clock};
use crate::registers::radio;
use crate::Registers;
use thalweg_engine::{Activity, Assessment, OpId, RadioEvent};

/// Clear channel assessment by energy, from -77 dBm on, or by a carrier (RADIO 6.20.12.4, CCACTRL: mode 3; the threshold in
/// dB above -92 dBm, ED_RSSIOFFS; two correlations above 0x20, second source: Nordic's 802.15.4 driver).
pub(super) const CCA_CONTROL: u32 = 3 | 15 << 8 | 0x20 << 16 | 2 << 24;

/// Reads of RSSIEND until a sample is there: 0.25 us (RADIO 6.20.15.6).
const SAMPLE: u32 = 100;

/// An assessment that goes on.
#[derive(Debug)]
pub(super) struct OpenAssessment {
    pub(super) op: OpId,
    assessment: Assessment,
    left: u8,
    /// When the next look is; none for as soon as the receiver is on.
    pub(super) due: Option<u64>,
}

impl Radio {
    pub(super) fn assess(&mut self, op: OpId, assessment: Assessment) {
        if self.mode == super::Mode::Sleep {
            return self.answers.push(op, super::Answer::NoSuch);
        }
        self.drop_assessment();
        let (left, due) = (assessment.samples, None);
        self.assessment = Some(OpenAssessment {
            op,
            assessment,
            left,
            due,
        });
    }

    /// The next look of an assessment, where it is due and the receiver is on.
    pub(super) fn look(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
    ) -> Option<RadioEvent<'static>> {
        let open = self.assessment.as_mut()?;
        let (op, now) = (open.op, clock.now(r));
        if open.due.is_some_and(|due| now < due) {
            return None;
        }
        // An interrupt says when the receiver is on, where it is not.
        open.due = None;
        if self.receiver(r) == Receiver::Off {
            return None;
        }
        let found = self.sensed(r, clock, op);
        let RadioEvent::Sensed {
            power, activity, ..
        } = found
        else {
            return None;
        };
        let open = self.assessment.as_mut()?;
        let Assessment { between, clear, .. } = open.assessment;
        if activity == Activity::Idle && power.0 > clear.0 && open.left > 1 {
            open.left -= 1;
            open.due = Some(now + span(between).max(1));
            return None;
        }
        self.assessment = None;
        Some(found)
    }

    /// A reading, now.
    pub(super) fn sensed(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
        op: OpId,
    ) -> RadioEvent<'static> {
        let activity = match self.is_synchronised(r) {
            true => Activity::Receiving {
                since: instant(self.frame_start(r, clock)),
            },
            false => Activity::Idle,
        };
        r.write(radio::RSSIEND, 0);
        r.write(radio::RSSISTART, 1);
        let _there = (0..SAMPLE).any(|_| r.read(radio::RSSIEND) != 0);
        let power = self.strength(r);
        RadioEvent::Sensed {
            op,
            power,
            activity,
        }
    }
}
