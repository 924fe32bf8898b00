//! The nodes of a link file, by number or by name. A name (`pier-north`, an EUI-64) gets a number, which stands for it
//! everywhere, and stays the node's label. Where most nodes have numbers a name is a slip, and so an error.
//! Tests: below, `matrix_tests.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use thalweg_units::NodeId;

use crate::bounds::MAX_NODES;
use crate::error::{printable, Location, Problem, MAX_PROBLEMS};

/// What a node may be called beside its number, by that number.
pub(crate) type Labels = BTreeMap<NodeId, String>;

/// Most characters of a name.
pub(crate) const MAX_NAME: usize = 64;
/// What errors expect.
pub(crate) const NODE: &str = "a node's number, 0..65533";

/// Nodes in order of appearance, with a bound on their number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// As the file has them.
    texts: Vec<Box<str>>,
    numbers: BTreeMap<u16, u16>,
    names: BTreeMap<Box<str>, u16>,
    /// The first names, and so wrong if the others are numbers.
    doubts: Vec<(Location, Problem)>,
    /// Labels that remarks give to numbers.
    remarked: BTreeMap<u16, String>,
}

impl Names {
    /// The index of the node called `text`, a new one if it was not seen before.
    pub(crate) fn index(&mut self, text: &str) -> Result<u16, Problem> {
        let number = number(text);
        let known = match number {
            Some(number) => self.numbers.get(&number),
            None => self.names.get(key(text).as_ref()),
        };
        if let Some(index) = known {
            return Ok(*index);
        }
        if text.is_empty() || text.chars().count() > MAX_NAME {
            let expected = "a node's number, or a name of at most 64 letters";
            return Err(Problem::value("the node", text, expected));
        }
        if self.texts.len() >= MAX_NODES {
            return Err(Problem::TooLarge("nodes", MAX_NODES as u64));
        }
        let index = self.texts.len() as u16;
        self.texts.push(printable(text).into());
        match number {
            Some(number) => self.numbers.insert(number, index),
            None => self.names.insert(key(text).into(), index),
        };
        Ok(index)
    }
    /// Calls the node of that number so.
    pub(crate) fn label(&mut self, number: u16, label: &str) {
        let label = printable(label.trim());
        if !label.is_empty() && self.remarked.len() < MAX_NODES {
            self.remarked.insert(number, label);
        }
    }
    /// The index of the node called `text` at `place`; a `problem` there if it is a name and most are numbers.
    pub(crate) fn doubted(
        &mut self,
        text: &str,
        place: impl FnOnce() -> Location,
        problem: impl FnOnce() -> Problem,
    ) -> Result<u16, Problem> {
        if number(text).is_none() && self.doubts.len() < MAX_PROBLEMS {
            self.doubts.push((place(), problem()));
        }
        self.index(text)
    }
    /// Takes a label from the remark `# node 12: pier-north`.
    pub(crate) fn remark(&mut self, text: &str) {
        let Some((number, label)) = text
            .trim_start_matches(['#', ' '])
            .strip_prefix("node ")
            .and_then(|rest| rest.split_once(':'))
        else {
            return;
        };
        if let Ok(number) = number.trim().parse() {
            self.label(number, label);
        }
    }
    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
    /// What the file calls the node of that index.
    pub(crate) fn text(&self, index: u16) -> &str {
        self.texts.get(usize::from(index)).map_or("", AsRef::as_ref)
    }
    fn are_numbers(&self) -> bool {
        self.names.len() <= self.numbers.len()
    }
    /// The names that should have been numbers.
    pub(crate) fn faults(&mut self) -> Vec<(Location, Problem)> {
        let doubts = std::mem::take(&mut self.doubts);
        match self.are_numbers() {
            true => doubts,
            false => Vec::new(),
        }
    }
    /// The nodes' numbers by index, and their labels. Names are numbered from 1, in order of appearance.
    pub(crate) fn settle(self) -> (Vec<NodeId>, Labels) {
        let mut labels = Labels::new();
        if !self.names.is_empty() {
            let ids: Vec<NodeId> = (1..).take(self.len()).flat_map(NodeId::new).collect();
            labels.extend(
                ids.iter()
                    .copied()
                    .zip(self.texts.into_iter().map(String::from)),
            );
            return (ids, labels);
        }
        let mut ids: Vec<(u16, NodeId)> = Vec::with_capacity(self.numbers.len());
        for (number, index) in &self.numbers {
            let Ok(id) = NodeId::new(*number) else {
                continue;
            };
            ids.push((*index, id));
            let text = self.texts.get(usize::from(*index));
            if let Some(text) = text.filter(|text| is_hex(text)) {
                labels.insert(id, text.to_string());
            }
            if let Some(label) = self.remarked.get(number) {
                labels.insert(id, label.clone());
            }
        }
        ids.sort_unstable();
        (ids.into_iter().map(|(_, id)| id).collect(), labels)
    }
}

/// What a name is known by: all spellings of an EUI-64 are one.
fn key(text: &str) -> Cow<'_, str> {
    match eui64(text) {
        Some(address) => Cow::Owned(format!("{address:016x}")),
        None => Cow::Borrowed(text),
    }
}

/// Whether both call the same node.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    key(one) == key(other)
}

/// An EUI-64 as `0x00124b0018ed25fa`, `00:12:4b:00:18:ed:25:fa`, `00-12-4B-...`, `0012.4b00.18ed.25fa` or without any of these.
pub(crate) fn eui64(text: &str) -> Option<u64> {
    // Most nodes are short numbers.
    if text.len() < 16 {
        return None;
    }
    let bare = match is_hex(text) {
        true => text.get(2..)?,
        false => text,
    };
    let mark = bare.chars().find(|c| matches!(c, ':' | '-' | '.'));
    let groups: Vec<&str> = match mark {
        Some(mark) => bare.split(mark).collect(),
        None => vec![bare],
    };
    let is_even = groups.iter().all(|group| {
        let is_hex = group.bytes().all(|b| b.is_ascii_hexdigit());
        is_hex && group.len() * groups.len() == 16
    });
    is_even.then(|| u64::from_str_radix(&groups.concat(), 16).ok())?
}

fn is_hex(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

/// A node's number as `12`, `12.0` or `0x1a2b`.
fn number(text: &str) -> Option<u16> {
    let number = match is_hex(text) {
        true if text.len() <= 6 => u16::from_str_radix(text.get(2..)?, 16).ok()?,
        true => return None,
        false if eui64(text).is_some() => return None,
        false => u16::try_from(whole(text)?).ok()?,
    };
    NodeId::new(number).ok().map(NodeId::get)
}

/// A whole number, which may be written with a point: `12` or `12.0`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|b| b == b'0') => digits,
        Some(_) => return None,
        None => text,
    };
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_each_writing() {
        assert_eq!(number("12"), Some(12));
        assert_eq!(number("12.0"), Some(12));
        assert_eq!(number("0x1a2b"), Some(0x1a2b));
        let none = [
            "0xffff",
            "65535",
            "12.5",
            "-1",
            "+1",
            "0x00124b0018ed25fa",
            "",
            ".",
        ];
        assert!(none.into_iter().all(|text| number(text).is_none()));
    }

    #[test]
    fn names_are_numbered_and_a_slip_among_numbers_is_found() {
        let problem = || Problem::Empty("");
        let mut names = Names::default();
        for text in ["pier-north", "0", "shed"] {
            names.doubted(text, || Location::Whole, problem).unwrap();
        }
        assert!(names.faults().is_empty());
        let (ids, labels) = names.settle();
        assert!(ids.iter().map(|id| id.get()).eq([1, 2, 3]));
        assert_eq!(
            labels.values().collect::<Vec<_>>(),
            ["pier-north", "0", "shed"]
        );

        let mut names = Names::default();
        for text in ["7", "0x0a", "x"] {
            names.doubted(text, || Location::Whole, problem).unwrap();
        }
        assert_eq!(names.faults().len(), 1);

        let mut names = Names::default();
        names.remark("# node 7:  gate ");
        for text in ["7", "0x0a"] {
            names.index(text).unwrap();
        }
        let labels = names.settle().1;
        assert_eq!(labels.values().collect::<Vec<_>>(), ["gate", "0x0a"]);
    }
}
