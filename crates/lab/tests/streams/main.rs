//! Streams over simulated nodes with two radios.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_lab::streams::{run, Carrier, Ground, Terms};
use thalweg_lab::testbed::Testbed;

#[test]
fn numbers() {
    let testbed = Arc::new(Testbed::load("office12").unwrap());
    for seed in 1..=10 {
        let ground = Ground::new(testbed.clone(), seed).unwrap();
        for hops in [2usize, 5, 11] {
            let via: Vec<usize> = (0..=hops).rev().collect();
            let plan = ground.plan(&ground.request(hops, 0, Some(via)), &[]).unwrap();
            for carrier in Carrier::ALL {
                let terms = Terms { carrier, ..Terms::default() };
                let object: Vec<u8> = (0..100_000u32).map(|i| (i * 7 % 251) as u8).collect();
                let out = run(&ground, &[(plan.clone(), object)], &terms, seed, &mut |_| Continue(())).unwrap();
                let o = &out[0];
                println!("seed {seed} hops {hops} {:?}: {:.2}% yield {:.4} setup {:.3} end {} / {} verified {} repeated {}", carrier, o.throughput().kbps() / 2.5, o.data_yield(), o.setup_seconds, o.end, o.source_end, o.verified, o.repeated);
                if hops == 0 && carrier == Carrier::Burst { for l in &o.links { println!("   {l:?}"); } }
            }
        }
    }
}
