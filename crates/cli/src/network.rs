//! The network that a command was given: what its file leaves open, told once, and why the nodes at both ends of a
//! transfer are those. Tests: `tests/networks.rs`.

use std::io::{self, Write};

use thalweg_testbeds::{Assumed, SinkBy, Testbed};
use thalweg_units::NodeId;

use crate::progress::Verbosity;

/// Says on standard error what was assumed of a network's file; beside a result, since an error is told alone.
pub(crate) fn tell(name: &str, assumed: &[Assumed], say: Verbosity) {
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

/// The line about the sink, where `to` are those that were named.
pub(crate) fn sink(testbed: &Testbed, to: &[NodeId]) -> String {
    let named: Vec<String> = to.iter().map(ToString::to_string).collect();
    match &named[..] {
        [] => format!("sink {}, {}", testbed.sink, reason(testbed.sink_by)),
        [one] => format!("sink {one}, as --to says"),
        more => format!("sinks {}, as --to says", more.join(" ")),
    }
}

/// The line about both ends of one transfer from `source`, where `from` and `to` are those that were named.
pub(crate) fn ends(testbed: &Testbed, source: u16, from: Option<NodeId>, to: &[NodeId]) -> String {
    let source = match from {
        Some(named) => format!("source {named}, as --from says"),
        None => format!("source {source}, chosen far away with many paths"),
    };
    format!("{}; {source}\n", sink(testbed, to))
}
