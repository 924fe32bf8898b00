//! `thalweg protocols`: the protocols, their boards and the options that each takes.

use serde::Serialize;
use thalweg_host::registry::{Hardware, OptionName, Origin, Protocol, PROTOCOLS};
use thalweg_sim::boards;
use thalweg_simnet::motes::check_pipelines;

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::table::{folded, Table, NARROW};

#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    about: &'static str,
    origin: Origin,
    needs: Hardware,
    boards: Vec<String>,
    takes: &'static [OptionName],
    commands: Vec<&'static str>,
}

impl Shown {
    fn new(protocol: &'static Protocol) -> Result<Self, Failure> {
        let mut fitting = Vec::new();
        for name in boards::names() {
            let board = boards::load(name).map_err(Failure::job)?;
            let fits = match protocol.hardware() {
                Hardware::Synchronous => check_pipelines(&board).is_ok(),
                Hardware::Tree => *board.chip == thalweg_medium::chip::CC2420,
                Hardware::TwoRadios => board.second.is_some(),
            };
            if fits {
                fitting.push(name.to_owned());
            }
        }
        Ok(Self {
            name: protocol.name,
            about: protocol.about,
            origin: protocol.origin,
            needs: protocol.hardware(),
            boards: fitting,
            takes: protocol.takes(),
            commands: commands(protocol),
        })
    }
}

/// The commands that know `protocol`; experiments name it in their files.
fn commands(protocol: &Protocol) -> Vec<&'static str> {
    let takes = |(what, _): &(OptionName, &str)| protocol.takes().contains(what);
    let more = [
        (OptionName::Plan, "plan"),
        (OptionName::Timeline, "timeline"),
    ];
    let more = more.into_iter().filter(takes).map(|(_, name)| name);
    ["collect"].into_iter().chain(more).collect()
}

/// Prints the registry.
pub(crate) fn run(json: bool) -> Result<(), Failure> {
    let all = PROTOCOLS.iter().map(Shown::new);
    let all = all.collect::<Result<Vec<_>, _>>()?;
    if json {
        return print_json(&all);
    }
    let mut table = Table::of(&["protocol", "origin", "needs", "what it is"]);
    for p in &all {
        let origin = match p.origin {
            Origin::Published => "published",
            Origin::Ours => "ours",
        };
        table.row([p.name, origin, p.needs.about(), p.about]);
    }
    let of = |command: &str| {
        let known = all.iter().filter(|p| p.commands.contains(&command));
        known.map(|p| p.name).collect::<Vec<_>>().join(" ")
    };
    let [plan, timeline] = ["plan", "timeline"].map(of);
    let plan = folded(&format!("`plan` knows {plan}"), NARROW);
    print(&format!(
        "{}\n`collect` knows all of them\n{plan}\n`timeline` knows {timeline}\n",
        table.render_narrow()
    ))
}
