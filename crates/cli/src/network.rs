//! Lines about a command's network: what was assumed of its file, and why a transfer has its source and sink.
//! Tests: `tests/all/networks.rs`.

use std::io::{self, Write};
use std::sync::Arc;

use thalweg::Network;
use thalweg_host::security::{file, NetworkKeys};
use thalweg_testbeds::{Assumed, Loss, NameError, Physics, SinkBy, Testbed};
use thalweg_units::{Channel, Named, NodeId};
use thalweg_wire::seal::frame::Sealing;

use crate::failure::{one_line, Failure};
use crate::output::are_silent;
use crate::progress::Verbosity;
use crate::table::{folded, NARROW};
use crate::values::{number_or_name, LossOn, Node};

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

/// The keys of the nodes of `testbed`, which are real, or stand for real ones; none where it is not secured.
pub(crate) fn keys(testbed: &Testbed) -> Result<Option<Arc<NetworkKeys>>, Failure> {
    keys_where(testbed, testbed.sealing)
}
/// The same where `sealing` says whether they are secured.
pub(crate) fn keys_where(
    testbed: &Testbed,
    sealing: Sealing,
) -> Result<Option<Arc<NetworkKeys>>, Failure> {
    let path = match (sealing, &testbed.keys) {
        (Sealing::Open, _) => return Ok(None),
        (Sealing::Sealed, Some(path)) => path,
        (Sealing::Sealed, None) => {
            return Err(Failure::Input(format!(
                "{}: security = \"require\" and no `keys`: its file is to name the network's key file (`thalweg keys new`)",
                testbed.name
            )))
        }
    };
    let keys = file::read(path).map_err(Failure::input)?;
    Ok(Some(Arc::new(keys)))
}

/// The nodes that `--from` and `--to` name; none where they say nothing.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) from: Vec<NodeId>,
    pub(crate) to: Vec<NodeId>,
}

impl Ends {
    /// Those of `testbed`; a number is as it stands, and checked where it is used.
    pub(crate) fn of(testbed: &Testbed, from: &[Node], to: &[Node]) -> Result<Self, Failure> {
        let found = |option: &str, nodes: &[Node]| {
            let nodes = nodes.iter().map(|node| id(testbed, option, node));
            nodes.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            from: found("--from", from)?,
            to: found("--to", to)?,
        })
    }
}

/// The number of `node`, which `option` names.
pub(crate) fn id(testbed: &Testbed, option: &str, node: &Node) -> Result<NodeId, Failure> {
    match node {
        Node::Number(id) => Ok(*id),
        Node::Name(name) => testbed.called(name).map_err(|why| {
            let tip = match why {
                NameError::NoNode(_) => "; `thalweg testbed show` has all",
                NameError::Several(..) => "",
            };
            Failure::Input(format!("{option} {}: {why}{tip}", one_line(name)))
        }),
    }
}

/// What `--loss` says of links of `testbed`.
pub(crate) fn losses(testbed: &Testbed, told: &[LossOn]) -> Result<Vec<Loss>, Failure> {
    let loss = |told: &LossOn| match told {
        LossOn::Numbers(loss) => Ok(*loss),
        LossOn::Names(link, share) => loss_between(testbed, link, *share),
    };
    told.iter().map(loss).collect()
}

/// The same where an experiment runs over `testbed`, or over networks of its own, whose nodes have numbers.
pub(crate) fn losses_in(testbed: Option<&str>, told: &[LossOn]) -> Result<Vec<Loss>, Failure> {
    let number = |told: &LossOn| match told {
        LossOn::Numbers(loss) => Some(*loss),
        LossOn::Names(..) => None,
    };
    let numbers: Option<Vec<Loss>> = told.iter().map(number).collect();
    match (numbers, testbed) {
        (Some(losses), _) => Ok(losses),
        (None, Some(name)) => losses(Network::open(name)?.testbed(), told),
        (None, None) => Err(Failure::Input(
            "--loss: nodes have names where --testbed gives their network; here they have numbers"
                .to_owned(),
        )),
    }
}

/// The loss of `share` on `link`, two nodes with a `-` between them. Names may have one, too: it stands where both parts are
/// nodes.
fn loss_between(testbed: &Testbed, link: &str, share: f64) -> Result<Loss, Failure> {
    let refused = |why: &str| Failure::Input(format!("--loss {}: {why}", one_line(link)));
    let (mut unknown, mut half) = (None, None);
    for (at, _) in link.match_indices('-') {
        let found = |name: &str| match number_or_name(name) {
            Ok(node) => id(testbed, "--loss", &node),
            Err(why) => Err(refused(&why)),
        };
        match (found(&link[..at]), found(&link[at + 1..])) {
            (Ok(from), Ok(to)) if from == to => {
                return Err(refused("a node has no link to itself"))
            }
            (Ok(from), Ok(to)) => return Ok(Loss { from, to, share }),
            (Err(why), Ok(_)) | (Ok(_), Err(why)) => half = half.or(Some(why)),
            (Err(why), _) => unknown = unknown.or(Some(why)),
        }
    }
    Err(half
        .or(unknown)
        .unwrap_or_else(|| refused("expected FROM-TO:SHARE, as 3-4:0.2")))
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

/// The same of a network behind a line, whose base station is `sink`.
pub(crate) fn ends_at_port(testbed: &Testbed, (source, sink): (u16, u16), ends: &Ends) -> String {
    let from = match ends.from.is_empty() {
        true => "a far node of the planner's choice",
        false => "as --from says",
    };
    let (source, sink) = (named(testbed, source), named(testbed, sink));
    format!("sink {sink}, the base station at --port\nsource {source}, {from}\n")
}

/// The line about nodes that said nothing in a survey; nothing where all did.
pub(crate) fn silent(testbed: &Testbed, nodes: &[u16]) -> String {
    let ids: Vec<NodeId> = nodes.iter().flat_map(|node| NodeId::new(*node)).collect();
    match ids.len() {
        0 => String::new(),
        count => {
            let (of, named) = (testbed.len(), testbed.listed(&ids));
            folded(&format!("{}: {named}", are_silent(count, of)), NARROW) + "\n"
        }
    }
}

/// Node `node` of `testbed` for people.
pub(crate) fn named(testbed: &Testbed, node: u16) -> String {
    let label = NodeId::new(node).ok().and_then(|id| testbed.label(id));
    named_as(node, label)
}

/// Node `node`, which is called `label`, for people.
pub(crate) fn named_as(node: u16, label: Option<&str>) -> String {
    let id = NodeId::new(node);
    id.map_or_else(|_| node.to_string(), |id| Named { id, label }.to_string())
}

/// The lines about both ends of one transfer from `source`, where `ends` are those of the options.
pub(crate) fn ends(testbed: &Testbed, source: u16, ends: &Ends) -> String {
    let source = match ends.from.first() {
        Some(named) => format!("source {}, as --from says", testbed.named(*named)),
        None => {
            let named = named(testbed, source);
            format!("source {named}, a far node of the planner's choice")
        }
    };
    format!(
        "{}\n{source}\n{}",
        sink(testbed, &ends.to),
        control(testbed)
    )
}

/// The line about the control channel; none where it is 26 without a choice.
fn control(testbed: &Testbed) -> String {
    let is_measured = matches!(testbed.physics, Physics::Measured(_));
    match is_measured || testbed.control != Channel::LAST {
        true => format!("control channel {}\n", testbed.control),
        false => String::new(),
    }
}
