use std::ops::ControlFlow::Continue;
use thalweg_fault::campaign::*;
use thalweg_fault::*;
fn main() {
    let all: Vec<String> = std::env::args().collect();
    if all[1] == "workload" {
        return power::workload(
            all[2].as_ref(),
            (all[3].parse().unwrap(), 150),
            &mut std::io::stdout().lock(),
        )
        .unwrap();
    }
    if all[1] == "script" {
        print!("{}", draw(all[2].parse().unwrap(), Whom::Nature).to_text());
        return;
    }
    if all[1] == "replay" {
        let s = Script::parse(&std::fs::read_to_string(&all[2]).unwrap()).unwrap();
        println!("{:?}", guarded(&s));
        return;
    }
    if all[1] == "power" {
        let place = std::path::PathBuf::from(&all[2]);
        let _ = std::fs::remove_dir_all(&place);
        let folder = place.join("recorded");
        std::fs::create_dir_all(&folder).unwrap();
        let me = std::env::current_exe().unwrap();
        let mut r = power::record(
            &me,
            &["workload", folder.to_str().unwrap(), &all[3]],
            (&folder, &place.join("log")),
        )
        .unwrap();
        if all.len() > 5 {
            r.calls.retain(|c| !matches!(c, power::Call::Sync(_)));
        }
        let t = std::time::Instant::now();
        let p = power::try_points(
            (&r, &folder),
            (all[4].parse().unwrap(), 1),
            &place.join("after"),
            &mut |_| Continue(()),
        )
        .unwrap();
        println!(
            "{} points {} calls {} lost {:?}",
            p.tried,
            p.calls,
            p.lost.len(),
            t.elapsed()
        );
        for l in p.lost.iter().take(20) {
            println!("{l}");
        }
        return;
    }
    let args: Vec<u64> = std::env::args()
        .skip(1)
        .take(2)
        .map(|a| a.parse().unwrap())
        .collect();
    let mode = std::env::args().nth(3).unwrap_or_default();
    let whom = if mode == "outsider" {
        Whom::Outsider
    } else {
        Whom::Nature
    };
    if mode == "shrink" {
        let script = draw(args[0], Whom::Nature);
        match shrink(&script, |s| guarded(s).err()) {
            Some((s, b)) => println!("{}\n# {b}", s.to_text()),
            None => println!("{:?}", guarded(&script)),
        }
        return;
    }
    let c = Campaign {
        first: args[0],
        scenarios: args[1],
        whom,
        jobs: 1.try_into().unwrap(),
        after_breach: AfterBreach::GoOn,
    };
    let t = campaign(&c, &mut |t| {
        eprintln!(
            "{} {:.0}/s {:?}",
            t.scenarios,
            t.rate(),
            Tally::by_kind(&t.breaches)
        );
        Continue(())
    });
    for (s, b) in &t.breaches {
        println!("seed {s}: {b}");
    }
    println!("{} scenarios {:.1}/s jobs {} done {} delivered {} events {} net {:.0} s slowest {:?} longest {:?} {:?}", t.scenarios, t.rate(), t.jobs, t.done, t.delivered, t.events, t.network_s, t.slowest, t.longest, (Tally::by_kind(&t.breaches), Tally::by_kind(&t.unsecured)));
}
