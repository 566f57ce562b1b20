//! The store as a directory; the remote ones share all code but the opening.

use bytes::Bytes;

use super::{StoreError, open};
use crate::testing::TempDir;

#[tokio::test]
async fn what_is_put_comes_back_with_its_hash() {
    let dir = TempDir::new("store");
    let store = open(dir.path().to_str().unwrap()).unwrap();
    let blob = store.put("a/b.json", Bytes::from("{}")).await.unwrap();
    assert_eq!((blob.uri.as_str(), blob.size_bytes), ("a/b.json", 2));
    assert_eq!(store.get("a/b.json").await.unwrap(), "{}");
    assert_eq!(store.head("a/b.json").await.unwrap(), Some(2));
    assert_eq!(store.sha256("a/b.json").await.unwrap(), blob.sha256);
    assert!(store.get_checked("a/b.json", &blob.sha256).await.is_ok());
    let other = "0".repeat(64);
    let changed = store.get_checked("a/b.json", &other).await;
    assert!(matches!(changed, Err(StoreError::Changed { .. })));
    let file = store.local_path("a/b.json").unwrap();
    let copy = store.put_file("copy.json", &file).await.unwrap();
    assert_eq!(copy.sha256, blob.sha256);
    store.delete("a/b.json").await.unwrap();
    store.delete("a/b.json").await.unwrap();
    assert!(!store.exists("a/b.json").await.unwrap());
    let gone = store.get("a/b.json").await;
    assert!(matches!(gone, Err(StoreError::Missing { .. })));
}

#[tokio::test]
async fn keys_cannot_leave_the_root() {
    let dir = TempDir::new("keys");
    let store = open(&format!("file://{}", dir.path().display())).unwrap();
    for key in ["../secret", "a/../../secret", "a/./b", ""] {
        let put = store.put(key, Bytes::new()).await;
        assert!(put.is_err(), "{key}");
    }
}

#[test]
fn unknown_addresses_are_refused_in_words() {
    let refused = open("ftp://someone:secret@host/dir")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("`ftp` is not known"), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
    assert!(open("").is_err());
}
