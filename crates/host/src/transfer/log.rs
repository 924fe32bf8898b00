//! What a sink reported of one pipeline transfer, over all its attempts. Time base: the sink's clock
//! for what it measured, network time for the rest.

use super::reroute::AttemptReport;
use crate::job::Progress;
use crate::network::{Clock, NetworkTime};
use crate::object::Proof;
use crate::segments::Segment;
use thalweg_protocols::mote;
use thalweg_protocols::object::ObjectInfo;
use thalweg_protocols::pipeline::{self, Complete, End, SetupError};
use thalweg_units::{BitRate, Duration, Instant, NodeId};
use thalweg_wire::phy::SFD_OFFSET;

/// The reports of a sink.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Bytes of a packet's payload.
    payload_bytes: u64,
    /// Where in the object the requested bytes begin.
    offset: u32,
    /// What shows that the object is whole.
    pub(crate) proof: Proof,
    /// When the sink reported the first wake-up packet.
    began: Option<NetworkTime>,
    /// First symbol of that packet by the sink's clock; none where the sink has restarted since.
    by_clock: Option<Instant>,
    /// When the first attempt was ordered, and the first symbol of its first wake-up packet.
    pub(crate) ordered: Option<NetworkTime>,
    first: Option<NetworkTime>,
    /// First symbol of the last wake-up's first packet, and when the source's first packet was due.
    pub(crate) woke: Option<(NetworkTime, NetworkTime)>,
    /// From the one to the other, by the sink's clock.
    pub(crate) wake_up: Duration,
    /// When the last attempt failed.
    pub(crate) failed: Option<NetworkTime>,
    pub(crate) received: u32,
    /// The report of the present attempt, for the choice of the next route.
    pub(crate) report: AttemptReport,
    /// The round under way, from 1.
    pub(crate) round: u32,
    pub(crate) first_round: Option<u16>,
    /// The same of the present attempt, and of how many.
    pub(crate) first_share: Option<(u16, u16)>,
    /// Chains that brought too little of what was probed at, over all attempts.
    pub(crate) degraded: u32,
    pub(crate) complete: Option<Complete>,
    /// When the last packet was there.
    pub(crate) last: Option<NetworkTime>,
    pub(crate) end: Option<End>,
    refused: Option<SetupError>,
    /// What was received, cut to the object's length.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Log {
    pub(crate) fn new(payload_bytes: u8, offset: u32) -> Self {
        Self {
            payload_bytes: u64::from(payload_bytes),
            offset,
            round: 1,
            ..Self::default()
        }
    }

    /// An attempt is ordered: forgets the result of the last one, but not its time.
    pub(crate) fn begin(&mut self, now: NetworkTime) {
        self.ordered.get_or_insert(now);
        (self.received, self.first_round, self.end) = (0, None, None);
        self.first_share = None;
        (self.woke, self.report) = (None, AttemptReport::default());
    }

    /// The attempt is left for another way.
    pub(crate) const fn leave(&mut self, now: NetworkTime) {
        (self.end, self.failed) = (Some(End::Stopped), Some(now));
    }

    /// The sink has restarted: the packets that it had are gone, and its clock starts at zero.
    pub(crate) fn on_sink_restart(&mut self, now: NetworkTime) {
        (self.complete, self.last, self.by_clock) = (None, None, None);
        self.failed = Some(now);
    }

    /// Whether the attempt ended without the object, and was not stopped.
    pub(crate) fn is_broken(&self) -> bool {
        self.complete.is_none() && self.refused.is_none() && !matches!(self.end, Some(End::Stopped))
    }

    /// The segment that arrived, plain; none where its length is wrong, or its proof where it is the whole object.
    /// That the source has none needs no proof.
    pub(crate) fn segment(&mut self) -> Option<Segment> {
        let (mut bytes, complete) = (self.bytes.take()?, self.complete?);
        self.proof.open(&complete.digest, self.offset, &mut bytes);
        let object = ObjectInfo {
            len: complete.object_len,
            digest: complete.digest,
        };
        let is_there = bytes.len() == complete.len as usize;
        let is_part = complete.len < complete.object_len;
        let is_right = is_part || object.is_none() || self.proof.holds(&complete.digest, &bytes);
        (is_there && is_right).then_some(Segment { bytes, object })
    }

    pub(crate) fn note(
        &mut self,
        clock: &dyn Clock,
        at: NetworkTime,
        sink: NodeId,
        event: mote::Event,
    ) -> Option<Progress> {
        match event {
            mote::Event::WakeUp { reference, start } => {
                let first = reference.saturating_sub(SFD_OFFSET);
                if self.began.is_none() {
                    (self.began, self.by_clock) = (Some(at), Some(first));
                }
                self.first.get_or_insert(clock.when(sink, first));
                self.woke = Some((clock.when(sink, first), clock.when(sink, start)));
                self.wake_up = start.since(first);
                (self.end, self.round) = (None, 1);
                None
            }
            mote::Event::Pipeline(event) => self.note_pipeline(clock, at, sink, event),
            _ => None,
        }
    }

    fn note_pipeline(
        &mut self,
        clock: &dyn Clock,
        at: NetworkTime,
        sink: NodeId,
        event: pipeline::Event,
    ) -> Option<Progress> {
        match event {
            pipeline::Event::Progress { received } => {
                (self.received, self.report.heard) = (u32::from(received), true);
                let bytes = u64::from(self.received) * self.payload_bytes;
                let since = (self.began).map_or(Duration::ZERO, |began| at.since(began));
                return Some(Progress::Packets {
                    round: self.round,
                    received: self.received,
                    rate: BitRate::of_bytes(bytes, since),
                    since,
                });
            }
            pipeline::Event::RoundReported {
                round,
                received,
                packets,
            } => {
                (self.report.heard, self.report.is_degraded) = (true, false);
                if round == 0 {
                    self.first_round = Some(received);
                    self.first_share = Some((received, packets));
                }
                self.round = u32::from(round) + 2;
            }
            pipeline::Event::Complete(complete) => {
                self.last = Some(clock.when(sink, complete.last_packet));
                self.complete = Some(complete);
                self.received = u32::from(complete.packets);
            }
            pipeline::Event::Finished(end) => {
                (self.end, self.report.end) = (Some(end), Some(end));
                self.failed = Some(at);
            }
            pipeline::Event::Refused(why) => {
                self.refused = Some(why);
                self.end = Some(End::Stopped);
                self.failed = Some(at);
            }
            pipeline::Event::Degraded { group, chain } => {
                self.degraded += 1;
                self.report.is_degraded = true;
                self.report.degraded.push((group, chain));
            }
            pipeline::Event::Counted { group, counts } => self.report.counted.push((group, counts)),
            pipeline::Event::RoundSent { .. } | pipeline::Event::Report { .. } => {}
        }
        None
    }

    /// From the first wake-up packet to the last data packet, by the sink's clock unless the sink restarted in
    /// between; to the end of the last attempt where the object did not arrive.
    pub(crate) fn duration(&self) -> Duration {
        let (from, to) = match (self.complete, self.by_clock) {
            (Some(complete), Some(first)) => return complete.last_packet.since(first),
            (Some(_), None) => (self.first, self.last),
            (None, _) => (self.began, self.failed),
        };
        from.zip(to)
            .map_or(Duration::ZERO, |(from, to)| to.since(from))
    }

    /// Before that, from the order to the first wake-up packet.
    pub(crate) fn waited(&self) -> Duration {
        let both = self.first.zip(self.ordered);
        both.map_or(Duration::ZERO, |(first, ordered)| first.since(ordered))
    }

    pub(crate) fn failure(&self) -> String {
        match (self.refused, self.complete, self.end) {
            (Some(why), _, _) => why.to_string(),
            (_, None, Some(End::Stopped)) => match self.first_share {
                Some((came, of)) => format!("left: the first round brought {came} of {of} packets"),
                None => "stopped".to_owned(),
            },
            (_, Some(_), _) => "what arrived has another digest than the object".to_owned(),
            (_, _, Some(End::GaveUp)) => "gave up: requests stayed unanswered".to_owned(),
            (_, _, Some(End::TimedOut)) if self.received == 0 => "nothing arrived".to_owned(),
            (_, _, Some(End::TimedOut)) => "nothing arrived any more".to_owned(),
            (_, _, Some(End::Released)) => "the source gave up".to_owned(),
            (_, _, None) => "no end".to_owned(),
            (_, _, end) => format!("ended early: {end:?}"),
        }
    }
}
