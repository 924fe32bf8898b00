//! Paths that a user gives, before a plan is made over them: what makes them no paths of one transfer, and which hops
//! are unlikely to work. Tests: `tests/all/plans.rs`.

use crate::links::LinkQualities;
use crate::plan::{PathFault, PlanError, Warning};
use thalweg_units::Channel;

/// The ends of `paths`, node-distinct ones of one length among so many nodes.
pub(crate) fn check_paths(nodes: usize, paths: &[Vec<usize>]) -> Result<(usize, usize), PlanError> {
    let first = paths.first().map_or(&[][..], Vec::as_slice);
    let [source, relays @ .., sink] = first else {
        let why = PathFault::TooShort;
        return Err(PlanError::Path { path: 1, why });
    };
    let (ends, hops) = ((*source, *sink), relays.len() + 1);
    let mut seen = vec![*source, *sink];
    for (at, path) in paths.iter().enumerate() {
        let wrong = |why| Err(PlanError::Path { path: at + 1, why });
        if let Some(&node) = path.iter().find(|node| **node >= nodes) {
            return Err(PlanError::UnknownNode { node, nodes });
        }
        let [source, relays @ .., sink] = &path[..] else {
            return wrong(PathFault::TooShort);
        };
        if (*source, *sink) != ends {
            return wrong(PathFault::OtherEnds);
        }
        if relays.len() + 1 != hops {
            return wrong(PathFault::OtherLength(hops));
        }
        for relay in relays {
            if seen.contains(relay) {
                return wrong(PathFault::Shared(*relay));
            }
            seen.push(*relay);
        }
    }
    Ok(ends)
}

/// A warning for each hop of `paths` over which nothing was ever heard.
pub(crate) fn silent_hops(links: &LinkQualities, paths: &[Vec<usize>]) -> Vec<Warning> {
    let hops = paths.iter().flat_map(|path| path.windows(2));
    let is_silent = |from, to| Channel::all().all(|on| links.prr(from, to, on) == 0.0);
    hops.filter(|hop| is_silent(hop[0], hop[1]))
        .map(|hop| Warning::SilentHop {
            from: hop[0],
            to: hop[1],
        })
        .collect()
}
