//! Variants: what can be run over a route, by the name that experiments' files and command lines give
//! it: which protocol moves the packets, how its route is planned, on what terms it transfers. A new
//! one is one more name here. None of those beside `p3`, `pip` and `pip-hopping` is as published.
//! What they bring: experiment `p3.variants`, docs/variants.md. Tests: at the end of this file.

use crate::transfer::{Protocol, Terms};
use serde::{Deserialize, Serialize};
use thalweg_planner::RouteRequest;

/// A protocol with its way of planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// P3 as published: routes sought on the routing channel, random halves, channels in turn.
    P3,
    /// PIP as published, over one of P3's paths.
    Pip,
    /// PIP over the same path, its channels changing every two cycles.
    PipHopping,
    /// PIP over the same path, whose relays send each packet on when the next comes in.
    PipCit,
    /// P3's engines over a plan made from the measured qualities of all pipeline channels: two lean
    /// chains of relays whose links have power to spare on their own channels.
    P3Planned,
    /// P3's routes; the transfer learns with its first packets under which rotation of its channels the
    /// pipeline does best, and leaves it when it does badly.
    P3Tuned,
    /// P3's routes; headers of four bytes, payloads three bytes larger.
    P3Slim,
    /// What is best together: the plan of `p3-planned` and the frames of `p3-slim`.
    P3Best,
}

/// What a variant's planner has to know of the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// The routing channel's.
    RoutingChannel,
    /// Those of all channels that the pipeline may use.
    PipelineChannels,
}

impl Variant {
    /// All of them, the published ones first.
    pub const ALL: [Self; 8] = [
        Self::P3,
        Self::Pip,
        Self::PipHopping,
        Self::PipCit,
        Self::P3Planned,
        Self::P3Tuned,
        Self::P3Slim,
        Self::P3Best,
    ];

    /// Its name in files, rows and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P3 => "p3",
            Self::Pip => "pip",
            Self::PipHopping => "pip-hopping",
            Self::PipCit => "pip-cit",
            Self::P3Planned => "p3-planned",
            Self::P3Tuned => "p3-tuned",
            Self::P3Slim => "p3-slim",
            Self::P3Best => "p3-best",
        }
    }
    /// What moves the packets.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::P3 | Self::P3Planned | Self::P3Tuned | Self::P3Slim | Self::P3Best => {
                Protocol::P3
            }
            Self::Pip => Protocol::Pip,
            Self::PipHopping => Protocol::PipHopping,
            Self::PipCit => Protocol::PipCit,
        }
    }
    /// What its planner has to know.
    pub const fn knowledge(self) -> Knowledge {
        match self {
            Self::P3Planned | Self::P3Best => Knowledge::PipelineChannels,
            _ => Knowledge::RoutingChannel,
        }
    }
    /// What it asks of the planner, given what the published protocols ask.
    pub fn request(self, faithful: &RouteRequest) -> RouteRequest {
        let mut request = match self.knowledge() {
            Knowledge::PipelineChannels => RouteRequest {
                channels: faithful.channels.clone(),
                choose_from: faithful.channels.iter().copied().collect(),
                routing_channel: faithful.routing_channel,
                rule: faithful.rule,
                fallback: faithful.fallback.clone(),
                min_paths: faithful.min_paths,
                max_paths: faithful.max_paths,
                max_hops: faithful.max_hops,
                hops: faithful.hops,
                transfer: faithful.transfer,
                ..RouteRequest::planned(faithful.source, faithful.sink)
            },
            Knowledge::RoutingChannel => faithful.clone(),
        };
        // What is predicted is what will be sent.
        let published = Terms::default();
        let terms = self.terms(published);
        let cycle = &mut request.transfer.cycle;
        if cycle.payload_bytes == usize::from(published.payload.bytes()) {
            cycle.payload_bytes = usize::from(terms.payload.bytes());
        }
        cycle.header_bytes = terms.format.header_bytes();
        request
    }
    /// On what terms it transfers, given those of the published protocols.
    pub fn terms(self, faithful: Terms) -> Terms {
        match self {
            Self::P3Tuned => faithful.tuned(),
            Self::P3Slim | Self::P3Best => faithful.slim(),
            Self::P3 | Self::Pip | Self::PipHopping | Self::PipCit | Self::P3Planned => faithful,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_wire::pipeline::Format;

    #[test]
    fn names_are_those_of_files() {
        for variant in Variant::ALL {
            let json = format!("{:?}", variant.name());
            assert_eq!(serde_json::from_str::<Variant>(&json).unwrap(), variant);
        }
    }

    #[test]
    fn what_is_published_is_left_as_it_is() {
        let (request, terms) = (RouteRequest::new(3, 7), Terms::default());
        for variant in [Variant::P3, Variant::Pip, Variant::PipHopping] {
            assert_eq!(variant.request(&request), request);
            assert_eq!(variant.terms(terms), terms);
        }
    }

    #[test]
    fn each_changes_what_its_name_says() {
        let (request, terms) = (RouteRequest::new(3, 7), Terms::default());
        let planned = |v: Variant| v.request(&request).style == RouteRequest::planned(3, 7).style;
        let slim = |v: Variant| v.terms(terms).format == Format::Slim;
        let tuned = |v: Variant| v.terms(terms).tuning.is_some();
        let of = |holds: &dyn Fn(Variant) -> bool| -> Vec<Variant> {
            Variant::ALL.into_iter().filter(|v| holds(*v)).collect()
        };
        assert_eq!(of(&planned), [Variant::P3Planned, Variant::P3Best]);
        assert_eq!(of(&slim), [Variant::P3Slim, Variant::P3Best]);
        assert_eq!(of(&tuned), [Variant::P3Tuned]);
        let cycle = Variant::P3Best.request(&request).transfer.cycle;
        assert_eq!((cycle.payload_bytes, cycle.header_bytes), (121, 4));
    }
}
