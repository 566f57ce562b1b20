//! What may enter an asset: bounds on everything that comes from outside.

use std::collections::BTreeSet;

use super::{Artifact, AssetId, Rejection};
use crate::json::{is_sha256_hex, size_bytes};
use crate::platform::{Refs, is_platform_id};

/// Largest refs, as compact JSON; each single one is bounded by its platform.
pub const REFS_BYTES_MAX: usize = 64 * 1024;
/// How many artifacts one revision may list.
pub const ARTIFACTS_MAX: usize = 1_000;
/// Largest list of artifacts, as compact JSON.
pub const ARTIFACT_BYTES_MAX: usize = 512 * 1024;
/// Longest name of an organisation or an artifact.
pub const NAME_BYTES_MAX: usize = 256;
/// Longest address of an artifact.
pub const URI_BYTES_MAX: usize = 2048;

pub(super) fn check_identity(
    asset_id: AssetId,
    org_id: &str,
    platform_id: &str,
    refs: &Refs,
) -> Result<(), Rejection> {
    if !is_platform_id(platform_id) {
        let platform_id = platform_id.chars().take(80).collect();
        return Err(Rejection::InvalidPlatform { platform_id });
    }
    if !is_name(org_id) {
        return Err(Rejection::InvalidName { field: "org_id" });
    }
    let size_bytes = size_bytes(refs);
    if size_bytes > REFS_BYTES_MAX {
        return Err(Rejection::RefsTooLarge { size_bytes });
    }
    let expected = AssetId::derive(platform_id, refs);
    if asset_id != expected {
        let given = asset_id;
        return Err(Rejection::OtherAsset { given, expected });
    }
    Ok(())
}

pub(super) fn check_content(content_hash: &str, artifacts: &[Artifact]) -> Result<(), Rejection> {
    if !is_sha256_hex(content_hash) {
        return Err(Rejection::InvalidHash);
    }
    let (count, size_bytes) = (artifacts.len(), size_bytes(artifacts));
    if count > ARTIFACTS_MAX || size_bytes > ARTIFACT_BYTES_MAX {
        return Err(Rejection::TooManyArtifacts { count, size_bytes });
    }
    let mut names = BTreeSet::new();
    for artifact in artifacts {
        let sha256_ok = artifact.sha256.as_deref().is_none_or(is_sha256_hex);
        let form_ok = is_name(&artifact.name) && is_uri(&artifact.uri) && sha256_ok;
        let is_new = names.insert(&artifact.name);
        if !form_ok || !is_new {
            let name = artifact.name.chars().take(80).collect();
            return Err(Rejection::InvalidArtifact { name });
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn is_uri(text: &str) -> bool {
    (1..=URI_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}
