//! A node's table of the links into it.

use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::flood::Campaign;
use thalweg_wire::report::{Received, Row};

/// What was heard of up to `NEIGHBOURS` neighbours on each channel: 50 bytes of RAM a neighbour
/// (8 kB for the default of 160; a mote with 10 kB takes 40).
#[derive(Debug, Clone)]
pub struct LinkTable<const NEIGHBOURS: usize = 160> {
    campaign: Option<Campaign>,
    len: usize,
    ids: [NodeId; NEIGHBOURS],
    received: [[u8; Channel::COUNT]; NEIGHBOURS],
    /// At most 255 values of -128 dBm and above: no overflow.
    rssi_sum: [[i16; Channel::COUNT]; NEIGHBOURS],
    dropped: u32,
}

impl<const NEIGHBOURS: usize> LinkTable<NEIGHBOURS> {
    /// An empty table of no campaign.
    pub const EMPTY: Self = Self {
        campaign: None,
        len: 0,
        ids: [NodeId::MAX; NEIGHBOURS],
        received: [[0; Channel::COUNT]; NEIGHBOURS],
        rssi_sum: [[0; Channel::COUNT]; NEIGHBOURS],
        dropped: 0,
    };

    /// Makes this the table of `campaign`: that of another one is forgotten.
    pub fn begin(&mut self, campaign: Campaign) {
        if self.campaign != Some(campaign) {
            self.clear();
            self.campaign = Some(campaign);
        }
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        let used = self.len;
        self.received[..used].fill([0; Channel::COUNT]);
        self.rssi_sum[..used].fill([0; Channel::COUNT]);
        (self.campaign, self.len, self.dropped) = (None, 0, 0);
    }
    /// Which campaign's table this is.
    pub const fn campaign(&self) -> Option<Campaign> {
        self.campaign
    }
    /// Counts a beacon of `from` on `channel`.
    pub fn record(&mut self, from: NodeId, channel: Channel, rssi: Dbm) {
        let index = match self.ids[..self.len].iter().position(|id| *id == from) {
            Some(index) => index,
            None if self.len < NEIGHBOURS => {
                self.ids[self.len] = from;
                self.len += 1;
                self.len - 1
            }
            None => {
                self.dropped = self.dropped.saturating_add(1);
                return;
            }
        };
        let count = &mut self.received[index][channel.index()];
        if *count < u8::MAX {
            *count += 1;
            self.rssi_sum[index][channel.index()] += whole_dbm(rssi);
        }
    }
    /// The same, for who wants the strongest neighbours rather than the first: where there is no room, the weakest is
    /// forgotten for a stronger one.
    pub fn record_strong(&mut self, from: NodeId, channel: Channel, rssi: Dbm) {
        if self.len == NEIGHBOURS && !self.ids[..self.len].contains(&from) {
            let weakest = (0..self.len).map(|n| (self.strength(n), n)).min();
            if let Some((_, n)) = weakest.filter(|(s, _)| i16::from(*s) < whole_dbm(rssi)) {
                self.ids[n] = from;
                (self.received[n], self.rssi_sum[n]) = ([0; Channel::COUNT], [0; Channel::COUNT]);
                self.dropped = self.dropped.saturating_add(1);
            }
        }
        self.record(from, channel, rssi);
    }
    /// The mean of neighbour number `n` on the channel where that is highest.
    fn strength(&self, n: usize) -> i8 {
        let cells = self.rssi_sum[n].iter().zip(self.received[n]);
        let heard = cells.filter(|(_, received)| *received > 0);
        heard
            .map(|(sum, received)| mean(*sum, received))
            .max()
            .unwrap_or(i8::MIN)
    }
    /// How many neighbours were heard.
    pub const fn len(&self) -> usize {
        self.len
    }
    /// Whether no node was heard.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How many beacons found no room.
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }
    /// One row for each neighbour of whom at least `floor` beacons (and one) came through on some
    /// channel, in the order first heard.
    pub fn rows(&self, floor: u8) -> impl Iterator<Item = Row> + '_ {
        (0..self.len).filter_map(move |index| {
            let cell = |channel: usize| {
                let received = self.received[index][channel];
                (received >= floor.max(1)).then(|| Received {
                    received,
                    rssi: mean(self.rssi_sum[index][channel], received),
                })
            };
            let heard = core::array::from_fn(cell);
            heard.iter().any(Option::is_some).then_some(Row {
                neighbour: self.ids[index],
                heard,
            })
        })
    }
}

/// To the nearest dB: what radios give is whole already.
fn whole_dbm(rssi: Dbm) -> i16 {
    let half = if rssi.0 < 0.0 { -0.5 } else { 0.5 };
    ((rssi.0 + half) as i16).clamp(-128, 127)
}

/// `sum / count` to the nearest.
fn mean(sum: i16, count: u8) -> i8 {
    let (sum, count) = (i32::from(sum), i32::from(count.max(1)));
    let half = if sum < 0 { -count / 2 } else { count / 2 };
    ((sum + half) / count).clamp(-128, 127) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u16) -> NodeId {
        NodeId::new(n).unwrap()
    }
    fn heard(received: u8, rssi: i8) -> Option<Received> {
        Some(Received { received, rssi })
    }

    #[test]
    fn counts_and_mean_strength_are_kept_by_neighbour_and_channel() {
        let mut table = LinkTable::<2>::EMPTY;
        table.begin(Campaign::new(1));
        for rssi in [-80.0, -81.0, -83.0] {
            table.record(id(5), Channel::LAST, Dbm(rssi));
        }
        table.record(id(6), Channel::FIRST, Dbm(-60.4));
        table.record(id(7), Channel::FIRST, Dbm(-60.0));
        assert_eq!((table.len(), table.dropped()), (2, 1));
        let rows: std::vec::Vec<Row> = table.rows(1).collect();
        assert_eq!(rows[0].neighbour, id(5));
        assert_eq!(rows[0].heard[15], heard(3, -81));
        assert_eq!(rows[1].heard[0], heard(1, -60));
        assert_eq!(rows[1].heard.iter().flatten().count(), 1);
        assert_eq!(table.rows(2).count(), 1);
    }

    #[test]
    fn a_stronger_neighbour_takes_the_place_of_the_weakest() {
        let mut table = LinkTable::<2>::EMPTY;
        for (from, rssi) in [(5, -90.0), (6, -80.0), (7, -95.0), (8, -70.0), (6, -80.0)] {
            table.record_strong(id(from), Channel::LAST, Dbm(rssi));
        }
        let rows: std::vec::Vec<Row> = table.rows(1).collect();
        assert_eq!(
            (rows[0].neighbour, rows[0].heard[15]),
            (id(8), heard(1, -70))
        );
        assert_eq!(
            (rows[1].neighbour, rows[1].heard[15]),
            (id(6), heard(2, -80))
        );
        assert_eq!((rows.len(), table.dropped()), (2, 2));
    }

    #[test]
    fn a_new_campaign_forgets_the_old_one() {
        let mut table = LinkTable::<4>::EMPTY;
        table.begin(Campaign::new(1));
        table.record(id(5), Channel::LAST, Dbm(-80.0));
        table.begin(Campaign::new(1));
        assert_eq!(table.len(), 1);
        table.begin(Campaign::new(2));
        assert!(table.is_empty());
        table.record(id(5), Channel::FIRST, Dbm(-70.0));
        let row = table.rows(1).next().unwrap();
        assert_eq!(row.heard[15], None, "nothing of the old campaign is left");
    }

    #[test]
    fn the_largest_sum_does_not_overflow() {
        let mut table = LinkTable::<1>::EMPTY;
        (0..300).for_each(|_| table.record(id(1), Channel::LAST, Dbm(-500.0)));
        let row = table.rows(1).next().unwrap();
        assert_eq!(row.heard[15], heard(255, -128));
    }
}
