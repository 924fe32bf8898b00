//! What is known of one stream while it runs, and what is told of it in the end. Time base: field time.

use super::{End, Lane, Role, Rules};
use crate::field::FieldTime;
use crate::job::Progress;
use crate::object::digest;
use serde::Serialize;
use thalweg_units::{BitRate, Duration};

/// One link of a stream, as the node that sends on it counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LinkReport {
    /// Node id of the sender.
    pub from: u16,
    /// Node id of the receiver.
    pub to: u16,
    /// Band and channel.
    pub on: String,
    /// Packets sent, each once.
    pub sent: u32,
    /// And again.
    pub retransmissions: u32,
    /// Packets that were never acknowledged.
    pub unacknowledged: u32,
    /// Packets that found the sender's queue full and are lost.
    pub overflows: u32,
    /// Packets that found the sender's queue full and were not acknowledged.
    pub withheld: u32,
    /// Packets that came to the sender again.
    pub duplicates: u32,
    /// Longest queue at the sender.
    pub queue_peak: u32,
    /// Its mean length, as packets were taken in.
    pub queue_mean: f64,
}

/// A stream that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stream {
    /// Packets that the source had to send.
    pub packets: u32,
    /// Different packets that arrived at the sink.
    pub received: u32,
    /// How often the sink's application was given a packet that it had.
    pub repeated: u32,
    /// Bytes of a full packet on the air, preamble and headers included.
    pub air_bytes: u32,
    /// From the source's beginning to the last packet's arrival, in seconds.
    pub seconds: f64,
    /// From the order to the source's beginning, in seconds.
    pub setup_seconds: f64,
    /// Rounds that the application asked for.
    pub rounds: u32,
    /// How it ended at the sink.
    pub end: String,
    /// How it ended at the source; none where that does not tell.
    pub source_end: Option<String>,
    /// What arrived is what was sent.
    pub verified: bool,
    /// Energy of all nodes on the path, in joules; none where the field does not tell.
    pub joules: Option<f64>,
    /// What arrived, where it is whole.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
    /// Packets at the sink when it heard that the first round was over, of all, 0 to 1; none where it
    /// did not hear it.
    #[serde(skip)]
    pub first_round: Option<f64>,
    /// Its links, from the source on, where somebody can look into its nodes.
    pub links: Vec<LinkReport>,
}

impl Stream {
    /// Raw throughput: bytes on the air of different packets at the sink (FastForward, section V-A).
    pub fn throughput(&self) -> BitRate {
        let time = Duration::from_nanos((self.seconds * 1e9) as u64);
        BitRate::of_bytes(u64::from(self.received) * u64::from(self.air_bytes), time)
    }
    /// How it ended, in a line.
    pub fn failure(&self) -> String {
        let (received, packets, end) = (self.received, self.packets, &self.end);
        let line =
            format!("{received} of {packets} packets arrived; the stream ended at its sink: {end}");
        match &self.source_end {
            Some(end) => format!("{line}, at its source: {end}"),
            None => line,
        }
    }
    /// Packets that arrived per packet sent, 0 to 1.
    pub fn data_yield(&self) -> f64 {
        f64::from(self.received) / f64::from(self.packets.max(1))
    }
    /// Joules per bit of payload that arrived.
    pub fn joules_per_bit(&self, payload_bytes: u8) -> Option<f64> {
        let bits = f64::from(self.received) * f64::from(payload_bytes) * 8.0;
        self.joules
            .filter(|_| bits > 0.0)
            .map(|joules| joules / bits)
    }
}

/// `received` packets of `air_bytes` bytes each arrived within `time`: the rate counts every byte on the air.
pub fn arrived(round: u32, received: u32, air_bytes: u32, time: Duration) -> Progress {
    Progress::Packets {
        round,
        received,
        rate: BitRate::of_bytes(u64::from(received) * u64::from(air_bytes), time),
    }
}

/// What is known of one stream.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) lane: Lane,
    pub(super) have: Vec<bool>,
    pub(super) received: u32,
    pub(super) repeated: u32,
    pub(super) calls: u32,
    /// Rounds that events told of.
    pub(super) rounds: Option<u32>,
    pub(super) first_round: Option<f64>,
    pub(super) ordered: FieldTime,
    pub(super) begun: Option<FieldTime>,
    pub(super) last: Option<FieldTime>,
    /// At sink and source.
    pub(super) ends: [Option<End>; 2],
    pub(super) is_over: bool,
    /// Of all nodes, at the first call and in the end.
    pub(super) meters: Vec<Vec<Option<f64>>>,
    pub(super) bytes: Vec<u8>,
}

impl Log {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            have: vec![false; lane.packets() as usize],
            lane,
            received: 0,
            repeated: 0,
            calls: 0,
            rounds: None,
            first_round: None,
            ordered: FieldTime::ZERO,
            begun: None,
            last: None,
            ends: [None; 2],
            is_over: false,
            meters: Vec::new(),
            bytes: Vec::new(),
        }
    }
    pub(super) fn is_whole(&self) -> bool {
        self.received as usize == self.have.len()
    }
    pub(super) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(self.calls)
    }
    pub(super) fn ended(&mut self, by: Role, why: End) {
        match by {
            Role::Sink => self.ends[0] = Some(why),
            Role::Source => self.ends[1] = Some(why),
            Role::Relay => {}
        }
    }

    /// Progress is told of every sixteenth packet and of the last.
    pub(super) fn arrived(
        &mut self,
        at: FieldTime,
        number: u16,
        round: Option<u8>,
    ) -> Option<Progress> {
        let round = round.map(|round| u32::from(round) + 1);
        self.rounds = self.rounds.max(round);
        self.last = Some(at);
        let begun = *self.begun.get_or_insert(at);
        match self.have.get_mut(usize::from(number)) {
            Some(have) if !*have => *have = true,
            _ => {
                self.repeated += 1;
                return None;
            }
        }
        self.received += 1;
        let due = self.received.is_multiple_of(16) || self.is_whole();
        let (round, bytes) = (self.rounds(), self.lane.air_bytes());
        due.then(|| arrived(round, self.received, bytes, at.since(begun)))
    }

    pub(super) fn joules(&self) -> Option<f64> {
        let [before, after] = self.meters.as_slice() else {
            return None;
        };
        let spent = before.iter().zip(after);
        spent
            .map(|(before, after)| Some((*after)? - (*before)?))
            .sum()
    }

    pub(super) fn brings(&mut self, rules: &Rules) -> Stream {
        let object = std::mem::take(&mut self.bytes);
        let verified = self.is_whole() && digest(&object) == self.lane.object.digest;
        let seconds = |from: Option<FieldTime>, to: Option<FieldTime>| {
            (from.zip(to)).map_or(0.0, |(from, to)| to.since(from).as_secs_f64())
        };
        Stream {
            packets: self.have.len() as u32,
            received: self.received,
            repeated: self.repeated,
            air_bytes: self.lane.air_bytes(),
            seconds: seconds(self.begun, self.last),
            setup_seconds: seconds(Some(self.ordered), self.begun),
            rounds: self.rounds(),
            end: told(self.ends[0]),
            source_end: rules.silence.is_none().then(|| told(self.ends[1])),
            verified,
            joules: self.joules(),
            object: verified.then_some(object),
            first_round: self.first_round,
            links: Vec::new(),
        }
    }
}

fn told(end: Option<End>) -> String {
    end.map_or_else(|| "under way".to_owned(), |end| end.to_string())
}
