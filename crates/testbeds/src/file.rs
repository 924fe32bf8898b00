//! A testbed's TOML file: its keys as serde sees them, and turning them into a [`Testbed`] with
//! every value checked. The user's guide to the keys is `docs/testbeds.md`.
//! Tests: `file_tests.rs`, `hostile_tests.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thalweg_medium::{BuildingModel, Placement, Position};
use thalweg_sim::{boards, Board};
use thalweg_units::{Channel, ChannelSet, NodeId};
use thalweg_wire::seal::frame::Sealing;

use crate::assumed::Assumed;
use crate::battery::Batteries;
use crate::bounds::MAX_NODES;
use crate::building::{Building, Crowd, Numbering};
use crate::error::{Location, Problem, TestbedError};
use crate::names::{Labels, MAX_NAME};
use crate::propagation;
use crate::reception::Reception;
use crate::source::read_links;
use crate::testbed::{Measured, Node, Physics, Places, SinkBy, Testbed, DEFAULT_BOARD};
use crate::trace::Trace;

/// Largest coordinate or building dimension, metres.
const MAX_METRES: f64 = 100_000.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    description: String,
    board: Option<String>,
    sink: Option<u16>,
    channels: Option<Vec<u8>>,
    control_channel: Option<u8>,
    /// Whether nodes have keys.
    #[serde(default)]
    security: Security,
    /// The key file of its real nodes, beside this one.
    keys: Option<PathBuf>,
    /// Whether planners know where nodes are.
    #[serde(default)]
    places: Places,
    battery: Option<Batteries>,
    building: Option<BuildingKeys>,
    nodes: Option<Vec<NodeKeys>>,
    links: Option<LinkKeys>,
    propagation: Option<toml::Table>,
}

/// What a testbed's file says of its nodes' keys.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Security {
    #[default]
    Off,
    Require,
}

impl From<Security> for Sealing {
    fn from(security: Security) -> Self {
        match security {
            Security::Off => Self::Open,
            Security::Require => Self::Sealed,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuildingKeys {
    nodes: u16,
    #[serde(default = "one")]
    floors: u16,
    length_m: f64,
    width_m: f64,
    #[serde(default = "floor_height")]
    floor_height_m: f64,
    #[serde(default = "one")]
    first_id: u16,
    crowd: Option<CrowdKeys>,
    #[serde(default)]
    numbering: Numbering,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CrowdKeys {
    nodes: u16,
    length_m: f64,
    width_m: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeKeys {
    id: u16,
    label: Option<String>,
    x_m: f64,
    y_m: f64,
    z_m: Option<f64>,
    #[serde(default)]
    floor: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkKeys {
    file: String,
    frame_bytes: Option<u16>,
}

fn one() -> u16 {
    1
}
fn floor_height() -> f64 {
    3.5
}

/// Reads a testbed's TOML; `folder` is where the link file that it may name lies.
pub(crate) fn parse(
    text: &str,
    source_name: &str,
    folder: Option<&Path>,
) -> Result<Testbed, TestbedError> {
    let file: File = toml::from_str(text).map_err(|e| {
        let before = e.span().and_then(|span| text.get(..span.start));
        let line = before.unwrap_or_default().matches('\n').count() as u64 + 1;
        let message = e.message().lines().collect::<Vec<_>>().join(", ");
        Problem::Toml(crate::error::printable(&message)).on_line(source_name, line)
    })?;
    Reader { source_name }.testbed(file, folder)
}

struct Reader<'a> {
    source_name: &'a str,
}

impl Reader<'_> {
    fn fail<T>(&self, key: impl Into<String>, problem: Problem) -> Result<T, TestbedError> {
        Err(problem.at_key(self.source_name, key))
    }
    /// `what` is `found` and cannot be.
    fn wrong<T>(
        &self,
        key: impl Into<String>,
        what: &'static str,
        found: impl ToString,
        expected: &'static str,
    ) -> Result<T, TestbedError> {
        self.fail(key, Problem::value(what, &found.to_string(), expected))
    }

    fn testbed(&self, file: File, folder: Option<&Path>) -> Result<Testbed, TestbedError> {
        if file.name.trim().is_empty() {
            return self.wrong("name", "name", &file.name, "a name");
        }
        let board_name = file.board.as_deref().unwrap_or(DEFAULT_BOARD);
        let board = self.board(board_name, folder)?;
        let mut model = BuildingModel::default();
        if let Some(table) = &file.propagation {
            propagation::apply(&mut model, table, self.source_name)?;
            if file.links.is_some() {
                let found = "`[propagation]` beside `[links]`, where links are measured";
                return self.fail("propagation", Problem::Physics(found));
            }
        }
        let placed = file.nodes.as_deref().map(|n| self.nodes(n)).transpose()?;
        let (mut assumed, mut labels) = (Vec::new(), Labels::new());
        let notes = (&mut assumed, &mut labels);
        let reception = |frame_bytes| Reception::new(board_name, board.chip, frame_bytes);
        let (nodes, physics, measured) =
            self.physics((&file, folder), (model, placed), reception, notes)?;
        labels.extend(self.labels(file.nodes.as_deref().unwrap_or_default())?);
        let channels = self.channels(file.channels.as_deref(), measured)?;
        let control = match file.control_channel {
            Some(named) => self.control(named, measured)?,
            None => Testbed::control_of(nodes.len(), channels, &physics),
        };
        let sink = self.sink(file.sink, &nodes)?;
        let sink_by = sink_by(file.sink.is_some(), &physics);
        let testbed = Testbed {
            name: file.name,
            description: file.description,
            board_name: board_name.to_owned(),
            board,
            nodes,
            labels,
            channels,
            control,
            sealing: file.security.into(),
            keys: self.keys((file.security, file.keys), folder)?,
            sink,
            sink_by,
            places: file.places,
            batteries: file.battery.map(|b| self.batteries(b)).transpose()?,
            physics,
            assumed,
        };
        Ok(testbed.settled())
    }

    /// Where its key file is, which belongs to a secured network.
    fn keys(
        &self,
        (security, keys): (Security, Option<PathBuf>),
        folder: Option<&Path>,
    ) -> Result<Option<PathBuf>, TestbedError> {
        let Some(keys) = keys else {
            return Ok(None);
        };
        let expected = "security = \"require\" beside it";
        match security {
            Security::Require => Ok(Some(folder.unwrap_or(Path::new("")).join(keys))),
            Security::Off => self.wrong("keys", "the key file", keys.display(), expected),
        }
    }

    /// Nodes and links, by whichever of `[building]`, `[[nodes]]` and `[links]` the file has, and on which channels links
    /// are known. What was assumed on the way, and nodes' names, go into `notes`.
    fn physics(
        &self,
        (file, folder): (&File, Option<&Path>),
        (model, placed): (BuildingModel, Option<Vec<Node>>),
        reception: impl FnOnce(u16) -> Reception,
        notes: (&mut Vec<Assumed>, &mut Labels),
    ) -> Result<(Vec<Node>, Physics, ChannelSet), TestbedError> {
        match (&file.building, placed, &file.links) {
            (Some(keys), None, None) => {
                let (nodes, building) = self.building(keys)?;
                let physics = Physics::Generated { building, model };
                Ok((nodes, physics, ChannelSet::ALL))
            }
            (None, Some(nodes), None) => Ok((nodes, Physics::Placed { model }, ChannelSet::ALL)),
            (None, placed, Some(keys)) => {
                let frame_bytes = self.frame_bytes(keys)?;
                let mut trace = self.links(keys, folder, &reception(frame_bytes))?;
                notes.0.append(&mut trace.assumed);
                notes.1.append(&mut trace.labels);
                let channels = trace.channels;
                let (nodes, measured) = self.measured(placed, trace, frame_bytes)?;
                Ok((nodes, Physics::Measured(measured), channels))
            }
            (None, None, None) => {
                Err(Problem::Physics("none of them").at(self.source_name, Location::Whole))
            }
            (Some(_), Some(_), _) => {
                self.fail("nodes", Problem::Physics("`[building]` and `[[nodes]]`"))
            }
            (Some(_), None, Some(_)) => {
                self.fail("links", Problem::Physics("`[building]` and `[links]`"))
            }
        }
    }

    /// The built-in board of that name, or the one in the file of that name in `folder`.
    fn board(&self, name: &str, folder: Option<&Path>) -> Result<Board, TestbedError> {
        let found = match folder {
            Some(folder) if !boards::names().any(|known| known == name) => {
                boards::load(&folder.join(name).to_string_lossy())
            }
            _ => boards::built_in(name),
        };
        found.or_else(|why| {
            let line = crate::error::printable(&why.to_string());
            self.fail("board", Problem::Board(line))
        })
    }

    fn batteries(&self, keys: Batteries) -> Result<Batteries, TestbedError> {
        if !keys.capacity_mah.is_within(1.0..=1e6) {
            let expected = "1 to 1000000 mAh, or two such bounds, the lower first";
            return self.wrong(
                "battery.capacity_mah",
                "the capacity",
                keys.capacity_mah,
                expected,
            );
        }
        if !keys.volts.is_within(1.8..=4.35) {
            let expected = "1.8 to 4.35 V, or two such bounds, the lower first";
            return self.wrong("battery.volts", "the voltage", keys.volts, expected);
        }
        Ok(keys)
    }

    fn metres(&self, key: &str, value: f64, least: f64) -> Result<f64, TestbedError> {
        if (least..=MAX_METRES).contains(&value) {
            return Ok(value);
        }
        let expected = if least > 0.0 {
            "a length of 0.1 to 100000 m"
        } else {
            "metres, between -100000 and 100000"
        };
        self.wrong(key, "the length", value, expected)
    }

    fn building(&self, keys: &BuildingKeys) -> Result<(Vec<Node>, Building), TestbedError> {
        let count = usize::from(keys.nodes);
        if !(2..=MAX_NODES).contains(&count) {
            return self.wrong("building.nodes", "nodes", count, "2 to 10000 nodes");
        }
        if !(1..=200).contains(&keys.floors) || keys.floors > keys.nodes {
            let expected = "1 to 200 floors, each with a node";
            return self.wrong("building.floors", "floors", keys.floors, expected);
        }
        let building = Building {
            floors: keys.floors,
            length_m: self.metres("building.length_m", keys.length_m, 0.1)?,
            width_m: self.metres("building.width_m", keys.width_m, 0.1)?,
            floor_height_m: self.metres("building.floor_height_m", keys.floor_height_m, 0.1)?,
            crowd: keys
                .crowd
                .as_ref()
                .map(|c| self.crowd(c, keys))
                .transpose()?,
            numbering: keys.numbering,
        };
        let last = u32::from(keys.first_id) + u32::from(keys.nodes) - 1;
        if last > u32::from(NodeId::MAX.get()) {
            let expected = "ids that stay within 0..65533";
            return self.wrong("building.first_id", "first_id", keys.first_id, expected);
        }
        let ids = (keys.first_id..).take(count).flat_map(NodeId::new);
        Ok((ids.map(Node::unplaced).collect(), building))
    }

    fn crowd(&self, keys: &CrowdKeys, building: &BuildingKeys) -> Result<Crowd, TestbedError> {
        if !(1..=building.nodes).contains(&keys.nodes) {
            let expected = "at least one node, at most all of the building's";
            return self.wrong("building.crowd.nodes", "nodes", keys.nodes, expected);
        }
        let crowd = Crowd {
            nodes: keys.nodes,
            length_m: self.metres("building.crowd.length_m", keys.length_m, 0.1)?,
            width_m: self.metres("building.crowd.width_m", keys.width_m, 0.1)?,
        };
        if crowd.length_m > building.length_m || crowd.width_m > building.width_m {
            let found = format!("{} m x {} m", crowd.length_m, crowd.width_m);
            let expected = "a corner within the building";
            return self.wrong("building.crowd", "the crowd's corner", found, expected);
        }
        Ok(crowd)
    }

    fn nodes(&self, keys: &[NodeKeys]) -> Result<Vec<Node>, TestbedError> {
        if keys.len() < 2 {
            return self.fail("nodes", Problem::TooFew("pair of nodes", 2));
        }
        if keys.len() > MAX_NODES {
            return self.fail("nodes", Problem::TooLarge("nodes", MAX_NODES as u64));
        }
        let mut seen = BTreeSet::new();
        let mut nodes = Vec::with_capacity(keys.len());
        for (index, node) in keys.iter().enumerate() {
            let key = |name: &str| format!("nodes[{index}].{name}");
            let Ok(id) = NodeId::new(node.id) else {
                return self.wrong(key("id"), "id", node.id, "a node's number, 0..65533");
            };
            if !seen.insert(id) {
                return self.fail(key("id"), Problem::DuplicateNode(id.get()));
            }
            let z_m = node.z_m.unwrap_or(f64::from(node.floor) * floor_height());
            let position = Position {
                x_m: self.metres(&key("x_m"), node.x_m, -MAX_METRES)?,
                y_m: self.metres(&key("y_m"), node.y_m, -MAX_METRES)?,
                z_m: self.metres(&key("z_m"), z_m, -MAX_METRES)?,
            };
            let floor = node.floor;
            let placement = Some(Placement { position, floor });
            nodes.push(Node { id, placement });
        }
        Ok(nodes)
    }

    /// The labels of `[[nodes]]`.
    fn labels(&self, keys: &[NodeKeys]) -> Result<Labels, TestbedError> {
        let mut labels = Labels::new();
        for (index, node) in keys.iter().enumerate() {
            let (Some(label), Ok(id)) = (&node.label, NodeId::new(node.id)) else {
                continue;
            };
            let label = label.trim();
            if label.is_empty() || label.chars().count() > MAX_NAME {
                let key = format!("nodes[{index}].label");
                return self.wrong(key, "label", label, "a name of 1 to 64 letters");
            }
            labels.insert(id, crate::error::printable(label));
        }
        Ok(labels)
    }

    fn frame_bytes(&self, keys: &LinkKeys) -> Result<u16, TestbedError> {
        let bytes = keys.frame_bytes.unwrap_or(Measured::DEFAULT_FRAME_BYTES);
        if (3..=127).contains(&bytes) {
            return Ok(bytes);
        }
        let expected = "3 to 127 bytes of PSDU";
        self.wrong("links.frame_bytes", "frame_bytes", bytes, expected)
    }

    fn links(
        &self,
        keys: &LinkKeys,
        folder: Option<&Path>,
        reception: &Reception,
    ) -> Result<Trace, TestbedError> {
        let Some(folder) = folder else {
            let expected = "a testbed that is read from a file itself";
            return self.wrong("links.file", "file", &keys.file, expected);
        };
        Ok(read_links(&folder.join(&keys.file), reception)?.trace)
    }

    /// Measured links between nodes that may be placed: then ids and order are the TOML's.
    fn measured(
        &self,
        placed: Option<Vec<Node>>,
        trace: Trace,
        frame_bytes: u16,
    ) -> Result<(Vec<Node>, Measured), TestbedError> {
        let Some(nodes) = placed else {
            return Ok(Measured::of_trace(trace, frame_bytes));
        };
        let mut place = Vec::with_capacity(trace.nodes.len());
        for id in &trace.nodes {
            let Some(index) = nodes.iter().position(|n| n.id == *id) else {
                let problem = Problem::UnknownNode(id.get(), nodes.len());
                return self.fail("links.file", problem);
            };
            place.push(index as u16);
        }
        let (_, mut measured) = Measured::of_trace(trace, frame_bytes);
        let moved = |index: u16| place.get(usize::from(index)).copied().unwrap_or(index);
        for link in &mut measured.links {
            (link.from, link.to) = (moved(link.from), moved(link.to));
        }
        Ok((nodes, measured))
    }

    fn channels(
        &self,
        listed: Option<&[u8]>,
        measured: ChannelSet,
    ) -> Result<ChannelSet, TestbedError> {
        let Some(listed) = listed else {
            return Ok(measured);
        };
        let mut channels = ChannelSet::EMPTY;
        for (index, number) in listed.iter().enumerate() {
            let key = format!("channels[{index}]");
            let Ok(channel) = Channel::new(*number) else {
                let expected = "a channel of the 2.4 GHz band, 11..26";
                return self.wrong(key, "channel", number, expected);
            };
            if !measured.contains(channel) {
                return self.fail(key, Problem::unlisted(channel, measured));
            }
            channels = channels.with(channel);
        }
        if channels.is_empty() {
            return self.fail("channels", Problem::TooFew("channels", 1));
        }
        Ok(channels)
    }

    fn control(&self, number: u8, measured: ChannelSet) -> Result<Channel, TestbedError> {
        const KEY: &str = "control_channel";
        let Ok(channel) = Channel::new(number) else {
            let expected = "a channel of the 2.4 GHz band, 11..26";
            return self.wrong(KEY, "channel", number, expected);
        };
        match measured.contains(channel) {
            true => Ok(channel),
            false => self.fail(KEY, Problem::unlisted(channel, measured)),
        }
    }

    fn sink(&self, sink: Option<u16>, nodes: &[Node]) -> Result<NodeId, TestbedError> {
        let wanted = |n: &&Node| sink.is_none_or(|id| n.id.get() == id);
        let problem = Problem::UnknownNode(sink.unwrap_or_default(), nodes.len());
        let found = nodes.iter().find(wanted);
        found.map_or_else(|| self.fail("sink", problem), |node| Ok(node.id))
    }
}

/// Who chose the sink of a testbed of `physics`, where its file names one or not.
const fn sink_by(is_named: bool, physics: &Physics) -> SinkBy {
    match (is_named, physics) {
        (true, _) => SinkBy::File,
        (false, Physics::Measured(_)) => SinkBy::Central,
        (false, _) => SinkBy::First,
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
