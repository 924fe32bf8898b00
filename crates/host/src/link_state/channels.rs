//! Which channels a pipeline takes, and on which routes are sought. Tests: `crates/simnet/tests/all/`.

use crate::survey::CLEAN_CHANNELS;
use thalweg_planner::channels::spread_order;
use thalweg_planner::pairs::best_channels;
use thalweg_planner::{LinkQualities, LinkRule};
use thalweg_units::Channel;

/// The pipeline's channels, counted back from the sink, and the one on which routes are sought:
/// 26 where it is among them, as in P3, else the one that links the network best.
pub(super) fn choose_channels(
    links: &LinkQualities,
    rule: &LinkRule,
    wanted: Option<Vec<Channel>>,
) -> (Vec<Channel>, Channel) {
    let best = |count| best_channels(links, rule, count);
    let Some(list) = wanted else {
        let best = best(CLEAN_CHANNELS.len());
        let routing = best.first().copied().unwrap_or(Channel::LAST);
        return (best, routing);
    };
    let of_list = |c: &Channel| list.contains(c);
    let routing = if of_list(&Channel::LAST) {
        Channel::LAST
    } else {
        let by_support = best(Channel::COUNT).into_iter().find(of_list);
        by_support
            .or(list.first().copied())
            .unwrap_or(Channel::LAST)
    };
    (spread_order(&list, routing), routing)
}
