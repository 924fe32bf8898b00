//! A node's state in one stream: previous hop, queue, next hop.
//!
//! Invariants: packets leave in the order in which they came; a packet keeps its place in the queue
//! until it is delivered or given up; of one round, numbers that are taken in only rise, so that what
//! is not higher is a duplicate. Tests: `tests.rs`.

use super::config::{Counts, MAX_QUEUE};
use super::sender::Sender;
use crate::ring::Fifo;
use thalweg_engine::Answering;
use thalweg_units::{Instant, NodeId, Tuning};
use thalweg_wire::addressed::Header;
use thalweg_wire::stream::{Call, Content, Packet, Range, Version};
use thalweg_wire::FrameBuf;

/// A neighbour on the path, and what the link with it is sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) node: NodeId,
    pub(super) on: Tuning,
}

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) frame: FrameBuf,
    pub(super) sequence: u8,
    pub(super) is_end: bool,
}

/// Packets that a source has still to make.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    ranges: [Range; thalweg_wire::stream::MAX_RANGES],
    at: usize,
    done: u16,
    /// Packets of the whole object.
    pub(super) total: u16,
    end_made: bool,
}

impl Batch {
    /// The packets that `call` asks for, of an object of `total`.
    pub(super) fn new(call: &Call, total: u16) -> Self {
        let mut ranges = [Range::default(); thalweg_wire::stream::MAX_RANGES];
        if call.ranges.iter().all(Option::is_none) {
            ranges[0].count = total;
        }
        for (to, range) in ranges.iter_mut().zip(call.ranges.iter().flatten()) {
            let first = range.first.min(total);
            let count = range.count.min(total - first);
            *to = Range { first, count };
        }
        Self {
            ranges,
            at: 0,
            done: 0,
            total,
            end_made: false,
        }
    }
    /// How many packets it has.
    pub(super) fn packets(&self) -> u32 {
        self.ranges.iter().map(|r| u32::from(r.count)).sum()
    }
    /// The next packet's number; then, once, none for the end.
    fn next(&mut self) -> Option<Option<u16>> {
        while let Some(range) = self.ranges.get(self.at) {
            if self.done < range.count {
                self.done += 1;
                return Some(Some(range.first + self.done - 1));
            }
            self.at += 1;
            self.done = 0;
        }
        (!core::mem::replace(&mut self.end_made, true)).then_some(None)
    }
}

/// A node's state in one stream.
#[derive(Debug)]
pub(super) struct StreamState {
    pub(super) call: Call,
    pub(super) previous: Option<Hop>,
    pub(super) next: Option<Hop>,
    pub(super) queue: Fifo<Queued, MAX_QUEUE>,
    pub(super) sender: Sender,
    pub(super) batch: Option<Batch>,
    /// A packet arrived after this time, or the stream is over; from the first packet on.
    pub(super) silent_by: Instant,
    pub(super) counts: Counts,
    /// Packets given up in a row.
    pub(super) lost: u8,
    sequence: u8,
    /// The number taken in last, and whether it was the end.
    last: Option<(u16, bool)>,
    /// Which acknowledgements are given at present.
    pub(super) answers: Answering,
}

/// What is to be done with a packet that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing more.
    No,
    /// It was put into the queue.
    Queued,
    /// It is for the sink.
    Deliver,
    /// The sink has all that will come.
    End(u16),
}

impl StreamState {
    /// The part of the node at `place` of the call's path, with a queue for `room` packets.
    pub(super) fn new(call: Call, place: usize, room: usize, silent_by: Instant) -> Option<Self> {
        let hop = |node: Option<usize>, link: Option<usize>| {
            Some(Hop {
                node: call.path.node(node?)?,
                on: call.path.link(link?)?,
            })
        };
        let before = place.checked_sub(1);
        call.path.node(place)?;
        Some(Self {
            call,
            previous: hop(before, before),
            next: hop(Some(place + 1), Some(place)),
            queue: Fifo::new(room),
            sender: Sender::new(call.path.node(place)?.get()),
            batch: None,
            silent_by,
            counts: Counts::default(),
            lost: 0,
            sequence: 0,
            last: None,
            answers: Answering::Withheld,
        })
    }
    /// Whether it may give acknowledgements now.
    pub(super) fn may_answer(&self) -> Answering {
        let version = self.call.version;
        let full = self.next.is_some() && self.queue.is_full();
        match !version.acknowledges() || (full && version == Version::Full) {
            true => Answering::Withheld,
            false => Answering::Clear,
        }
    }
    /// Whether a source is done: nothing is left to send, and nothing will come.
    pub(super) fn is_done(&self) -> bool {
        self.batch.is_some_and(|b| b.end_made) && self.queue.is_empty()
    }

    fn frame(&mut self, number: u16, content: Content<'_>) -> Option<Queued> {
        let sequence = self.sequence.wrapping_add(1);
        let next = self.next?;
        // Without acknowledgements a packet is for any node that listens: only the next hop does.
        let to = self.call.version.acknowledges().then_some(next.node);
        let from = self.me()?;
        let packet = Packet {
            link: Header { sequence, to, from },
            stream: self.call.stream,
            round: self.call.round,
            number,
            content,
        };
        let frame = packet.frame().ok()?;
        self.sequence = sequence;
        let is_end = content == Content::End;
        Some(Queued {
            frame,
            sequence,
            is_end,
        })
    }
    fn me(&self) -> Option<NodeId> {
        let path = &self.call.path;
        let next = path.place(self.next?.node)?;
        path.node(next.checked_sub(1)?)
    }

    /// A packet of the previous hop came in.
    pub(super) fn take(&mut self, packet: &Packet<'_>) -> Taken {
        let is_end = packet.content == Content::End;
        let key = (packet.number, is_end);
        let is_new = self.last.is_none_or(|(number, ended)| {
            !ended && (packet.number > number || (is_end && packet.number >= number))
        });
        if !is_new {
            self.counts.duplicates += 1;
            return Taken::No;
        }
        if self.next.is_none() {
            self.last = Some(key);
            self.counts.taken += 1;
            return match packet.content {
                Content::End => Taken::End(packet.number),
                Content::Data(_) => Taken::Deliver,
            };
        }
        if self.queue.is_full() {
            if self.call.version == Version::Full {
                self.counts.withheld += 1;
            } else {
                self.counts.overflows += 1;
                // What was acknowledged does not come again.
                self.last = Some(key);
            }
            return Taken::No;
        }
        let Some(queued) = self.frame(packet.number, packet.content) else {
            return Taken::No;
        };
        self.last = Some(key);
        let _ = self.queue.push(queued);
        self.counted();
        Taken::Queued
    }
    fn counted(&mut self) {
        let len = self.queue.len() as u16;
        self.counts.taken += 1;
        self.counts.queue_sum += u32::from(len);
        self.counts.queue_peak = self.counts.queue_peak.max(len);
    }

    /// A source makes its next packet, where its queue is empty; `read` gives bytes of the object.
    pub(super) fn make(&mut self, read: impl FnOnce(u32, &mut [u8])) {
        if !self.queue.is_empty() {
            return;
        }
        let Some(batch) = &mut self.batch else { return };
        let (Some(number), total) = (batch.next(), batch.total) else {
            return;
        };
        let mut payload = [0; thalweg_wire::stream::MAX_PAYLOAD];
        let bytes = usize::from(self.call.payload_bytes);
        let queued = match (number, payload.get_mut(..bytes)) {
            (Some(number), Some(payload)) => {
                read(u32::from(number) * bytes as u32, payload);
                self.frame(number, Content::Data(payload))
            }
            _ => self.frame(total, Content::End),
        };
        if let Some(queued) = queued {
            let _ = self.queue.push(queued);
            self.counted();
        }
    }
}
