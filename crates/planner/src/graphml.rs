//! A plan as GraphML, for graph tools: one node per active node, an edge per hop of a path, and, with
//! the link table at hand, an edge per radio link that the pipeline may use on its assigned channel.
//! Tests: below.

use crate::groups::Group;
use crate::links::LinkQualities;
use crate::plan::Plan;
use std::fmt::Write as _;

/// What nodes and edges carry: (for, name, type).
const KEYS: [(&str, &str, &str); 12] = [
    ("node", "label", "string"),
    ("node", "stage", "int"),
    ("node", "channel", "int"),
    ("node", "even_channel", "int"),
    ("node", "role", "string"),
    ("node", "x_m", "double"),
    ("node", "y_m", "double"),
    ("node", "z_m", "double"),
    ("edge", "kind", "string"),
    ("edge", "path", "int"),
    ("edge", "prr", "double"),
    ("edge", "rssi_dbm", "double"),
];

/// Links below this reception ratio are left out.
const LEAST_PRR: f64 = 0.01;

impl Plan {
    /// The plan as a GraphML document. Edges of kind `path` are the node-distinct paths; those of kind
    /// `air` the links of a group on the receiving stage's channel.
    pub fn to_graphml(&self, links: Option<&LinkQualities>) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!-- A plan by thalweg. -->\n\
             <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        );
        for (of, name, kind) in KEYS {
            let id = format!("id=\"{name}\" for=\"{of}\"");
            let _ = writeln!(
                out,
                "  <key {id} attr.name=\"{name}\" attr.type=\"{kind}\"/>"
            );
        }
        out.push_str("  <graph id=\"plan\" edgedefault=\"directed\">\n");
        for (node, stage) in self.active_nodes() {
            let _ = writeln!(out, "    <node id=\"n{node}\">");
            data(&mut out, "label", links.map_or(node, |l| l.id(node)));
            data(&mut out, "stage", stage);
            if let Some(channel) = self.channels.get(stage) {
                data(&mut out, "channel", channel);
            }
            if let (Some(channel), true) = (self.last_even, stage == self.hops) {
                data(&mut out, "even_channel", channel);
            }
            data(&mut out, "role", self.role(node));
            let places = links.and_then(LinkQualities::places);
            if let Some(place) = places.and_then(|places| places.get(node)) {
                data(&mut out, "x_m", place.x_m);
                data(&mut out, "y_m", place.y_m);
                data(&mut out, "z_m", place.z_m);
            }
            out.push_str("    </node>\n");
        }
        for (at, path) in self.paths.iter().enumerate() {
            for hop in path.windows(2) {
                // A relay may have been left out of the last stage.
                if hop.iter().any(|&node| self.role(node).is_empty()) {
                    continue;
                }
                let quality = links.and_then(|l| l.quality(hop[0], hop[1], self.routing_channel));
                edge(&mut out, (hop[0], hop[1]), "path", Some(at), quality);
            }
        }
        if let Some(links) = links {
            self.air_edges(links, &mut out);
        }
        out.push_str("  </graph>\n</graphml>\n");
        out
    }

    fn air_edges(&self, links: &LinkQualities, out: &mut String) {
        for group in Group::BOTH {
            let mut senders = vec![self.source];
            for stage in 1..=self.hops {
                let receivers: Vec<usize> = match stage == self.hops {
                    true => vec![self.sink],
                    false => self.relays(stage, group).collect(),
                };
                for &from in &senders {
                    for &to in &receivers {
                        let channel = self.channel(stage, group);
                        let quality = channel.and_then(|on| links.quality(from, to, on));
                        if quality.is_some_and(|q| q.prr >= LEAST_PRR) {
                            edge(out, (from, to), "air", None, quality);
                        }
                    }
                }
                senders = receivers;
            }
            if self.hops == 1 {
                break;
            }
        }
    }

    /// What a node does: `source`, `sink`, `odd`, `even`, or nothing.
    pub(crate) fn role(&self, node: usize) -> &'static str {
        if node == self.source {
            return "source";
        }
        if node == self.sink {
            return "sink";
        }
        let mut members = self.stages.iter().flatten();
        let member = members.find(|member| member.node == node);
        member.map_or("", |member| member.group.name())
    }
}

fn data(out: &mut String, key: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "      <data key=\"{key}\">{value}</data>");
}

fn edge(
    out: &mut String,
    (from, to): (usize, usize),
    kind: &str,
    path: Option<usize>,
    quality: Option<crate::links::LinkQuality>,
) {
    let _ = writeln!(out, "    <edge source=\"n{from}\" target=\"n{to}\">");
    data(out, "kind", kind);
    if let Some(path) = path {
        data(out, "path", path);
    }
    if let Some(quality) = quality {
        data(out, "prr", quality.prr);
        if let Some(rssi) = quality.rssi {
            data(out, "rssi_dbm", rssi.0);
        }
    }
    out.push_str("    </edge>\n");
}
