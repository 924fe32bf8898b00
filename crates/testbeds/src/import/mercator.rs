//! Raw rows of mercator (github.com/openwsn-berkeley/mercator): in each transaction one mote sends so many packets on one
//! channel, and all others listen. There is either a row for each packet received, or one for each receiver with its
//! count. A link's ratio is packets received over packets sent in all transactions of its sender of which anyone
//! heard. Tests: `tests.rs`.

use std::collections::BTreeMap;
use std::io::BufRead;

use thalweg_units::{Channel, ChannelSet};

use super::Found;
use crate::columns::Column;
use crate::draft::Measure;
use crate::error::TestbedError;
use crate::reception::Reception;
use crate::rows::Rows;
use crate::trace::Trace;

const HEADER: &str =
    "timestamp,mac,frequency,length,rssi,crc,expected,srcmac,transctr,pkctr,nbpackets";

/// Packets heard, and the sum of their levels.
#[derive(Default)]
struct Heard {
    packets: f64,
    level: f64,
    level_weight: f64,
}

#[derive(Default)]
struct Campaign {
    heard: BTreeMap<(u16, u16, Channel), Heard>,
    /// The transactions of each sender on each channel, with the packets sent in each.
    sent: BTreeMap<(u16, Channel), BTreeMap<Box<str>, u32>>,
}

static RECEIVER: Column = Column::foreign(&["mac"]);
static SENDER: Column = Column::foreign(&["srcmac", "sourcemac"]);
static FREQUENCY: Column = Column::foreign(&["frequency"]);
static TRANSACTION: Column = Column::foreign(&["transctr"]);
static SENT: Column = Column::foreign(&["nbpackets", "numtxmine"]);
static RECEIVED: Column = Column::foreign(&["numrxmine"]);
static LEVEL: Column = Column::foreign(&["rssi", "rssimine"]);
static CRC: Column = Column::foreign(&["crc"]);
static EXPECTED: Column = Column::foreign(&["expected", "mine"]);

pub(super) fn read(
    reader: impl BufRead,
    source_name: &str,
    reception: &Reception,
) -> Result<Trace, TestbedError> {
    let mut rows = Rows::open(reader, source_name, 0, HEADER)?;
    let mut campaign = Campaign::default();
    campaign.read(&mut rows);
    let finished = rows.finish()?;
    let mut found = Found::new();
    found.names = finished.names;
    for ((from, to, channel), heard) in &campaign.heard {
        let sent = campaign.sent.get(&(*from, *channel));
        let sent: f64 = sent
            .into_iter()
            .flat_map(BTreeMap::values)
            .map(|n| f64::from(*n))
            .sum();
        let measure = Measure {
            ratio: (sent > 0.0).then(|| (heard.packets / sent).min(1.0)),
            rssi_dbm: (heard.level_weight > 0.0).then(|| heard.level / heard.level_weight),
            weight: sent.max(1.0),
        };
        let channels: ChannelSet = [*channel].into_iter().collect();
        let _ = found.draft.add((*from, *to), Some(channels), measure);
    }
    found.trace(reception, source_name)
}

impl Campaign {
    fn read<R: BufRead>(&mut self, rows: &mut Rows<'_, R>) {
        let (receiver, sender) = (rows.column(&RECEIVER), rows.column(&SENDER));
        let (frequency, transaction) = (rows.column(&FREQUENCY), rows.column(&TRANSACTION));
        let sent = rows.column(&SENT);
        let (received, level) = (rows.find(&RECEIVED), rows.find(&LEVEL));
        let whole = [rows.find(&CRC), rows.find(&EXPECTED)];
        while rows.next_row() {
            let is_one = |column: &usize| rows.holds(*column, "1");
            // Damaged, or of a mote that is not in the experiment.
            if !whole.iter().flatten().all(is_one) || rows.holds_zeros(sender) {
                continue;
            }
            let (from, to) = (rows.node(sender), rows.node(receiver));
            let channel = rows.parsed(frequency, "2405 to 2480 MHz", channel);
            let packets = rows.frames(sent);
            let counted = received.map_or(Some(1), |column| rows.frames(column));
            let dbm = level.map_or(Some(None), |column| rows.rssi(column));
            let number = rows.parsed(transaction, "a number", |text| Some(Box::from(text)));
            let (Some(from), Some(to), Some(channel), Some(packets)) = (from, to, channel, packets)
            else {
                continue;
            };
            let (Some(counted), Some(dbm), Some(number)) = (counted, dbm, number) else {
                continue;
            };
            let transactions = self.sent.entry((from, channel)).or_default();
            transactions.insert(number, packets);
            let heard = self.heard.entry((from, to, channel)).or_default();
            heard.packets += f64::from(counted);
            if let Some(dbm) = dbm {
                heard.level += dbm * f64::from(counted);
                heard.level_weight += f64::from(counted);
            }
        }
    }
}

/// The channel at so many MHz, or of that number.
fn channel(text: &str) -> Option<Channel> {
    let number = crate::names::whole(text)?;
    let number = match number {
        2405..=2480 if (number - 2405) % 5 == 0 => 11 + (number - 2405) / 5,
        _ => number,
    };
    Channel::new(u8::try_from(number).ok()?).ok()
}
