//! `thalweg protocols`: the protocols, their boards and the options that each takes.

use thalweg::protocols;
use thalweg_host::registry::Origin;

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::table::{folded, Table, NARROW};

/// Prints the registry.
pub(crate) fn run(json: bool) -> Result<(), Failure> {
    let all = protocols()?;
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
