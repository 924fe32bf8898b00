use super::*;
use thalweg_sim::boards;

fn load(name: &str) -> Testbed {
    Testbed::load(name).unwrap()
}
/// The same with a loss of full frames.
fn lossy(site: &Site, loss: &str) -> Result<Site, SiteError> {
    site.clone().with_losses(&[loss.parse().unwrap()], 127)
}

#[test]
fn bands_share_places_and_nothing_else() {
    let site = Site::with_all_radios(load("office12"), 3).unwrap();
    let ears = &site.environment.ears;
    assert_eq!(ears.len(), 24);
    assert_eq!(ears[0].placement, ears[12].placement);
    let chips = [site.board.chip, site.board.second.unwrap().chip];
    assert_eq!([ears[11].chip, ears[12].chip], chips);
    let rssi = |site: &Site, a: u32, b: u32| {
        let rssi = site
            .environment
            .mean_rssi(EarId(a), EarId(b), Channel::FIRST);
        rssi.map(|rssi| rssi.0)
    };
    assert!(rssi(&site, 0, 1).is_some() && rssi(&site, 12, 13).is_some());
    let apart = |a, b| rssi(&site, a, b).is_none() && rssi(&site, b, a).is_none();
    assert!((0..12).all(|a| (12..24).all(|b| apart(a, b))));
    // Each band is what it is without the other, and the first is the testbed's own site.
    let alone = Site::new(load("office12"), 3);
    assert_eq!(rssi(&alone, 4, 5), rssi(&site, 4, 5));
    let second = site.second_radio().unwrap();
    assert_eq!(rssi(&second, 4, 5), rssi(&site, 16, 17));
    assert!(alone.second_radio().is_none());
}

#[test]
fn a_share_of_full_frames_is_lost_one_way_and_not_before() {
    let site = Site::new(load("pair"), 1);
    let one_way = lossy(&site, "2-1:0.3").unwrap();
    let prr = |site: &Site, from, to, bytes| {
        let (from, to) = (EarId(from), EarId(to));
        site.environment
            .prr(from, to, Channel::LAST, bytes, Dbm(0.0))
    };
    let full = prr(&one_way, 1, 0, 127);
    assert!((full - 0.7).abs() < 0.01, "{full}");
    assert!(prr(&one_way, 1, 0, 20) > 0.9 && prr(&one_way, 0, 1, 127) > 0.99);
    let calm = one_way.undisturbed();
    assert!(prr(&calm, 1, 0, 127) > 0.99 && calm.losses.links.is_empty());
    // More losses add up, on another board too.
    let worse = lossy(&one_way, "2-1:0.3").unwrap();
    assert!((prr(&worse, 1, 0, 127) - 0.49).abs() < 0.01);
    let board = boards::load("telosb-contiki").unwrap();
    assert!((prr(&worse.with_board(board).unwrap(), 1, 0, 127) - 0.49).abs() < 0.01);
}

#[test]
fn what_is_not_there_cannot_be_lost() {
    let site = Site::new(load("line5"), 1);
    let line = lossy(&site, "1-77:0.5").unwrap_err().to_string();
    assert!(
        line.contains("no node 77") && line.contains("1-77"),
        "{line}"
    );
    let csv = "src,dst,channel,prr\n1,2,26,0.9\n2,3,26,0.9\n";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("chain.csv");
    std::fs::write(&file, csv).unwrap();
    let chain = Site::new(Testbed::load(&file).unwrap(), 1);
    let unheard = lossy(&chain, "1-3:0.5").unwrap_err();
    let line = unheard.to_string();
    assert!(line.contains("node 3 does not hear node 1"), "{line}");
    // Measured links are those of the radio that they were measured with.
    for (board, part) in [
        ("opal", "board Opal has other radios"),
        ("mica2", "measured with one CC2420"),
    ] {
        let line = chain
            .with_board(boards::load(board).unwrap())
            .unwrap_err()
            .to_string();
        assert!(line.starts_with("chain: ") && line.contains(part), "{line}");
    }
    assert!(chain.with_board(boards::load("ideal").unwrap()).is_ok());
}

#[test]
fn what_comes_later_meets_a_later_visit() {
    let rows = |hour: u32, rssi: i32| {
        let row = |from: u8, to: u8| {
            let minute = 5 * u32::from(from);
            format!("2018-01-11T{hour:02}:{minute:02}:00.0,{from},{to},26,{rssi},1.0,100\n")
        };
        row(0, 1) + &row(1, 0)
    };
    let head = "{\"node_count\": 2, \"channels\": [26], \"tx_length\": 100, \"interframe_duration\": 100}\n\
        datetime,src,dst,channel,mean_rssi,pdr,tx_count\n";
    let text = format!("{head}{}{}{}", rows(10, -60), rows(12, -65), rows(14, -70));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.k7");
    std::fs::write(&file, text).unwrap();
    let testbed = Testbed::load(file.to_str().unwrap()).unwrap();
    assert_eq!(testbed.visits(), 3);
    let level = |site: &Site| {
        let rssi = site
            .environment
            .mean_rssi(EarId(0), EarId(1), Channel::LAST);
        rssi.unwrap().0.round()
    };
    let hour = Duration::from_secs(3_600);
    let begin = testbed.clone().surveyed_at(Duration::ZERO).unwrap();
    let site = Site::new(begin, 1);
    let later = |age| level(&site.aged(age).unwrap());
    assert_eq!(level(&site), -60.0);
    // Any time later is a visit later; the last visit lasts.
    assert_eq!(
        (later(Duration::from_secs(1)), later(hour * 3)),
        (-65.0, -65.0)
    );
    assert_eq!((later(hour * 4), later(hour * 99)), (-70.0, -70.0));
    // Aged twice is aged once, and the survey's own time stays.
    let old = site.aged(hour).unwrap().aged(hour * 4).unwrap();
    assert_eq!((level(&old), level(&old.undisturbed())), (-70.0, -60.0));
    assert!(testbed.clone().surveyed_at(hour * 4).is_err());
    assert!(load("pair").surveyed_at(hour).is_err());
    // Nobody says when: not at the last visit, and the seed decides.
    let drawn: Vec<f64> = (0..20)
        .map(|seed| level(&Site::new(testbed.clone(), seed)))
        .collect();
    assert!(drawn.contains(&-60.0) && drawn.contains(&-65.0) && !drawn.contains(&-70.0));
}
