use super::run::*;
use std::collections::BTreeMap;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_units::SimTime;

#[test]
#[ignore = "scratch"]
fn scratch_sweep() {
    let list = |name: &str, default: &str| -> Vec<u64> {
        std::env::var(name)
            .unwrap_or(default.into())
            .split(',')
            .map(|n| n.parse().unwrap())
            .collect()
    };
    let dump = std::env::var("DUMP").is_ok();
    for seed in list("SEEDS", "1") {
        for at in list("AT", "3500,4000,4500,5000,7000,15000") {
            let mut frames = Vec::new();
            let run = emulated_at(
                &motes20(),
                (seed, Perturbation::NONE),
                (TURN, SimTime::from_nanos(at * 1_000_000)),
                Some(&mut frames),
            );
            let model = simulated(&motes20(), seed, run.began);
            println!(
                "seed {seed} at {at}: emulated {:.1} {} | simulated {:.1} {} | whole {} {}",
                run.goodput_kbps, run.told, model.goodput_kbps, model.told, run.is_whole, model.is_whole
            );
            let last = frames.iter().rev().take_while(|_| true);
            let long: Vec<_> = last.filter(|f| f.mpdu.len() > 100).collect();
            let mut by: BTreeMap<(usize, u8), usize> = BTreeMap::new();
            for f in &long {
                *by.entry((f.from + 1, f.channel.number())).or_default() += 1;
            }
            println!("   long frames by (node, channel): {by:?}");
            if dump {
                for f in frames.iter() {
                    let hex: String = f.mpdu.iter().take(24).map(|b| format!("{b:02x}")).collect();
                    println!("F {} {} {} {} {hex}", f.at.as_nanos(), f.from + 1, f.channel.number(), f.mpdu.len());
                }
            }
        }
    }
}
