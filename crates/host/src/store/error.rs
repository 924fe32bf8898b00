//! What can go wrong in the store, each as one line for a person.

use std::io;
use std::path::PathBuf;

/// What the store gives.
pub(super) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why an object could not be stored, or the store not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder named for the store is a file.
    #[error("{}: is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// A file or folder could not be read or written; also a full disk.
    #[error("{}: cannot {action}: {}", .path.display(), plain(.source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The database refused; also a full disk, or a file that is no database.
    #[error("{}: {}", .path.display(), database(.source))]
    Database {
        /// The database file.
        path: PathBuf,
        /// The database's answer.
        source: rusqlite::Error,
    },
    /// The database is another program's.
    #[error("{}: is a database, but not of this program", .0.display())]
    Foreign(PathBuf),
    /// The database was made by a later version of this program.
    #[error("{}: has format {found}, this program knows up to {known}", .path.display())]
    TooNew {
        /// The database file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this program reads.
        known: i64,
    },
    /// An object of that name exists and holds other bytes; it was left as it is.
    #[error("{}: exists already and holds other bytes; it was left alone", .0.display())]
    ObjectExists(PathBuf),
    /// The object to store has another length than its record says.
    #[error("the object has {actual} bytes, its record says {recorded}")]
    LengthMismatch {
        /// Bytes in the object.
        actual: u64,
        /// Bytes in the record.
        recorded: u64,
    },
    /// There is no store in the folder.
    #[error("{}: holds no objects; `thalweg collect --out` stores them there", .0.display())]
    NoStore(PathBuf),
    /// Another process is at the campaign.
    #[error("{}: another process fetches the same objects; wait for it, or take another folder", .0.display())]
    Locked(PathBuf),
    /// The queue has no room for all jobs that were asked for.
    #[error("{asked} more jobs do not fit: {waiting} wait already, and at most {most} may")]
    QueueFull {
        /// Jobs that were asked for.
        asked: usize,
        /// Jobs that wait.
        waiting: u64,
        /// Jobs that may wait.
        most: u32,
    },
    /// The disk has too little left for another job.
    #[error("{0}: delete objects, or make room otherwise")]
    DiskLow(String),
    /// All numbers of floods were used, or the clock is in another century.
    #[error("no number is left for floods: is the clock right?")]
    NoNumbers,
    /// A campaign was opened with other nodes than it was begun with.
    #[error("the campaign was begun with other nodes")]
    CampaignNodes,
}

impl StoreError {
    /// Whether the disk has no room: what failed succeeds once it has.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            Self::Database { source, .. } => {
                source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
            }
            _ => false,
        }
    }
}

/// The system's message without the error number that `std` appends.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// A database error in a line that says what to do about the usual ones.
fn database(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::DiskFull) => "cannot write: no space left on device".to_owned(),
        Some(Code::NotADatabase | Code::DatabaseCorrupt) => "is not a readable database".to_owned(),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            "is in use by another process".to_owned()
        }
        Some(Code::ReadOnly) => "cannot write: the database is read-only".to_owned(),
        Some(Code::CannotOpen) => "cannot open the database".to_owned(),
        _ => error.to_string().replace('\n', " "),
    }
}
