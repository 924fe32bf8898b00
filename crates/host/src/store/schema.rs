//! The database's tables, and how an older database becomes a newer one.
//!
//! `PRAGMA user_version` counts the migrations that a database has been through; a migration that
//! was ever released is never changed, a new one is appended. Tests: `store/tests.rs`.

use rusqlite::{Connection, TransactionBehavior};

/// "THLW": tells this program's databases from others (`PRAGMA application_id`).
pub(super) const APPLICATION_ID: i64 = 0x5448_4c57;

/// Seeds are text because SQLite's integers end at 2^63 - 1.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE transfers (
        id                      INTEGER PRIMARY KEY,
        stored_at               INTEGER NOT NULL DEFAULT (unixepoch()),
        protocol                TEXT    NOT NULL,
        testbed                 TEXT    NOT NULL,
        source                  INTEGER NOT NULL,
        sink                    INTEGER NOT NULL,
        bytes                   INTEGER NOT NULL,
        verified                INTEGER NOT NULL CHECK (verified IN (0, 1)),
        goodput_kbps            REAL,
        utilisation             REAL,
        rounds                  INTEGER NOT NULL,
        first_round_reliability REAL,
        active_nodes            INTEGER NOT NULL,
        hops                    INTEGER NOT NULL,
        paths                   INTEGER NOT NULL,
        energy_j                REAL,
        duration_s              REAL,
        seed                    TEXT    NOT NULL,
        digest                  TEXT,
        object                  TEXT,
        baseline_of             INTEGER REFERENCES transfers (id),
        report                  TEXT    NOT NULL
    ) STRICT;
    CREATE INDEX transfers_by_source ON transfers (testbed, source);
    CREATE TABLE campaigns (
        id          INTEGER PRIMARY KEY,
        begun_at    INTEGER NOT NULL DEFAULT (unixepoch()),
        description TEXT    NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE turns (
        campaign INTEGER NOT NULL REFERENCES campaigns (id),
        place    INTEGER NOT NULL,
        node     INTEGER NOT NULL,
        transfer INTEGER REFERENCES transfers (id),
        failure  TEXT,
        PRIMARY KEY (campaign, place),
        UNIQUE (campaign, node)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE transfers ADD COLUMN file TEXT;
",
    "
    CREATE TABLE jobs (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        network  TEXT    NOT NULL,
        kind     TEXT    NOT NULL CHECK (kind IN ('survey', 'fetch')),
        source   INTEGER CHECK ((source IS NULL) = (kind = 'survey')),
        priority INTEGER NOT NULL,
        state    TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
        asked_at INTEGER NOT NULL DEFAULT (unixepoch()),
        begun_at INTEGER,
        ended_at INTEGER,
        expected TEXT,
        outcome  TEXT,
        transfer INTEGER REFERENCES transfers (id),
        error    TEXT
    ) STRICT;
    CREATE INDEX jobs_by_turn ON jobs (network, state, priority DESC, id);
    CREATE TABLE surveys (
        id          INTEGER PRIMARY KEY,
        network     TEXT    NOT NULL,
        sink        INTEGER NOT NULL,
        measured_at INTEGER NOT NULL DEFAULT (unixepoch()),
        took_s      REAL    NOT NULL,
        missing     TEXT    NOT NULL,
        links       TEXT    NOT NULL
    ) STRICT;
    CREATE INDEX surveys_by_network ON surveys (network, sink, id);
    CREATE TABLE log (
        id    INTEGER PRIMARY KEY,
        at    INTEGER NOT NULL DEFAULT (unixepoch()),
        level TEXT    NOT NULL,
        text  TEXT    NOT NULL
    ) STRICT;
",
    // A CHECK cannot be changed in place.
    "
    CREATE TABLE jobs_of_all_kinds (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        network  TEXT    NOT NULL,
        kind     TEXT    NOT NULL,
        source   INTEGER,
        terms    TEXT,
        priority INTEGER NOT NULL,
        state    TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
        asked_at INTEGER NOT NULL DEFAULT (unixepoch()),
        begun_at INTEGER,
        ended_at INTEGER,
        expected TEXT,
        outcome  TEXT,
        transfer INTEGER REFERENCES transfers (id),
        error    TEXT,
        CHECK (CASE kind
            WHEN 'survey' THEN source IS NULL AND terms IS NULL
            WHEN 'fetch' THEN source IS NOT NULL AND terms IS NULL
            WHEN 'plan' THEN source IS NOT NULL AND terms IS NULL
            WHEN 'session' THEN source IS NULL AND terms IS NOT NULL
            ELSE 0 END)
    ) STRICT;
    INSERT INTO jobs_of_all_kinds (id, network, kind, source, priority, state, asked_at, begun_at, ended_at,
            expected, outcome, transfer, error)
        SELECT id, network, kind, source, priority, state, asked_at, begun_at, ended_at, expected, outcome,
            transfer, error FROM jobs;
    DROP TABLE jobs;
    ALTER TABLE jobs_of_all_kinds RENAME TO jobs;
    CREATE INDEX jobs_by_turn ON jobs (network, state, priority DESC, id);
    ALTER TABLE transfers ADD COLUMN session INTEGER;
    CREATE INDEX transfers_by_session ON transfers (session) WHERE session IS NOT NULL;
    CREATE TABLE samples (
        job     INTEGER NOT NULL,
        at_s    INTEGER NOT NULL,
        sources TEXT    NOT NULL,
        PRIMARY KEY (job, at_s)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE streams (
        id     INTEGER PRIMARY KEY,
        job    INTEGER NOT NULL,
        source INTEGER NOT NULL,
        at_s   REAL    NOT NULL,
        bytes  BLOB    NOT NULL
    ) STRICT;
    CREATE INDEX streams_by_source ON streams (job, source, id);
",
    "
    CREATE TABLE outbox (
        id      INTEGER PRIMARY KEY AUTOINCREMENT,
        topic   TEXT    NOT NULL,
        payload TEXT    NOT NULL,
        newest  INTEGER NOT NULL CHECK (newest IN (0, 1))
    ) STRICT;
    CREATE UNIQUE INDEX outbox_newest ON outbox (topic) WHERE newest = 1;
",
    "
    ALTER TABLE surveys ADD COLUMN batteries TEXT NOT NULL DEFAULT '';
    CREATE TABLE spent (
        network TEXT    NOT NULL,
        node    INTEGER NOT NULL,
        day     INTEGER NOT NULL,
        joules  REAL    NOT NULL,
        PRIMARY KEY (network, node, day)
    ) STRICT, WITHOUT ROWID;
",
    // A job has parts as long as it is open, however it ends.
    "
    CREATE TABLE parts (
        job    INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        len    INTEGER NOT NULL,
        digest BLOB    NOT NULL,
        bytes  BLOB    NOT NULL,
        PRIMARY KEY (job, offset)
    ) STRICT;
    CREATE TRIGGER parts_of_an_ended_job AFTER UPDATE OF state ON jobs
        WHEN NEW.state NOT IN ('queued', 'running')
        BEGIN DELETE FROM parts WHERE job = NEW.id; END;
    CREATE TABLE seen (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        network  TEXT    NOT NULL,
        at       INTEGER NOT NULL,
        sender   INTEGER NOT NULL,
        receiver INTEGER NOT NULL,
        channel  INTEGER NOT NULL,
        sent     INTEGER NOT NULL,
        received INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX seen_by_network ON seen (network, id);
",
    "
    ALTER TABLE surveys ADD COLUMN apart_us INTEGER CHECK (apart_us > 0);
",
    "
    ALTER TABLE surveys DROP COLUMN apart_us;
",
    // One row at most: the last number of a flood that was reserved. Whether an object travelled sealed.
    "
    CREATE TABLE numbers (last INTEGER NOT NULL) STRICT;
    ALTER TABLE transfers ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
",
    // What is asked every few seconds is counted as it changes; ages are days on which the daemon ran, by what came since.
    "
    CREATE TABLE totals (
        name  TEXT    PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO totals
        SELECT 'objects', count(*) FROM transfers WHERE object IS NOT NULL
        UNION ALL SELECT 'bytes', ifnull(sum(bytes), 0) FROM transfers WHERE object IS NOT NULL
        UNION ALL SELECT 'outbox', count(*) FROM outbox;
    CREATE TRIGGER object_comes AFTER INSERT ON transfers WHEN NEW.object IS NOT NULL BEGIN
        UPDATE totals SET value = value + iif(name = 'objects', 1, NEW.bytes) WHERE name IN ('objects', 'bytes');
    END;
    CREATE TRIGGER object_goes AFTER DELETE ON transfers WHEN OLD.object IS NOT NULL BEGIN
        UPDATE totals SET value = value - iif(name = 'objects', 1, OLD.bytes) WHERE name IN ('objects', 'bytes');
    END;
    CREATE TRIGGER object_changes AFTER UPDATE OF object ON transfers
        WHEN (OLD.object IS NULL) <> (NEW.object IS NULL) BEGIN
        UPDATE totals SET value = value + iif(NEW.object IS NULL, -1, 1) * iif(name = 'objects', 1, NEW.bytes)
            WHERE name IN ('objects', 'bytes');
    END;
    CREATE TRIGGER message_comes AFTER INSERT ON outbox BEGIN
        UPDATE totals SET value = value + 1 WHERE name = 'outbox';
    END;
    CREATE TRIGGER message_goes AFTER DELETE ON outbox BEGIN
        UPDATE totals SET value = value - 1 WHERE name = 'outbox';
    END;
    CREATE TABLE job_totals (
        network TEXT    NOT NULL,
        state   TEXT    NOT NULL,
        value   INTEGER NOT NULL,
        PRIMARY KEY (network, state)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO job_totals SELECT network, state, count(*) FROM jobs GROUP BY network, state;
    CREATE TRIGGER job_comes AFTER INSERT ON jobs BEGIN
        INSERT INTO job_totals VALUES (NEW.network, NEW.state, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;
    CREATE TRIGGER job_goes AFTER DELETE ON jobs BEGIN
        UPDATE job_totals SET value = value - 1 WHERE network = OLD.network AND state = OLD.state;
    END;
    CREATE TRIGGER job_changes AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
        UPDATE job_totals SET value = value - 1 WHERE network = OLD.network AND state = OLD.state;
        INSERT INTO job_totals VALUES (NEW.network, NEW.state, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;
    CREATE INDEX objects_by_node ON transfers (testbed, source, id) WHERE object IS NOT NULL;
    CREATE INDEX objects_by_name ON transfers (object, id, bytes) WHERE object IS NOT NULL;
    CREATE INDEX transfers_by_baseline ON transfers (baseline_of) WHERE baseline_of IS NOT NULL;
    CREATE TABLE days (
        nth      INTEGER PRIMARY KEY,
        day      INTEGER NOT NULL UNIQUE,
        transfer INTEGER NOT NULL,
        job      INTEGER NOT NULL
    ) STRICT;
    INSERT INTO days (day, transfer, job)
        SELECT day, transfer, ifnull((SELECT min(id) FROM jobs WHERE asked_at / 86400 = day), 0) FROM
            (SELECT stored_at / 86400 AS day, min(id) AS transfer FROM transfers GROUP BY day)
        ORDER BY transfer;
    ALTER TABLE jobs ADD COLUMN batch INTEGER;
    CREATE INDEX jobs_by_batch ON jobs (batch, id) WHERE batch IS NOT NULL;
    CREATE INDEX jobs_by_number ON jobs (network, id);
    CREATE INDEX jobs_by_transfer ON jobs (transfer) WHERE transfer IS NOT NULL;
    UPDATE jobs SET outcome = NULL WHERE kind = 'fetch' AND transfer IS NOT NULL;
    ALTER TABLE log ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE log ADD COLUMN since INTEGER;
",
    // All that is asked of the jobs of a day is in the index.
    "
    CREATE INDEX jobs_by_end ON jobs (network, ended_at, state, kind, source, id) WHERE ended_at IS NOT NULL;
",
];

/// The newest format.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// What a database turned out to be.
pub(super) enum Format {
    /// This program's newest.
    Current,
    /// A later version's.
    Later(i64),
    /// Another program's.
    Foreign,
}

/// Brings the database to the newest format, each step whole or not at all.
pub(super) fn migrate(db: &mut Connection) -> rusqlite::Result<Format> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let application: i64 = tx.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (application != 0 || found != 0 || tables != 0) {
        return Ok(Format::Foreign);
    }
    if found > KNOWN {
        return Ok(Format::Later(found));
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", KNOWN)?;
    tx.commit()?;
    Ok(Format::Current)
}
