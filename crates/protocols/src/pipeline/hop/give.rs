//! The sending side of a hop: polls, and what the answers lack.

use super::*;
use thalweg_wire::pipeline::MAX_PACKETS;

impl HopTransfer {
    /// A source's next block.
    pub(super) fn give_next(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let info = *self.object.get_or_insert_with(|| {
            let source = self.setup.route.source();
            cx.store.info().named_by(source)
        });
        // What a transfer cannot number, another one fetches.
        let total = match self.setup.route.subject {
            Subject::Object => 1 + self.pieces().count(info.len).min(u32::from(MAX_PACKETS)),
            Subject::Report => 1,
        };
        let left = total.saturating_sub(u32::from(self.base));
        cx.stats.packets = u16::try_from(total - 1).unwrap_or(u16::MAX);
        cx.stats.rounds = 1;
        self.give(
            now,
            cx,
            Block {
                base: self.base,
                count: left.min(u32::from(BLOCK)) as u8,
                place: match left > u32::from(BLOCK) {
                    true => Place::Within,
                    false => Place::Last,
                },
            },
        );
    }

    pub(super) fn give(&mut self, now: Instant, cx: &mut Cx<'_>, block: Block) {
        self.block = Some(block);
        (self.here, self.pending, self.polls, self.in_vain) = (0, 0, 0, 0);
        self.gives_up = now + POLLS;
        cx.air.listen(self.channel_of_next(), 0);
        self.poll_next(cx);
    }
    fn channel_of_next(&self) -> Channel {
        self.setup.route.channel(self.position() + 1)
    }

    pub(super) fn poll_next(&mut self, cx: &mut Cx<'_>) {
        let Some(block) = self.block else { return };
        self.phase = Phase::Polling;
        self.polls = self.polls.saturating_add(1);
        let (transfer, by) = (self.transfer(), self.position());
        let frame = Frame::Poll {
            transfer,
            by,
            block,
        };
        self.send(cx, OnAir::Poll, &frame, self.channel_of_next());
    }

    /// Sends the next packet that the next node lacks, or polls it.
    pub(super) fn send_next(&mut self, cx: &mut Cx<'_>) {
        if self.pending == 0 {
            return self.poll_next(cx);
        }
        let at = self.pending.trailing_zeros() as u16;
        self.pending &= self.pending - 1;
        self.phase = Phase::Sending;
        let number = self.base.wrapping_add(at);
        let mut room = [0; SLOT];
        let Some(payload) = self.payload(cx, number, usize::from(at), &mut room) else {
            return self.poll_next(cx);
        };
        let (transfer, by) = (self.transfer(), self.position());
        let frame = Frame::Data {
            transfer,
            by,
            number,
            payload,
        };
        cx.stats.data_sent += u32::from(self.is_source());
        self.send(cx, OnAir::Data, &frame, self.channel_of_next());
    }

    /// The bytes of packet `number`, which is at place `at` of its block.
    fn payload<'r>(
        &self,
        cx: &Cx<'_>,
        number: u16,
        at: usize,
        room: &'r mut [u8; SLOT],
    ) -> Option<&'r [u8]> {
        if !self.is_source() || self.setup.route.subject == Subject::Report {
            let len = usize::from(self.lens[at]);
            let kept = cx.memory.get(at * SLOT..at * SLOT + len)?;
            room[..len].copy_from_slice(kept);
            return Some(&room[..len]);
        }
        let info = self.object?;
        match number.checked_sub(1) {
            Some(piece) => self.pieces().read(piece, cx.store, Some(info.len), room),
            None => {
                room[..4].copy_from_slice(&info.len.to_le_bytes());
                room[4..12].copy_from_slice(&info.digest);
                Some(&room[..12])
            }
        }
    }

    /// The next node has answered a poll.
    pub(super) fn acked(&mut self, now: Instant, cx: &mut Cx<'_>, base: u16, here: u16) -> Flow {
        let is_giving = matches!(self.phase, Phase::Polling | Phase::Sending);
        let Some(block) = self.block.filter(|block| is_giving && block.base == base) else {
            return Continue(());
        };
        let new = here & block.all() & !self.here;
        self.in_vain = match new {
            0 => self.in_vain.saturating_add(1),
            _ => 0,
        };
        if self.in_vain == IN_VAIN {
            return Break(End::GaveUp);
        }
        self.gives_up = now + POLLS;
        self.polls = 0;
        self.here |= new;
        self.pending = block.all() & !self.here;
        if self.pending != 0 {
            if self.phase == Phase::Polling {
                self.send_next(cx);
            }
            return Continue(());
        }
        self.base = self.base.wrapping_add(u16::from(block.count));
        match (block.place, self.is_source()) {
            (Place::Last, true) => return Break(End::Complete),
            (Place::Last, false) => self.linger(now, cx),
            (Place::Within, true) => self.give_next(now, cx),
            (Place::Within, false) => {
                self.listen(cx);
                self.gives_up = now + SILENCE;
            }
        }
        Continue(())
    }
}
