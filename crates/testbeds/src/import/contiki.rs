//! Contiki-NG's logs of many nodes. Each line must say whose it is: `ID:2` (Cooja), `;m3-12;` (FIT IoT-LAB), or a number
//! after the time; or the log is of one node that gives its address as it starts. Two kinds of lines tell of links: `Link Stats` with frames sent and acknowledged to a neighbour, and
//! where there are none, `RPL` with a neighbour's ETX (128 is one transmission). Both count transmissions until an
//! acknowledgement, so both directions of a link have one ratio. Tests: `tests.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::Found;
use crate::assumed::Assumed;
use crate::draft::Measure;
use crate::error::{Location, Problem, TestbedError};
use crate::names::eui64;
use crate::text::reading;

/// An ETX of one transmission.
const ONE: f64 = 128.0;

/// Which node reports which, and what.
struct Told {
    /// None where the line does not say it.
    own: Option<Box<str>>,
    neighbour: u64,
    measure: Measure,
}

#[derive(Default)]
struct Log {
    lines: u64,
    /// Addresses that lines give without saying which node's.
    unplaced: Vec<u64>,
    counted: Vec<Told>,
    metrics: Vec<Told>,
    /// Nodes by link-layer address.
    addresses: BTreeMap<u64, Box<str>>,
}

pub(super) fn read(reader: impl BufRead, source_name: &str) -> Result<Found, TestbedError> {
    let mut log = Log::default();
    for (number, line) in (1..).zip(reader.split(b'\n')) {
        let line = line.map_err(|e| reading(e).on_line(source_name, number))?;
        log.read(&String::from_utf8_lossy(&line));
        if number >= crate::bounds::MAX_ROWS {
            let problem = Problem::TooLarge("lines", crate::bounds::MAX_ROWS);
            return Err(problem.on_line(source_name, number));
        }
    }
    log.found().map_err(|p| p.at(source_name, Location::Whole))
}

impl Log {
    fn read(&mut self, line: &str) {
        self.lines += 1;
        let own = own(line);
        if let Some((_, address)) = line.split_once("Link-layer address: ") {
            match (own, address_of(address)) {
                (Some(own), Some(address)) => {
                    self.addresses.insert(address, own.into());
                }
                (None, Some(address)) if !self.unplaced.contains(&address) => {
                    self.unplaced.push(address);
                }
                _ => {}
            }
        }
        let (told, metrics) = match (counted(line), metric(line)) {
            (Some(told), _) => (told, false),
            (None, Some(told)) => (told, true),
            (None, None) => return,
        };
        let (neighbour, measure) = told;
        let told = Told {
            own: own.map(Into::into),
            neighbour,
            measure,
        };
        match metrics {
            true => self.metrics.push(told),
            false => self.counted.push(told),
        }
    }

    fn found(mut self) -> Result<Found, Problem> {
        let is_counted = !self.counted.is_empty();
        let told = std::mem::take(match is_counted {
            true => &mut self.counted,
            false => &mut self.metrics,
        });
        let by_number = self.number_addresses(&told);
        self.check_addresses(&told)?;
        let mut found = Found::new();
        let mut read = 0;
        for Told {
            own,
            neighbour,
            measure,
        } in &told
        {
            let own = own.as_deref().map(str::to_owned);
            let Some(own) = own.or_else(|| self.only_node()) else {
                continue;
            };
            read += 1;
            found.add(&own, &self.name(*neighbour), *measure)?;
        }
        if read == 0 {
            return Err(Problem::Foreign(self.lack(told.len())));
        }
        let others = self.lines - read;
        found.assumed.push(Assumed::Acknowledged);
        let by_number = (by_number > 0).then_some(Assumed::AddressNumbers(by_number));
        found.assumed.extend(by_number);
        if others > 0 {
            found.assumed.push(Assumed::OtherLines(others, self.lines));
        }
        found.assumed.extend(found.draft.mirror());
        Ok(found)
    }

    /// Takes addresses that no line gives to a node for those of the nodes whose number they end in: in 16 bits, as Z1 motes
    /// have it, or in 8, as Sky motes. It must be another for each, and most must be nodes of this log. Returns how many.
    fn number_addresses(&mut self, told: &[Told]) -> usize {
        let owners = told.iter().filter_map(|told| told.own.as_deref());
        let owners: BTreeSet<u64> = owners.filter_map(|own| own.parse().ok()).collect();
        let unknown: BTreeSet<u64> = told
            .iter()
            .map(|told| told.neighbour)
            .filter(|address| !self.addresses.contains_key(address) && cooja(*address).is_none())
            .collect();
        for mask in [0xffff, 0xff] {
            let numbers: BTreeSet<u64> = unknown.iter().map(|address| address & mask).collect();
            let found = numbers.intersection(&owners).count();
            let is_taken = |n: &u64| self.addresses.values().any(|own| **own == n.to_string());
            if numbers.len() < unknown.len() || 2 * found <= numbers.len() {
                continue;
            }
            if !numbers.iter().any(is_taken) {
                let named = unknown.iter().map(|a| (*a, (a & mask).to_string().into()));
                self.addresses.extend(named);
                return unknown.len();
            }
        }
        0
    }

    /// Refuses a log of several nodes none of which is anyone's neighbour: then each would be two, by number and by address.
    fn check_addresses(&self, told: &[Told]) -> Result<(), Problem> {
        let owners: BTreeSet<&str> = told.iter().filter_map(|told| told.own.as_deref()).collect();
        let is_owner = |told: &Told| owners.contains(&*self.name(told.neighbour));
        if owners.len() < 2 || told.iter().any(is_owner) {
            return Ok(());
        }
        let what = "a Contiki-NG log that names neighbours by addresses, and no line says whose they are; expected each node's `Link-layer address`, which it logs as it starts";
        Err(Problem::Foreign(what.to_owned()))
    }

    /// The node whose log it is, if no line names one and it gives its address as it starts.
    fn only_node(&self) -> Option<String> {
        match (self.addresses.is_empty(), &self.unplaced[..]) {
            (true, [only]) => Some(self.name(*only)),
            _ => None,
        }
    }

    /// Why no link was found, where so many lines tell of one.
    fn lack(&self, nameless: usize) -> String {
        match nameless {
            0 => "a Contiki-NG log without links; expected lines of `Link Stats` (`LINK_STATS_CONF_PACKET_COUNTERS`) or of `RPL` with `nbr:`".to_owned(),
            n => format!(
                "a Contiki-NG log whose lines of links ({n}) do not say which node wrote them; expected `ID:2` (Cooja), `;m3-2;` (IoT-LAB) or `TIME 2` before each, or the log of one node with its `Link-layer address`"
            ),
        }
    }

    /// The node with that address.
    fn name(&self, address: u64) -> String {
        if let Some(known) = self.addresses.get(&address) {
            return known.to_string();
        }
        if let Some(number) = cooja(address) {
            return number.to_string();
        }
        let [a, b, c, d] = groups(address);
        format!("{a:04x}.{b:04x}.{c:04x}.{d:04x}")
    }
}

fn groups(address: u64) -> [u16; 4] {
    [48, 32, 16, 0].map(|by| (address >> by) as u16)
}

/// The number of a node of Cooja, which its address has in each group.
fn cooja(address: u64) -> Option<u16> {
    let [a, b, c, d] = groups(address);
    (a == b && b == c && c == d).then_some(d)
}

/// The node that wrote a line.
fn own(line: &str) -> Option<&str> {
    let before = line.split('[').next()?;
    if let Some((_, id)) = before.split_once("ID:") {
        return id
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .filter(|id| !id.is_empty());
    }
    if let Some(name) = before
        .split(';')
        .nth(1)
        .filter(|name| !name.trim().is_empty())
    {
        return Some(name.trim());
    }
    let mut words = before
        .split([' ', '\t', ':'])
        .filter(|word| !word.is_empty());
    let (time, id) = (words.next()?, words.next()?);
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (is_number(time) && id.bytes().all(|b| b.is_ascii_digit()) && words.next().is_none())
        .then_some(id)
}

/// A link-layer address as `0012.4b00.0000.0002`, `00124b0000000002` or `00:12:4b:...`.
fn address_of(text: &str) -> Option<u64> {
    eui64(text.split_whitespace().next()?)
}

/// The interface's address in a link-local one, `fe80::212:4b00:0:2`, in which a bit is turned.
fn of_ip(text: &str) -> Option<u64> {
    let address: std::net::Ipv6Addr = text.parse().ok()?;
    let [.., a, b, c, d] = address.segments();
    let groups = [a, b, c, d].map(u64::from);
    let [a, b, c, d] = groups;
    Some((a << 48 | b << 32 | c << 16 | d) ^ 0x0200_0000_0000_0000)
}

/// The neighbour and the ratio of a line of `Link Stats`.
fn counted(line: &str) -> Option<(u64, Measure)> {
    let (_, told) = line.split_once("num packets:")?;
    let value = |key: &str| {
        told.split_whitespace()
            .find_map(|word| word.strip_prefix(key))
    };
    let sent: u32 = value("tx=")?.parse().ok()?;
    let acked: u32 = value("ack=")?.parse().ok()?;
    let address = address_of(value("to=")?)?;
    let measure = Measure {
        ratio: Some(f64::from(acked.min(sent)) / f64::from(sent)),
        rssi_dbm: None,
        weight: f64::from(sent),
    };
    (sent > 0).then_some((address, measure))
}

/// The neighbour and the ratio of a line of `RPL`: `nbr: ADDRESS RANK, METRIC => ...`.
fn metric(line: &str) -> Option<(u64, Measure)> {
    let (_, told) = line.split_once("nbr: ")?;
    let mut words = told.split([' ', ',']).filter(|word| !word.is_empty());
    let address = of_ip(words.next()?)?;
    let metric: u32 = words.nth(1)?.parse().ok()?;
    let ratio = Some((ONE / f64::from(metric.max(1))).min(1.0));
    let measure = Measure {
        ratio,
        rssi_dbm: None,
        weight: 1.0,
    };
    (metric > 0).then_some((address, measure))
}
