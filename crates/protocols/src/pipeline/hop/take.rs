//! The receiving side of a hop: packets, and answers to polls.

use super::super::events::Complete;
use super::*;

impl HopTransfer {
    /// Waits for a block.
    pub(super) fn listen(&mut self, cx: &mut Cx<'_>) {
        self.phase = Phase::Taking;
        (self.block, self.here, self.due) = (None, 0, None);
        cx.air.listen(self.setup.route.channel(self.position()), 0);
    }
    pub(super) fn linger(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.listen(cx);
        self.phase = Phase::Lingering;
        self.gives_up = now + LINGERS;
    }

    /// A packet of the node before this one.
    pub(super) fn take(&mut self, now: Instant, cx: &mut Cx<'_>, number: u16, payload: &[u8]) {
        let at = usize::from(number.wrapping_sub(self.base));
        if self.phase != Phase::Taking || at >= usize::from(BLOCK) {
            return;
        }
        self.gives_up = now + SILENCE;
        let bit = 1 << at;
        if self.here & bit != 0 {
            cx.stats.duplicates += 1;
        } else if self.keep(cx, number, at, payload) {
            self.here |= bit;
            self.last_packet = now;
        }
    }

    /// Keeps packet `number` at place `at` of its block; whether there was room for it, and it was one.
    pub(super) fn keep(&mut self, cx: &mut Cx<'_>, number: u16, at: usize, payload: &[u8]) -> bool {
        if !self.is_sink() || self.setup.route.subject == Subject::Report {
            let place = cx.memory.get_mut(at * SLOT..at * SLOT + payload.len());
            let Some(place) = place.filter(|place| place.len() <= SLOT) else {
                return false;
            };
            place.copy_from_slice(payload);
            self.lens[at] = payload.len() as u8;
            return true;
        }
        let Some(piece) = number.checked_sub(1) else {
            let Ok(bytes) = <[u8; 12]>::try_from(payload) else {
                return false;
            };
            let [a, b, c, d, digest @ ..] = bytes;
            let len = u32::from_le_bytes([a, b, c, d]);
            let named = ObjectInfo { len, digest };
            self.object = Some(named.named_by(self.setup.route.source()));
            return true;
        };
        if payload.len() != usize::from(self.setup.route.payload()) {
            return false;
        }
        let len = self.object.map(|object| object.len);
        let kept = self.pieces().write(piece, payload, len, cx.store).is_ok();
        cx.stats.no_room += u32::from(!kept);
        kept
    }

    /// The node before this one asks what there is of `block`.
    pub(super) fn polled(&mut self, now: Instant, cx: &mut Cx<'_>, block: Block) {
        if !matches!(self.phase, Phase::Taking | Phase::Lingering) {
            return;
        }
        let ahead = block.base.wrapping_sub(self.base);
        let here = match ahead {
            0 if self.phase == Phase::Taking => {
                self.gives_up = now + SILENCE;
                self.block = Some(block);
                self.here & block.all()
            }
            // One that was handed on: the answer was lost.
            _ if ahead > u16::MAX / 2 => block.all(),
            _ => return,
        };
        let (transfer, by, base) = (self.transfer(), self.position(), block.base);
        let frame = Frame::Ack {
            transfer,
            by,
            base,
            here,
        };
        self.send(cx, OnAir::Ack, &frame, self.setup.route.channel(by));
        if self.phase == Phase::Lingering {
            self.gives_up = now + LINGERS;
        }
    }

    /// An answer is out: a relay hands its block on once it is whole.
    pub(super) fn acknowledged(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let is_whole = |block: &Block| self.here & block.all() == block.all();
        let whole = self.block.filter(is_whole);
        let Some(block) = whole.filter(|_| self.phase == Phase::Taking) else {
            return;
        };
        if !self.is_sink() {
            return self.give(now, cx, block);
        }
        self.base = self.base.wrapping_add(u16::from(block.count));
        let received = self.base.saturating_sub(1);
        cx.stats.received = received;
        cx.events.tell(Event::Progress { received });
        match block.place {
            Place::Within => {
                self.listen(cx);
                self.gives_up = now + SILENCE;
            }
            Place::Last => {
                self.report(cx);
                self.linger(now, cx);
            }
        }
    }

    /// A sink says how much of the range is there: its packets come in order.
    fn report(&self, cx: &mut Cx<'_>) {
        if self.setup.route.subject == Subject::Report {
            let (from, len) = (self.setup.route.source(), self.lens[0]);
            cx.events.tell(Event::Report { from, len });
        }
        let Some(object) = self.object else { return };
        let packets = self.base.saturating_sub(1);
        let bytes = u32::from(packets) * u32::from(self.setup.route.payload());
        cx.events.tell(Event::Complete(Complete {
            len: bytes.min(self.setup.route.range.within(object.len)),
            object_len: object.len,
            digest: object.digest,
            packets,
            first_round: packets,
            rounds: 1,
            last_packet: self.last_packet,
        }));
    }

    /// Nothing comes any more. A sink reports the packets that it has; the rest may come another way.
    pub(super) fn silence(&mut self, cx: &mut Cx<'_>) -> End {
        if self.is_sink() && self.base > 1 {
            self.report(cx);
        }
        End::TimedOut
    }
}
