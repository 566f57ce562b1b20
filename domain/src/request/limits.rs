//! What a submission may look like: bounds on everything that comes from outside.

use super::{CallbackRef, Rejection, Submission};
use crate::asset::AssetId;
use crate::json::{is_sha256_hex, size_bytes};
use crate::platform::is_platform_id;

/// Largest inputs, as compact JSON.
pub const INPUT_BYTES_MAX: usize = 512 * 1024;
/// Largest refs, as compact JSON; each single one is bounded by its platform.
pub const REFS_BYTES_MAX: usize = 64 * 1024;
/// How many callbacks a request may have.
pub const CALLBACKS_MAX: usize = 8;
/// Longest address of a callback.
pub const URL_BYTES_MAX: usize = 2048;
/// How many tries a callback may have after the first one.
pub const CALLBACK_RETRIES_MAX: u32 = 20;
/// How many seconds one try of a callback may take.
pub const CALLBACK_SECONDS_MAX: u32 = 60;
/// Longest name of an organisation, a workflow or a secret.
pub const NAME_BYTES_MAX: usize = 64;

pub(super) fn check(submission: &Submission) -> Result<(), Rejection> {
    check_names(submission)?;
    check_sizes(submission)?;
    for (index, callback) in submission.callbacks.iter().enumerate() {
        check_callback(index, callback)?;
    }
    if let Some(given) = submission.asset_id {
        let expected = AssetId::derive(&submission.platform_id, &submission.refs);
        if given != expected {
            return Err(Rejection::OtherAsset { given, expected });
        }
    }
    Ok(())
}

fn check_names(submission: &Submission) -> Result<(), Rejection> {
    if !is_platform_id(&submission.platform_id) {
        let platform_id = submission.platform_id.chars().take(80).collect();
        return Err(Rejection::InvalidPlatform { platform_id });
    }
    for (field, name) in [
        ("org_id", &submission.org_id),
        ("workflow_id", &submission.workflow_id),
    ] {
        if !is_name(name) {
            return Err(Rejection::InvalidName { field });
        }
    }
    if submission.workflow_version == Some(0) {
        return Err(Rejection::VersionZero);
    }
    if !is_sha256_hex(&submission.body_hash) {
        return Err(Rejection::InvalidHash);
    }
    Ok(())
}

fn check_sizes(submission: &Submission) -> Result<(), Rejection> {
    let inputs = size_bytes(&submission.inputs);
    if inputs > INPUT_BYTES_MAX {
        return Err(Rejection::InputsTooLarge { size_bytes: inputs });
    }
    let refs = size_bytes(&submission.refs);
    if refs > REFS_BYTES_MAX {
        return Err(Rejection::RefsTooLarge { size_bytes: refs });
    }
    let count = submission.callbacks.len();
    if count > CALLBACKS_MAX {
        return Err(Rejection::TooManyCallbacks { count });
    }
    Ok(())
}

fn check_callback(index: usize, callback: &CallbackRef) -> Result<(), Rejection> {
    let field = "secret_ref";
    match &callback.secret_ref {
        Some(name) if !is_name(name) => return Err(Rejection::InvalidName { field }),
        Some(_) | None => {}
    }
    let retries = callback.retry_count.unwrap_or(CALLBACK_RETRIES_MAX);
    let seconds = callback.timeout_seconds.unwrap_or(CALLBACK_SECONDS_MAX);
    if retries > CALLBACK_RETRIES_MAX || !(1..=CALLBACK_SECONDS_MAX).contains(&seconds) {
        return Err(Rejection::InvalidPatience { index });
    }
    if is_callable(&callback.url) {
        Ok(())
    } else {
        Err(Rejection::InvalidCallback { index })
    }
}

/// Whether an address is of the web and carries no credentials, which would enter the log.
///
/// Whether it may be called is decided later, by the client that resolves its name.
fn is_callable(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    // A backslash ends the host too: some clients read it as a slash.
    let host = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    !host.is_empty()
        && !host.contains('@')
        && url.len() <= URL_BYTES_MAX
        && !url.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}
