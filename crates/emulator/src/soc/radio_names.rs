//! RADIO's events, tasks and shortcuts by number (product specification, 6.20.14).

use super::events::{Event, Short, Task};

/// Events by number (6.20.14).
pub(super) const READY: Event = 0;
pub(super) const ADDRESS: Event = 1;
pub(super) const PAYLOAD: Event = 2;
pub(super) const END: Event = 3;
pub(super) const DISABLED: Event = 4;
pub(super) const RSSIEND: Event = 7;
pub(super) const BCMATCH: Event = 10;
pub(super) const CRCOK: Event = 12;
pub(super) const CRCERROR: Event = 13;
pub(super) const FRAMESTART: Event = 14;
pub(super) const EDEND: Event = 15;
pub(super) const EDSTOPPED: Event = 16;
pub(super) const CCAIDLE: Event = 17;
pub(super) const CCABUSY: Event = 18;
pub(super) const CCASTOPPED: Event = 19;
pub(super) const TXREADY: Event = 21;
pub(super) const RXREADY: Event = 22;
pub(super) const PHYEND: Event = 27;

/// Tasks by number (6.20.14).
pub(super) const TXEN: Task = 0;
pub(super) const RXEN: Task = 1;
pub(super) const START: Task = 2;
pub(super) const STOP: Task = 3;
pub(super) const DISABLE: Task = 4;
pub(super) const RSSISTART: Task = 5;
pub(super) const RSSISTOP: Task = 6;
pub(super) const BCSTART: Task = 7;
pub(super) const BCSTOP: Task = 8;
pub(super) const EDSTART: Task = 9;
pub(super) const EDSTOP: Task = 10;
pub(super) const CCASTART: Task = 11;
pub(super) const CCASTOP: Task = 12;

/// 6.20.14.44.
pub(super) const SHORTS: &[Short] = &[
    (0, READY, START),
    (1, END, DISABLE),
    (2, DISABLED, TXEN),
    (3, DISABLED, RXEN),
    (4, ADDRESS, RSSISTART),
    (5, END, START),
    (6, ADDRESS, BCSTART),
    (8, DISABLED, RSSISTOP),
    (11, RXREADY, CCASTART),
    (12, CCAIDLE, TXEN),
    (13, CCABUSY, DISABLE),
    (14, FRAMESTART, BCSTART),
    (15, READY, EDSTART),
    (16, EDEND, DISABLE),
    (17, CCAIDLE, STOP),
    (18, TXREADY, START),
    (19, RXREADY, START),
    (20, PHYEND, DISABLE),
    (21, PHYEND, START),
];
