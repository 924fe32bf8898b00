//! The page: HTML made here, pictures by `draw`, one style and one script, nothing from elsewhere.
//!
//! Every page works without the script, which follows the events and replaces what is marked `data-live`. States
//! are words, never a colour alone. Tests: at the end, `crates/daemon/tests/all/`.

mod job;
mod map;
mod network;
mod node;
mod objects;
mod series;
mod text;
mod transfers;

use std::fmt::Write as _;

use super::mqtt::Broker;
use super::shared::Shared;
use super::station_state::{Line, StationState};
use super::stations::Stations;
use text::{escape, when};
use thalweg_host::connector::Sessions;
use thalweg_host::store::{Level, StoreError};
use thalweg_host::transfer::session::DEMAND;
use thalweg_protocols::rcrt::sink::policy;
use thalweg_units::NodeId;

pub(super) use job::job;
pub(super) use network::network;
pub(super) use node::node;
pub(super) use objects::{object, objects};
pub(super) use transfers::transfers;

/// How it looks.
pub(super) const STYLE: &str = include_str!("style.css");
/// What keeps it up to date.
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Rows of a list.
const ROWS: u32 = 50;

/// The pages with their names.
const PAGES: [(&str, &str); 4] = [
    ("/", "Network"),
    ("/transfers", "Transfers"),
    ("/objects", "Objects"),
    ("/log", "Log"),
];

/// A page of that title and content, `at` one of [`PAGES`].
fn page(
    stations: &Stations,
    (at, title): (&str, &str),
    content: &str,
) -> Result<String, StoreError> {
    let mut links = String::new();
    for (path, name) in PAGES {
        let current = if path == at {
            " aria-current=\"page\""
        } else {
            ""
        };
        // Writing to a string cannot fail.
        let _ = write!(links, "<a href=\"{path}\"{current}>{name}</a> ");
    }
    let mut line = String::new();
    for station in stations.all() {
        let of = match station.is_only {
            true => String::new(),
            false => format!(" of {}", escape(station.network())),
        };
        if let Line::Down(why) = station.line() {
            let _ = write!(
                line,
                "<p class=\"notice\">The base station{of} is out of reach: {}. It is tried again by itself.</p>",
                escape(&why)
            );
        }
    }
    let header = format!(
        "<header><a class=\"brand\" href=\"/\">Thalweg</a> <nav aria-label=\"Pages\">{links}</nav>\
         <p id=\"link\" role=\"status\"></p></header>\n{}",
        transfers::strip(stations)?
    );
    if let Some(trouble) = stations.shared().disk_state().trouble() {
        let _ = write!(line, "<p class=\"notice\">{}</p>", escape(&trouble));
    }
    let alert = format!(
        "<div id=\"line\" data-live>{line}{}</div>",
        broker(stations.shared())?
    );
    let main = format!("{alert}\n<h1>{}</h1>\n{content}", escape(title));
    let about = stations.all().iter().map(|station| match station.is_only {
        true => escape(&station.facts.about),
        false => escape(&format!("{}: {}", station.network(), station.facts.about)),
    });
    let about: Vec<String> = about.collect();
    let log_out = match stations.asks_token {
        true => "<form method=\"post\" action=\"/logout\"><button class=\"plain\">Log out</button></form>",
        false => "",
    };
    let foot = format!("<footer>{}{log_out}</footer>", about.join("<br>"));
    Ok(document(title, &header, &main, &foot))
}

fn document(title: &str, header: &str, main: &str, foot: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} \u{b7} Thalweg</title><link rel=\"stylesheet\" href=\"/style.css\">\
         <link rel=\"icon\" href=\"data:,\"><script src=\"/page.js\" defer></script></head>\n<body>\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n{header}\n\
         <main id=\"main\" tabindex=\"-1\">\n{main}\n</main>\n{foot}\n</body></html>\n"
    )
}

/// How the broker is, and what waits for it; nothing where there is none.
fn broker(shared: &Shared) -> Result<String, StoreError> {
    let Some(mqtt) = &shared.mqtt else {
        return Ok(String::new());
    };
    let waiting = text::count(shared.store().count_waiting()? as usize, "message");
    Ok(match mqtt.broker() {
        Broker::Away(why) => format!(
            "<p class=\"notice\">The MQTT broker is out of reach: {}. It is tried again by itself; {waiting} to be told.</p>",
            escape(&why)
        ),
        Broker::Trying => format!("<p class=\"faint\">MQTT: not connected yet, {waiting} to be told.</p>"),
        Broker::Connected => format!("<p class=\"faint\">MQTT: connected, {waiting} to be told.</p>"),
    })
}

/// The page for an unknown address.
pub(super) fn not_found() -> String {
    let main = "<h1>There is nothing here</h1><p><a href=\"/\">To the network</a></p>";
    document("Nothing", "", main, "")
}

/// Asks for the token.
pub(super) fn login(wrong: Option<&str>) -> String {
    let wrong = wrong.map(|wrong| format!("<p class=\"notice\" role=\"alert\">{wrong}</p>"));
    let main = format!(
        "<h1>This gateway asks for its token</h1>{}\
         <form method=\"post\" action=\"/login\" class=\"row\"><label>Token \
         <input type=\"password\" name=\"token\" autocomplete=\"current-password\" required autofocus>\
         </label> <button>Log in</button></form>\
         <p class=\"faint\">It is in the gateway's configuration, under <code>token</code>.</p>",
        wrong.unwrap_or_default()
    );
    document(
        "Token",
        "<header><span class=\"brand\">Thalweg</span></header>",
        &main,
        "",
    )
}

/// What happened.
pub(super) fn log(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let lines = stations.shared().store().lines(before, 200)?;
    let mut rows = String::new();
    for line in &lines {
        let (class, name) = match line.level {
            Level::Info => ("", ""),
            Level::Warning => (" class=\"warning\"", "\u{26a0} warning"),
        };
        let _ = write!(
            rows,
            "<tr{class}><td class=\"nowrap\">{}</td><td>{name}</td><td>{}</td></tr>",
            when(&line.at),
            escape(&line.text)
        );
    }
    let last = lines.last().filter(|line| line.id > 1);
    let more = more("/log", lines.len() == 200, last.map(|line| line.id));
    let content = format!(
        "<div id=\"lines\" data-live><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Log\">\
         <table><thead><tr><th>When (UTC)</th><th></th><th>What</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>{more}</div>"
    );
    page(stations, ("/log", "Log"), &content)
}

/// A link to what is older than `last`, where the list was `full`.
fn more(path: &str, full: bool, last: Option<i64>) -> String {
    match last.filter(|_| full) {
        Some(last) => format!("<p><a href=\"{path}?before={last}\">Older</a></p>"),
        None => String::new(),
    }
}

/// What is behind an address that is one station's, where there are several.
fn query(station: &StationState) -> String {
    match station.is_only {
        true => String::new(),
        false => format!("?station={}", escape(station.network())),
    }
}

/// Node `id` of `station`, which leads to its page where that station is there still.
fn node_link(stations: &Stations, id: NodeId, station: &str) -> String {
    match stations.named(Some(station)) {
        Ok(station) => format!("<a href=\"/nodes/{id}{}\">node {id}</a>", query(station)),
        Err(_) => format!("node {id}"),
    }
}

/// `what` of the station, as forms ask for it.
fn form_value(station: &StationState, what: &str) -> String {
    match station.is_only {
        true => what.to_owned(),
        false => format!("{}:{what}", escape(station.network())),
    }
}

/// The form that asks for an object of a station; `chosen` is the node that is named already.
fn fetch_form(stations: &[&StationState], chosen: Option<u16>) -> String {
    let mut options = String::new();
    for station in stations {
        let of = (stations.len() > 1).then(|| format!(" of {}", escape(station.network())));
        let mut own = String::new();
        for node in station.facts.sources() {
            let node = node.get();
            let selected = if Some(node) == chosen {
                " selected"
            } else {
                ""
            };
            let value = form_value(station, &node.to_string());
            // What is chosen is shown without its group's name.
            let of = of.as_deref().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(
                own,
                "<option value=\"{value}\"{selected}>node {node}{of}</option>"
            );
        }
        let (count, all) = (station.facts.sources().count(), form_value(station, "all"));
        let _ = write!(
            own,
            "<option value=\"{all}\">all {count} nodes{}</option>",
            of.as_deref().unwrap_or_default()
        );
        let _ = match station.is_only {
            true => write!(options, "{own}"),
            false => write!(
                options,
                "<optgroup label=\"{}\">{own}</optgroup>",
                escape(station.network())
            ),
        };
    }
    format!(
        "<form method=\"post\" action=\"/transfers\" class=\"row\"><label>Fetch the object of \
         <select name=\"what\">{options}</select></label> <button>Fetch</button> \
         <button class=\"plain\" name=\"kind\" value=\"plan\">Plan only</button></form>"
    )
}

/// The form that asks for a session, of one of those stations that carry them.
fn session_form(stations: &[&StationState]) -> String {
    let carry = stations.iter();
    let carry = carry.filter(|station| station.facts.sessions == Sessions::Carried);
    let carry: Vec<&&StationState> = carry.collect();
    let Some(first) = carry.first() else {
        return String::new();
    };
    let name = |station: &&&StationState| format!("<option>{}</option>", escape(station.network()));
    let station = match first.is_only {
        true => String::new(),
        false => format!(
            "<label>Station <select name=\"station\">{}</select></label> ",
            carry.iter().map(name).collect::<String>()
        ),
    };
    let policies: String = policy::NAMES
        .iter()
        .map(|name| format!("<option value=\"{name}\">"))
        .collect();
    format!(
        "<details><summary>Have many nodes send at once</summary>\
         <form method=\"post\" action=\"/transfers\" class=\"row\"><input type=\"hidden\" name=\"kind\" value=\"session\">\
         {station}<label>Nodes <input name=\"what\" value=\"all\" size=\"14\" required></label> \
         <label>Policy <input name=\"policy\" value=\"demand-limited\" size=\"16\" list=\"policies\"></label>\
         <datalist id=\"policies\">{policies}</datalist> \
         <label>Packets/s each <input name=\"demand\" value=\"{DEMAND}\" size=\"4\" inputmode=\"decimal\"></label> \
         <label>Minutes <input name=\"minutes\" size=\"4\" inputmode=\"decimal\" placeholder=\"no end\"></label> \
         <button>Begin</button></form>\
         <p class=\"faint\">Nodes are numbers, as 4 7 17, or all. Other jobs wait meanwhile.</p></details>"
    )
}

/// Says why a form was not taken.
pub(super) fn refused(why: &str) -> String {
    let main = format!(
        "<h1>That cannot be asked</h1><p class=\"notice\" role=\"alert\">{}</p>\
         <p><a href=\"/transfers\">Back to the transfers</a></p>",
        escape(why)
    );
    document("Not taken", "", &main, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{write::GzEncoder, Compression};
    use std::io::Write;

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_all_of_it_is_small() {
        for text in [STYLE, SCRIPT, &login(None), &not_found()] {
            for mark in ["http://", "https://", "@import", "src=\"//", "url("] {
                assert!(!text.contains(mark), "{mark}");
            }
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(STYLE.as_bytes()).unwrap();
        packed.write_all(SCRIPT.as_bytes()).unwrap();
        assert!(packed.finish().unwrap().len() < 20_000);
    }
}
