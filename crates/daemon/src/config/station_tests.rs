use crate::config::Config;

fn two(a: &str, b: &str) -> Result<Config, String> {
    let text = format!("[[station]]\nname = \"a\"\n{a}\n[[station]]\nname = \"b\"\n{b}");
    Config::parse(&text)
}

#[test]
fn stations_that_hear_each_other_have_channels_of_their_own() {
    let (north, south) = ("channels = [15, 20]", "channels = [11, 25]\ncontrol = 14");
    let both = two(north, south).unwrap();
    assert_eq!(both.networks().len(), 2);
    for (a, b, said) in [
        ("", "", "each needs `channels`"),
        (north, "", "each needs `channels`"),
        (
            north,
            "channels = [20, 25]\ncontrol = 14",
            "both use channel 20",
        ),
        (north, "channels = [11, 25]", "both use channel 26"),
        (
            north,
            "channels = [11, 26]\ncontrol = 14",
            "both use channel 26",
        ),
        (north, "building = \"x\"\nname = \"a\"", "duplicate key"),
    ] {
        let why = two(a, b).unwrap_err();
        assert!(why.contains(said), "{a}, {b}: {why}");
        assert!(!why.contains('\n'), "{why}");
    }
    two(north, "building = \"x\"").unwrap();
    two("building = \"y\"", "building = \"x\"").unwrap();
    two("building = \"x\"", "building = \"x\"").unwrap_err();
}

#[test]
fn a_station_has_a_name_that_no_other_has() {
    let said = |text: &str| Config::parse(text).unwrap_err();
    let one = "[[station]]\nname = \"a\"\n";
    let why = said(&one.repeat(2));
    assert!(why.contains("two stations are called \"a\""), "{why}");
    assert_eq!(Config::parse(one).unwrap().networks().len(), 1);
    let many: String = (0..17)
        .map(|n| format!("[[station]]\nname = \"s{n}\"\nbuilding = \"b{n}\"\n"))
        .collect();
    assert!(said(&many).contains("more than 16"));
}
