//! One job: the request, the progress, the outcome; a plan's route on the map, a session's rates over time. Tests: below.

use std::fmt::Write as _;

use serde_json::Value;
use thalweg_units::NodeId;

use super::map::{map, Marked, Route};
use super::text::{bytes, count, escape, seconds, when};
use super::transfers::{bar, cancel, history, state, title};
use super::{node_link, objects, page, query, series};
use crate::running::Running;
use crate::station_state::StationState;
use crate::stations::Stations;
use thalweg_host::registry::Pipelined;
use thalweg_host::store::{JobId, Sample, StoreError, StoredJob, Work};
use thalweg_host::transfer::session::{SessionRequest, SourceStatus};

/// So many objects of a session are listed.
const OBJECTS: u32 = 50;

pub(crate) fn job(
    stations: &Stations,
    id: JobId,
    chosen: Option<u16>,
) -> Result<Option<String>, StoreError> {
    let Some(job) = stations.job(id)? else {
        return Ok(None);
    };
    // Its station may be configured no more.
    let station = stations.named(Some(&job.station)).ok();
    let running = station.and_then(StationState::running);
    let running = running.filter(|running| running.id == id);
    let mut facts = String::new();
    let mut fact = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = write!(facts, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    fact("State", state(job.state));
    fact("Asked (UTC)", when(&job.asked_at));
    if let Some(at) = &job.begun_at {
        fact("Began (UTC)", when(at));
    }
    if let Some(at) = &job.ended_at {
        fact("Ended (UTC)", when(at));
    }
    if let Some(object) = job.transfer {
        let link = format!("<a href=\"/objects/{0}\">object {0}</a>", object.0);
        fact("Brought", link);
    }
    let mut content = String::from("<div id=\"job\" data-live>");
    if let Some(running) = &running {
        let _ = write!(content, "<p class=\"wide\">{}</p>", bar(running));
    }
    let _ = write!(content, "<dl>{facts}</dl>");
    if let Some(why) = stations.waiting()?.why(&job) {
        let _ = write!(content, "<p>It {}.</p>", escape(&why));
    }
    if let Some(why) = &job.error {
        let _ = write!(content, "<p class=\"notice\">{}</p>", escape(why));
    }
    match &job.work {
        Work::Session(request) => {
            content.push_str(&session(
                stations,
                &job,
                request,
                (running.as_ref(), chosen),
            )?);
        }
        Work::Plan { .. } => content.push_str(&plan(station, &job)),
        Work::Survey | Work::Fetch { .. } if job.state.is_end() => {
            content.push_str(&history(stations, std::slice::from_ref(&job)));
        }
        Work::Survey | Work::Fetch { .. } => {}
    }
    if !job.state.is_end() {
        let _ = write!(content, "<p>{}</p>", cancel(job.id, "Cancel this job"));
    }
    content.push_str("</div>");
    let title = format!("Job {}: {}", id.0, title(stations, &job));
    page(stations, ("/transfers", &title), &content).map(Some)
}

/// Rates over time, and each source.
fn session(
    stations: &Stations,
    job: &StoredJob,
    request: &SessionRequest,
    (running, chosen): (Option<&Running>, Option<u16>),
) -> Result<String, StoreError> {
    let (samples, brought) = {
        let store = stations.shared().store();
        let brought = store.objects_of_session(job.id, OBJECTS)?;
        (store.samples(job.id)?, brought)
    };
    let whole = request.duration_s;
    let mut text = format!(
        "<p>{} send what they measure, policy <code>{}</code>, {}. A node wants {} packets/s{}.</p>",
        count(request.sources.len(), "node"),
        escape(&request.policy),
        whole.map_or("until it is cancelled".to_owned(), |s| format!(
            "for {}",
            seconds(s)
        )),
        request.demand,
        match request.demands.len() {
            0 => String::new(),
            n => format!(", {} something else", count(n, "node")),
        }
    );
    let live = running.map(|running| &running.sources[..]);
    let last = samples.last().map(|sample| &sample.sources[..]);
    let now = live.filter(|live| !live.is_empty()).or(last);
    let sum = |of: fn(&SourceStatus) -> f64| now.unwrap_or(&[]).iter().map(of).sum::<f64>();
    let (packets, lost) = (sum(|s| s.packets as f64), sum(|s| s.repaired as f64));
    let _ = write!(
        text,
        "<dl><div><dt>All rates</dt><dd>{:.1} packets/s</dd></div><div><dt>Delivered</dt><dd>{packets:.0} \
         packets, {}</dd></div><div><dt>Lost first, then repaired</dt><dd>{:.1} %</dd></div></dl>",
        sum(|s| s.rate.unwrap_or(0.0)),
        bytes(sum(|s| s.bytes as f64) as u64),
        100.0 * lost / packets.max(1.0)
    );
    text.push_str(&chooser(request, chosen));
    let _ = write!(
        text,
        "<div class=\"charts\">{}{}</div>",
        series::framed(
            &series::rates(&samples, chosen),
            "Packets per second that the sink gives each node. A gap: no connection."
        ),
        series::framed(
            &series::packets(&samples),
            "Packets that arrived, in order, of all nodes together."
        )
    );
    let link = |node| node_link(stations, node, &job.station);
    text.push_str(&sources(request, now, &samples, link));
    let _ = write!(
        text,
        "<h2>Objects</h2>{}",
        objects::table(&brought, stations.is_only())
    );
    Ok(text)
}

/// Asks which node is to be drawn by itself.
fn chooser(request: &SessionRequest, chosen: Option<u16>) -> String {
    let option = |node: &u16| {
        let selected = if Some(*node) == chosen {
            " selected"
        } else {
            ""
        };
        format!("<option value=\"{node}\"{selected}>node {node}</option>")
    };
    let options: String = request.sources.iter().map(option).collect();
    format!(
        "<form class=\"row\"><label>Draw by itself <select name=\"node\">{options}</select></label> \
         <button class=\"plain\">Draw</button></form>"
    )
}

fn sources(
    request: &SessionRequest,
    now: Option<&[SourceStatus]>,
    samples: &[Sample],
    link: impl Fn(NodeId) -> String,
) -> String {
    let mut rows = String::new();
    let mut mean: std::collections::BTreeMap<u16, (f64, u32)> = std::collections::BTreeMap::new();
    for one in samples.iter().flat_map(|sample| &sample.sources) {
        if let Some(rate) = one.rate {
            let (sum, count) = mean.entry(one.source.get()).or_default();
            (*sum, *count) = (*sum + rate, *count + 1);
        }
    }
    for node in request.nodes() {
        let found = now.and_then(|now| now.iter().find(|s| s.source == node));
        let rate = match found.map(|s| s.rate) {
            Some(Some(rate)) => format!("{rate:.2}"),
            Some(None) => "no connection".to_owned(),
            None => "\u{2013}".to_owned(),
        };
        let mean = mean.get(&node.get());
        let mean = mean.map_or("\u{2013}".to_owned(), |(sum, n)| {
            format!("{:.2}", sum / f64::from(*n))
        });
        let (packets, bytes_, lost) = found.map_or((0, 0, 0), |s| (s.packets, s.bytes, s.repaired));
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{rate}</td><td>{mean}</td>\
             <td>{packets}</td><td>{}</td><td>{lost}</td></tr>",
            link(node),
            request.demand_of(node),
            bytes(bytes_)
        );
    }
    format!(
        "<h2>Nodes</h2><div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Nodes of the session\">\
         <table><thead><tr><th>Node</th><th>Wants, packets/s</th><th>Rate</th><th>Mean</th><th>Packets</th>\
         <th>Bytes</th><th>Lost first</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The route on the map, stage by stage, and what is expected of it.
fn plan(station: Option<&StationState>, job: &StoredJob) -> String {
    let outcome = job.outcome.as_deref();
    let Some(planned) = outcome.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return String::new();
    };
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64);
    let expected = job.expected.as_deref();
    let expected: Value = expected
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let mut facts = String::new();
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(facts, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
    };
    let rate = |kbps: f64| format!("{kbps:.0} kbit/s");
    fact(
        "Goodput expected",
        number(&expected, "goodput_kbps").map(rate),
    );
    fact("Time", number(&expected, "time_s").map(seconds));
    fact(
        "Energy",
        number(&expected, "energy_j").map(|j| format!("{j:.2} J")),
    );
    fact(
        "Rounds",
        number(&expected, "rounds").map(|n| format!("{n:.1}")),
    );
    let route = number(&expected, "hops").zip(number(&expected, "paths"));
    let route = route.map(|(hops, paths)| {
        let (hops, paths) = (count(hops as usize, "hop"), count(paths as usize, "path"));
        format!("{hops}, {paths}")
    });
    fact("Route", route);
    fact(
        "Packets",
        number(&planned, "packets").map(|n| format!("{n:.0}")),
    );
    let carried = planned.get("protocol").and_then(Value::as_str);
    fact("Carried by", carried.map(escape));
    format!(
        "<dl>{facts}</dl>{}{}{}",
        station.map_or(String::new(), |station| drawn(station, &planned)),
        stages(&planned),
        backups(&planned)
    )
}

/// The route on the map.
fn drawn(station: &StationState, planned: &Value) -> String {
    let snapshot = station.snapshot();
    let link_state = snapshot.as_ref().map(|snapshot| &snapshot.link_state);
    let links = link_state.map(|link_state| (link_state.links(), link_state.routing_channel()));
    let route = Route::of_planned(planned, &station.facts);
    let marked = route.as_ref().map_or(Marked::Nothing, Marked::Route);
    format!(
        "<div class=\"scroll map\" tabindex=\"0\" role=\"region\" aria-label=\"Map\">{}</div>\
         <p class=\"faint narrow\">The map is wider than this screen: move it sideways.</p>",
        map((&station.facts, &query(station)), links, marked).to_svg()
    )
}

fn nodes(list: Option<&Value>) -> String {
    let list = list.and_then(Value::as_array);
    let nodes = list.into_iter().flatten().filter_map(Value::as_u64);
    let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
    match nodes.is_empty() {
        true => "\u{2013}".to_owned(),
        false => nodes.join(" "),
    }
}

/// Who relays where. A path hop by hop has one relay at each stage, and no backups.
fn stages(planned: &Value) -> String {
    let protocol = planned.get("protocol").and_then(Value::as_str);
    if protocol == Some(Pipelined::HOP_BY_HOP.name) {
        return hops(planned);
    }
    let all = |key: &str| planned.get(key).and_then(Value::as_array);
    let backup = |key: &str, stage: usize| {
        let stages = planned.get("backups").and_then(|r| r.get(key));
        let stage = stage.checked_sub(1);
        nodes(stage.and_then(|at| stages.and_then(|stages| stages.get(at))))
    };
    let mut rows = String::new();
    for (at, stage) in all("stages").into_iter().flatten().enumerate() {
        let channel = stage.get("channel").and_then(Value::as_u64).unwrap_or(0);
        let _ = write!(
            rows,
            "<tr><td>{at}</td><td>{channel}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            nodes(stage.get("odd")),
            nodes(stage.get("even")),
            backup("backup_relays", at),
            backup("alternates", at)
        );
    }
    format!(
        "<h2>Stages</h2><p class=\"faint\">From the source to the base station. Nodes of the two groups relay by \
         turns.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Stages\"><table><thead><tr>\
         <th>Stage</th><th>Receives on channel</th><th>Odd group</th><th>Even group</th><th>Backup relays</th>\
         <th>Alternate relays</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The nodes of a path hop by hop.
fn hops(planned: &Value) -> String {
    let stages = planned.get("stages").and_then(Value::as_array);
    let mut rows = String::new();
    for (at, stage) in stages.into_iter().flatten().enumerate() {
        let channel = stage.get("channel").and_then(Value::as_u64).unwrap_or(0);
        let node = nodes(stage.get("odd"));
        let _ = write!(
            rows,
            "<tr><td>{at}</td><td>{channel}</td><td>{node}</td></tr>"
        );
    }
    format!(
        "<h2>Stages</h2><p class=\"faint\">From the source to the base station, hop by hop: each relay stores blocks of \
         packets, and repeats what the next one lost.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Stages\"><table><thead><tr><th>Stage</th><th>Receives on channel</th><th>Node</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

fn backups(planned: &Value) -> String {
    let others = planned.get("backups").and_then(|r| r.get("others"));
    let others = others.and_then(Value::as_array).map_or(&[][..], |o| o);
    let mut text = String::new();
    for other in others {
        let (hops, rate) = (other.get("hops"), other.get("goodput_kbps"));
        let paths = other
            .get("paths")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let _ = write!(
            text,
            "<li>{}, {}, {:.0} kbit/s expected</li>",
            count(hops.and_then(Value::as_u64).unwrap_or(0) as usize, "hop"),
            count(paths, "path"),
            rate.and_then(Value::as_f64).unwrap_or(0.0)
        );
    }
    let warnings = planned.get("warnings").and_then(Value::as_array);
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    let warnings: String = warnings
        .map(|warning| format!("<p class=\"faint\">Note: {}</p>", escape(warning)))
        .collect();
    match text.is_empty() {
        true => warnings,
        false => format!("<h2>Where that fails, in turn</h2><ol>{text}</ol>{warnings}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_hop_by_hop_has_a_node_at_each_stage_and_no_groups() {
        let plan = |protocol: &str| {
            serde_json::json!({ "protocol": protocol, "stages": [
                { "channel": 15, "odd": [20], "even": [20] },
                { "channel": 26, "odd": [10], "even": [10] }] })
        };
        let hops = stages(&plan("hop-by-hop"));
        assert!(
            hops.contains("<tr><td>1</td><td>26</td><td>10</td></tr>"),
            "{hops}"
        );
        assert!(!hops.contains("group") && stages(&plan("thalweg")).contains("Odd group"));
    }
}
