//! Conditional immediate transmission (CIT, section 4): a frame that waits in the transmit buffer
//! until a reception meets its condition, and then goes out from the interrupt handler.
//!
//! Owns the frame that waits, and that it is written again when others have overwritten it.
//! Invariant: it is answered once, when it leaves `Radio::waiting` for the air or for nothing.
//! Not modelled: a condition that a corrupt frame's first bytes seem to meet. Tests: `tests/serial.rs`.

use crate::hooks::Activity;
use crate::mcu::{Job, Level};
use crate::radio::{Buffer, Filling, Loading, Waiting};
use crate::world::World;
use thalweg_engine::{Cca, Condition, OpId, PreCopy, Refusal, When};
use thalweg_medium::Air;
use thalweg_units::Channel;
use thalweg_wire::FrameBuf;

impl<A: Air> World<A> {
    /// Which conditional transmission of node `n` a frame sets off.
    pub(crate) fn met(&self, n: usize, mpdu: &[u8]) -> Option<u32> {
        let waiting = self.radios[n].waiting.as_ref()?;
        waiting.met_by(mpdu).then_some(waiting.number)
    }

    /// A good reception ended at a node whose software overlaps.
    pub(crate) fn set_off(&mut self, n: usize, met: Option<u32>) {
        if met.is_some() {
            let cost = self.radios[n].board.timing.forward_software;
            let job = Job::Judged { met };
            self.work(n, Level::Interrupt, job, cost, Activity::Interrupt);
        }
    }

    /// Another frame than the conditional one is in the transmit buffer of node `n`.
    pub(crate) fn overwritten(&mut self, n: usize) {
        if let Some(waiting) = &mut self.radios[n].waiting {
            if waiting.buffer == Buffer::Written {
                waiting.buffer = Buffer::Overwritten;
            }
        }
    }

    /// Answers the conditional transmission, if there is one, that it will not be.
    pub(crate) fn drop_conditional(&mut self, n: usize) {
        if let Some(waiting) = self.radios[n].waiting.take() {
            self.refuse(n, waiting.id, Refusal::Superseded);
        }
    }

    /// Takes the frame in the buffer for a conditional transmission.
    pub(crate) fn await_condition(
        &mut self,
        n: usize,
        id: OpId,
        condition: Condition<'_>,
        (channel, cca): (Channel, Cca),
    ) {
        let Some(frame) = self.radios[n].slot else {
            return self.refuse(n, id, Refusal::Empty);
        };
        self.drop_conditional(n);
        let mut bytes = [0; Condition::MAX_BYTES];
        for (kept, byte) in bytes.iter_mut().zip(condition.bytes) {
            *kept = *byte;
        }
        let radio = &mut self.radios[n];
        radio.numbers = radio.numbers.wrapping_add(1);
        radio.waiting = Some(Waiting {
            id,
            number: radio.numbers,
            frame,
            offset: condition.offset,
            bytes,
            len: condition.bytes.len() as u8,
            channel,
            cca,
            buffer: Buffer::Written,
        });
    }

    /// The transmit buffer of node `n` is free: the frame that waits is written into it again.
    pub(crate) fn rewrite(&mut self, n: usize) {
        let overwritten = |w: &Waiting| w.buffer != Buffer::Written;
        if let Some(waiting) = self.radios[n].waiting.filter(overwritten) {
            let job = Job::Loaded(Loading::Conditional(waiting.number), waiting.frame);
            let cost = self.radios[n].copy_time(waiting.frame.len());
            self.work(n, Level::Task, job, cost, Activity::Load);
        }
    }

    /// That is done.
    pub(crate) fn rewritten(&mut self, n: usize, number: u32, frame: FrameBuf) {
        let waiting = self.radios[n].waiting.as_mut();
        let Some(waiting) = waiting.filter(|w| w.number == number) else {
            return;
        };
        let was = std::mem::replace(&mut waiting.buffer, Buffer::Written);
        self.radios[n].slot = Some(frame);
        if was == Buffer::Due {
            self.prepare_to_fire(n, number);
        }
    }

    /// The condition is met: channel and strobe, and the copy where it was not made ahead.
    pub(crate) fn prepare_to_fire(&mut self, n: usize, number: u32) {
        let radio = &self.radios[n];
        let costs = radio.board.timing.software.costs();
        let (aimed_at, found) = (radio.aimed_at, radio.waiting);
        let Some(mut waiting) = found.filter(|w| w.number == number) else {
            return;
        };
        if waiting.buffer != Buffer::Written {
            waiting.buffer = Buffer::Due;
            self.radios[n].waiting = Some(waiting);
            return;
        }
        let (channel, bytes) = (waiting.channel, waiting.frame.len());
        let elsewhere = aimed_at.is_some_and(|c| c != channel);
        let copy = radio.copy_time(bytes);
        let level = match costs.precopy {
            PreCopy::Yes => Level::Interrupt,
            PreCopy::No => Level::Task,
        };
        if costs.precopy == PreCopy::No {
            self.work(n, level, Job::Pass, copy, Activity::Load);
        }
        if elsewhere && !costs.retune.is_zero() {
            self.work(n, level, Job::Pass, costs.retune, Activity::Retune);
        }
        self.work(n, level, Job::Fire(number), costs.strobe, Activity::Strobe);
    }

    pub(crate) fn fire(&mut self, n: usize, number: u32) {
        let waiting = self.radios[n].waiting.take_if(|w| w.number == number);
        let Some(waiting) = waiting else { return };
        if waiting.buffer != Buffer::Written {
            self.radios[n].waiting = Some(Waiting {
                buffer: Buffer::Due,
                ..waiting
            });
            return;
        }
        let at = (waiting.channel, When::Now, waiting.cca);
        self.send(n, waiting.id, &waiting.frame, Filling::Loaded, at);
    }
}
