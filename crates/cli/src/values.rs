//! What may stand behind an option: each parser takes one value or says in one line what it wants.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use thalweg::sweep::Axis;
use thalweg_host::registry::{self, OptionName, Protocol, PROTOCOLS};
use thalweg_host::segments::LARGEST;
use thalweg_testbeds::Loss;
use thalweg_units::{Channel, Duration, NodeId};

/// Object bytes in the largest packet: 127 less 7 of header and 2 of check sum.
pub(crate) const MAX_PAYLOAD: u8 = 118;

/// Ten years.
const LONGEST_S: u64 = 10 * 365 * 86_400;

/// A comma-separated list (a type of its own, so that the option is given once).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// Seeds of an experiment, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seeds {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Seeds {
    /// How many they are.
    pub(crate) const fn count(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
    /// Each of them.
    pub(crate) fn all(self) -> Vec<u64> {
        (self.first..=self.last).collect()
    }
}

type Parsed<T> = Result<T, String>;

/// The names of the registry, with its help.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocols {
    All,
    /// Those whose routes are planned alone.
    Planned,
}

impl Protocols {
    fn named(self) -> impl Iterator<Item = &'static Protocol> {
        let is_offered = move |p: &&Protocol| match self {
            Self::All => true,
            Self::Planned => p.takes().contains(&OptionName::Plan),
        };
        PROTOCOLS.iter().filter(is_offered)
    }
}

impl TypedValueParser for Protocols {
    type Value = &'static Protocol;
    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let names = PossibleValuesParser::new(self.named().map(|p| p.name));
        let name = names.parse_ref(command, arg, value)?;
        let protocol = registry::named(&name);
        protocol.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidValue))
    }
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |p: &'static Protocol| PossibleValue::new(p.name).help(p.about);
        Some(Box::new(self.named().map(value)))
    }
}

/// A time, such as 90s, 15min, 2h or 1day.
pub(crate) fn time(text: &str) -> Parsed<Duration> {
    let time = humantime::parse_duration(text)
        .map_err(|_| "expected a time such as 90s, 15min, 2h or 1day")?;
    match time.as_secs() <= LONGEST_S {
        true => Ok(Duration::from_nanos(time.as_nanos() as u64)),
        false => Err("expected at most ten years".to_owned()),
    }
}

/// The charge of a battery, in milliampere-hours.
pub(crate) fn charge(text: &str) -> Parsed<f64> {
    let charge = text.parse().ok().filter(|mah| (1.0..=1e6).contains(mah));
    charge.ok_or_else(|| "expected milliampere-hours from 1 to 1000000, such as 2400".to_owned())
}

/// A power, in microwatts.
pub(crate) fn microwatts(text: &str) -> Parsed<f64> {
    let power = text.parse().ok().filter(|uw| (0.0..=1e6).contains(uw));
    power.ok_or_else(|| "expected microwatts from 0 to 1000000, such as 300".to_owned())
}

/// How fast a simulation runs, in times of real time.
pub(crate) fn speed(text: &str) -> Parsed<f64> {
    let speed = text.parse().ok().filter(|s| (0.01..=1_000.0).contains(s));
    speed.ok_or_else(|| "expected a number from 0.01 to 1000".to_owned())
}

/// Bytes of an object that goes in one transfer.
pub(crate) fn object_bytes(text: &str) -> Parsed<u32> {
    match bytes(text)? {
        n @ 1..=LARGEST => Ok(n),
        _ => Err("expected 1 byte to 64 MiB".to_owned()),
    }
}

/// A name or a path: anything but nothing.
pub(crate) fn name(text: &str) -> Parsed<String> {
    match text.trim() {
        "" => Err("a name or a file is missing".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// A node's number.
pub(crate) fn node(text: &str) -> Parsed<NodeId> {
    let wanted = "a node's number is from 0 to 65533; `thalweg testbed show` has those of names";
    let number: u16 = text.trim().parse().map_err(|_| wanted.to_owned())?;
    NodeId::new(number).map_err(|_| wanted.to_owned())
}

/// A node as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Number(NodeId),
    /// What its testbed's file calls it.
    Name(String),
}

/// A node's number or name.
pub(crate) fn number_or_name(text: &str) -> Parsed<Node> {
    let text = text.trim();
    let is_number = text.parse::<f64>().is_ok();
    match is_number || text.is_empty() {
        true => node(text).map(Node::Number),
        false => Ok(Node::Name(text.to_owned())),
    }
}

/// A loss on a link whose nodes people name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossOn {
    Numbers(Loss),
    /// Both nodes with a `-` between them, which names may have, too; and the share.
    Names(String, f64),
}

/// A loss as `FROM-TO:SHARE`, of numbers or names.
pub(crate) fn loss(text: &str) -> Parsed<LossOn> {
    text.parse().map(LossOn::Numbers).or_else(|why: String| {
        // An address may have colons.
        let (link, share) = text.rsplit_once(':').ok_or(&why)?;
        let share = share.trim().parse().ok();
        let share = share.filter(|share| (0.0..=0.99).contains(share));
        let is_named = link.contains(|c: char| !c.is_ascii_digit() && !"+-. ".contains(c));
        match share.filter(|_| is_named && link.contains('-')) {
            Some(share) => Ok(LossOn::Names(link.to_owned(), share)),
            None => Err(why),
        }
    })
}

/// Channels as `15,20,25,26`, with ranges as `11-14`, each at most once, in the order given.
pub(crate) fn channels(text: &str) -> Parsed<List<Channel>> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (channel(first)?, channel(last)?);
        if first > last {
            return Err(format!("the range {part} runs backwards"));
        }
        for channel in Channel::all().filter(|c| (first..=last).contains(c)) {
            if list.contains(&channel) {
                return Err(format!("channel {channel} stands there twice"));
            }
            list.push(channel);
        }
    }
    Ok(List(list))
}

pub(crate) fn channel(text: &str) -> Parsed<Channel> {
    text.parse()
        .map_err(|e| format!("{e}, not \"{}\"", text.trim()))
}

/// Object bytes in a packet.
pub(crate) fn payload(text: &str) -> Parsed<u8> {
    match text.trim().parse() {
        Ok(bytes @ 1..=MAX_PAYLOAD) => Ok(bytes),
        _ => Err(format!(
            "a packet holds 1 to {MAX_PAYLOAD} bytes of the object"
        )),
    }
}

/// A length in bytes, with a multiplier if one is given: `59000`, `64k`, `1Mi`.
pub(crate) fn bytes(text: &str) -> Parsed<u32> {
    const WANTED: &str =
        "a length is a whole number of bytes from 1 to 4294967295, such as 59000, 64k or 1Mi";
    let text = text.trim();
    let text = text.strip_suffix('B').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor: u32 = match unit.trim_start() {
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        _ => return Err(WANTED.to_owned()),
    };
    let number = digits.parse::<u32>().ok();
    let bytes = number
        .and_then(|n| n.checked_mul(factor))
        .filter(|n| *n > 0);
    bytes.ok_or_else(|| WANTED.to_owned())
}

/// Seeds as `A..B` (both included) or one alone.
pub(crate) fn seeds(text: &str) -> Parsed<Seeds> {
    const WANTED: &str = "seeds are A..B, both included, such as 1..10, or one whole number";
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| WANTED.to_owned());
    let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
    if first > last {
        return Err(format!("the seeds {text} run backwards"));
    }
    Ok(Seeds { first, last })
}

/// A key and its values.
pub(crate) fn axis(text: &str) -> Parsed<Axis> {
    Axis::parse(text).map_err(|why| why.to_string())
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
