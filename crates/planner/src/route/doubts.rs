//! What is doubtful about a plan over several paths.

use super::Route;
use crate::groups::Group;
use crate::plan::Warning;
use crate::predict::{Feed, Prediction};
use crate::request::RouteRequest;
use thalweg_units::{Channel, ChannelSet};

/// That the transfer is expected never to end.
pub(super) fn no_end(prediction: &Prediction) -> Option<Warning> {
    prediction.rounds.is_none().then_some(Warning::NoEnd {
        arrives: prediction.first_round,
        exchange: prediction.exchange,
    })
}

pub(super) fn route_warnings(route: &Route, request: &RouteRequest) -> Vec<Warning> {
    let (found, wanted) = (route.set.paths.len(), request.min_paths);
    let few = (found < wanted).then_some(Warning::FewPaths { found, wanted });
    let weaker = route.weaker.then_some(Warning::WeakerRule);
    weaker.into_iter().chain(few).collect()
}

/// A warning for each channel that was not measured.
pub(super) fn unmeasured(channels: &[Channel], measured: ChannelSet) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for channel in channels.iter().filter(|&&on| !measured.contains(on)) {
        let channel = channel.number();
        let warning = Warning::UnmeasuredChannel { channel };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Warnings of groups that carry little or nothing.
pub(super) fn dead_groups(feed: Feed, hops: usize, prediction: &Prediction) -> Vec<Warning> {
    if feed == Feed::AlternateCycles {
        return vec![Warning::OneGroup];
    }
    let groups = Group::BOTH.iter().zip(&prediction.group_delivery);
    groups
        .filter(|&(_, &delivery)| hops > 1 && delivery < 0.2)
        .map(|(&group, &delivery)| Warning::DeadGroup { group, delivery })
        .collect()
}
