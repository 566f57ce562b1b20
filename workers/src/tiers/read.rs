//! Reading what lies in a tier piece by piece, without a copy on this machine.

use std::pin::Pin;

use bytes::Bytes;
use domain::failure::Failure;
use futures_util::Stream;
use futures_util::stream::{StreamExt as _, try_unfold};
use tokio::io::AsyncReadExt as _;

use super::{Place, Tiers, inside, scratch};

/// Bytes of one piece of a file.
const PIECE_BYTES: usize = 1024 * 1024;

/// The content of something, in order.
pub(crate) struct Content {
    pub(crate) bytes: u64,
    pub(crate) pieces: Pin<Box<dyn Stream<Item = Result<Bytes, Failure>> + Send>>,
}

impl Tiers {
    /// The content of a place; nothing if there is nothing. What is reached through a link, or is no file, is a
    /// permanent failure.
    pub(crate) async fn read(&self, place: &Place) -> Result<Option<Content>, Failure> {
        let store = self.store(place.tier);
        let local = match store {
            None => Some((self.mount.clone(), self.mount.join(&place.name))),
            Some(store) => {
                let path = store.local_path(&place.key());
                store.root().map(std::path::Path::to_owned).zip(path)
            }
        };
        let opened = match (local, store) {
            (Some((root, path)), _) => file(&root, path, place).await,
            (None, Some(store)) => {
                let opened = store.stream(&place.key()).await?;
                Ok(opened.map(|(bytes, pieces)| Content {
                    bytes,
                    pieces: pieces.map(|piece| piece.map_err(Failure::from)).boxed(),
                }))
            }
            (None, None) => Ok(None),
        };
        match opened {
            Err(failure) if failure.code == "not_found" => Ok(None),
            opened => opened,
        }
    }
}

async fn file(
    root: &std::path::Path,
    path: std::path::PathBuf,
    place: &Place,
) -> Result<Option<Content>, Failure> {
    let local = inside(root, path, place)?;
    let file = tokio::fs::File::open(&local.path).await;
    let file = file.map_err(|error| scratch(&error))?;
    let pieces = try_unfold(file, |mut file| async move {
        let mut piece = vec![0; PIECE_BYTES];
        let read = file.read(&mut piece).await;
        let read = read.map_err(|error| scratch(&error))?;
        piece.truncate(read);
        Ok((read > 0).then(|| (Bytes::from(piece), file)))
    });
    Ok(Some(Content {
        bytes: local.bytes,
        pieces: pieces.boxed(),
    }))
}
