//! The JSON that a job has of its route, and that route on the map.

use maud::{html, Markup};
use serde_json::Value;

use super::map::{figure, Look, Marked, Route};
use crate::station_state::StationState;

/// JSON of a job, such as its outcome.
pub(super) fn parsed(json: Option<&String>) -> Value {
    json.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// A route on the map of a station.
pub(super) fn drawn(station: Option<&StationState>, route: Option<&Route>) -> Markup {
    html! {
        @if let (Some(station), Some(route)) = (station, route) {
            (figure(station, &Look::at(Marked::Route(route))))
        }
    }
}
