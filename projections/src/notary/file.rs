//! The checkpoints that are kept beside the key, out of the reach of whoever rules the database.
//!
//! Notes stand one after another, the newest last. The file has a limit: the older half is let go, and loses
//! nothing, for each checkpoint covers all that was before it.

use std::io;
use std::path::{Path, PathBuf};

use domain::event::checkpoint::Signed;
use tokio::fs;
use tokio::io::AsyncWriteExt as _;

/// Lines of a note.
const LINES: usize = 7;
/// About 2,700 notes.
const BYTES_MAX: usize = 1024 * 1024;

/// All whole notes of a file, oldest first; nothing if there is no file.
pub async fn read(path: &Path) -> io::Result<Vec<Signed>> {
    let text = match fs::read_to_string(path).await {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let notes = notes(&text);
    let read = |(note, nth): (&str, usize)| {
        let place = |error| io::Error::other(format!("note {nth} in {}: {error}", path.display()));
        Signed::parse(note).map_err(place)
    };
    notes.into_iter().zip(1..).map(read).collect()
}

/// Adds a note that is not there yet, so that it outlives a crash of the machine.
pub(super) async fn append(path: &Path, signed: &Signed) -> io::Result<()> {
    let mut text = match fs::read_to_string(path).await {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let whole = notes(&text);
    if whole.last() == Some(&signed.note().as_str()) {
        return Ok(());
    }
    let length: usize = whole.iter().map(|note| note.len()).sum();
    let is_torn = length != text.len();
    if is_torn || length > BYTES_MAX {
        // A note that was cut by a crash, or too many: written anew, and put in place whole.
        let from = if length > BYTES_MAX {
            whole.len() / 2
        } else {
            0
        };
        text = whole.into_iter().skip(from).collect();
        text.push_str(&signed.note());
        let fresh = PathBuf::from(format!("{}.new", path.display()));
        let mut file = fs::File::create(&fresh).await?;
        file.write_all(text.as_bytes()).await?;
        file.sync_data().await?;
        return fs::rename(&fresh, path).await;
    }
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .await?;
    file.write_all(signed.note().as_bytes()).await?;
    file.sync_data().await
}

fn notes(text: &str) -> Vec<&str> {
    let mut notes = Vec::new();
    let mut start = 0;
    for (nth, (at, _)) in text.match_indices('\n').enumerate() {
        if (nth + 1) % LINES == 0 {
            notes.extend(text.get(start..=at));
            start = at + 1;
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::event::checkpoint::{Checkpoint, SigningKey};

    fn signed(size: u64) -> Signed {
        let checkpoint = Checkpoint {
            incarnation: uuid::Uuid::from_u128(1),
            size,
            root: [1; 32],
            chain: [2; 32],
            recorded_at_micros: 0,
        };
        checkpoint.sign(&SigningKey::new(&[1; 32]))
    }

    fn sizes(notes: &[Signed]) -> Vec<u64> {
        notes.iter().map(|note| note.checkpoint.size).collect()
    }

    #[tokio::test]
    async fn notes_are_kept_once_and_a_torn_one_is_let_go() {
        let dir = std::env::temp_dir().join(format!("strata-notes-{}", std::process::id()));
        fs::create_dir_all(&dir).await.unwrap();
        let path = dir.join("checkpoints.log");
        assert_eq!(read(&path).await.unwrap(), []);
        for size in [5, 5, 9] {
            append(&path, &signed(size)).await.unwrap();
        }
        assert_eq!(sizes(&read(&path).await.unwrap()), [5, 9]);
        let mut text = fs::read_to_string(&path).await.unwrap();
        text.push_str("strata-log/half of");
        fs::write(&path, &text).await.unwrap();
        assert_eq!(sizes(&read(&path).await.unwrap()), [5, 9]);
        append(&path, &signed(12)).await.unwrap();
        assert_eq!(sizes(&read(&path).await.unwrap()), [5, 9, 12]);
        let many: String = (1..4_000).map(|size| signed(size).note()).collect();
        fs::write(&path, &many).await.unwrap();
        append(&path, &signed(4_000)).await.unwrap();
        let kept = sizes(&read(&path).await.unwrap());
        assert_eq!((kept.len(), kept.last()), (2_001, Some(&4_000)));
        fs::write(&path, many.replace("batches", "botches"))
            .await
            .unwrap();
        assert!(
            read(&path)
                .await
                .unwrap_err()
                .to_string()
                .contains("note 1")
        );
        fs::remove_dir_all(&dir).await.unwrap();
    }
}
