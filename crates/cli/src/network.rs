//! Lines about a command's network: what was assumed of its file, and why a transfer has its source and sink.
//! Tests: `tests/all/networks.rs`.

use std::io::{self, Write};

use thalweg_testbeds::{Assumed, Physics, SinkBy, Testbed};
use thalweg_units::{Channel, NodeId};

use crate::progress::Verbosity;

/// Reports on standard error what was assumed of a network's file; beside results only, not errors.
pub(crate) fn report_assumed(name: &str, assumed: &[Assumed], say: Verbosity) {
    if say == Verbosity::Quiet {
        return;
    }
    for one in assumed {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "thalweg: {name}: {one}");
    }
}

/// Why `testbed` has its sink.
pub(crate) const fn reason(by: SinkBy) -> &'static str {
    match by {
        SinkBy::File => "the testbed's",
        SinkBy::First => "the testbed's first node",
        SinkBy::Central => "which the others reach with the fewest transmissions",
    }
}

/// The line about the sink, where `to` are those of `--to`.
pub(crate) fn sink(testbed: &Testbed, to: &[NodeId]) -> String {
    let named: Vec<String> = to.iter().map(|id| testbed.named(*id)).collect();
    match &named[..] {
        [] => {
            let sink = testbed.named(testbed.sink);
            format!("sink {sink}, {}", reason(testbed.sink_by))
        }
        [one] => format!("sink {one}, as --to says"),
        more => format!("sinks {}, as --to says", more.join(" ")),
    }
}

/// Node `node` for people.
pub(crate) fn named(testbed: &Testbed, node: u16) -> String {
    let id = NodeId::new(node);
    id.map_or_else(|_| node.to_string(), |id| testbed.named(id))
}

/// The lines about both ends of one transfer from `source`, where `from` and `to` are those of the options.
pub(crate) fn ends(testbed: &Testbed, source: u16, from: Option<NodeId>, to: &[NodeId]) -> String {
    let source = match from {
        Some(named) => format!("source {}, as --from says", testbed.named(named)),
        None => {
            let named = named(testbed, source);
            format!("source {named}, a far node of the planner's choice")
        }
    };
    format!("{}\n{source}\n{}", sink(testbed, to), control(testbed))
}

/// The line about the control channel; none where it is 26 without a choice.
fn control(testbed: &Testbed) -> String {
    let is_measured = matches!(testbed.physics, Physics::Measured(_));
    match is_measured || testbed.control != Channel::LAST {
        true => format!("control channel {}\n", testbed.control),
        false => String::new(),
    }
}
