//! Names of topics. Invariant: whatever networks are called, each has topics of its own, with one segment for its
//! name and no wildcard. Tests: `topics_tests.rs`.

use std::fmt::Write as _;

use thalweg_units::NodeId;

use thalweg_host::store::digest_of;

/// Where Home Assistant looks for devices.
const HOME: &str = "homeassistant";
/// The longest segment of a name; a digest keeps names distinct that are cut.
const LONGEST: usize = 64;

/// What a button asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Press {
    /// A survey.
    Measure,
    /// The object of a node.
    Fetch(NodeId),
}

/// The topics of a network.
#[derive(Debug, Clone)]
pub(crate) struct Topics {
    root: String,
    /// 16 hexadecimal digits that identify this network under this prefix.
    id: String,
}

impl Topics {
    pub(super) fn new(prefix: &str, network: &str) -> Self {
        let root = format!("{prefix}/{}", segment(network));
        let id = digits(&root);
        Self { root, id }
    }

    /// Objects of `node`.
    pub(super) fn objects(&self, node: NodeId) -> String {
        self.under(&format!("objects/{node}"))
    }
    /// How `node` is.
    pub(super) fn node(&self, node: NodeId) -> String {
        self.under(&format!("nodes/{node}"))
    }
    /// Anything else of the network.
    pub(crate) fn under(&self, topic: &str) -> String {
        format!("{}/{topic}", self.root)
    }
    /// Asks for the object of `node`.
    pub(super) fn fetch(&self, node: NodeId) -> String {
        format!("{}/fetch", self.node(node))
    }
    /// Asks for a survey.
    pub(super) fn measure(&self) -> String {
        self.under("measure")
    }
    /// What a broker is asked to pass on: [`Self::measure`], and [`Self::fetch`] of every node.
    pub(crate) fn presses(&self) -> [String; 2] {
        [self.measure(), self.under("nodes/+/fetch")]
    }
    /// What a message under `topic` asks for.
    pub(crate) fn pressed(&self, topic: &str) -> Option<Press> {
        if topic == self.measure() {
            return Some(Press::Measure);
        }
        let rest = topic.strip_prefix(&self.under("nodes/"))?;
        let node = rest.strip_suffix("/fetch")?.parse().ok()?;
        Some(Press::Fetch(NodeId::new(node).ok()?))
    }
    /// What the base station is called among all devices of a home.
    pub(super) fn gateway(&self) -> String {
        format!("thalweg_{}", self.id)
    }
    /// What `node` is called there.
    pub(super) fn device(&self, node: NodeId) -> String {
        format!("thalweg_{}_{node}", self.id)
    }
    /// The topic that announces a device to Home Assistant.
    pub(super) fn discovery(device: &str) -> String {
        format!("{HOME}/device/{device}/config")
    }
    /// Whether `topic` is such a place.
    pub(super) fn is_discovery(topic: &str) -> bool {
        topic.starts_with(HOME) && topic.ends_with("/config")
    }
}

/// What every client of the broker needs, and no other has: a name of 23 characters, as long as any broker takes.
pub(super) fn client(prefix: &str) -> String {
    format!("thalweg{}", digits(prefix))
}

/// Whether the gateway is there: `online` or `offline`.
pub(crate) fn status(prefix: &str) -> String {
    format!("{prefix}/status")
}

/// The first 16 digits of the digest of `text`.
fn digits(text: &str) -> String {
    let mut digits = digest_of(text.as_bytes());
    digits.truncate(16);
    digits
}

/// `name` as one segment of a topic: bytes other than letters, digits, `-`, `_` and `.` as `%` and two digits.
fn segment(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                text.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    match text.len() {
        0 => "%".to_owned(),
        1..=LONGEST => text,
        _ => {
            format!("{}%{}", &text[..LONGEST - 17], digits(name))
        }
    }
}

#[cfg(test)]
#[path = "topics_tests.rs"]
mod tests;
