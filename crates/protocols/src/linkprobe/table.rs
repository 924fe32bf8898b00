//! A node's table of the links into it.

use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::flood::Campaign;
use thalweg_wire::report::{Received, Row};

/// What stands in places without a neighbour. All zeros: an image clears a table and has none in its flash.
const FREE: NodeId = match NodeId::new(0) {
    Ok(id) => id,
    Err(_) => NodeId::MAX,
};

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
        ids: [FREE; NEIGHBOURS],
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
    /// The mean of neighbour number `n`, below [`LinkTable::len`], on the channel where that is highest.
    pub(crate) fn strength(&self, n: usize) -> i8 {
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
    /// The neighbours' addresses, in the order first heard.
    pub(crate) fn neighbours(&self) -> &[NodeId] {
        &self.ids[..self.len]
    }
    /// The row of neighbour number `n`; `None` where there is none, or where fewer than `floor` beacons (and one) came
    /// through on every channel.
    pub(crate) fn row(&self, n: usize, floor: u8) -> Option<Row> {
        let neighbour = *self.neighbours().get(n)?;
        let cell = |channel: usize| {
            let received = self.received[n][channel];
            (received >= floor.max(1)).then(|| Received {
                received,
                rssi: mean(self.rssi_sum[n][channel], received),
            })
        };
        let heard = core::array::from_fn(cell);
        let is_heard = heard.iter().any(Option::is_some);
        is_heard.then_some(Row { neighbour, heard })
    }
    /// One row for each neighbour of whom at least `floor` beacons (and one) came through on some
    /// channel, in the order first heard.
    pub fn rows(&self, floor: u8) -> impl Iterator<Item = Row> + '_ {
        (0..self.len).filter_map(move |n| self.row(n, floor))
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
#[path = "table_tests.rs"]
mod tests;
