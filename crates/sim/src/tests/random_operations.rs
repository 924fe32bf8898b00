use super::*;
use proptest::prelude::*;
use thalweg_engine::harness::{Fate, Net};

/// Waits, then gives an order to a node.
type Step = (u64, usize, Order);

fn order() -> impl Strategy<Value = Order> {
    let when = prop_oneof![
        Just(When::Now),
        (0..40_000u64).prop_map(|t| When::At(local(t))),
        (150..600u64).prop_map(|gap| When::AfterRx(us(gap))),
    ];
    let cca = prop_oneof![Just(Cca::Skip), Just(Cca::Require)];
    let mpdu = proptest::collection::vec(0..3u8, 0..127);
    prop_oneof![
        (0..2u8, mpdu.clone()).prop_map(|(slot, mpdu)| Order::Load(slot, mpdu)),
        (0..2u8, when.clone(), cca.clone()).prop_map(|(s, w, c)| Order::Transmit(s, w, c)),
        (mpdu, when, cca).prop_map(|(m, w, c)| Order::Stream(m, w, c)),
        Just(Order::Listen(26)),
        (24..27u8, 0..30u8).prop_map(|(c, n)| Order::ListenFor(c, n)),
        Just(Order::Sleep),
        Just(Order::Cancel),
        Just(Order::OtherRadio),
        (0..40_000u64).prop_map(|t| Order::Timeout(local(t))),
    ]
}

fn script(nodes: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0..2_000u64, 0..nodes, order()), 1..40)
}

/// Without what the harness leaves out: other slots, and senses of one's own frame.
fn plain(order: Order) -> Order {
    match order {
        Order::Transmit(_, when, _) => Order::Transmit(0, when, Cca::Skip),
        Order::Stream(mpdu, when, _) => Order::Stream(mpdu, when, Cca::Skip),
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// On boards with every imperfection, and with faults.
    #[test]
    fn every_operation_has_exactly_one_answer(steps in script(3), deaf in 0..40_000u64) {
        let mut net = net_on(boards::telosb(), 3);
        net.engine_mut(1).on_frame = vec![say(&[1; 30], When::AfterRx(us(281)))];
        net.engine_mut(2).on_head = vec![Order::Listen(26), say(&[1; 9], When::Now)];
        let mut now = 0;
        let half = steps.len() / 2;
        for (i, (wait, n, order)) in steps.into_iter().enumerate() {
            now += wait;
            run(&mut net, now);
            if i == half {
                net.fault(0, crate::Fault::Dead);
                net.fault(1, crate::Fault::Deaf { until: at(deaf) });
            }
            net.command(n, order);
        }
        net.fault(0, crate::Fault::Healthy);
        let stop = run(&mut net, 1_000_000_000);
        prop_assert_eq!(stop, Stop::Idle);
        for n in 0..3 {
            let engine = net.engine(n);
            for op in 0..engine.asked.len() as u16 {
                let answers = engine.seen.iter().filter(|s| s.1 == Some(OpId(op))).count();
                prop_assert_eq!(answers, 1, "node {} {:?}", n, engine.asked[usize::from(op)]);
            }
            prop_assert!(engine.seen.windows(2).all(|w| w[0].0 <= w[1].0), "time goes on");
            let energy = net.energy(n);
            prop_assert_eq!(energy.elapsed(), net.now().since(SimTime::ZERO));
            prop_assert_eq!(energy.radio_sleep + energy.radio_on(), energy.elapsed());
        }
        prop_assert!(net.is_clean(), "frames or events are left over");
    }

    /// One node on an ideal board gets from the simulator what it gets from the ideal network that
    /// engines are tested on; but for the instant at which a `Listen` during calibration is done, and so whether what comes
    /// then finds it done or takes its place.
    #[test]
    fn the_ideal_harness_and_the_simulator_agree(steps in script(1)) {
        let mut net = net(1);
        let mut ideal = Net::new(vec![Puppet::default()], BoardTiming::IDEAL, |_| Fate::Heard);
        let mut now = 0;
        for (wait, n, order) in steps {
            now += wait;
            run(&mut net, now);
            ideal.run_until(local(now));
            net.command(n, plain(order.clone()));
            ideal.command(n, plain(order));
        }
        run(&mut net, 1_000_000);
        ideal.run_until(local(1_000_000));
        let listens: Vec<_> = net.engine(0).asked.iter().map(|o| {
            matches!(o, Order::Listen(_) | Order::ListenFor(..))
        }).collect();
        let answers = |seen: &[(Instant, Option<OpId>, Seen)]| {
            let mut answers: Vec<_> = seen.iter().filter_map(|(at, op, seen)| {
                let op = usize::from((*op)?.0);
                let is_superseded = *seen == Seen::Refused(Refusal::Superseded);
                match listens[op] {
                    true if is_superseded => Some((op, None, Seen::Done)),
                    true => Some((op, None, seen.clone())),
                    false => Some((op, Some(*at), seen.clone())),
                }
            }).collect();
            answers.sort_by_key(|a| a.0);
            answers
        };
        prop_assert_eq!(answers(&net.engine(0).seen), answers(&ideal.engine(0).seen));
    }
}
