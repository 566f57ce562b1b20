//! From an address to a store.

use std::path::Path as FilePath;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use super::vsi::{Variables, vsi};
use super::{Store, StoreError};

/// Opens the store at an address.
///
/// A plain path or `file:///dir` is a directory, which is made; `s3://bucket/prefix` and
/// `az://container/prefix` take keys and endpoints from the environment (`AWS_...`, `AZURE_...`).
pub fn open(address: &str) -> Result<Store, StoreError> {
    if !address.contains("://") {
        return directory(address, FilePath::new(address));
    }
    let url = Url::parse(address).map_err(|error| refused(address, &error.to_string()))?;
    match url.scheme() {
        "file" => {
            let path = url.to_file_path();
            let path = path.map_err(|()| refused(address, "not a path of this machine"))?;
            directory(address, &path)
        }
        "s3" | "s3a" | "az" | "azure" | "abfs" | "abfss" => remote(address, &url),
        other => Err(refused(
            address,
            &format!("the scheme `{other}` is not known; use a path, file, s3 or az"),
        )),
    }
}

fn directory(address: &str, path: &FilePath) -> Result<Store, StoreError> {
    if address.is_empty() {
        return Err(refused(address, "the path is empty"));
    }
    let unusable = |error: std::io::Error| refused(address, &error.to_string());
    std::fs::create_dir_all(path).map_err(unusable)?;
    let root = path.canonicalize().map_err(unusable)?;
    let inner = LocalFileSystem::new_with_prefix(&root);
    // The log vouches for what lies here, so it must outlive a power cut as the log does.
    let inner = inner.map_err(|error| refused(address, &error.to_string()))?;
    Ok(Store {
        inner: Arc::new(inner.with_fsync(true)),
        prefix: Path::default(),
        base: format!("file://{}", root.display()),
        local: Some(root),
        account: None,
        vsi: None,
    })
}

fn remote(address: &str, url: &Url) -> Result<Store, StoreError> {
    let variables = std::env::vars().filter_map(|(name, value)| {
        let known = name.starts_with("AWS_") || name.starts_with("AZURE_");
        known.then(|| (name.to_ascii_lowercase(), value))
    });
    let variables = Variables(variables.collect());
    let parsed = object_store::parse_url_opts(url, &variables.0);
    let (inner, prefix) = parsed.map_err(|error| refused(address, &error.to_string()))?;
    Ok(Store {
        inner: Arc::from(inner),
        prefix,
        base: shown(address).trim_end_matches('/').to_owned(),
        local: None,
        account: variables.account(url),
        vsi: vsi(url, &variables),
    })
}

/// The address without anything that may be a secret.
fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() => format!(
            "{}://{}{}",
            url.scheme(),
            url.host_str().unwrap_or_default(),
            url.path()
        ),
        _ => address.chars().take(200).collect(),
    }
}

fn refused(address: &str, reason: &str) -> StoreError {
    StoreError::Address {
        url: shown(address),
        reason: reason.to_owned(),
    }
}
