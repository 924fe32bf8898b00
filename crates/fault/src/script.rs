//! A scenario as a file: the network, what is asked of it, and what goes wrong when.
//!
//! Nodes are 1, 2, ... in the file as in reports; node 1 is the base station. Time base: milliseconds of the network's time
//! since the nodes were switched on. Invariant: a script that was read can be run. Tests: at the end.

use crate::breach::BreachKind;
use serde::{Deserialize, Serialize};
use thalweg_sim::boards;
use thalweg_simnet::motes::check_pipelines;
use thalweg_units::Channel;

/// The most nodes of a network.
const MAX_NODES: u16 = 16;
/// The longest object, in bytes.
const MAX_BYTES: u32 = 1 << 20;
/// The latest time of a strike, and the longest pause: thirty days.
const MAX_MS: u64 = 30 * 86_400_000;
/// The most frames that an outsider sends one after the other.
const MAX_FLOOD: u16 = 1_000;
/// The most steps, strikes and fades each.
const MAX_ENTRIES: usize = 1_000;

/// Links of this power or more lose next to nothing by themselves.
pub(crate) const STRONG_DBM: f64 = -82.0;

/// A scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Draws what differs between runs of one network: clocks, noise, fading, objects.
    pub seed: u64,
    /// Nodes 1 to this; node 1 is the base station.
    pub nodes: u16,
    /// The board of all nodes, by name.
    pub board: String,
    /// Whether nodes rest when idle.
    pub idle: Idle,
    /// Share of the time that foreign traffic takes on channels 15, 20, 25 and 26; 0 for none.
    pub foreign_traffic: f64,
    /// Whether the nodes have keys.
    #[serde(default, skip_serializing_if = "Security::is_none")]
    pub security: Security,
    /// Who hears whom.
    #[serde(rename = "link", default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What is asked of the network, in this order, after a first survey.
    #[serde(rename = "step", default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Links that carry nothing for a while.
    #[serde(rename = "fade", default, skip_serializing_if = "Vec::is_empty")]
    pub fades: Vec<Fade>,
    /// What befalls nodes.
    #[serde(rename = "strike", default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<Strike>,
}

/// What nodes do when idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// They listen.
    Listens,
    /// They rest, and are roused.
    Rests,
}

/// Whether nodes have keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// They have none.
    #[default]
    None,
    /// They do, and act on nothing that is not sealed. No outsider has any.
    Keys,
    /// The same, but outsiders have those of one node, which they captured: of the node that a strike names.
    Captured,
}

impl Security {
    // As serde wants it.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Two nodes that hear each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One of them.
    pub a: u16,
    /// The other.
    pub b: u16,
    /// Mean received power on all channels, in dBm.
    pub dbm: f64,
}

/// What is asked of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Step {
    /// Fetch the object of a node.
    Fetch {
        /// The node.
        from: u16,
        /// The length of its object from now on.
        bytes: u32,
    },
    /// Have all nodes send an object over RCRT, in networks without keys.
    Session {
        /// The length of each object.
        bytes: u32,
        /// The longest that it may take, in milliseconds.
        for_ms: u64,
    },
    /// Measure the links again.
    Survey {},
    /// Ask nothing for a while.
    Pause {
        /// How long.
        ms: u64,
    },
}

/// A link that carries nothing for a while, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fade {
    /// When it begins.
    pub at_ms: u64,
    /// How long it lasts.
    pub for_ms: u64,
    /// One end.
    pub a: u16,
    /// The other.
    pub b: u16,
}

/// Something that befalls a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strike {
    /// When.
    pub at_ms: u64,
    /// The node that it befalls. An outsider's act befalls all that hear it; with [`Security::Captured`] this is the node whose keys he
    /// has.
    pub node: u16,
    /// What.
    pub what: Fault,
}

/// What befalls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Fault {
    /// It stands still, and goes on from where it stood.
    Dead {
        /// How long.
        for_ms: u64,
    },
    /// It hears nothing.
    Deaf {
        /// How long.
        for_ms: u64,
    },
    /// It hears nothing on one channel.
    Jammed {
        /// How long.
        for_ms: u64,
        /// 11 to 26.
        channel: u8,
    },
    /// Its power fails: RAM is lost, its clock starts from zero.
    Reboot {
        /// How long it is off.
        for_ms: u64,
    },
    /// Something happens to the next frames that it receives.
    Frames {
        /// How many.
        count: u8,
        /// What.
        each: FrameFault,
    },
    /// An outsider with a radio sends something.
    Outsider(Act),
}

impl Fault {
    /// How long it lasts, in milliseconds.
    pub(crate) const fn for_ms(&self) -> u64 {
        match *self {
            Self::Dead { for_ms }
            | Self::Deaf { for_ms }
            | Self::Jammed { for_ms, .. }
            | Self::Reboot { for_ms } => for_ms,
            Self::Frames { .. } | Self::Outsider(_) => 0,
        }
    }
}

/// What happens to a frame that a node receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum FrameFault {
    /// It is lost.
    Lose {},
    /// A bit of it differs, and its check sequence is right.
    Flip {
        /// Which bit, modulo the frame's length.
        bit: u16,
    },
    /// It comes twice.
    Double {},
    /// The node's software gets it later.
    Delay {
        /// How much.
        us: u32,
    },
}

/// What an outsider sends. He hears all frames, and has no key but a captured mote's. With that, changed frames are sealed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Act {
    /// The latest frame of a kind, as it was.
    Replay {
        /// Its dispatch byte.
        kind: u8,
    },
    /// The latest frame of a kind with one byte changed.
    Forge {
        /// Its dispatch byte.
        kind: u8,
        /// Which byte after the dispatch byte, modulo their number.
        at: u8,
        /// What it becomes.
        to: u8,
    },
    /// The latest frame of a kind, many times, one after the other; with keys each is a new one.
    Flood {
        /// Its dispatch byte.
        kind: u8,
        /// How often.
        count: u16,
    },
    /// Wake-ups that have a node send its object to the outsider.
    Fetch {
        /// The node.
        from: u16,
    },
}

/// A script cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self = toml::from_str(text).map_err(|why| {
            let line = why.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            let why = why.message().replace('\n', "; ");
            ScriptError(format!("{}{why}", line.unwrap_or_default()))
        })?;
        script.check()?;
        Ok(script)
    }

    /// As a file that [`Self::parse`] reads.
    pub fn to_text(&self) -> String {
        // All of it can be written as TOML.
        toml::to_string(self).unwrap_or_default()
    }

    /// When the last fault is over, in milliseconds.
    pub fn calm_ms(&self) -> u64 {
        let fades = self
            .fades
            .iter()
            .map(|fade| fade.at_ms.saturating_add(fade.for_ms));
        let strikes = self
            .strikes
            .iter()
            .map(|strike| strike.at_ms.saturating_add(strike.what.for_ms()));
        fades.chain(strikes).max().unwrap_or(0)
    }

    /// Whether an outsider takes part.
    pub fn has_outsider(&self) -> bool {
        let is_act = |strike: &Strike| matches!(strike.what, Fault::Outsider(_));
        self.strikes.iter().any(is_act)
    }

    /// Whether nodes take part in sessions.
    pub fn has_sessions(&self) -> bool {
        let is_session = |step: &Step| matches!(step, Step::Session { .. });
        self.steps.iter().any(is_session)
    }

    /// Whether strong links lead from every node to the base station.
    pub fn has_paths(&self) -> bool {
        self.reached().len() == usize::from(self.nodes)
    }

    /// The base station, and the nodes from which strong links lead to it: what they offer can arrive once all faults are over.
    pub(crate) fn reached(&self) -> Vec<u16> {
        let mut reached = vec![1];
        for _ in 0..self.nodes {
            let strong = self.links.iter().filter(|link| link.dbm >= STRONG_DBM);
            for (a, b) in strong.flat_map(|link| [(link.a, link.b), (link.b, link.a)]) {
                if reached.contains(&a) && !reached.contains(&b) {
                    reached.push(b);
                }
            }
        }
        reached
    }

    /// Whether a breach of this kind is what frames without a keyed check allow: an outsider's word is taken, and so is a
    /// frame in which a bit was flipped past the check sequence. Nothing excuses a panic, a node that is kept busy, a report
    /// that contradicts itself; and nothing but an outsider an object that is not its node's, or does not come. Where nodes
    /// have keys, nothing excuses anything, but a captured one what `docs/security.md` says of it.
    pub fn excuses(&self, kind: BreachKind) -> bool {
        let is_flip = |strike: &Strike| match strike.what {
            Fault::Frames { each, .. } => matches!(each, FrameFault::Flip { .. }),
            _ => false,
        };
        match self.security {
            Security::None => {}
            Security::Keys => return false,
            // It uses up the numbers of a base station's orders.
            Security::Captured => return kind == BreachKind::Undelivered,
        }
        match kind {
            BreachKind::Unordered | BreachKind::Survey => {
                self.has_outsider() || self.strikes.iter().any(is_flip)
            }
            BreachKind::Foreign | BreachKind::Undelivered | BreachKind::Overtime => {
                self.has_outsider()
            }
            BreachKind::Panic
            | BreachKind::Stuck
            | BreachKind::Report
            | BreachKind::Meter
            | BreachKind::Secret => false,
        }
    }

    fn check(&self) -> Result<(), ScriptError> {
        let fail = |what: String| Err(ScriptError(what));
        if !(2..=MAX_NODES).contains(&self.nodes) {
            return fail(format!(
                "nodes: expected 2 to {MAX_NODES}, not {}",
                self.nodes
            ));
        }
        let board = boards::load(&self.board).map_err(|why| ScriptError(why.to_string()))?;
        if let Err(why) = check_pipelines(&board) {
            return fail(format!("board {} carries no pipelines: {why}", self.board));
        }
        let counts = [
            self.links.len(),
            self.steps.len(),
            self.fades.len(),
            self.strikes.len(),
        ];
        if counts.iter().any(|count| *count > MAX_ENTRIES) {
            return fail(format!(
                "at most {MAX_ENTRIES} links, steps, fades and strikes each"
            ));
        }
        if !(0.0..=0.9).contains(&self.foreign_traffic) {
            return fail(format!(
                "foreign_traffic: expected 0 to 0.9, not {}",
                self.foreign_traffic
            ));
        }
        let is_node = |node: u16| (1..=self.nodes).contains(&node);
        let pairs = self.links.iter().map(|link| (link.a, link.b));
        for (a, b) in pairs.chain(self.fades.iter().map(|fade| (fade.a, fade.b))) {
            if !is_node(a) || !is_node(b) || a == b {
                return fail(format!(
                    "expected two of the nodes 1 to {}, not {a} and {b}",
                    self.nodes
                ));
            }
        }
        if let Some(link) = self
            .links
            .iter()
            .find(|link| !(-120.0..=0.0).contains(&link.dbm))
        {
            return fail(format!("dbm: expected -120 to 0, not {}", link.dbm));
        }
        self.steps
            .iter()
            .try_for_each(|step| self.check_step(step))?;
        self.strikes
            .iter()
            .try_for_each(|strike| self.check_strike(strike))?;
        match self.calm_ms() {
            late if late > MAX_MS => {
                fail(format!("a fault ends after {late} ms; at most {MAX_MS}"))
            }
            _ => Ok(()),
        }
    }

    fn check_step(&self, step: &Step) -> Result<(), ScriptError> {
        let why = match *step {
            Step::Fetch { from, .. } if !(2..=self.nodes).contains(&from) => {
                format!(
                    "fetch: expected one of the nodes 2 to {}, not {from}",
                    self.nodes
                )
            }
            Step::Fetch { bytes, .. } if !(1..=MAX_BYTES).contains(&bytes) => {
                format!("bytes: expected 1 to {MAX_BYTES}, not {bytes}")
            }
            Step::Session { bytes, .. } if !(1..=MAX_BYTES).contains(&bytes) => {
                format!("bytes: expected 1 to {MAX_BYTES}, not {bytes}")
            }
            Step::Session { .. } if self.security != Security::None => {
                "session: nodes with keys take part in none".to_owned()
            }
            Step::Session { for_ms: ms, .. } | Step::Pause { ms } if ms > MAX_MS => {
                format!("a session or pause: at most {MAX_MS} ms, not {ms}")
            }
            _ => return Ok(()),
        };
        Err(ScriptError(why))
    }

    fn check_strike(&self, strike: &Strike) -> Result<(), ScriptError> {
        let named = match strike.what {
            Fault::Outsider(Act::Fetch { from }) => from,
            _ => strike.node,
        };
        if !(1..=self.nodes).contains(&named) {
            let why = format!("expected one of the nodes 1 to {}, not {named}", self.nodes);
            return Err(ScriptError(format!("strike: {why}")));
        }
        match strike.what {
            Fault::Outsider(Act::Flood { count, .. }) if count > MAX_FLOOD => Err(ScriptError(
                format!("flood: at most {MAX_FLOOD} frames, not {count}"),
            )),
            Fault::Jammed { channel, .. } => match Channel::new(channel) {
                Ok(_) => Ok(()),
                Err(why) => Err(ScriptError(format!("strike: {why}"))),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
