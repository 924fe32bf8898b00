//! The interface of a medium to a network of radios: [`Air`], which both media implement, and its types.
//!
//! Calls come in time order. A receiver goes on with [`Air::listen`] and off with [`Air::deafen`]; a
//! frame lasts from [`Air::begin`] to [`Air::end`]. An ear is locked on one frame at most. Time base:
//! [`SimTime`]. What a medium does not model is in [`Air::ABLE`]. Tests: `src/tests/same_air.rs`.

use crate::cause::Cause;
use crate::chip::Chip;
use crate::EarId;
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, MilliWatts, SimTime};

/// A frame of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u64);

/// What a medium models beyond frames that contend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Able {
    /// It reports which ears lock on a frame, and a frame's first bytes before the rest.
    pub heads: bool,
    /// Equal frames that begin together are one frame to a receiver.
    pub synchronous: bool,
}

/// How a frame begins, and so which ears can lock on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// A preamble of so many bytes: any ear that listens.
    Preamble(u16),
    /// Nothing: only the ear that it is meant for, which waits for it (acknowledgements of TinyOS on
    /// the CC1000).
    Expected,
}

/// A frame to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// Its sender.
    pub from: EarId,
    /// Its destination, where that is one ear: a loss there is reported.
    pub to: Option<EarId>,
    /// On which channel.
    pub on: Channel,
    /// Nominal transmit power.
    pub power: Dbm,
    /// How it begins.
    pub lead: Lead,
    /// From its first symbol to its last.
    pub air: Duration,
    /// Its bytes, without check sequence: frames with the same bytes are equal.
    pub mpdu: &'a [u8],
}

impl<'a> Sending<'a> {
    /// A frame of `chip` for everybody.
    pub const fn of(chip: &Chip, from: EarId, on: Channel, power: Dbm, mpdu: &'a [u8]) -> Self {
        Self {
            from,
            to: None,
            on,
            power,
            lead: Lead::Preamble(chip.phy.preamble_bytes as u16),
            air: chip.phy.air_time(mpdu.len()),
            mpdu,
        }
    }
}

/// Why a receiver is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deaf {
    /// The radio sleeps.
    Sleeping,
    /// It sends, turns around or changes channel.
    Busy,
}

/// Whether causes of loss are wanted, which cost time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    /// Nobody asks.
    No,
    /// Every corrupt reception is explained.
    Losses,
}

/// What became of a frame that an ear was locked on to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every symbol was right.
    Good,
    /// At least one was wrong, so the check sequence fails; with the cause, where that was requested.
    Corrupt(Option<Cause>),
}

/// A frame that an ear has received, right or wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reception {
    /// The ear.
    pub ear: EarId,
    /// What it got.
    pub outcome: Outcome,
    /// How many synchronous senders there were.
    pub senders: u16,
    /// When the SFD ended at the ear; of synchronous senders, at their power-weighted centre.
    pub sfd: SimTime,
    /// When the last symbol ended.
    pub end: SimTime,
    /// Power of the frame.
    pub power: MilliWatts,
    /// Power of the others, the most that there was or what there was last.
    pub interference: MilliWatts,
}

/// A reception that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    /// When the ear locked.
    pub since: SimTime,
    /// When the frame's SFD ends.
    pub sfd: SimTime,
    /// When the frame ends.
    pub until: SimTime,
}

/// An ear has locked on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked {
    /// The ear.
    pub ear: EarId,
    /// The frame.
    pub on: FrameId,
}

/// How an ear stands to a frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarStatus {
    /// Its receiver is off.
    Off(Deaf),
    /// It listens to another channel.
    Elsewhere(Channel),
    /// It is locked on the frame.
    Locked,
    /// It is locked on a synchronous copy of the frame.
    WithCopy,
    /// It is locked on another frame, of this sender.
    Taken(EarId),
    /// It hears nothing of it, or could not lock on it, for this reason.
    Unlocked(Cause),
}

/// The air of one run.
pub trait Air {
    /// What it models.
    const ABLE: Able;

    /// The radio at `ear`; none where there is no such ear.
    fn chip(&self, ear: EarId) -> Option<&'static Chip>;
    /// How many ears there are.
    fn ears(&self) -> usize;
    /// The channels that it knows of.
    fn channels(&self) -> ChannelSet;

    /// The receiver of `ear` is on and tuned to `on` from `at` on; a reception in progress is
    /// dropped. Gives the frame on which it locks at once, where enough of a preamble is to come.
    fn listen(&mut self, at: SimTime, ear: EarId, on: Channel) -> Option<FrameId>;
    /// The receiver of `ear` is off from `at` on; a reception in progress is dropped.
    fn deafen(&mut self, at: SimTime, ear: EarId, why: Deaf);
    /// A frame begins at `at` with its first symbol; its sender's receiver goes off. Pushes every ear
    /// that now locks on it to `locked`, also those that it steals from another frame, where
    /// [`Able::heads`]. The caller calls [`Air::end`] when its air time is over.
    fn begin(&mut self, at: SimTime, frame: &Sending<'_>, locked: &mut Vec<Locked>) -> FrameId;
    /// At the end of the first `bytes` bytes of the MPDU: whether `ear` is locked on `of` and
    /// everything was right so far; then when the SFD ended at the ear. Never without
    /// [`Able::heads`].
    fn head(&mut self, at: SimTime, ear: EarId, of: FrameId, bytes: usize) -> Option<SimTime>;
    /// The frame's last symbol: pushes to `got` what every ear got that is still locked on it and got
    /// its header right, and to `locked` every ear that now locks on another. Says why the ear that it was
    /// meant for did not get it, where it did not.
    fn end(
        &mut self,
        at: SimTime,
        of: FrameId,
        explain: Explain,
        got: &mut Vec<Reception>,
        locked: &mut Vec<Locked>,
    ) -> Option<Cause>;

    /// Power in channel `on` at `ear`, noise included, as energy detection sees it.
    fn sensed(&mut self, at: SimTime, ear: EarId, on: Channel) -> MilliWatts;
    /// What `ear` is locked on.
    fn receiving(&self, ear: EarId) -> Option<Receiving>;
    /// What the registers for signal strength and link quality say of a reception of `of`, until
    /// another frame begins.
    fn registers(&self, of: FrameId, reception: &Reception) -> (Dbm, u8);

    /// How `ear` stands to `of` at `at`, the present: right after its beginning, or right before its
    /// end.
    fn ear_status(&mut self, at: SimTime, ear: EarId, of: FrameId) -> EarStatus;
    /// Why `ear`, which is locked on `of`, does not get its header right, where it does not, and
    /// whose frame was the strongest other one on the channel; asked right before the end of `of`.
    fn troubles(&mut self, at: SimTime, ear: EarId, of: FrameId) -> (Option<Cause>, Option<EarId>);
}
