//! Making repair symbols at the source, which takes time: [`Work`] that the host's microcontroller
//! does when nothing else wants it. Some of a block are made at a time, in one pass over its packets.
//!
//! Owns the one job of a node and the symbols that wait in memory to be sent; and the order to make
//! symbols of an object beforehand, which go to its store. A job cannot be taken back: one that is
//! not wanted any more ends without effect. Not modelled: who calls a job off when flash fails.
//! Tests: `tests/making.rs`.

use super::packets::PacketSet;
use crate::blocks::{Blocks, Symbol, BATCH};
use crate::object::{Coded, ObjectStore, Part};
use thalweg_engine::Work;
use thalweg_wire::pipeline::{MAX_PACKETS, MAX_SLIM_PAYLOAD};
use thalweg_wire::route::{BlockSymbols, ObjectRange, PayloadSize, Percent};

/// An order to make repair symbols of the store's object before anybody asks for it. They serve
/// transfers that agree with it in all but `share`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preparation {
    /// Of which part of the object.
    pub range: ObjectRange,
    /// Payload of its packets.
    pub payload: PayloadSize,
    /// The most packets of a block.
    pub most: BlockSymbols,
    /// How many symbols, for a hundred packets; rounded up to as many of each block.
    pub share: Percent,
}

/// Where the symbols of a job go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Into memory, to be sent soon.
    Memory,
    /// Into the store.
    Store,
}

/// Symbols of one block that are being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Job {
    coded: Coded,
    numbers: [u16; BATCH],
    count: usize,
    /// Place of the first symbol in memory; those after it are free too.
    place: usize,
    keep: Keep,
}

impl Job {
    fn numbers(&self) -> &[u16] {
        self.numbers.get(..self.count).unwrap_or(&[])
    }

    fn work(&self) -> Work {
        let block = self.numbers.first().map(|k| self.coded.blocks.block_of(*k));
        let size = self.coded.blocks.size(block.unwrap_or(0));
        let read = u32::from(size) * u32::from(self.coded.symbol_bytes);
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        Work {
            multiplied: read * count,
            read,
            written: match self.keep {
                Keep::Memory => 0,
                Keep::Store => u32::from(self.coded.symbol_bytes) * count,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Wanted(Work),
    UnderWay,
}

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// A job that nobody wants any more.
    Nothing,
    /// What it made is in the store.
    Kept,
    /// So many symbols are ready to be sent.
    Made(u16),
}

/// The job and its symbols.
#[derive(Debug)]
pub(super) struct Maker {
    state: State,
    job: Option<Job>,
    made: [Option<u16>; BATCH],
    symbols: [Symbol; BATCH],
}

impl Maker {
    pub(super) const IDLE: Self = Self {
        state: State::Idle,
        job: None,
        made: [None; BATCH],
        symbols: [[0; MAX_SLIM_PAYLOAD]; BATCH],
    };

    /// Nothing of what was made or is being made is wanted any more.
    pub(super) fn forget(&mut self) {
        (self.job, self.made) = (None, [None; BATCH]);
        if let State::Wanted(_) = self.state {
            self.state = State::Idle;
        }
    }
    /// What the host is asked for.
    pub(super) fn poll(&mut self) -> Option<Work> {
        let State::Wanted(work) = self.state else {
            return None;
        };
        self.state = State::UnderWay;
        Some(work)
    }
    /// The symbol of that number, where it waits in memory.
    pub(super) fn symbol(&self, number: u16) -> Option<&Symbol> {
        let mut waiting = self.made.iter().zip(&self.symbols);
        waiting.find_map(|(made, symbol)| (*made == Some(number)).then_some(symbol))
    }
    /// It was sent.
    pub(super) fn drop(&mut self, number: u16) {
        for made in self.made.iter_mut().filter(|made| **made == Some(number)) {
            *made = None;
        }
    }

    /// Begins the next job for the symbols of `wanted` of which `is_ready` has none, if there is no
    /// other job: those of the first one's block, as many as there is memory for.
    pub(super) fn plan(
        &mut self,
        coded: &Coded,
        wanted: &PacketSet,
        is_ready: impl Fn(&Self, u16) -> bool,
    ) {
        if self.state != State::Idle {
            return;
        }
        let place = self.move_up(wanted);
        let room = BATCH - place;
        let (mut numbers, mut count) = ([0; BATCH], 0);
        let mut from = coded.blocks.packets();
        while let Some(number) = wanted.first_from(from).filter(|_| count < room) {
            from = number + 1;
            let beside = numbers.first().filter(|_| count > 0);
            let same =
                beside.is_none_or(|k| coded.blocks.block_of(*k) == coded.blocks.block_of(number));
            if same && !is_ready(self, number) {
                if let Some(free) = numbers.get_mut(count) {
                    (*free, count) = (number, count + 1);
                }
            }
        }
        if count > 0 {
            self.begin(Job {
                coded: *coded,
                numbers,
                count,
                place,
                keep: Keep::Memory,
            });
        }
    }

    /// Drops what is not among `wanted` and moves the rest to the front; how many there are.
    fn move_up(&mut self, wanted: &PacketSet) -> usize {
        let mut kept = 0;
        for at in 0..BATCH {
            let made = self.made.get_mut(at).and_then(Option::take);
            let Some(number) = made.filter(|k| wanted.contains(*k)) else {
                continue;
            };
            self.symbols.swap(kept, at);
            if let Some(place) = self.made.get_mut(kept) {
                (*place, kept) = (Some(number), kept + 1);
            }
        }
        kept
    }

    fn begin(&mut self, job: Job) {
        (self.job, self.state) = (Some(job), State::Wanted(job.work()));
    }

    /// The job has had its time.
    pub(super) fn finish<S: ObjectStore>(&mut self, store: &mut S) -> Ended {
        if self.state == State::UnderWay {
            self.state = State::Idle;
        }
        let Some(job) = self.job.take() else {
            return Ended::Nothing;
        };
        let len = usize::from(job.coded.symbol_bytes).min(MAX_SLIM_PAYLOAD);
        let read = |k: u16, into: &mut [u8]| read_packet(store, job.coded.part, k, into);
        let symbols = self.symbols.get_mut(job.place..).unwrap_or(&mut []);
        (job.coded.blocks).encode(job.numbers(), len, read, symbols);
        let made = self.made.get_mut(job.place..).unwrap_or(&mut []);
        for ((number, symbol), made) in job.numbers().iter().zip(&*symbols).zip(made) {
            match job.keep {
                Keep::Store => store.store_repair(&job.coded, *number, &symbol[..len]),
                Keep::Memory => *made = Some(*number),
            }
        }
        match job.keep {
            Keep::Store => Ended::Kept,
            Keep::Memory => Ended::Made(job.numbers().len() as u16),
        }
    }
}

/// Symbols of an object that are being made beforehand, block by block.
#[derive(Debug)]
pub(super) struct Preparing {
    coded: Coded,
    /// How many of each block.
    rows: u16,
    block: u16,
    row: u16,
}

impl Preparing {
    /// What `order` means for the object of `store`; none where it makes too many packets.
    pub(super) fn new<S: ObjectStore>(order: Preparation, store: &S) -> Option<Self> {
        let len = store.info().len;
        let part = Part {
            offset: order.range.offset,
            len: order.range.within(len),
        };
        let packets = part.len.div_ceil(u32::from(order.payload.bytes()));
        let packets = u16::try_from(packets).ok().filter(|n| *n <= MAX_PACKETS)?;
        let blocks = Blocks::new(packets, order.most);
        let symbols = u32::from(packets) * u32::from(order.share.get());
        let rows = symbols.div_ceil(100 * u32::from(blocks.count()));
        Some(Self {
            coded: Coded {
                part,
                blocks,
                symbol_bytes: order.payload.bytes(),
            },
            rows: u16::try_from(rows)
                .unwrap_or(u16::MAX)
                .min(blocks.repairs()),
            block: 0,
            row: 0,
        })
    }
    /// What is made.
    pub(super) const fn coded(&self) -> &Coded {
        &self.coded
    }

    /// Begins the next job; `false` where everything is made. Waits where another one is under way.
    pub(super) fn go_on(&mut self, maker: &mut Maker) -> bool {
        let blocks = &self.coded.blocks;
        if self.row >= self.rows {
            (self.block, self.row) = (self.block + 1, 0);
        }
        if self.block >= blocks.count() || blocks.size(self.block) == 0 || self.rows == 0 {
            return false;
        }
        if maker.state == State::Idle {
            let (mut numbers, mut count) = ([0; BATCH], 0);
            for (place, row) in numbers.iter_mut().zip(self.row..self.rows) {
                (*place, count) = (blocks.repair(self.block, row), count + 1);
            }
            self.row = self.row.saturating_add(BATCH as u16);
            maker.begin(Job {
                coded: self.coded,
                numbers,
                count,
                place: 0,
                keep: Keep::Store,
            });
        }
        true
    }
}

/// Reads packet `number` of `part`. The last one is padded with zeros, not with what follows the part.
pub(super) fn read_packet<S: ObjectStore>(store: &S, part: Part, number: u16, into: &mut [u8]) {
    let within = u32::from(number) * u32::try_from(into.len()).unwrap_or(u32::MAX);
    let left = part.len.saturating_sub(within);
    let filled = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
    let (bytes, padding) = into.split_at_mut(filled);
    store.read(part.offset.saturating_add(within), bytes);
    padding.fill(0);
}
