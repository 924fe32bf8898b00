//! The medium, with links that carry nothing for a while.
//!
//! Time base: simulated time. A receiver locks on a frame over such a link as on any other, and gets it wrong.

use thalweg_medium::{
    Able, Air, Cause, Chip, Deaf, EarId, EarStatus, Explain, FrameId, Locked, Medium, Outcome,
    Receiving, Reception, Sending,
};
use thalweg_units::{Channel, ChannelSet, Dbm, MilliWatts, SimTime};

/// A link that carries nothing from one time to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) from: SimTime,
    pub(crate) until: SimTime,
    /// In both directions.
    pub(crate) ends: [EarId; 2],
}

/// The air of a scenario.
pub(crate) struct Weather {
    medium: Medium,
    gaps: Vec<Gap>,
    /// The senders of frames on the air.
    senders: Vec<(FrameId, EarId)>,
}

impl Weather {
    pub(crate) const fn new(medium: Medium, gaps: Vec<Gap>) -> Self {
        Self {
            medium,
            gaps,
            senders: Vec::new(),
        }
    }
    fn is_lost(&self, at: SimTime, from: EarId, to: EarId) -> bool {
        self.gaps.iter().any(|gap| {
            let is_then = gap.from <= at && at < gap.until;
            is_then && (gap.ends == [from, to] || gap.ends == [to, from])
        })
    }
    fn is_lost_of(&self, at: SimTime, of: FrameId, to: EarId) -> bool {
        let sender = self.senders.iter().find(|(frame, _)| *frame == of);
        sender.is_some_and(|(_, from)| self.is_lost(at, *from, to))
    }
}

impl Air for Weather {
    const ABLE: Able = Medium::ABLE;

    fn chip(&self, ear: EarId) -> Option<&'static Chip> {
        self.medium.chip(ear)
    }
    fn ears(&self) -> usize {
        self.medium.ears()
    }
    fn channels(&self) -> ChannelSet {
        self.medium.channels()
    }
    fn listen(&mut self, at: SimTime, ear: EarId, on: Channel) -> Option<FrameId> {
        self.medium.listen(at, ear, on)
    }
    fn deafen(&mut self, at: SimTime, ear: EarId, why: Deaf) {
        self.medium.deafen(at, ear, why);
    }
    fn begin(&mut self, at: SimTime, frame: &Sending<'_>, locked: &mut Vec<Locked>) -> FrameId {
        let id = self.medium.begin(at, frame, locked);
        if !self.gaps.is_empty() {
            self.senders.push((id, frame.from));
        }
        id
    }
    fn head(&mut self, at: SimTime, ear: EarId, of: FrameId, bytes: usize) -> Option<SimTime> {
        match self.is_lost_of(at, of, ear) {
            true => None,
            false => self.medium.head(at, ear, of, bytes),
        }
    }
    fn end(
        &mut self,
        at: SimTime,
        of: FrameId,
        explain: Explain,
        got: &mut Vec<Reception>,
        locked: &mut Vec<Locked>,
    ) -> Option<Cause> {
        let why = self.medium.end(at, of, explain, got, locked);
        for reception in got.iter_mut() {
            if self.is_lost_of(at, of, reception.ear) {
                reception.outcome = Outcome::Corrupt(None);
            }
        }
        self.senders.retain(|(frame, _)| *frame != of);
        why
    }
    fn sensed(&mut self, at: SimTime, ear: EarId, on: Channel) -> MilliWatts {
        self.medium.sensed(at, ear, on)
    }
    fn receiving(&self, ear: EarId) -> Option<Receiving> {
        self.medium.receiving(ear)
    }
    fn registers(&self, of: FrameId, reception: &Reception) -> (Dbm, u8) {
        self.medium.registers(of, reception)
    }
    fn ear_status(&mut self, at: SimTime, ear: EarId, of: FrameId) -> EarStatus {
        self.medium.ear_status(at, ear, of)
    }
    fn troubles(&mut self, at: SimTime, ear: EarId, of: FrameId) -> (Option<Cause>, Option<EarId>) {
        self.medium.troubles(at, ear, of)
    }
}
