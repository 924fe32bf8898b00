//! What the air shows of a stream's links: frames, what became of them at the receiver, and the
//! acknowledgements that answered.
//!
//! Time base: simulated time. Invariant: every frame of a link is counted once, as good or by one cause.
//! An acknowledgement that begins while the sender repeats belongs to the frame before: no radio answers a
//! frame that is still on the air. Tests: `crates/simnet/tests/all/streams/explain.rs`.

use super::{LinkMap, StreamMap, Why};
use crate::streams::Ground;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_engine::Engine;
use thalweg_medium::{Cause, Deaf, EarStatus};
use thalweg_protocols::fastforward::radio_of;
use thalweg_sim::{AirTrace, Ending, Moment, Network};
use thalweg_units::{Channel, Duration, SimTime, Tuning};
use thalweg_wire::addressed::{Ack, Header};
use thalweg_wire::Reader;

/// Queues are looked at as often as this at first, and half as often whenever there are too many values.
const STEP: Duration = Duration::from_millis(5);
/// As many values are kept of each queue.
const MOST: usize = 1024;

/// Watches a stream.
#[derive(Debug, Default)]
pub struct Recorder {
    protocol: String,
    log: Arc<Mutex<Log>>,
    queues: Queues,
}

#[derive(Debug, Default)]
struct Log {
    links: Vec<Link>,
}

/// The queues of the links' senders.
#[derive(Debug)]
struct Queues {
    step: Duration,
    next: SimTime,
    /// Of each link.
    values: Vec<Vec<u8>>,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            step: STEP,
            next: SimTime::ZERO,
            values: Vec::new(),
        }
    }
}

/// What became of a frame at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    OnAir(Why),
    Lost(Why),
    Arrived,
}

/// What became of its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    None,
    /// For this reason, unless its end tells better.
    Lost(Why),
    Heard,
}

/// What a sender sends after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The same again.
    Same,
    /// Another packet, or nothing.
    Other,
}

#[derive(Debug)]
struct Try {
    frame: Vec<u8>,
    header: Header,
    fate: Fate,
    answer: Answer,
}

#[derive(Debug)]
struct Link {
    map: LinkMap,
    /// Numbers of the radios of sender and receiver.
    ends: (usize, usize),
    on: Channel,
    now: Option<Try>,
    /// The frame before arrived and was not acknowledged so far.
    is_unanswered: bool,
    /// Of the present packet an acknowledgement was heard, if too late to save a repetition.
    is_acknowledged: bool,
}

impl Recorder {
    /// Watches the links over `nodes`, which send `on` these, from now on, instead of other watchers of `net`.
    pub(in crate::streams) fn attach<E: Engine>(
        &mut self,
        net: &mut Network<E>,
        ground: &Ground,
        protocol: &str,
        (nodes, on): (&[usize], &[Tuning]),
    ) {
        protocol.clone_into(&mut self.protocol);
        let radios = ground.site.testbed.len();
        let id = |n: usize| ground.site.testbed.id_of(n).map_or(0, |id| id.get());
        let links = (nodes.windows(2).zip(on)).map(|(pair, on)| {
            let radio = |node: usize| node + usize::from(radio_of(*on).0) * radios;
            Link::new(
                (id(pair[0]), id(pair[1])),
                (radio(pair[0]), radio(pair[1])),
                *on,
            )
        });
        let log = Log {
            links: links.collect(),
        };
        let mut radios: Vec<usize> = (log.links.iter())
            .flat_map(|link| [link.ends.0, link.ends.1])
            .collect();
        radios.sort_unstable();
        radios.dedup();
        self.queues.values = vec![Vec::new(); log.links.len()];
        self.log = Arc::new(Mutex::new(log));
        let noted = self.log.clone();
        net.watch(
            &radios,
            Box::new(move |air| {
                let mut log = noted.lock().unwrap_or_else(PoisonError::into_inner);
                log.note(air);
            }),
        );
    }

    /// When the queues are to be looked at next, from `now` on.
    pub(in crate::streams) fn due(&self, now: SimTime) -> SimTime {
        match self.queues.next > now {
            true => self.queues.next,
            false => now + self.queues.step,
        }
    }

    /// The queues at `now`, of each link's sender.
    pub(in crate::streams) fn sample(
        &mut self,
        now: SimTime,
        lengths: impl Iterator<Item = usize>,
    ) {
        let queues = &mut self.queues;
        if now < queues.next {
            return;
        }
        for (values, length) in queues.values.iter_mut().zip(lengths) {
            values.push(length.min(usize::from(u8::MAX)) as u8);
        }
        if queues.values.iter().any(|values| values.len() > MOST) {
            for values in &mut queues.values {
                let pairs = values.chunks(2).map(|pair| pair.iter().max().copied());
                *values = pairs.map(Option::unwrap_or_default).collect();
            }
            queues.step = queues.step * 2;
        }
        queues.next = now + queues.step;
    }

    /// What was seen.
    pub fn finish(self) -> StreamMap {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let links = std::mem::take(&mut log.links);
        StreamMap {
            protocol: self.protocol,
            step_ms: (self.queues.step.as_micros() / 1000) as u32,
            links: (links.into_iter().zip(self.queues.values))
                .map(|(link, queue)| LinkMap {
                    queue,
                    ..link.finish()
                })
                .collect(),
        }
    }
}

impl Log {
    fn note(&mut self, air: &AirTrace<'_>) {
        if let Ok(header) = Header::parse(&mut Reader::new(air.mpdu)) {
            let sends = |link: &&mut Link| link.ends.0 == air.from && link.on == air.channel;
            if let Some(link) = self.links.iter_mut().find(sends) {
                link.frame(header, air);
            }
        } else if let Ok(ack) = Ack::parse(air.mpdu) {
            let answers = |link: &&mut Link| link.ends.1 == air.from && link.on == air.channel;
            if let Some(link) = self.links.iter_mut().find(answers) {
                link.answer(ack, air);
            }
        }
    }
}

impl Try {
    fn is_answered(&self) -> bool {
        self.answer == Answer::Heard
    }
}

impl Link {
    fn new((from, to): (u16, u16), ends: (usize, usize), on: Tuning) -> Self {
        Self {
            map: LinkMap {
                from,
                to,
                on: on.to_string(),
                packets: 0,
                tries: 0,
                arrived: 0,
                failed: BTreeMap::new(),
                queue: Vec::new(),
            },
            ends,
            on: on.place(),
            now: None,
            is_unanswered: false,
            is_acknowledged: false,
        }
    }

    fn failed(&mut self, why: Why) {
        *self.map.failed.entry(why).or_default() += 1;
    }

    /// The frame before is over.
    fn close(&mut self, next: Next) {
        let Some(before) = self.now.take() else {
            return;
        };
        let was_acknowledged = self.is_acknowledged;
        self.is_acknowledged = next == Next::Same && (was_acknowledged || before.is_answered());
        if next == Next::Other && was_acknowledged {
            return; // nothing came of the frame, and nothing had to
        }
        match (before.fate, before.answer) {
            (Fate::OnAir(why) | Fate::Lost(why), _) => self.failed(why),
            (Fate::Arrived, _) if before.header.to.is_none() => {}
            (Fate::Arrived, Answer::Heard) if next == Next::Same => self.failed(Why::AckLate),
            (Fate::Arrived, Answer::Heard) => {}
            // The sender had begun to send again.
            (Fate::Arrived, Answer::Lost(Why::Busy)) => self.failed(Why::AckLate),
            (Fate::Arrived, Answer::Lost(_)) => self.failed(Why::AckLost),
            (Fate::Arrived, Answer::None) => self.is_unanswered = true,
        }
    }

    fn frame(&mut self, header: Header, air: &AirTrace<'_>) {
        let receiver = self.ends.1;
        match air.moment {
            Moment::Begins(seen) => {
                let next = match &self.now {
                    Some(now) if now.frame == air.mpdu => Next::Same,
                    _ => Next::Other,
                };
                self.close(next);
                self.map.tries += 1;
                self.map.packets += u32::from(next == Next::Other);
                let state = seen.iter().find(|(n, _)| *n == receiver);
                self.now = Some(Try {
                    frame: air.mpdu.to_vec(),
                    header,
                    fate: Fate::OnAir(state.map_or(Why::Weak, |(_, s)| why_not(*s))),
                    answer: Answer::None,
                });
            }
            Moment::Ends(seen) => {
                let Some(now) = &mut self.now else { return };
                let Some((_, ending)) = seen.iter().find(|(n, _)| *n == receiver) else {
                    return;
                };
                now.fate = match (*ending, now.fate) {
                    (Ending::Good, _) => Fate::Arrived,
                    (Ending::Lost { cause, .. }, _) => Fate::Lost(why(cause)),
                    (Ending::Other(_), Fate::OnAir(why)) => Fate::Lost(why),
                    (Ending::Other(_), fate) => fate,
                };
                self.map.arrived += u32::from(*ending == Ending::Good);
                if std::mem::take(&mut self.is_unanswered) {
                    self.failed(Why::Withheld);
                }
            }
        }
    }

    fn answer(&mut self, ack: Ack, air: &AirTrace<'_>) {
        let sender = self.ends.0;
        let Some(now) = &mut self.now else { return };
        if now.header.sequence != ack.sequence {
            return;
        }
        if let Fate::OnAir(_) = now.fate {
            if std::mem::take(&mut self.is_unanswered) {
                self.failed(Why::AckLate);
            }
            return;
        }
        now.answer = match air.moment {
            Moment::Begins(seen) => {
                let state = seen.iter().find(|(n, _)| *n == sender);
                Answer::Lost(state.map_or(Why::Weak, |(_, s)| why_not(*s)))
            }
            Moment::Ends(seen) => match seen.iter().find(|(n, _)| *n == sender) {
                Some((_, Ending::Good)) => Answer::Heard,
                Some((_, Ending::Lost { cause, .. })) => Answer::Lost(why(*cause)),
                _ => now.answer,
            },
        };
    }

    fn finish(mut self) -> LinkMap {
        self.close(Next::Other);
        if self.is_unanswered {
            self.failed(Why::Withheld);
        }
        self.map
    }
}

/// What keeps a receiver that stands so to a frame's beginning from getting it.
fn why_not(state: EarStatus) -> Why {
    match state {
        EarStatus::Off(Deaf::Busy) | EarStatus::Locked | EarStatus::WithCopy => Why::Busy,
        EarStatus::Off(Deaf::Sleeping) | EarStatus::Elsewhere(_) => Why::Away,
        EarStatus::Taken(_) => Why::Collision,
        EarStatus::Unlocked(cause) => why(cause),
    }
}

fn why(cause: Cause) -> Why {
    match cause {
        Cause::Weak | Cause::BeatNull => Why::Weak,
        Cause::Hidden | Cause::Collision | Cause::NoiseFloor => Why::Collision,
        Cause::AdjacentChannel => Why::AdjacentChannel,
        Cause::External => Why::External,
        Cause::Deaf => Why::Away,
    }
}
