use std::ops::ControlFlow::Continue;
use thalweg_fault::campaign::*;
use thalweg_fault::*;
fn main() {
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
        eprintln!("{} {:.0}/s {:?}", t.scenarios, t.rate(), t.by_kind());
        Continue(())
    });
    for (s, b) in &t.breaches {
        println!("seed {s}: {b}");
    }
    println!("{} scenarios {:.1}/s jobs {} done {} delivered {} events {} net {:.0} s slowest {:?} longest {:?} {:?}", t.scenarios, t.rate(), t.jobs, t.done, t.delivered, t.events, t.network_s, t.slowest, t.longest, t.by_kind());
}
