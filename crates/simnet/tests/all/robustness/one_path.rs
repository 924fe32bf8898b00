//! With one path P3 is no worse than PIP over the same path, seed by seed (P3, section IV-C).

use super::bench::{fetch, object, terms, Ladder, Reverse};
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_wire::route::Scheme;
use thalweg_wire::route::{Hopping, Percent};

#[test]
fn p3_over_one_path_is_no_worse_than_pip() {
    let (mut p3_sum, mut pip_sum, mut p3_whole, mut pip_whole) = (0.0, 0.0, 0, 0);
    for seed in 0..24 {
        let hops = 2 + seed as usize % 5;
        let least_prr = [0.95, 0.85, 0.6][seed as usize % 3];
        let ladder = Ladder {
            hops,
            paths: 1,
            least_prr,
            seed,
            reverse: Reverse::Alive,
        };
        let plan = ladder.plan();
        // The threshold of section IV-E must not silence the only relay there is.
        let terms = TransferTerms {
            threshold: Percent::new(95),
            ..terms()
        };
        let run = |protocol| {
            let mut session = ladder.session();
            fetch(&mut session, &plan, protocol, &terms, &object(seed, 12_000))
        };
        let (p3, pip) = (run(Scheme::P3), run(Scheme::Pip(Hopping::Fixed)));
        assert!(
            p3.verified || !pip.verified,
            "seed {seed}: PIP delivers where P3 does not: {p3:?} {pip:?}"
        );
        if pip.verified {
            assert!(
                p3.goodput_kbps > 0.8 * pip.goodput_kbps,
                "seed {seed}: {p3:?} {pip:?}"
            );
        }
        p3_sum += p3.goodput_kbps;
        pip_sum += pip.goodput_kbps;
        p3_whole += u32::from(p3.verified);
        pip_whole += u32::from(pip.verified);
    }
    assert!(p3_sum >= 0.98 * pip_sum, "{p3_sum} against {pip_sum}");
    assert!(
        p3_whole >= pip_whole && p3_whole > 12,
        "{p3_whole} and {pip_whole} of 24"
    );
}
