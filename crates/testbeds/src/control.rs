//! The control channel of measured links whose file names none: the one on which floods reach most nodes.
//!
//! A link counts where at least half of the frames arrive in both directions. Of the channels on which the largest
//! connected part of the network is largest, 26 is taken, else the one on which most frames arrive. Tests: below.

use std::collections::BTreeMap;

use thalweg_units::{Channel, ChannelSet};

use crate::trace::TraceLink;

/// A link counts from this reception ratio in both directions: a flood repeats what half of the relays miss.
const LEAST_PRR: f64 = 0.5;

/// Sums of reception ratios compare in thousandths, exactly.
const SCALE: f64 = 1000.0;

/// That channel, one of `channels`; 26 where there is none.
pub(crate) fn channel(nodes: usize, channels: ChannelSet, links: &[TraceLink]) -> Channel {
    let ranked = channels.iter().map(|channel| {
        let (part, heard) = reach(nodes, channel, links);
        ((part, channel == Channel::LAST, heard, channel), channel)
    });
    let best = ranked.max_by_key(|(rank, _)| *rank);
    best.map_or(Channel::LAST, |(_, channel)| channel)
}

/// How many nodes the largest connected part has on `channel`, and the sum of its links' reception ratios in thousandths.
fn reach(nodes: usize, channel: Channel, links: &[TraceLink]) -> (usize, u64) {
    let on = links.iter().filter(|link| link.channel == channel);
    let ratios: BTreeMap<(u16, u16), f64> =
        (on.map(|link| ((link.from, link.to), link.prr))).collect();
    let back = |(from, to): &(u16, u16)| ratios.get(&(*to, *from)).copied().unwrap_or(0.0);
    let good = |(ends, prr): &(&(u16, u16), &f64)| **prr >= LEAST_PRR && back(ends) >= LEAST_PRR;
    let mut neighbours = vec![Vec::new(); nodes];
    let mut heard = 0;
    for (&(from, to), prr) in ratios.iter().filter(good) {
        heard += (prr * SCALE) as u64;
        if let Some(row) = neighbours.get_mut(usize::from(from)) {
            row.push(usize::from(to));
        }
    }
    (largest_part(&neighbours), heard)
}

/// How many nodes the largest connected part has.
fn largest_part(neighbours: &[Vec<usize>]) -> usize {
    let mut seen = vec![false; neighbours.len()];
    let mut part = |start: usize| {
        let (mut open, mut size) = (vec![start], 0);
        while let Some(node) = open.pop() {
            match seen.get_mut(node) {
                Some(seen @ false) => *seen = true,
                _ => continue,
            }
            size += 1;
            open.extend(neighbours.get(node).into_iter().flatten());
        }
        size
    };
    (0..neighbours.len()).map(&mut part).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(u16, u16, u8, f64)]) -> u8 {
        let link = |from, to, channel, prr| TraceLink {
            from,
            to,
            channel: Channel::new(channel).unwrap(),
            prr,
            rssi_dbm: None,
        };
        let both = |&(a, b, c, prr): &(u16, u16, u8, f64)| [link(a, b, c, prr), link(b, a, c, prr)];
        let links: Vec<TraceLink> = rows.iter().flat_map(both).collect();
        let channels = rows.iter().map(|row| Channel::new(row.2).unwrap());
        channel(4, channels.collect(), &links).number()
    }

    #[test]
    fn floods_go_where_most_nodes_hear_them_and_on_26_where_that_is_as_good() {
        let chain = |channel, prr| [0, 1, 2].map(|n| (n, n + 1, channel, prr));
        let two =
            |a: [(u16, u16, u8, f64); 3], b: &[(u16, u16, u8, f64)]| of(&[&a[..], b].concat());
        assert_eq!(of(&chain(15, 1.0)), 15, "the only one");
        assert_eq!(two(chain(15, 1.0), &chain(26, 0.6)), 26, "as many nodes");
        assert_eq!(
            two(chain(15, 0.6), &chain(26, 1.0)[..2]),
            15,
            "26 leaves one out"
        );
        assert_eq!(
            two(chain(15, 1.0), &chain(26, 0.4)),
            15,
            "26 loses too much"
        );
        assert_eq!(two(chain(15, 0.6), &chain(20, 1.0)), 20, "fewer losses");
        assert_eq!(channel(4, ChannelSet::EMPTY, &[]), Channel::LAST);
    }
}
