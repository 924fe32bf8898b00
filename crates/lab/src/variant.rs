//! Variants: what can be run over a route, by the name that experiments' files and command lines give
//! it: which protocol moves the packets, how its route is planned, on what terms it transfers. A new
//! one is one more name here. None of those beside `p3`, `pip` and `pip-hopping` is as published.
//! What they bring: experiment `p3.variants`, docs/variants.md. Tests: at the end of this file.

use crate::transfer::{Protocol, Terms};
use serde::{Deserialize, Serialize};
use thalweg_planner::RouteRequest;
use thalweg_wire::forward::MAX_PAYLOAD;
use thalweg_wire::route::{BlockSymbols, PayloadSize};

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
    /// Conditional immediate transmission over the same path, repaired end to end.
    Cit,
    /// P3's engines over a plan made from the measured qualities of all pipeline channels: two lean
    /// chains of relays whose links have power to spare on their own channels.
    P3Planned,
    /// P3's routes; the transfer learns which relays are to speak to the sink.
    P3Adaptive,
    /// P3's routes; the transfer learns with its first packets under which rotation of its channels the
    /// pipeline does best, and leaves it when it does badly.
    P3Tuned,
    /// `p3-tuned` with the code of `p3-blocks`.
    P3TunedBlocks,
    /// `p3-tuned` in the frames of `p3-slim`.
    P3TunedSlim,
    /// `p3-tuned` with the code of `p3-fountain`.
    P3TunedFountain,
    /// P3's routes; the transfer learns with its first packets which channel does best at which stage,
    /// and where it is long which relays are to speak to the sink.
    P3Learned,
    /// P3's routes; no rounds but a fountain code over the whole object, which takes a source with
    /// memory for it.
    P3Fountain,
    /// P3's routes; no rounds of packets but a code in blocks that a mote can make, its repair symbols made when
    /// the object was written.
    P3Blocks,
    /// The same with symbols made when they are due.
    P3BlocksDue,
    /// The same in blocks of 32 packets instead of 128.
    P3Blocks32,
    /// The plan of `p3-planned` with the code of `p3-blocks`.
    P3PlannedBlocks,
    /// P3's routes; headers of four bytes, payloads three bytes larger.
    P3Slim,
    /// What is best together and fits the board that is simulated: the plan of `p3-planned` and the
    /// frames of `p3-slim`. With rounds: on such plans a fountain saves less than it costs a source in
    /// memory (docs/variants.md).
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
    pub const ALL: [Self; 19] = [
        Self::P3,
        Self::Pip,
        Self::PipHopping,
        Self::PipCit,
        Self::Cit,
        Self::P3Planned,
        Self::P3Adaptive,
        Self::P3Tuned,
        Self::P3TunedBlocks,
        Self::P3TunedSlim,
        Self::P3TunedFountain,
        Self::P3Learned,
        Self::P3Fountain,
        Self::P3Blocks,
        Self::P3BlocksDue,
        Self::P3Blocks32,
        Self::P3PlannedBlocks,
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
            Self::Cit => "cit",
            Self::P3Planned => "p3-planned",
            Self::P3Adaptive => "p3-adaptive",
            Self::P3Tuned => "p3-tuned",
            Self::P3TunedBlocks => "p3-tuned-blocks",
            Self::P3TunedSlim => "p3-tuned-slim",
            Self::P3TunedFountain => "p3-tuned-fountain",
            Self::P3Learned => "p3-learned",
            Self::P3Fountain => "p3-fountain",
            Self::P3Blocks => "p3-blocks",
            Self::P3BlocksDue => "p3-blocks-due",
            Self::P3Blocks32 => "p3-blocks32",
            Self::P3PlannedBlocks => "p3-planned-blocks",
            Self::P3Slim => "p3-slim",
            Self::P3Best => "p3-best",
        }
    }
    /// What moves the packets.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::P3
            | Self::P3Planned
            | Self::P3Adaptive
            | Self::P3Tuned
            | Self::P3TunedBlocks
            | Self::P3TunedSlim
            | Self::P3TunedFountain
            | Self::P3Learned
            | Self::P3Fountain
            | Self::P3Blocks
            | Self::P3BlocksDue
            | Self::P3Blocks32
            | Self::P3PlannedBlocks
            | Self::P3Slim
            | Self::P3Best => Protocol::P3,
            Self::Pip => Protocol::Pip,
            Self::PipHopping => Protocol::PipHopping,
            Self::PipCit => Protocol::PipCit,
            Self::Cit => Protocol::Cit,
        }
    }
    /// What its planner has to know.
    pub const fn knowledge(self) -> Knowledge {
        match self {
            Self::P3Planned | Self::P3PlannedBlocks | Self::P3Best => Knowledge::PipelineChannels,
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
            Self::P3Adaptive => faithful.learning(),
            Self::P3Tuned => faithful.tuned(),
            Self::P3TunedBlocks => faithful.tuned().blocks(BlockSymbols::MAX),
            Self::P3TunedSlim => faithful.tuned().slim(),
            Self::P3TunedFountain => faithful.tuned().fountain(),
            Self::P3Learned => faithful.by_stages(),
            Self::P3Fountain => faithful.fountain(),
            Self::P3Blocks | Self::P3PlannedBlocks => faithful.blocks(BlockSymbols::MAX),
            Self::P3BlocksDue => faithful.blocks_when_due(BlockSymbols::MAX),
            Self::P3Blocks32 => faithful.blocks(BlockSymbols::SMALL),
            Self::P3Slim => faithful.slim(),
            Self::P3Best => faithful.slim(),
            Self::Cit => Terms {
                payload: PayloadSize::new(faithful.payload.bytes().min(MAX_PAYLOAD as u8))
                    .unwrap_or(faithful.payload),
                ..faithful
            },
            Self::P3 | Self::Pip | Self::PipHopping | Self::PipCit | Self::P3Planned => faithful,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_wire::pipeline::Format;
    use thalweg_wire::route::{Learning, Recovery};

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
        let fountain = |v: Variant| matches!(v.terms(terms).recovery, Recovery::Fountain { .. });
        let blocks = |v: Variant| matches!(v.terms(terms).recovery, Recovery::Blocks { .. });
        let learning = |v: Variant| v.terms(terms).learning == Learning::LastSpeakers;
        let tuned = |v: Variant| matches!(v.terms(terms).learning, Learning::Channels { .. });
        let stages = |v: Variant| matches!(v.terms(terms).learning, Learning::Stages { .. });
        let of = |holds: &dyn Fn(Variant) -> bool| -> Vec<Variant> {
            Variant::ALL.into_iter().filter(|v| holds(*v)).collect()
        };
        let lean = [
            Variant::P3Planned,
            Variant::P3PlannedBlocks,
            Variant::P3Best,
        ];
        assert_eq!(of(&planned), lean);
        assert_eq!(
            of(&blocks),
            [
                Variant::P3TunedBlocks,
                Variant::P3Blocks,
                Variant::P3BlocksDue,
                Variant::P3Blocks32,
                Variant::P3PlannedBlocks
            ]
        );
        assert_eq!(
            of(&slim),
            [Variant::P3TunedSlim, Variant::P3Slim, Variant::P3Best]
        );
        assert_eq!(
            of(&fountain),
            [Variant::P3TunedFountain, Variant::P3Fountain]
        );
        assert_eq!(of(&learning), [Variant::P3Adaptive]);
        let rotating = [
            Variant::P3Tuned,
            Variant::P3TunedBlocks,
            Variant::P3TunedSlim,
            Variant::P3TunedFountain,
        ];
        assert_eq!(of(&tuned), rotating);
        assert_eq!(of(&stages), [Variant::P3Learned]);
        let cycle = Variant::P3Best.request(&request).transfer.cycle;
        assert_eq!((cycle.payload_bytes, cycle.header_bytes), (121, 4));
    }
}
