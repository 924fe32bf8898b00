//! The page of a fetch: its route, its goodput over time, every transfer that was tried, what was expected. Tests:
//! `fetched_tests.rs`.

use maud::{html, Markup};
use serde_json::Value;

use super::map::Route;
use super::route::{drawn, parsed};
use super::text::{count, rate, seconds};
use super::{fact, series};
use crate::running::{CoursePoint, Running};
use crate::station_state::StationState;
use crate::view::number;
use thalweg_host::store::StoredJob;

/// What happened in a fetch so far, or at its end.
pub(super) fn fetched(
    station: Option<&StationState>,
    job: &StoredJob,
    running: Option<&Running>,
) -> Markup {
    let outcome = parsed(job.outcome.as_ref());
    let tries = outcome.get("tries").and_then(Value::as_array);
    let tries = tries.map_or(&[][..], Vec::as_slice);
    let course: Vec<CoursePoint> = match running {
        Some(running) => running.course.clone(),
        None => serde_json::from_value(outcome["course"].clone()).unwrap_or_default(),
    };
    let route = match running.and_then(|running| running.plan.as_deref()) {
        Some(plan) => Route::of_all([plan]),
        None => tries
            .last()
            .zip(station)
            .and_then(|(last, station)| Route::stored(last, &station.facts)),
    };
    let expected = number(job.expected.as_ref(), "goodput_kbps");
    let packets = running
        .map(|running| running.packets)
        .filter(|packets| *packets > 0);
    let charts = [
        (
            series::goodput(&course, expected),
            "Goodput from the first packet until then.",
        ),
        (
            series::arrived(&course, packets),
            match tries.len() {
                0 | 1 => "Packets that are there.",
                _ => "Packets that are there. Where it falls, another try began.",
            },
        ),
    ];
    html! {
        dl { (numbers(job, running)) }
        (drawn(station, route.as_ref()))
        div.charts {
            @for (chart, about) in &charts {
                @if let Some(chart) = chart { (series::framed(chart, about)) }
            }
        }
        @if !tries.is_empty() { h2 { "Tries" } ol { @for one in tries { li { (tried(one)) } } } }
    }
}

/// Goodput, time, rounds, attempts, energy, each beside what was expected.
pub(super) fn numbers(job: &StoredJob, running: Option<&Running>) -> Markup {
    let of = |key: &str| number(job.outcome.as_ref(), key).filter(|_| running.is_none());
    let hoped = |key: &str| number(job.expected.as_ref(), key);
    let id = job.id.0;
    let live = |key: &str, value: &str| html! { span data-job=(id) data-key=(key) { (value) } };
    let none = "\u{2013}".to_owned();
    html! {
        @if let Some(running) = running {
            @let kbps = if running.received > 0 { format!("{:.0}", running.rate_kbps) } else { none.clone() };
            (fact("Goodput", html! { (live("rate_kbps", &kbps)) " kbit/s" (beside(hoped("goodput_kbps").map(rate))) }))
            @let round = if running.round > 0 { running.round.to_string() } else { none.clone() };
            (fact("Round", html! { (live("round", &round)) small { (rounds(hoped("rounds"), running.round)) } }))
            @let left = running.left_s().map_or(none, seconds);
            @let whole = hoped("time_s").map(|s| format!("{} in all", seconds(s)));
            (fact("Time left", html! { (live("left_s", &left)) (beside(whole)) }))
        } @else {
            @if let Some(kbps) = of("goodput_kbps") {
                (fact("Goodput", html! { (rate(kbps)) (beside(hoped("goodput_kbps").map(rate))) }))
            }
            @if let Some(s) = of("duration_s") {
                (fact("Took", html! { (seconds(s)) (beside(hoped("time_s").map(seconds))) }))
            }
            @if let Some(n) = of("rounds") {
                (fact("Rounds", html! { (n) small { (rounds(hoped("rounds"), n as u32)) } }))
            }
            @if let Some(n) = of("attempts") { (fact("Attempts", n)) }
            @if let Some(joules) = of("energy_j") {
                (fact("Energy", html! { (format!("{joules:.2} J")) (beside(hoped("energy_j").map(|j| format!("{j:.2} J")))) }))
            }
        }
        @if let Some((hops, paths)) = hoped("hops").zip(hoped("paths")) {
            (fact("Route", format!("{}, {}", count(hops, "hop"), count(paths, "path"))))
        }
    }
}

/// What was expected, beside a value.
fn beside(expected: Option<String>) -> Markup {
    html! { @if let Some(expected) = expected { small { " " (expected) " expected" } } }
}

/// So many rounds are no surprise where `mean` are expected.
pub(super) fn likely(mean: f64) -> u32 {
    (mean - 0.1).ceil().max(1.0) as u32
}

/// What to make of a round: a mean of 1.2 means that the second is no surprise, and the third is one.
pub(super) fn rounds(expected: Option<f64>, round: u32) -> String {
    let Some(most) = expected.map(likely) else {
        return String::new();
    };
    match (round > most, most) {
        (true, most) => format!(" {most} expected: links lose more than was measured"),
        (false, most) => format!(" of about {most}"),
    }
}

/// A transfer of the fetch, and how it ended.
fn tried(one: &Value) -> Markup {
    let word = |key: &str| one.get(key).and_then(Value::as_str);
    let number = |key: &str| one.get(key).and_then(Value::as_u64).unwrap_or(0) as usize;
    let paths = one
        .get("paths")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    html! {
        (word("protocol").unwrap_or_default()) ", " (count(number("hops"), "hop")) ", " (count(paths, "path")) ": "
        @match word("failure") { Some(why) => (why), None => "whole" }
    }
}

#[cfg(test)]
#[path = "fetched_tests.rs"]
mod tests;
