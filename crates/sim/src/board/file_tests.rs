//! Board files, good and bad.

use super::*;

fn board(text: &str) -> Result<Board, BoardError> {
    let ideal = include_str!("../../../../boards/ideal.toml");
    read("x", text, &|name| match name {
        "ideal" => Ok(ideal.to_owned()),
        _ => Ok("extends = \"loop\"".to_owned()),
    })
}

#[test]
fn nonsense_is_one_line_with_its_place() {
    let good = include_str!("../../../../boards/ideal.toml");
    assert!(board(good).is_ok());
    for (from, to, wanted) in [
        ("cc2420", "cc9999", "cc9999"),
        ("turnaround_us = 192", "turnaround_us = -1", "10000000"),
        ("turnaround_us = 192", "turnaround_us = = 1", "line 9"),
        ("kind = \"serial\"", "kind = \"serial\"\nspeed = 1", "speed"),
        ("kind = \"serial\"", "kind = \"prompt\"\nspeed = 1", "speed"),
        ("supply_v = 3.0", "supply_v = nan", "energy"),
        ("tx_power_dbm = 0.0", "tx_power_dbm = 99", "tx_power_dbm"),
        (
            "[energy]",
            "[background]\nevery_us = 10\ntakes_us = 11\n[energy]",
            "takes_us",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = board(&good.replace(from, to)).unwrap_err();
        let line = error.to_string();
        assert!(line.contains(wanted) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_a_file_extends_it_may_say_otherwise() {
    let text = "extends = \"ideal\"\nname = \"slow\"\n[timing]\nload_byte_us = 3";
    let (slow, ideal) = (board(text).unwrap(), board("extends = \"ideal\"").unwrap());
    assert_eq!(slow.timing.load_byte.as_micros(), 3);
    assert_eq!(slow.timing.turnaround, ideal.timing.turnaround);
    assert_eq!((slow.name, slow.currents), ("slow".into(), ideal.currents));
    assert!(board("extends = \"loop\"").is_err());
}
