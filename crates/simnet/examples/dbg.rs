use thalweg_host::registry::Pipelined;
use thalweg_simnet::collect;
use thalweg_testbeds::{Site, Testbed};
fn main() {
    let p = std::env::args().nth(1).unwrap();
    for seed in 1..=1 {
        let tb = Testbed::load(&p).unwrap();

        let site = Site::new(tb, seed);
        let s = collect::Surveyed::open(
            site,
            (
                std::env::args()
                    .nth(2)
                    .and_then(|a| thalweg_units::NodeId::new(a.parse().unwrap()).ok()),
                Pipelined::named("thalweg").unwrap(),
            ),
            None,
            &mut |a, b| {
                let _ = (a, b);
                std::ops::ControlFlow::Continue(())
            },
        );
        match s {
            Ok(s) => {
                let missing = s.cost().missing.clone();
                let l = s.links().links();
                let mut n = vec![];
                for c in l.channels().iter() {
                    for f in 0..l.nodes() {
                        for (t, q) in l.heard_from(f, c) {
                            if f.abs_diff(t) == 1 {
                                n.push((f, t));
                            }
                            let _ = q;
                        }
                    }
                }
                n.sort();
                n.dedup();
                println!(
                    "{} s missing {missing:?} adj links {}",
                    s.cost().seconds(),
                    n.len()
                );
            }
            Err(e) => println!("{e}"),
        }
    }
}
