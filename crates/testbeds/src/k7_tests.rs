use std::io::Write;

use super::*;

const HEAD: &str = r#"{"node_count": 4, "channels": [25, 26], "tx_length": 100, "interframe_duration": 100, "location": "shed"}
datetime,src,dst,channel,mean_rssi,pdr,tx_count
"#;

fn read(text: &str) -> Result<Trace, String> {
    read_k7(text.as_bytes(), "t.k7").map_err(|e| e.to_string())
}
fn with(rows: &str) -> Result<Trace, String> {
    read(&format!("{HEAD}{rows}"))
}
fn prr(trace: &Trace, from: u16, to: u16) -> Option<f64> {
    trace
        .links
        .iter()
        .find(|l| (l.from, l.to) == (from, to))
        .map(|l| l.prr)
}

#[test]
fn times_count_seconds_over_leap_years() {
    assert_eq!(seconds("1970-01-01T00:00:00.0"), Some(0));
    assert_eq!(seconds("2018-01-11T16:32:22.0"), Some(1_515_688_342));
    assert_eq!(seconds("2020-03-01 00:00:00"), Some(1_583_020_800));
    assert_eq!(seconds("2000-02-29T12:00"), Some(951_825_600));
    assert_eq!(seconds("2018-13-11T16:32:22"), None);
    assert_eq!(seconds("2018-01-11"), None);
    assert_eq!(seconds("-18-01-11T1:1:1"), None);
}

#[test]
fn rounds_are_averaged_by_the_frames_sent() {
    let trace = with(
        "2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n2018-01-11T11:00:00.0,0,1,26,-90,0.5,300\n",
    )
    .unwrap();
    assert_eq!(trace.links.len(), 1);
    assert!((prr(&trace, 0, 1).unwrap() - 0.625).abs() < 1e-6);
    // 100 frames at -80 dBm, 150 at -90 dBm.
    assert!((trace.links[0].rssi_dbm.unwrap() + 86.0).abs() < 1e-6);
    assert_eq!(trace.nodes.len(), 4, "silent nodes are there all the same");
    assert_eq!(trace.name.as_deref(), Some("shed"));
}

#[test]
fn silence_counts_while_the_receiver_hears_others_and_not_while_it_is_off() {
    // Three rounds of sender 0. Receiver 1 misses the second but hears node 2 around then; receiver 3
    // hears nothing at all after the first round.
    let trace = with(
        "2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n\
        2018-01-11T10:00:04.0,0,3,26,-80,1.0,100\n\
        2018-01-11T11:00:00.0,0,2,26,-80,1.0,100\n\
        2018-01-11T11:10:00.0,2,1,26,-80,1.0,100\n\
        2018-01-11T12:00:00.0,0,1,26,-80,1.0,100\n",
    )
    .unwrap();
    assert!((prr(&trace, 0, 1).unwrap() - 2.0 / 3.0).abs() < 1e-6);
    assert_eq!(prr(&trace, 0, 3), Some(1.0));
}

#[test]
fn gzip_is_told_by_its_content() {
    let text = format!("{HEAD}2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let packed = gz.finish().unwrap();
    assert_eq!(read_k7(&packed[..], "t").unwrap(), read(&text).unwrap());
    for cut in 0..packed.len() {
        let error = read_k7(&packed[..cut], "t.k7.gz").unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("t.k7.gz, line"), "{error}");
    }
}

#[test]
fn a_lying_header_is_found_out() {
    for (header, row, expected) in [
        ("", "", "t.k7, line 1: the file is empty"),
        ("nonsense", "", "t.k7, line 1: the K7 header is wrong"),
        (
            "{\"node_count\": 4, \"tx_length\": \"many\"}",
            "",
            "line 1: tx_length is `\"many\"`; expected the number of frames",
        ),
        (
            "{\"node_count\": 4, \"tx_length\": 0}",
            "",
            "line 1: tx_length is `0`",
        ),
        (
            "{\"node_count\": 0, \"tx_length\": 1}",
            "",
            "line 1: node_count is `0`",
        ),
        (
            "{\"node_count\": 4000000000, \"tx_length\": 1}",
            "",
            "2 to 10000 nodes",
        ),
        (
            "{\"node_count\": -1, \"tx_length\": 1}",
            "",
            "node_count is `-1`",
        ),
        (
            "{\"node_count\": 2, \"tx_length\": 1, \"channels\": [5]}",
            "",
            "channels is `5`",
        ),
        (
            "{\"node_count\": 2, \"tx_length\": 1, \"channels\": []}",
            "",
            "no channels",
        ),
        (
            "{\"node_count\": 2, \"tx_length\": 1}",
            "2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n2018-01-11T10:00:00.0,0,2,26,-80,1.0,100\n",
            "line 4: the header says 2 nodes, but this row names one more: 2",
        ),
        (
            "{\"node_count\": 2, \"tx_length\": 1, \"channels\": [11, 12]}",
            "2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n",
            "line 3: channel 26 is not one of the channels listed: 11 12",
        ),
    ] {
        let text = format!(
            "{header}\n{}{row}",
            HEAD.lines().nth(1).unwrap().to_owned() + "\n"
        );
        let error = if header.is_empty() {
            read("")
        } else {
            read(&text)
        }
        .unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn bad_rows_name_their_line() {
    for (row, expected) in [
        ("", "no rows; expected at least 1"),
        (
            "2018-01-11T10:00:00.0,0,1,26,-80",
            "line 3: the row has 5 columns, the header 7",
        ),
        (
            "yesterday,0,1,26,-80,1.0,100",
            "line 3: datetime is `yesterday`; expected a time as",
        ),
        ("2018-01-11T10:00:00.0,-1,1,26,-80,1.0,100", "src is `-1`"),
        (
            "2018-01-11T10:00:00.0,0,1,26,-1000,1.0,100",
            "mean_rssi is `-1000`",
        ),
        ("2018-01-11T10:00:00.0,0,1,26,-80,nan,100", "no links"),
        ("2018-01-11T10:00:00.0,0,1,26,-80,inf,100", "pdr is `inf`"),
        ("2018-01-11T10:00:00.0,0,1,26,-80,1.01,100", "pdr is `1.01`"),
        ("2018-01-11T10:00:00.0,0,1,26,-80,1,0", "tx_count is `0`"),
        ("2018-01-11T10:00:00.0,0,1,99,-80,1,1", "channel is `99`"),
        ("2018-01-11T10:00:00.0,2,2,26,-80,1,1", "no links"),
        ("2018-01-11T10:00:00.0,0,1,26,,0.0,100", "no links"),
    ] {
        let error = with(row).unwrap_err();
        assert!(error.contains(expected), "{row}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error =
        read("{\"node_count\": 4, \"tx_length\": 1}\r\nsrc,dst,channel,pdr\r\n").unwrap_err();
    assert!(
        error.contains("line 2: the heading lacks the column `datetime`"),
        "{error}"
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let text = format!("{HEAD}2018-01-11T10:00:00.0,0,1,26,-80,1.0,100\n");
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(read(&windows), read(&text));
}

/// A trace as tools write it of a SmartMesh network: without frames, channels and times.
const COUNTERS: &str = r#"{"location": "null", "tx_length": "null", "start_date": "null", "node_count": "null", "channels": "null", "interframe_duration": null}
datetime,src,dst,channel,mean_rssi,pdr,tx_count
2018-03-01 10:00:00,0,1,,-70,1.0,300
2018-03-01 10:15:00,0,1,,-80,0.6,100
2018-03-01 10:15:00,2,2,,-40,1.0,100
2018-03-01 10:15:00,2,1,,-75,0.5,200
2018-03-01 10:30:00,1,2,,,0.25,200
2018-03-01 10:30:00,,2,,-75,0.9,200
2018-03-01 10:45:00,7,1,26,-75,0.9,
"#;

#[test]
fn counters_of_a_running_network_are_averaged_and_what_they_lack_is_counted() {
    let trace = read(COUNTERS).unwrap();
    assert_eq!(
        (trace.nodes.len(), trace.channels, &trace.name),
        (4, ChannelSet::ALL, &None)
    );
    // 300 of 300 and 60 of 100; no round in which the other rows tell nothing of it.
    assert!((prr(&trace, 0, 1).unwrap() - 0.9).abs() < 1e-6);
    let on = |from, to| {
        trace
            .links
            .iter()
            .filter(move |l| (l.from, l.to) == (from, to))
    };
    assert_eq!(on(0, 1).count(), 16);
    // Nothing is reported about 1 -> 0, but of 1 -> 2 there is.
    assert_eq!(prr(&trace, 1, 0), prr(&trace, 0, 1));
    assert_eq!(
        (prr(&trace, 1, 2), prr(&trace, 2, 1)),
        (Some(0.25), Some(0.5))
    );
    assert!(on(1, 2).all(|l| l.rssi_dbm.is_none()));
    let level = on(0, 1).next().and_then(|l| l.rssi_dbm).unwrap();
    assert!((level - (-70.0 * 300.0 - 80.0 * 60.0) / 360.0).abs() < 1e-6);
    assert_eq!(
        on(3, 1).map(|l| l.channel.number()).collect::<Vec<_>>(),
        [26]
    );
    let expected = [
        Assumed::Counters,
        Assumed::SelfLinks(1),
        Assumed::Nameless(1),
        Assumed::Counts(1),
        Assumed::ListedChannels(4, ChannelSet::ALL),
        Assumed::BothWays(2),
    ];
    assert_eq!(trace.assumed, expected);
}

#[test]
fn rows_without_a_channel_hold_on_those_listed() {
    let of = |rows: &str| {
        let header = r#"{"node_count": 3, "channels": [11, 12]}"#;
        let columns = "datetime,src,dst,channel,pdr";
        read(&format!("{header}\n{columns}\n{rows}")).unwrap()
    };
    let all = "2018-03-01 10:00:00,0,1,,0.9\n2018-03-01 10:00:00,1,0,,0.9\n";
    for (rows, open) in [
        (all, 2),
        (&*format!("{all}2018-03-01 10:00:00,1,2,11,0.9\n"), 2),
    ] {
        let said: Vec<String> = of(rows).assumed.iter().map(ToString::to_string).collect();
        let expected =
            format!("{open} rows without a channel: taken for each channel listed: 11, 12");
        assert!(said.contains(&expected), "{said:?}");
    }
    // The column itself is named once, as one that is needed.
    let error = read("{\"node_count\": 3}\ndatetime,src,dst,pdr\n").unwrap_err();
    let expected = "the heading lacks the column `channel` (or channels, ch); it has";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn lists_of_channels_and_percent_are_read() {
    let header = r#"{"node_count": 4, "channels": [25, 26], "tx_ifdur": 100}"#;
    let listed = read(&format!(
        "{header}\ndatetime,channels,src,dst,mean_rssi,pdr,tx_count,transaction_id\n\
         2018-01-11 16:33:07,[25;26],0,1,-53.2,97,100,0\n"
    ));
    let listed = listed.unwrap();
    assert_eq!(listed.links.len(), 2);
    assert!((prr(&listed, 0, 1).unwrap() - 0.97).abs() < 1e-6);
    assert!(listed.assumed.contains(&Assumed::Percent));
}

#[test]
fn every_round_is_a_visit() {
    // Sender 0 and ten minutes later sender 2, every two hours; the last round is broken off.
    let row = |hour: u32, from: u8, to: u8, rssi: i32| {
        let minute = 5 * u32::from(from);
        format!("2018-01-11T{hour:02}:{minute:02}:00.0,{from},{to},26,{rssi},1.0,100\n")
    };
    let mut rows = String::new();
    for (hour, rssi) in [(10, -80), (12, -81), (14, -86)] {
        rows += &(row(hour, 0, 1, rssi) + &row(hour, 0, 3, -70) + &row(hour, 2, 1, rssi + 10));
    }
    rows += &row(16, 0, 1, -60);
    let visits = with(&rows).unwrap().visits;
    assert_eq!(visits.period, thalweg_units::Duration::from_secs(7_200));
    let first = |links: &Vec<crate::TraceLink>| (links.len(), links[0].rssi_dbm.unwrap());
    let found: Vec<_> = visits.links.iter().map(first).collect();
    assert_eq!(found, [(3, -80.0), (3, -81.0), (3, -86.0)]);
}

#[test]
fn a_row_without_a_reading_is_left_out() {
    let rows = "2018-01-11T10:00:00.0,0,1,26,-80,0.5,100\n2018-01-11T10:00:00.0,0,2,26,,NaN,100\n";
    let trace = with(rows).unwrap();
    assert_eq!((prr(&trace, 0, 1), prr(&trace, 0, 2)), (Some(0.5), None));
    assert!(trace.assumed.contains(&Assumed::Unread(1)));
}

#[test]
fn a_trace_that_lost_its_first_line_is_one_all_the_same() {
    // Node 1 hears node 0 in one round of two, and node 2 in both.
    let rows = "2018-01-11T10:00:00.0,0,1,26,-80,0.5,100\n2018-01-11T10:10:00.0,2,1,26,-80,1.0,100\n\
                2018-01-11T11:00:00.0,0,2,26,-80,1.0,100\n2018-01-11T11:10:00.0,2,1,26,-80,1.0,100\n";
    let whole = with(rows).unwrap();
    // With the index of the table, as pandas writes it.
    let mut table = ",datetime,src,dst,channel,mean_rssi,pdr,tx_count\n".to_owned();
    for (at, row) in rows.lines().enumerate() {
        table += &format!("{at},{row}\n");
    }
    let lost = crate::read_matrix(table.as_bytes(), "t.csv").unwrap();
    assert_eq!(
        (prr(&lost, 0, 1), prr(&lost, 2, 1)),
        (Some(0.25), Some(1.0))
    );
    let ends =
        |trace: &Trace| -> Vec<_> { trace.links.iter().map(|l| (l.from, l.to, l.prr)).collect() };
    assert_eq!((ends(&lost), &lost.visits), (ends(&whole), &whole.visits));
    assert!(lost.channels.iter().map(|c| c.number()).eq([26]));
    assert_eq!(
        lost.assumed[..2],
        [Assumed::Campaign(2), Assumed::FirstLineLost]
    );
    // A day without a time.
    let days = table.replace("T10:00:00.0", "").replace("T11:00:00.0", "");
    assert!(crate::read_matrix(days.as_bytes(), "t.csv").is_ok());
}

/// Three rounds of two senders on one day, and three more so many hours later.
fn days(later: u32, rows: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for hour in [0, 1, 2, later, later + 1, later + 2] {
        let (day, hour) = (hour / 24 + 1, hour % 24);
        text += &rows(&format!("2025-05-{day:02} {hour:02}"));
    }
    text
}

#[test]
fn pauses_between_days_are_no_visits() {
    let row =
        |hour: &str| format!("{hour}:00:00,0,1,26,-70,1.0,100\n{hour}:10:00,1,0,26,-70,1.0,100\n");
    let near = with(&days(3, row)).unwrap();
    for later in [40, 41, 500] {
        let apart = with(&days(later, row)).unwrap();
        assert_eq!(apart.visits, near.visits, "{later}");
        assert_eq!(apart.links, near.links);
    }
    assert_eq!(near.visits.links.len(), 6);
    assert!(near.visits.links.iter().all(|visit| visit.len() == 2));
    assert!(near.assumed.contains(&Assumed::Campaign(6)));
    // The second day begins half an hour after the full hour.
    let odd = days(40, |hour| {
        let minute = if hour < "2025-05-02" { 0 } else { 30 };
        row(hour)
            .replace(":00:00", &format!(":{minute:02}:00"))
            .replace(":10:00", &format!(":{:02}:00", minute + 10))
    });
    assert_eq!(with(&odd).unwrap().visits, near.visits);
}

#[test]
fn a_receiver_that_is_off_overnight_counts_as_off() {
    // Receiver 2 hears node 0 on the first day alone, and nobody on the second.
    let text = days(40, |hour| {
        let heard = match hour < "2025-05-02" {
            true => format!("{hour}:00:00,0,2,26,-70,1.0,100\n"),
            false => String::new(),
        };
        format!("{heard}{hour}:00:00,0,1,26,-70,1.0,100\n{hour}:10:00,1,0,26,-70,1.0,100\n")
    });
    assert_eq!(prr(&with(&text).unwrap(), 0, 2), Some(1.0));
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let whole = with("2018-01-11T10:00:00,0,1,26,-80,1.0,100\n").unwrap();
    for row in [
        "2018-01-11T10:00:00,0,1,26,-80,1.0,100.0\n",
        "2018-01-11T10:00:00,0,1,26.0,-80,1.0,100\n",
        "2018-01-11T10:00:00,0.0,1.0,26,-80,1.0,100\n",
        // The header says how many frames.
        "2018-01-11T10:00:00,0,1,26,-80,1.0\n",
    ] {
        assert_eq!(with(row).as_ref(), Ok(&whole), "{row}");
    }
    assert!(with("2018-01-11T10:00:00,0,1,26,-80,1.0,100.5\n").is_err());
}

#[test]
fn one_row_without_a_channel_does_not_make_a_campaign_counters() {
    let rows = "2018-01-11T10:00:00,0,1,26,-80,1.0,100\n2018-01-11T11:00:00,0,2,26,-80,1.0,100\n\
                2018-01-11T11:10:00,2,1,26,-80,1.0,100\n2018-01-11T12:00:00,0,1,26,-80,1.0,100\n";
    let campaign = with(rows).unwrap();
    let blank = with(&format!("{rows}2018-01-11T11:00:00,0,2,,-80,0,100\n")).unwrap();
    assert_eq!(
        (&blank.links, &blank.visits),
        (&campaign.links, &campaign.visits)
    );
    let said: Vec<String> = blank.assumed.iter().map(ToString::to_string).collect();
    assert!(
        said[0].starts_with("a campaign in which senders took turns"),
        "{said:?}"
    );
    assert!(said.contains(&"1 row without a channel: left out, since most have one".to_owned()));
}
