//! Forms that ask for jobs. They work without a script.

use maud::{html, Markup};

use super::{named, text::count};
use crate::station_state::StationState;
use thalweg_host::connector::Sessions;
use thalweg_host::store::JobId;
use thalweg_host::transfer::session::DEMAND;
use thalweg_protocols::rcrt::sink::policy;

/// `what` of the station, as forms ask for it.
fn form_value(station: &StationState, what: &str) -> String {
    match station.is_only {
        true => what.to_owned(),
        false => format!("{}:{what}", station.network()),
    }
}

/// Asks for a survey.
pub(super) fn survey(station: &StationState, name: &str) -> Markup {
    html! {
        form method="post" action="/transfers" {
            input type="hidden" name="what" value=(form_value(station, "survey"));
            button.plain { (name) }
        }
    }
}

/// Asks for an object of a station; `chosen` is the node that is named already.
pub(super) fn fetch(stations: &[&StationState], chosen: Option<u16>) -> Markup {
    let is_one = stations.len() == 1;
    let own = |station: &StationState| {
        // What is chosen is shown without its group's name.
        let of = match is_one {
            true => String::new(),
            false => format!(" of {}", station.network()),
        };
        html! {
            @for node in station.facts.sources() {
                option value=(form_value(station, &node.to_string())) selected[Some(node.get()) == chosen] {
                    (named(station, node)) (of)
                }
            }
            option value=(form_value(station, "all")) {
                "all " (count(station.facts.sources().count(), "node")) (of)
            }
        }
    };
    html! {
        form.row method="post" action="/transfers" {
            label {
                "Fetch the object of "
                select name="what" {
                    @for station in stations {
                        @if station.is_only { (own(station)) }
                        @else { optgroup label=(station.network()) { (own(station)) } }
                    }
                }
            }
            button { "Fetch" }
            button.plain name="kind" value="plan" { "Plan only" }
        }
    }
}

/// Asks for a session, of one of those stations that carry them.
pub(super) fn session(stations: &[&StationState]) -> Markup {
    let carry = stations.iter();
    let carry = carry.filter(|station| station.facts.sessions == Sessions::Carried);
    let carry: Vec<&&StationState> = carry.collect();
    let Some(first) = carry.first() else {
        return html! {};
    };
    html! {
        details {
            summary { "Have many nodes send at once" }
            form.row method="post" action="/transfers" {
                input type="hidden" name="kind" value="session";
                @if !first.is_only {
                    label {
                        "Station "
                        select name="station" { @for one in &carry { option { (one.network()) } } }
                    }
                }
                label { "Nodes " input name="what" value="all" size="14" required; }
                label { "Policy " input name="policy" value="demand-limited" size="16" list="policies"; }
                datalist #policies { @for name in policy::NAMES { option value=(name); } }
                label { "Packets/s each " input name="demand" value=(DEMAND) size="4" inputmode="decimal"; }
                label { "Minutes " input name="minutes" size="4" inputmode="decimal" placeholder="no end"; }
                button { "Begin" }
            }
            p.faint { "Nodes are numbers, as 4 7 17, or all. Other jobs wait meanwhile." }
        }
    }
}

/// Cancels a job.
pub(super) fn cancel(id: JobId, what: &str) -> Markup {
    html! {
        form method="post" action=(format!("/transfers/{}/cancel", id.0)) {
            button.plain aria-label=(format!("Cancel job {}", id.0)) { (what) }
        }
    }
}
