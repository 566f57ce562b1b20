//! Tamper evidence: a leaf per event, a chain over batches.

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// What the leaf of an event is made of, besides nothing else: position and time belong to the batch.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    pub stream_id: &'a str,
    pub version: u64,
    pub kind: &'a str,
    pub schema_ver: u16,
    pub org_id: &'a str,
    pub meta: &'a [u8],
    pub payload: &'a [u8],
}

/// The leaf: every part with its length before it, so that no two events share their bytes.
#[must_use]
pub fn leaf_hash(leaf: &Leaf<'_>) -> Hash {
    let version = leaf.version.to_be_bytes();
    let schema_ver = leaf.schema_ver.to_be_bytes();
    let parts: [&[u8]; 7] = [
        leaf.stream_id.as_bytes(),
        &version,
        leaf.kind.as_bytes(),
        &schema_ver,
        leaf.org_id.as_bytes(),
        leaf.meta,
        leaf.payload,
    ];
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The hash of a batch, over the one before it and its own leaves in the order of their positions.
#[must_use]
pub fn batch_hash(
    previous: &Hash,
    first_pos: u64,
    recorded_at_micros: i64,
    leaves: &[Hash],
) -> Hash {
    let count = leaves.len() as u64;
    let mut batch = BatchHasher::new(previous, first_pos, count, recorded_at_micros);
    for leaf in leaves {
        batch.push(leaf);
    }
    batch.finish()
}

/// The same, leaf by leaf, for whoever does not hold the batch at once.
#[derive(Debug, Clone)]
pub struct BatchHasher(Sha256);

impl BatchHasher {
    /// Begins a batch that is to have so many leaves.
    #[must_use]
    pub fn new(previous: &Hash, first_pos: u64, count: u64, recorded_at_micros: i64) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(previous);
        hasher.update(first_pos.to_be_bytes());
        hasher.update(count.to_be_bytes());
        hasher.update(recorded_at_micros.to_be_bytes());
        Self(hasher)
    }

    pub fn push(&mut self, leaf: &Hash) {
        self.0.update(leaf);
    }

    #[must_use]
    pub fn finish(self) -> Hash {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf<'a>(stream_id: &'a str, kind: &'a str, payload: &'a [u8]) -> Leaf<'a> {
        Leaf {
            stream_id,
            version: 1,
            kind,
            schema_ver: 1,
            org_id: "o",
            meta: b"{}",
            payload,
        }
    }

    #[test]
    fn moving_a_byte_between_parts_changes_the_leaf() {
        let a = leaf_hash(&leaf("job:1", "xa", b"b"));
        assert_ne!(a, leaf_hash(&leaf("job:1x", "a", b"b")));
        assert_ne!(a, leaf_hash(&leaf("job:1", "x", b"ab")));
        assert_ne!(
            a,
            leaf_hash(&Leaf {
                version: 2,
                ..leaf("job:1", "xa", b"b")
            })
        );
        assert_ne!(
            a,
            leaf_hash(&Leaf {
                org_id: "p",
                ..leaf("job:1", "xa", b"b")
            })
        );
    }

    proptest! {
        #[test]
        fn any_changed_byte_breaks_the_chain(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..20), 1..8),
            which in any::<prop::sample::Index>(),
            flip in 1..=255_u8,
        ) {
            let chain = |payloads: &[Vec<u8>]| {
                payloads.chunks(3).zip(0_u64..).fold([0; 32], |previous, (batch, n)| {
                    let leaves: Vec<_> =
                        batch.iter().map(|p| leaf_hash(&leaf("s", "k", p))).collect();
                    batch_hash(&previous, n * 3 + 1, 5, &leaves)
                })
            };
            let mut changed = payloads.clone();
            let place = which.index(changed.len());
            changed[place][0] ^= flip;
            prop_assert_ne!(chain(&payloads), chain(&changed));
            let mut swapped = payloads.clone();
            swapped.reverse();
            prop_assert_eq!(chain(&payloads) == chain(&swapped), payloads == swapped);
        }
    }
}
