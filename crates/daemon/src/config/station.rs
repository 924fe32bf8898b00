//! A network of the configuration: `[network]`, or one of several `[[station]]`.
//!
//! Invariant: stations of one building have channels of their own, the channel of floods included. Whether a network
//! offers its channels is asked when it is opened. Tests: `station_tests.rs`.

use std::collections::BTreeSet;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use thalweg_units::{Channel, ChannelSet, NodeId};

use super::within;
use thalweg_host::line::{Address, AddressError};
use thalweg_host::segments::LARGEST;

/// So many stations at most.
const MOST: usize = 16;
/// The most base stations of one network.
const MOST_TO: usize = 8;
/// The longest name, in characters.
const LONGEST_NAME: usize = 24;

/// A network and its base station.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// Where its base station is, as [`Address::parse`] reads it; simulated where none is named.
    #[serde(deserialize_with = "port")]
    pub port: Option<String>,
    /// The speed of the serial port.
    #[serde(deserialize_with = "baud")]
    pub baud: u32,
    /// A testbed's name or file, which names the nodes and their board; [`Self::testbed`] where none is named.
    pub testbed: Option<String>,
    /// What draws everything random.
    pub seed: u64,
    /// A simulation is so many times as fast as real time.
    #[serde(deserialize_with = "speed")]
    pub speed: f64,
    /// Bytes of each node's object, about: of simulated ones, and for plans.
    #[serde(deserialize_with = "bytes")]
    pub bytes: u32,
    /// What it is called; the testbed's name where there is none.
    #[serde(deserialize_with = "name")]
    pub name: Option<String>,
    /// Where it is: stations of one building hear each other. Those without one are in the same.
    pub building: Option<String>,
    /// The channels of surveys and transfers; chosen by what the network offers where none are named.
    #[serde(deserialize_with = "channels")]
    pub channels: Option<Vec<Channel>>,
    /// The control channel, to which idle nodes listen: the nodes' own setting; the testbed's where none is named.
    #[serde(deserialize_with = "channel", alias = "control_channel")]
    pub control: Option<Channel>,
    /// Whether its nodes have keys.
    pub security: SecurityConfig,
    /// The base stations of a simulation, by their nodes: as many objects come at once. The testbed's where none is named.
    #[serde(deserialize_with = "nodes")]
    pub to: Vec<NodeId>,
}

/// Whether a network is secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecurityConfig {
    /// Nothing is sealed: anybody near can read, and order nodes about.
    #[default]
    Off,
    /// What is not sealed is neither ordered nor believed.
    Require,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            port: None,
            baud: 1_000_000,
            testbed: None,
            seed: 1,
            speed: 1.0,
            bytes: 59_000,
            name: None,
            building: None,
            channels: None,
            control: None,
            security: SecurityConfig::Off,
            to: Vec::new(),
        }
    }
}

impl NetworkConfig {
    /// Where the base station is, if there is one.
    ///
    /// # Errors
    /// [`AddressError`] where [`Self::port`] is none.
    pub fn line(&self) -> Result<Option<Address>, AddressError> {
        let port = self.port.as_deref();
        port.map(|port| Address::parse(port, self.baud)).transpose()
    }

    /// The testbed's name or file.
    ///
    /// # Errors
    /// Where a base station has a port and no testbed says which nodes are behind it.
    pub fn testbed(&self) -> Result<&str, String> {
        match (&self.testbed, &self.port) {
            (Some(testbed), _) => Ok(testbed),
            (None, None) => Ok("indriya"),
            (None, Some(port)) => Err(format!(
                "the base station at {port}: expected a `testbed` (--testbed) that names the nodes behind it"
            )),
        }
    }
    /// Whether its line leads to another machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let line = self.line().ok().flatten();
        line.is_some_and(|address| address.is_elsewhere())
    }

    /// The channels on which it is heard; none where it is not said which.
    fn heard_on(&self) -> Option<ChannelSet> {
        let own = self.channels.as_ref()?.iter().copied();
        Some(own.chain([self.control.unwrap_or(Channel::LAST)]).collect())
    }
}

/// Whether `stations` can be served together.
pub(super) fn check(stations: &[NetworkConfig]) -> Result<(), String> {
    if stations.len() > MOST {
        return Err(format!("more than {MOST} stations"));
    }
    let mut names = BTreeSet::new();
    for (nth, station) in stations.iter().enumerate() {
        let name = station.name.as_deref();
        let name = name.ok_or_else(|| format!("station {}: expected a `name`", nth + 1))?;
        if !names.insert(name) {
            return Err(format!("two stations are called \"{name}\""));
        }
    }
    for (nth, a) in stations.iter().enumerate() {
        for b in &stations[nth + 1..] {
            if a.building == b.building {
                keep_apart(a, b)?;
            }
        }
    }
    Ok(())
}

/// Whether both can be on the air at once.
fn keep_apart(a: &NetworkConfig, b: &NetworkConfig) -> Result<(), String> {
    let [of_a, of_b] = [a, b].map(|s| s.name.as_deref().unwrap_or_default());
    let hint = "or a `building` of its own where they do not hear each other";
    let Some((on_a, on_b)) = a.heard_on().zip(b.heard_on()) else {
        return Err(format!(
            "stations \"{of_a}\" and \"{of_b}\": each needs `channels` and `control` of its own, {hint}"
        ));
    };
    let both: Vec<String> = (on_a.iter().filter(|c| on_b.contains(*c)))
        .map(|c| c.to_string())
        .collect();
    match both.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "stations \"{of_a}\" and \"{of_b}\" both use channel {}: each needs its own, {hint}",
            both.join(", ")
        )),
    }
}

fn baud<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(from, 1_200..=12_000_000, "expected 1200 to 12000000 baud")
}
fn port<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    // What it is read as does not depend on the speed.
    let read = Address::parse(&text, 0).map(|_| Some(text));
    read.map_err(serde::de::Error::custom)
}
fn speed<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    within(from, 0.01..=1_000.0, "expected a speed of 0.01 to 1000")
}
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(
        from,
        1..=LARGEST,
        "expected 1 to 67108864 bytes, which are 64 MiB",
    )
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain);
    match fits {
        true => Ok(Some(name)),
        false => Err(D::Error::custom(format!(
            "a name has 1 to {LONGEST_NAME} letters, digits, \"-\" and \"_\""
        ))),
    }
}
fn nodes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NodeId>, D::Error> {
    let numbers = Vec::<u16>::deserialize(from)?;
    let named = numbers.into_iter().map(NodeId::new);
    let named: Vec<NodeId> = named.collect::<Result<_, _>>().map_err(D::Error::custom)?;
    base_stations(named).map_err(D::Error::custom)
}
/// `named` as base stations of one network: some, and none twice.
///
/// # Errors
/// What was expected.
pub fn base_stations(named: Vec<NodeId>) -> Result<Vec<NodeId>, String> {
    let distinct: BTreeSet<NodeId> = named.iter().copied().collect();
    match (1..=MOST_TO).contains(&named.len()) && distinct.len() == named.len() {
        true => Ok(named),
        false => Err(format!("expected 1 to {MOST_TO} base stations, none twice")),
    }
}
fn channel<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Channel>, D::Error> {
    let named = Channel::new(u8::deserialize(from)?);
    named.map(Some).map_err(D::Error::custom)
}
fn channels<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Channel>>, D::Error> {
    let numbers = Vec::<u8>::deserialize(from)?;
    let named = numbers.into_iter().map(Channel::new);
    let named: Result<ChannelSet, _> = named.collect();
    let named: Vec<Channel> = named.map_err(D::Error::custom)?.iter().collect();
    match named.is_empty() {
        true => Err(D::Error::custom("expected at least one channel")),
        false => Ok(Some(named)),
    }
}

#[cfg(test)]
#[path = "station_tests.rs"]
mod tests;
