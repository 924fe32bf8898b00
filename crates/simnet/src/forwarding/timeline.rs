//! What radios, bus and microcontroller of a chain's nodes do over a stretch of time, as text, as a
//! picture and as data: CIT's figure 1, of a chain of one's own; of a stream, with both radios.
//!
//! Times are true time from the stretch's beginning, which is that of a reception at the first
//! relay. Rows are the nodes in the order of the hops. Tests: `tests.rs`, `tests/all/streams/explain.rs`.

use super::chain::{Bench, Chain, Result};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_draw::timeline as picture;
use thalweg_engine::Engine;
use thalweg_protocols::forward::Command;
use thalweg_sim::{Activity, Network};
use thalweg_units::{Duration, SimTime};
use thalweg_wire::forward::Repr;

/// Packets in front of the one that is shown, so that the pipeline is full.
const BEFORE: u16 = 12;

/// One thing that a node did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Its place in the chain, 0 for the source.
    pub place: usize,
    /// Beginning, in microseconds from the stretch's.
    pub from_us: f64,
    /// End.
    pub until_us: f64,
    /// What it did.
    pub activity: &'static str,
    /// Whether a radio did it, not the microcontroller.
    pub radio: bool,
    /// Which of the node's radios it has to do with, 0 for the first.
    pub radio_number: u8,
    /// Whether it kept the bus.
    pub bus: bool,
    /// The channel, of what was on the air.
    pub channel: Option<u8>,
    /// The packet's number, of what had to do with one; frames that are sent again have none.
    pub packet: Option<u16>,
    #[serde(skip)]
    kind: Activity,
}

/// A stretch of time of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// What is shown.
    pub title: String,
    /// How long it is, in microseconds.
    pub length_us: f64,
    /// From packet to packet, in microseconds.
    pub interval_us: f64,
    /// Nodes of the chain, by place.
    pub nodes: Vec<usize>,
    /// What they did, by node and time.
    pub bars: Vec<Bar>,
}

/// Activities with their names and their letters in text, in the order of legends.
const LOOKS: [(Activity, &str, char); 11] = [
    (Activity::Transmit, "transmit", 'T'),
    (Activity::Receive, "receive", 'R'),
    (Activity::Corrupt, "corrupt", 'x'),
    (Activity::Calibrate, "calibrate", '~'),
    (Activity::Interrupt, "interrupt", 'i'),
    (Activity::Read, "read", 'r'),
    (Activity::Load, "write", 'w'),
    (Activity::Strobe, "strobe", 's'),
    (Activity::Retune, "channel", 'c'),
    (Activity::Os, "system", 'o'),
    (Activity::Background, "background", 'b'),
];

/// The place of `activity` in legends.
fn place_of(activity: Activity) -> usize {
    let place = LOOKS.iter().position(|(kind, ..)| *kind == activity);
    place.unwrap_or(0)
}

/// A row of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Radio(u8),
    Bus,
    Mcu,
}
const ONE_RADIO: &[(Part, &str)] = &[(Part::Radio(0), "radio")];
const TWO_RADIOS: &[(Part, &str)] = &[(Part::Radio(0), "2.4G"), (Part::Radio(1), "900M")];
const THE_REST: &[(Part, &str)] = &[(Part::Bus, "bus"), (Part::Mcu, "mcu")];

impl Bar {
    fn stands_in(&self, part: Part) -> bool {
        match part {
            Part::Radio(number) => self.radio && self.radio_number == number,
            Part::Bus => self.bus,
            Part::Mcu => !self.radio,
        }
    }
    fn picture(&self) -> picture::Bar {
        let what = match self.packet {
            Some(number) => format!("{} packet {number}", self.activity),
            None => self.activity.to_owned(),
        };
        picture::Bar {
            from_us: self.from_us,
            until_us: self.until_us,
            kind: place_of(self.kind),
            number: self.packet,
            hint: format!("{what}, {:.0} us", self.until_us - self.from_us),
        }
    }
}

/// A bar before its times are known: node, beginning, end.
type Seen = (usize, SimTime, SimTime, Bar);

/// What the nodes of a path do while somebody looks.
#[derive(Debug, Clone, Default)]
pub struct SpanLog(Arc<Mutex<Vec<Seen>>>);

impl SpanLog {
    /// Notes what `nodes`, in the order of the hops, do from now on; `number` tells a frame's packet.
    pub(crate) fn watch<E: Engine>(
        &self,
        net: &mut Network<E>,
        nodes: &[usize],
        number: fn(&[u8]) -> Option<u16>,
    ) {
        let (spans, order) = (self.0.clone(), nodes.to_vec());
        net.spans(Some(Box::new(move |span| {
            // The last node of a loop is its first.
            let Some(place) = order.iter().position(|n| *n == span.node) else {
                return;
            };
            let bar = Bar {
                place,
                from_us: 0.0,
                until_us: 0.0,
                activity: LOOKS[place_of(span.activity)].1,
                radio: span.activity.is_radio(),
                radio_number: span.radio.0,
                bus: span.activity.takes_bus(),
                channel: span.channel.map(|c| c.number()),
                packet: span.mpdu.and_then(number),
                kind: span.activity,
            };
            let mut spans = spans.lock().unwrap_or_else(PoisonError::into_inner);
            spans.push((span.node, span.from, span.until, bar));
        })));
    }

    /// When node `source` sends each of its packets, or frames without a number, for the first time.
    pub(crate) fn sent_by(&self, source: usize) -> Vec<SimTime> {
        let spans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = None;
        (spans.iter())
            .filter(|s| s.0 == source && s.3.kind == Activity::Transmit)
            .filter(|s| s.3.packet.is_none() || last.replace(s.3.packet) != Some(s.3.packet))
            .map(|s| s.1)
            .collect()
    }

    /// What was noted from `origin` on for `length`, of `nodes`, packets coming at `interval`.
    pub(crate) fn stretch(
        &self,
        title: String,
        nodes: Vec<usize>,
        (origin, length): (SimTime, Duration),
        interval: Duration,
    ) -> Timeline {
        let spans = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let until = origin + length;
        let us = |at: SimTime| at.max(origin).min(until).since(origin).as_micros_f64();
        let spans = spans.into_iter();
        let within = spans.filter(|(_, from, to, _)| *to > origin && *from < until);
        let bar = |(_, from, to, bar): Seen| Bar {
            from_us: us(from),
            until_us: us(to),
            ..bar
        };
        let mut bars: Vec<Bar> = within.map(bar).collect();
        bars.sort_by(|a, b| {
            let key = |b: &Bar| (b.place, !b.radio, b.radio_number);
            key(a).cmp(&key(b)).then(a.from_us.total_cmp(&b.from_us))
        });
        Timeline {
            title,
            length_us: length.as_micros_f64(),
            interval_us: interval.as_micros_f64(),
            nodes,
            bars,
        }
    }
}

impl Chain {
    /// What its nodes do for `length` (or a little more than an interval), packets coming at
    /// `interval`, from the moment the first relay begins to receive.
    pub fn timeline(
        &self,
        bench: &Bench,
        interval: Duration,
        length: Option<Duration>,
    ) -> Result<Timeline> {
        let nodes = self.routes.first().cloned().unwrap_or_default();
        let mut net = self.open(bench, interval)?;
        let length = length.unwrap_or(Duration::from_nanos(interval.as_nanos() / 8 * 9));
        let log = SpanLog::default();
        log.watch(&mut net, &nodes, |mpdu| {
            Repr::parse(mpdu).ok().map(|packet| packet.number)
        });
        let packets = BEFORE + 4 + 2 * self.hops() as u16;
        net.command(
            self.source(),
            Command::Send {
                packets,
                payload_bytes: self.payload_bytes,
                after: interval,
                interval,
            },
        );
        let end = net.now() + interval * u64::from(packets) + length;
        net.run_until(end, |_, _, _| ControlFlow::Continue(()))?;
        net.spans(None);
        let begins = log.sent_by(self.source());
        let origin = begins.get(usize::from(BEFORE)).copied();
        let title = format!(
            "{}, {} payload bytes, a packet each {:.0} us",
            self.forwarding.name(),
            self.payload_bytes,
            interval.as_micros_f64()
        );
        let stretch = (origin.unwrap_or(SimTime::ZERO), length);
        Ok(log.stretch(title, nodes, stretch, interval))
    }
}

impl Timeline {
    fn places(&self) -> Vec<usize> {
        let places: BTreeSet<usize> = self.bars.iter().map(|b| b.place).collect();
        places.into_iter().collect()
    }

    fn parts(&self) -> impl Iterator<Item = (Part, &'static str)> {
        let radios = match self.bars.iter().any(|b| b.radio_number > 0) {
            true => TWO_RADIOS,
            false => ONE_RADIO,
        };
        radios.iter().chain(THE_REST).copied()
    }

    fn name(&self, place: usize) -> String {
        let last = self.nodes.len().saturating_sub(1);
        match place {
            0 => "source".to_owned(),
            p if p == last => "sink".to_owned(),
            p => format!("relay {p}"),
        }
    }

    fn picture(&self) -> picture::Timeline {
        let row = |place: usize, part: Part| {
            let bars = self.bars.iter();
            let bars = bars.filter(move |b| b.place == place && b.stands_in(part));
            bars.map(Bar::picture).collect()
        };
        let node = |place: usize| picture::Node {
            name: self.name(place),
            rows: (self.parts().map(|(part, name)| (name, row(place, part)))).collect(),
        };
        picture::Timeline {
            title: self.title.clone(),
            length_us: self.length_us,
            nodes: self.places().into_iter().map(node).collect(),
        }
    }

    /// As text of `columns` columns: a row each for radio, bus and microcontroller of each node; of
    /// what happens within one column, what takes longest.
    pub fn to_text(&self, columns: usize) -> String {
        let width = columns.saturating_sub(16).max(20);
        let step = self.length_us / width as f64;
        let mut text = format!("{}\n", self.title);
        let mut used = Vec::new();
        for place in self.places() {
            for (row, (part, name)) in self.parts().enumerate() {
                let node = Some(self.name(place)).filter(|_| row == 0);
                let node = node.unwrap_or_default();
                let mut line = format!("{node:<9}{name:<6}|");
                for column in 0..width {
                    let (from, until) = (step * column as f64, step * (column + 1) as f64);
                    let bars = self.bars.iter();
                    let longest = (bars.filter(|b| b.place == place && b.stands_in(part)))
                        .map(|b| (b.until_us.min(until) - b.from_us.max(from), b.kind))
                        .filter(|(time, _)| *time > step * 0.1)
                        .max_by(|a, b| a.0.total_cmp(&b.0));
                    let kind = longest.map(|(_, kind)| kind);
                    line.push(kind.map_or('.', |kind| LOOKS[place_of(kind)].2));
                    used.extend(kind);
                }
                text.push_str(&line);
                text.push('\n');
            }
        }
        let looks = LOOKS.iter().filter(|(kind, ..)| used.contains(kind));
        let legend = looks.map(|(_, name, letter)| format!("  {letter} {name}"));
        let legend: String = legend.collect();
        let until_ms = self.length_us / 1e3;
        text + &format!("{:16}0 ms to {until_ms:.2} ms, {step:.0} us a column\n", "")
            + &format!("{:14}{legend}\n", "")
    }
}

/// `timelines` below each other, to one scale, as a picture.
pub fn timelines_svg(timelines: &[Timeline]) -> String {
    // Most boards do none.
    let background =
        (timelines.iter().flat_map(|t| &t.bars)).any(|b| b.kind == Activity::Background);
    let names = LOOKS.map(|(_, name, _)| name);
    let shown = names.len() - usize::from(!background);
    let pictures: Vec<_> = timelines.iter().map(Timeline::picture).collect();
    picture::timelines(&pictures, &names[..shown])
}
