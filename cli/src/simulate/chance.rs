//! Numbers that look drawn and are not: the same seed and key always give the same.

/// Draws from a seed, keyed by words such as a node and an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The chance of one thing, independent of all others.
    pub(super) fn of(self, key: &str) -> Self {
        // FNV-1a: short, and good enough before the mixing below.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mix(self.0 ^ hash))
    }

    /// A whole number from `least` to `most`.
    pub(super) fn between(self, least: u32, most: u32) -> u32 {
        let count = u64::from(most.saturating_sub(least)) + 1;
        let drawn = u32::try_from(self.0 % count).unwrap_or_default();
        least.saturating_add(drawn)
    }
}

/// The finishing step of splitmix64.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_repeatable_in_range_and_differ_by_seed_and_key() {
        let draw = |seed, key: &str| Chance::new(seed).of(key).between(1, 1_000_000);
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        let all: Vec<u32> = (0..1_000)
            .map(|n| Chance::new(n).of("x").between(3, 5))
            .collect();
        assert!((3..=5).all(|n| all.contains(&n)));
        assert!(all.iter().all(|n| (3..=5).contains(n)));
    }
}
