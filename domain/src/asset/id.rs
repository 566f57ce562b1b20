//! The id of an asset, which follows from where it comes from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::json::canonical;
use crate::platform::Refs;

/// 32 lower-case hex digits that stand for a platform and its refs (O-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetId(u128);

/// Why a text is not the id of an asset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an asset id; expected 32 lower-case hex digits")]
pub struct InvalidAssetId {
    text: String,
}

impl AssetId {
    /// The id of the asset with these refs on this platform: the first half of the SHA-256 over
    /// the platform's id, a bar, and the refs as compact JSON with sorted keys.
    #[must_use]
    pub fn derive(platform_id: &str, refs: &Refs) -> Self {
        let refs = canonical(&Value::Object(refs.clone()));
        let digest = Sha256::digest(format!("{platform_id}|{refs}"));
        let first_half = digest.iter().take(16);
        Self(first_half.fold(0, |number, byte| (number << 8) | u128::from(*byte)))
    }
}

impl fmt::Display for AssetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for AssetId {
    type Err = InvalidAssetId;

    fn from_str(text: &str) -> Result<Self, InvalidAssetId> {
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        Some(text)
            .filter(|text| text.len() == 32 && text.bytes().all(is_hex))
            .and_then(|text| u128::from_str_radix(text, 16).ok())
            .map(Self)
            .ok_or_else(|| InvalidAssetId {
                text: text.chars().take(80).collect(),
            })
    }
}

impl Serialize for AssetId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AssetId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VECTOR: &str = "1bf56c9b14c30fa7df4a411b86ba4d2b";

    fn refs(text: &str) -> Refs {
        serde_json::from_str(text).expect("a JSON object")
    }

    #[test]
    fn the_id_of_the_test_vector_is_the_same_in_any_key_order() {
        for text in [
            r#"{"dataset_id": "0038272", "resource_id": "shapefile", "version_id": "2025-01"}"#,
            r#"{"version_id": "2025-01", "dataset_id": "0038272", "resource_id": "shapefile"}"#,
            r#"{"resource_id": "shapefile", "version_id": "2025-01", "dataset_id": "0038272"}"#,
        ] {
            assert_eq!(AssetId::derive("ddh", &refs(text)).to_string(), VECTOR);
        }
    }

    #[test]
    fn only_32_lower_case_hex_digits_are_an_id() {
        let id: AssetId = VECTOR.parse().expect("valid");
        assert_eq!(id.to_string(), VECTOR);
        assert_eq!(serde_json::to_value(id).ok(), Some(Value::from(VECTOR)));
        assert_eq!(serde_json::from_value(Value::from(VECTOR)).ok(), Some(id));
        let zero = "0".repeat(32);
        assert_eq!(zero.parse::<AssetId>().map(|id| id.to_string()), Ok(zero));
        let signed = format!("+{}", "0".repeat(31));
        for text in ["", "1bf5", &VECTOR.to_uppercase(), &signed, &"g".repeat(32)] {
            assert!(text.parse::<AssetId>().is_err(), "{text}");
            assert!(serde_json::from_value::<AssetId>(Value::from(text)).is_err());
        }
        assert!(format!("{VECTOR}0").parse::<AssetId>().is_err());
    }

    #[test]
    fn a_number_and_its_text_are_different_refs() {
        let number = AssetId::derive("arcgis", &refs(r#"{"layer_index": 0}"#));
        let text = AssetId::derive("arcgis", &refs(r#"{"layer_index": "0"}"#));
        assert_ne!(number, text);
    }

    proptest! {
        #[test]
        fn the_same_refs_on_two_platforms_are_two_assets(
            a in "[a-z][a-z0-9_-]{0,63}",
            b in "[a-z][a-z0-9_-]{0,63}",
            values in proptest::collection::btree_map("[a-z_]{1,8}", ".{0,16}", 0..4),
        ) {
            prop_assume!(a != b);
            let forward: Refs = values.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
            let back: Refs = values.into_iter().rev().map(|(k, v)| (k, v.into())).collect();
            prop_assert_eq!(AssetId::derive(&a, &forward), AssetId::derive(&a, &back));
            prop_assert_ne!(AssetId::derive(&a, &forward), AssetId::derive(&b, &forward));
        }
    }
}
