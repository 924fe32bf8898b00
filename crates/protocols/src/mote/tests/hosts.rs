//! One mote on three kinds of host: the harness, interrupt handlers, and an async task that selects
//! between radio and timer. What happens at each node of a survey and a transfer is recorded in the
//! harness; the other two hosts meet the same and must log the same bytes.

use super::bench::{across, id, lossy, measure, object, Memory, Order, GRID, MS, TELOSB};
use crate::floodnet::Config;
use crate::mote::{Command, Event, Mote};
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::future::{poll_fn, Future};
use std::pin::{pin, Pin};
use std::rc::Rc;
use std::string::String;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::vec::Vec;
use thalweg_engine::harness::{Net, CAPS};
use thalweg_engine::{Driver, Engine, Port, RadioEvent, RadioId, Request, Undrained, Wants};
use thalweg_units::Instant;

type Node = Mote<Memory, 32, 16>;

fn node(n: usize) -> Node {
    Mote::new(id(n), Config::default(), TELOSB, Memory::of(object(n)))
}

/// What a host calls an engine for.
#[derive(Debug, Clone)]
enum Cause {
    Order(Box<Order>),
    Radio(RadioEvent<'static>),
}

/// A cause, when it came, and how many operations had been asked for by then: a chip answers none
/// that was not.
#[derive(Debug, Clone)]
struct Happened {
    at: Instant,
    cause: Cause,
    asked: usize,
}

/// More than any node logs: a host that does not come to rest.
const MUCH: usize = 1 << 24;

fn note(log: &mut String, at: Instant, what: &dyn core::fmt::Debug) {
    assert!(log.len() < MUCH, "no rest at {at:?}");
    writeln!(log, "{} {what:?}", at.as_nanos()).unwrap();
}
fn note_time_out(log: &mut String, at: Instant) {
    note(log, at, &"time-out");
}
fn note_due(log: &mut String, due: Option<Instant>) {
    writeln!(log, "  due {due:?}").unwrap();
}
fn note_wish(log: &mut String, wish: &dyn core::fmt::Debug) {
    writeln!(log, "  {wish:?}").unwrap();
}

/// Records what a host tells a node and what it is given back.
struct Recorded {
    node: Node,
    log: RefCell<String>,
    script: VecDeque<Happened>,
    asked: usize,
}

impl Recorded {
    fn happened(&mut self, at: Instant, cause: Cause) {
        note(self.log.get_mut(), at, &cause);
        let asked = self.asked;
        self.script.push_back(Happened { at, cause, asked });
    }
}

/// The event with bytes that stay.
fn kept(event: RadioEvent<'_>) -> RadioEvent<'static> {
    let keep = |bytes: &[u8]| -> &'static [u8] { Vec::leak(bytes.to_vec()) };
    match event {
        RadioEvent::Done { op } => RadioEvent::Done { op },
        RadioEvent::Sent { op, sfd } => RadioEvent::Sent { op, sfd },
        RadioEvent::Refused { op, why } => RadioEvent::Refused { op, why },
        RadioEvent::Corrupt { sfd } => RadioEvent::Corrupt { sfd },
        RadioEvent::Sensed {
            op,
            power,
            activity,
        } => RadioEvent::Sensed {
            op,
            power,
            activity,
        },
        RadioEvent::Head { bytes, sfd } => RadioEvent::Head {
            bytes: keep(bytes),
            sfd,
        },
        RadioEvent::Frame {
            mpdu,
            sfd,
            end,
            rssi,
            lqi,
        } => RadioEvent::Frame {
            mpdu: keep(mpdu),
            sfd,
            end,
            rssi,
            lqi,
        },
    }
}

impl Engine for Recorded {
    type Command = Order;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        self.node.wants(radio)
    }
    fn handle_command(&mut self, now: Instant, order: Order) {
        self.happened(now, Cause::Order(Box::new(order.clone())));
        self.node.handle_command(now, order);
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        self.happened(at, Cause::Radio(kept(event)));
        self.node.handle_radio(at, radio, event);
    }
    fn handle_timeout(&mut self, at: Instant) {
        note_time_out(self.log.get_mut(), at);
        self.node.handle_timeout(at);
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let request = self.node.poll_radio()?;
        note_wish(self.log.get_mut(), &request);
        self.asked += 1;
        Some(request)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.node.poll_timeout();
        note_due(&mut self.log.borrow_mut(), due);
        due
    }
    fn poll_event(&mut self) -> Option<Event> {
        let event = self.node.poll_event()?;
        note_wish(self.log.get_mut(), &event);
        Some(event)
    }
}

/// A survey, and a transfer over links that lose a twentieth, in the harness.
fn recorded() -> Vec<(String, VecDeque<Happened>)> {
    let recorded = |n| Recorded {
        node: node(n),
        log: RefCell::default(),
        script: VecDeque::new(),
        asked: 0,
    };
    let mut net = Net::new((0..GRID).map(recorded).collect(), TELOSB, lossy(5, 3));
    net.run_for(MS(3));
    net.command(4, measure(GRID));
    net.run_for(MS(3_000));
    net.command(4, Command::Fetch(across(1)));
    net.run_for(MS(1_500));
    net.command(4, Command::Stop);
    net.run_for(MS(100));
    let taken = |n| {
        let node: &Recorded = net.engine(n);
        (node.log.borrow().clone(), node.script.clone())
    };
    (0..GRID).map(taken).collect()
}

/// The chip and the timer of a board, in virtual time. The chip does what was recorded.
struct Board {
    script: VecDeque<Happened>,
    now: Instant,
    asked: usize,
    compare: Option<Instant>,
    log: String,
}

impl Board {
    fn new(script: VecDeque<Happened>) -> Self {
        Self {
            script,
            now: Instant::ZERO,
            asked: 0,
            compare: None,
            log: String::new(),
        }
    }
    /// What is pending now.
    fn pending(&mut self) -> Option<Cause> {
        let (now, asked) = (self.now, self.asked);
        let is_up = |next: &Happened| next.at <= now && next.asked <= asked;
        let next = self.script.front().is_some_and(is_up);
        next.then(|| self.script.pop_front())
            .flatten()
            .map(|happened| happened.cause)
    }
    fn is_timer_up(&self) -> bool {
        self.compare.is_some_and(|at| at <= self.now)
    }
    /// Time goes on to what comes next; `false` where nothing does before the record ends.
    fn pass(&mut self) -> bool {
        let Some(next) = self.script.front() else {
            return false;
        };
        let ready = (next.asked <= self.asked).then_some(next.at);
        let Some(to) = ready.into_iter().chain(self.compare).min() else {
            return false;
        };
        self.now = self.now.max(to);
        true
    }
}

impl Port<Event> for Board {
    fn submit(&mut self, request: Request<'_>) {
        note_wish(&mut self.log, &request);
        self.asked += 1;
    }
    fn emit(&mut self, event: Event) {
        note_wish(&mut self.log, &event);
    }
}

/// What an interrupt handler does: the cause, the drain, the timer.
fn handle<'a>(
    driver: &'a mut Driver<Node>,
    board: &mut Board,
    cause: impl FnOnce(&'a mut Driver<Node>, Instant) -> Undrained<'a, Node>,
) {
    let drained = cause(driver, board.now).drain(board);
    board.compare = drained.unwrap();
    note_due(&mut board.log, board.compare);
}

fn tell(driver: &mut Driver<Node>, board: &mut Board, cause: Cause) {
    note(&mut board.log, board.now, &cause);
    handle(driver, board, |driver, now| match cause {
        Cause::Order(order) => driver.command(now, *order),
        Cause::Radio(event) => driver.radio(now, RadioId(0), event),
    });
}
fn time_out(driver: &mut Driver<Node>, board: &mut Board) {
    note_time_out(&mut board.log, board.now);
    handle(driver, board, Driver::timer);
}

/// A main function that sleeps, and handlers that do not interrupt each other, the radio's first.
fn by_interrupts(n: usize, script: VecDeque<Happened>) -> String {
    let mut driver = Driver::new(node(n), &[CAPS]).unwrap();
    let mut board = Board::new(script);
    handle(&mut driver, &mut board, |driver, _| driver.start());
    loop {
        if let Some(cause) = board.pending() {
            tell(&mut driver, &mut board, cause);
        } else if board.is_timer_up() {
            time_out(&mut driver, &mut board);
        } else if !board.pass() {
            return board.log;
        }
    }
}

/// A board whose chip and timer wake who waits for them.
#[derive(Clone)]
struct Shared {
    board: Rc<RefCell<Board>>,
    waiting: Rc<Cell<Option<Waker>>>,
}

enum Woken {
    Chip(Cause),
    Timer,
}

impl Shared {
    async fn chip(&self) -> Cause {
        poll_fn(|cx| self.ready(cx, |board| board.pending())).await
    }
    async fn timer(&self) {
        poll_fn(|cx| self.ready(cx, |board| board.is_timer_up().then_some(()))).await;
    }
    fn ready<T>(&self, cx: &Context<'_>, of: impl Fn(&mut Board) -> Option<T>) -> Poll<T> {
        match of(&mut self.board.borrow_mut()) {
            Some(out) => Poll::Ready(out),
            None => {
                self.waiting.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
    /// Whichever comes first; the other is given up and loses nothing.
    async fn select(&self) -> Woken {
        let (mut chip, mut timer) = (pin!(self.chip()), pin!(self.timer()));
        poll_fn(|cx| match chip.as_mut().poll(cx) {
            Poll::Ready(cause) => Poll::Ready(Woken::Chip(cause)),
            Poll::Pending => timer.as_mut().poll(cx).map(|()| Woken::Timer),
        })
        .await
    }
}

async fn task(n: usize, shared: Shared) {
    let mut driver = Driver::new(node(n), &[CAPS]).unwrap();
    handle(&mut driver, &mut shared.board.borrow_mut(), |driver, _| {
        driver.start()
    });
    loop {
        let woken = shared.select().await;
        let board = &mut shared.board.borrow_mut();
        match woken {
            Woken::Chip(cause) => tell(&mut driver, board, cause),
            Woken::Timer => time_out(&mut driver, board),
        }
    }
}

struct Flag(AtomicBool);
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls the task when it was woken, and lets time pass when it was not.
fn by_a_task(n: usize, script: VecDeque<Happened>) -> String {
    let shared = Shared {
        board: Rc::new(RefCell::new(Board::new(script))),
        waiting: Rc::default(),
    };
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut task: Pin<Box<dyn Future<Output = ()>>> = Box::pin(task(n, shared.clone()));
    loop {
        if flag.0.swap(false, Ordering::Relaxed) {
            let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending(), "a host has no end");
        } else if shared.board.borrow_mut().pass() {
            if let Some(waiting) = shared.waiting.take() {
                waiting.wake();
            }
        } else {
            return core::mem::take(&mut shared.board.borrow_mut().log);
        }
    }
}

/// Until the last thing that was recorded: what comes of the timer after it is nobody's.
fn until_the_last<'a>(log: &'a str, last: &str) -> &'a str {
    let end = log.rfind(last).map_or(log.len(), |at| at + last.len());
    &log[..end]
}

#[test]
fn every_kind_of_host_logs_the_same_bytes() {
    let nodes = recorded();
    let all: String = nodes.iter().map(|(log, _)| log.as_str()).collect();
    for sign in ["Complete(", "time-out", "Corrupt", "Superseded"] {
        assert!(all.contains(sign), "no {sign} in what is compared");
    }
    for (n, (log, script)) in nodes.into_iter().enumerate() {
        let last = script.back().unwrap();
        let last = std::format!("{} {:?}", last.at.as_nanos(), last.cause);
        let log = until_the_last(&log, &last);
        let handlers = by_interrupts(n, script.clone());
        assert!(until_the_last(&handlers, &last) == log, "interrupts, {n}");
        let tasks = by_a_task(n, script);
        assert!(until_the_last(&tasks, &last) == log, "async, {n}");
    }
}
