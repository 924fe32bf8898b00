//! Meshes as their tools draw and list them, logs that name nodes by address, and workbooks of several sheets.

use super::*;

pub(super) const GRAPHVIZ: &str = r##"digraph G {
node[shape=record];
  "0x0000000000000002" [style="rounded, filled", label="{Küche|0x0000000000000002 (0x9db1)|9 seconds ago}"];
  "0x0000000000000001" [style="bold, filled", fillcolor="#e04e5d", label="{Coordinator|0x0000000000000001 (0x0000)|0 seconds ago}"];
  "0x0000000000000002" -> "0x0000000000000001" [penwidth=2, weight=1, color="#009900", label="51 (routes: 0x198c)"]
  "0x0000000000000003" -> "0x0000000000000002" [penwidth=0.5, weight=0, color="#994444", label="0"]
}"##;

pub(super) const PLANTUML: &str = "' paste into: https://www.planttext.com/\n\n@startuml\ncard 0x0000000000000001 [\nCoordinator\n---\n\
    0x0000000000000001 (0x0000)\n]\n\ncard 0x0000000000000002 [\nKüche\n---\n0x0000000000000002 (0x9db1)\n]\n\n\
    0x0000000000000002 --> 0x0000000000000001: 51\n0x0000000000000003 --> 0x0000000000000002: 0\n\n@enduml\n";

#[test]
fn a_drawn_zigbee_map_says_what_the_raw_one_says() {
    let published =
        serde_json::json!({"data": {"type": "graphviz", "value": GRAPHVIZ}}).to_string();
    for (text, expected) in [
        (GRAPHVIZ, Format::ZigbeeDrawing),
        (PLANTUML, Format::ZigbeeDrawing),
        (&published, Format::ZigbeeMap),
    ] {
        let (format, trace) = load(text.as_bytes()).unwrap();
        assert_eq!(format, expected);
        let names = ["Coordinator", "Küche", "0x0000000000000003"];
        assert!(trace.labels.values().eq(names), "{:?}", trace.labels);
        let expected = [(1, 2, 1.0, Some(-71.6)), (2, 1, 1.0, Some(-71.6))];
        assert_eq!(links(&trace), expected, "{text}");
        assert!(said(&trace).contains("1 LQI of 0, which stands for no reading"));
    }
    let error = load(b"digraph { a -> b }").unwrap_err();
    assert!(error.contains("a drawing without links of LQI"), "{error}");
}

#[test]
fn an_lqi_of_0_is_no_link_of_a_zigbee_map() {
    for none in ["0", "null"] {
        let map = ZIGBEE.replace("\":51", &format!("\":{none}"));
        let error = load(map.as_bytes()).unwrap_err();
        assert_eq!(error, "in: no links; expected at least 1");
    }
}

#[test]
fn other_answers_of_openthread_are_named() {
    let text =
        "> networkdiagnostic get ff03::2 1 5\nRloc16: 0xb800\nRoute:\n    IdSequence: 3\nDone\n";
    let error = load(text.as_bytes()).unwrap_err();
    assert!(
        error.contains("expected those to `meshdiag topology`"),
        "{error}"
    );
}

/// As the reference of OpenThread shows it.
pub(super) const TOPOLOGY: &str = "> meshdiag topology children\n\
    id:02 rloc16:0x0800 ext-addr:8aa57d2c603fe16c ver:4 - me - leader\n    3-links:{ 46 }\n    children: none\n\
    id:46 rloc16:0xb800 ext-addr:fe109d277e0175cc ver:4\n    3-links:{ 02 } 1-links:{51}\n    children:\n        rloc16:0xb801 lq:2, mode:rn\n\
    id:51 rloc16:0xcc00 ext-addr:b2d2a9bd1b0ee2ca ver:4\n    2-links:{ 46 }\nDone\n";

#[test]
fn a_topology_of_openthread_has_routers_and_children() {
    let (format, trace) = load(TOPOLOGY.as_bytes()).unwrap();
    assert_eq!(format, Format::ThreadCli);
    let names = [
        "fe109d277e0175cc",
        "8aa57d2c603fe16c",
        "b2d2a9bd1b0ee2ca",
        "0xb801",
    ];
    let mut found: Vec<_> = trace.labels.values().map(String::as_str).collect();
    let name = |id: u16| trace.labels.iter().find(|(n, _)| n.get() == id).unwrap().1;
    let level = |from: &str, to: &str| {
        let links = links(&trace);
        let is = |l: &&(u16, u16, f64, Option<f64>)| (&**name(l.0), &**name(l.1)) == (from, to);
        links.iter().find(is).and_then(|link| link.3)
    };
    // Each router tells what it hears.
    assert_eq!(level(names[0], names[1]), Some(-50.0));
    assert_eq!(level(names[2], names[0]), Some(-95.0));
    assert_eq!(level(names[0], names[2]), Some(-85.0));
    // A child tells nothing.
    assert_eq!(level(names[3], names[0]), Some(-85.0));
    assert_eq!(level(names[0], names[3]), Some(-85.0));
    found.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(said(&trace).contains("1 link measured in one direction only"));
}

pub(super) const TABLES: &str = "> extaddr\n0aeb8196c9f61658\nDone\n> neighbor table\n\
    | Role | RLOC16 | Age | Avg RSSI | Last RSSI |R|D|N| Extended MAC     | Version |\n\
    +------+--------+-----+----------+-----------+-+-+-+------------------+---------+\n\
    |   C  | 0xcc01 |  96 |      -46 |       -46 |1|1|1| 1eb9ba8a6522636b |       4 |\nDone\n\
    > router table\n\
    | ID | RLOC16 | Next Hop | Path Cost | LQ In | LQ Out | Age | Extended MAC     | Link |\n\
    +----+--------+----------+-----------+-------+--------+-----+------------------+------+\n\
    | 22 | 0x5800 |       63 |         0 |     0 |      0 |   0 | 0aeb8196c9f61658 |    0 |\n\
    | 49 | 0xc400 |       63 |         0 |     3 |      1 |   0 | faa1c03908e2dbf2 |    1 |\nDone\n";

#[test]
fn tables_of_openthread_are_those_of_the_device_that_answers() {
    let (format, trace) = load(TABLES.as_bytes()).unwrap();
    assert_eq!(format, Format::ThreadCli);
    let names = ["1eb9ba8a6522636b", "0aeb8196c9f61658", "faa1c03908e2dbf2"];
    assert!(trace.labels.values().eq(names));
    let levels: Vec<_> = links(&trace)
        .iter()
        .map(|(a, b, _, dbm)| (*a, *b, dbm.unwrap()))
        .collect();
    let expected = [(1, 2, -46.0), (2, 1, -46.0), (2, 3, -95.0), (3, 2, -50.0)];
    assert_eq!(levels, expected);
    // Of one device it need not be known which it is; of two it must.
    let (_, one) = TABLES.split_once("Done\n").unwrap();
    let trace = load(one.as_bytes()).unwrap().1;
    assert!(trace.labels.values().any(|name| name == "this device"));
    let error = load(one.repeat(2).as_bytes()).unwrap_err();
    assert!(
        error.contains("expected `extaddr` and its answer"),
        "{error}"
    );
}

#[test]
fn a_node_of_a_log_is_one_by_number_and_by_address() {
    let line = |id: u16, to: &str| {
        format!("{id}00\tID:{id}\t[INFO: Link Stats] num packets: tx=100 ack=95 rx=92 queue_drops=0 to={to}\n")
    };
    let sky = |n: u16| format!("0012.740{n}.000{n}.0{n}0{n}");
    let z1 = |n: u16| format!("c10c.0000.0000.000{n}");
    for address in [&sky as &dyn Fn(u16) -> String, &z1] {
        let log: String = (1..6)
            .flat_map(|n| [line(n, &address(n + 1)), line(n + 1, &address(n))])
            .collect();
        let trace = load(log.as_bytes()).unwrap().1;
        assert!(trace.nodes.iter().map(|n| n.get()).eq(1..=6), "{log}");
        assert_eq!(links(&trace).len(), 10);
        assert!(said(&trace).contains("6 were taken for those of the nodes whose ID they end in"));
    }
    // ETX by link-local addresses.
    let rpl = |id: u16, to: u16| {
        format!("1 ID:{id} [INFO: RPL       ] nbr: fe80::212:740{to}:{to}:{to}0{to}   0,  128 =>   256\n")
    };
    let trace = load((rpl(1, 2) + &rpl(2, 1)).as_bytes()).unwrap().1;
    assert_eq!(trace.nodes.len(), 2);
    // Addresses that end in no node's number.
    let lab = line(1, "0012.4b00.0615.a0f1") + &line(2, "0012.4b00.0615.a0f2");
    let error = load(lab.as_bytes()).unwrap_err();
    assert!(
        error.contains("expected each node's `Link-layer address`"),
        "{error}"
    );
}

/// A workbook with so many sheets, by name and content.
fn sheets(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut book, mut links) = (String::new(), String::new());
    let mut files = Vec::new();
    for (at, (name, rows)) in parts.iter().enumerate() {
        book += &format!(r#"<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>"#);
        links += &format!(r#"<Relationship Id="r{at}" Target="worksheets/s{at}.xml"/>"#);
        files.push((
            format!("xl/worksheets/s{at}.xml"),
            format!("<worksheet>{rows}</worksheet>"),
        ));
    }
    files.push((
        "xl/workbook.xml".to_owned(),
        format!(r#"<workbook xmlns:r="x"><sheets>{book}</sheets></workbook>"#),
    ));
    files.push((
        "xl/_rels/workbook.xml.rels".to_owned(),
        format!("<Relationships>{links}</Relationships>"),
    ));
    let parts: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    archive(&parts, true)
}

fn row(cells: &[&str]) -> String {
    let cells = cells.iter();
    let cells: String = cells
        .map(|cell| format!("<c t=\"str\"><v>{cell}</v></c>"))
        .collect();
    format!("<row>{cells}</row>")
}

#[test]
fn a_workbook_is_read_from_the_first_sheet_with_a_table() {
    let title = row(&["Talbrücke, Messung vom 3. November"]);
    let list = title
        + "<row/>"
        + &row(&["src", "dst", "prr"])
        + &row(&["1", "2", "0.9"])
        + &row(&["2", "1", "0.8"]);
    let both = [(1, 2, 0.9, None), (2, 1, 0.8, None)];
    assert_eq!(links(&load(&sheets(&[("Links", &list)])).unwrap().1), both);
    let notes = row(&["Ort", "Talbrücke"]) + &row(&["Wetter", "Regen"]);
    for first in ["", &notes] {
        let trace = load(&sheets(&[("Info", first), ("Links", &list)]))
            .unwrap()
            .1;
        assert_eq!(links(&trace), both);
        assert!(said(&trace).starts_with("links are those of the sheet `Links`\n"));
    }
    let square = row(&["", "1", "2"]) + &row(&["1", "", "0.9"]) + &row(&["2", "0.8", ""]);
    let trace = load(&sheets(&[("Info", &notes), ("Matrix", &square)]))
        .unwrap()
        .1;
    assert_eq!(links(&trace), both);
    let wrong = list.replace("0.8", "x");
    let error = load(&sheets(&[("Info", &notes), ("Links", &wrong)])).unwrap_err();
    assert_eq!(
        error,
        "in, sheet `Links`, line 5: prr is `x`; expected a ratio from 0 to 1 (column 3)"
    );
    for second in ["", &notes] {
        let error = load(&sheets(&[("Info", &notes), ("Plan", second)])).unwrap_err();
        let expected =
            "in: a spreadsheet without a table of links on its sheets (`Info`, `Plan`); expected";
        assert!(error.starts_with(expected), "{error}");
    }
}
