use super::*;
use crate::config::Config;

#[test]
fn a_window_may_go_over_midnight() {
    let open = |text: &str, hour: u64, minute: u64| {
        let hours = Hours::parse(text).unwrap();
        hours.is_open(86_400 * 20_000 + hour * 3_600 + minute * 60)
    };
    assert!(open("02:00-04:00", 2, 0) && open("02:00-04:00", 3, 59));
    assert!(!open("02:00-04:00", 4, 0) && !open("02:00-04:00", 1, 59));
    assert!(open("22:30-01:00", 23, 0) && open("22:30-01:00", 0, 59));
    assert!(!open("22:30-01:00", 22, 29) && !open("22:30-01:00", 1, 0));
    assert_eq!(
        Hours::parse("7:05-24:00").unwrap().to_string(),
        "07:05-24:00"
    );
    for wrong in ["", "1-2", "03:00-03:00", "25:00-26:00", "24:00-01:00"] {
        assert_eq!(Hours::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_window_has_limits_of_its_own_and_the_others_of_all() {
    let text = "[transfers]\nenergy_j_per_day = 40\nleast_battery_v = 2.5\n\
        windows = [{ at = \"02:00-04:00\", at_most = 2, least_battery_v = 2.6 }, \"03:00-05:00\"]";
    let transfers = Config::parse(text).unwrap().transfers;
    let at = |hour: u64| transfers.limits_at(hour * 3_600);
    let level = |mv| Some(BatteryLevel::of_millivolts(mv));
    let night = at(3).unwrap();
    assert_eq!(
        (night.at_most, night.least_battery),
        (Some(2), level(2_600))
    );
    assert_eq!(night.energy_j_per_day, Some(40.0));
    let told =
        ", at most 2 stations at a time, nodes from 2.60 V on, at most 40 J per node and day";
    assert_eq!(night.to_string(), told);
    let morning = at(4).unwrap();
    assert_eq!(
        (morning.at_most, morning.least_battery),
        (None, level(2_500))
    );
    assert_eq!(at(6), None);
    let unlimited = Config::parse("").unwrap().transfers.limits_at(0).unwrap();
    assert_eq!(unlimited, Limits::default());
}
