//! Where data lies: bronze as it came, silver as it was made, gold as it is given out, and the worker's mount.
//!
//! Data is named by `bronze://container/path/to.tif`; other addresses are refused, so that nobody can make a worker
//! read from elsewhere. A directory of this machine is read in place, never through a link that leads out of it.

mod mount;
mod read;

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use domain::failure::{Failure, FailureClass};
use serde::Deserialize;

use crate::child::{Object, Source};
use crate::handler::Context;
use crate::store::Store;

/// Longest name of a blob.
const NAME_BYTES_MAX: usize = 1_024;
/// Files that belong to a shapefile.
const SIDECARS: [&str; 5] = ["shx", "dbf", "prj", "cpg", "qix"];

/// The stores of a worker.
#[derive(Debug, Clone)]
pub struct Tiers {
    pub bronze: Store,
    pub silver: Store,
    pub gold: Store,
    /// A directory that workers share, or have for themselves.
    pub mount: PathBuf,
    /// Bytes that are brought to this machine for one task.
    pub fetch_bytes_max: u64,
}

/// The parameters that name a source; handlers declare which of them they take.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SourceParams {
    local_path: Option<String>,
    source_url: Option<String>,
    blob_path: Option<String>,
    container_name: Option<String>,
    blob_name: Option<String>,
    storage_account: Option<String>,
}

/// Something in a tier or on the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `bronze`, `silver`, `gold` or `mount`.
    pub tier: &'static str,
    /// Empty on the mount.
    pub container: String,
    pub name: String,
}

/// A source as a file of this machine.
#[derive(Debug, Clone)]
pub struct Local {
    pub place: Place,
    pub path: PathBuf,
    pub bytes: u64,
}

impl SourceParams {
    /// What they name. Blobs without an address are in bronze.
    fn place(&self) -> Result<Place, Failure> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(path) = given(&self.local_path) {
            return Place::new("mount", "", &path);
        }
        if let Some(url) = given(&self.source_url) {
            return Place::parse(&url);
        }
        if let Some(path) = given(&self.blob_path) {
            let (container, name) = path.split_once('/').unwrap_or((&path, ""));
            return Place::new("bronze", container, name);
        }
        match (given(&self.container_name), given(&self.blob_name)) {
            (Some(container), Some(name)) => Place::new("bronze", &container, &name),
            _ => Err(permanent("no_source", "no source is named")),
        }
    }
}

impl Place {
    /// Checks the parts of a place.
    pub fn new(tier: &'static str, container: &str, name: &str) -> Result<Self, Failure> {
        let whole = if container.is_empty() {
            name.to_owned()
        } else {
            format!("{container}/{name}")
        };
        let plain = Path::new(&whole)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let odd = whole.contains("//")
            || whole.contains('\\')
            || whole.contains(char::is_control)
            || whole.ends_with('/');
        let nowhere = (container.is_empty() && tier != "mount") || container.contains('/');
        if name.is_empty() || nowhere || !plain || odd || whole.len() > NAME_BYTES_MAX {
            return Err(permanent(
                "bad_path",
                "a name has parts separated by single slashes, without `..`, `\\` and control characters, and \
                 does not begin with a slash",
            ));
        }
        Ok(Self {
            tier,
            container: container.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Reads `silver://container/name`.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let unknown = || {
            permanent(
                "bad_url",
                "a source is named by bronze://, silver://, gold:// or mount://, container and name",
            )
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(unknown)?;
        let tier = match scheme {
            "bronze" => "bronze",
            "silver" => "silver",
            "gold" => "gold",
            "mount" => return Self::new("mount", "", rest),
            _ => return Err(unknown()),
        };
        let (container, name) = rest.split_once('/').ok_or_else(unknown)?;
        Self::new(tier, container, name)
    }

    /// The address that [`Place::parse`] reads.
    #[must_use]
    pub fn url(&self) -> String {
        match self.container.as_str() {
            "" => format!("{}://{}", self.tier, self.name),
            container => format!("{}://{container}/{}", self.tier, self.name),
        }
    }

    /// The name without folders and ending, in letters that are safe everywhere.
    #[must_use]
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem().and_then(OsStr::to_str);
        let stem = stem.unwrap_or_default().chars();
        let stem: String = stem
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .take(100)
            .collect();
        if stem.is_empty() {
            "data".to_owned()
        } else {
            stem
        }
    }

    /// The container of what is made from it.
    #[must_use]
    pub fn container_of_results(&self) -> &str {
        match self.container.as_str() {
            "" => "mount",
            container => container,
        }
    }

    fn key(&self) -> String {
        format!("{}/{}", self.container, self.name)
    }
}

impl Tiers {
    fn store(&self, tier: &str) -> Option<&Store> {
        match tier {
            "bronze" => Some(&self.bronze),
            "silver" => Some(&self.silver),
            "gold" => Some(&self.gold),
            _ => None,
        }
    }

    /// What parameters name, in the account that they name.
    pub fn place(&self, params: &SourceParams) -> Result<Place, Failure> {
        let place = params.place()?;
        let wanted = params.storage_account.as_deref().unwrap_or_default();
        let found = self.store(place.tier).and_then(Store::account);
        if wanted.is_empty() || Some(wanted) == found {
            return Ok(place);
        }
        let message = match found {
            Some(found) => format!("{} is in the account `{found}`", place.url()),
            None => format!("{} is in no storage account", place.url()),
        };
        Err(permanent(
            "storage_account",
            &format!(
                "{message}, as this worker is set up, and not in `{wanted}`; leave `storage_account` out"
            ),
        ))
    }

    /// The source for whoever reads only parts of it. A second attempt reads a copy: what cannot be read there is
    /// wrong with the data, not with the way to it.
    pub async fn in_parts(&self, ctx: &Context, place: &Place) -> Result<Source, Failure> {
        let store = self.store(place.tier).filter(|_| ctx.attempt() == 1);
        let in_place = store.and_then(|store| store.in_place(&place.key()));
        match (store, in_place) {
            (Some(store), Some((path, settings))) => {
                let bytes = store.head(&place.key()).await?;
                let bytes = bytes.ok_or_else(|| missing(place))?;
                let object = Some(Object { bytes, settings });
                Ok(Source { path, object })
            }
            _ => Ok(self.fetch(ctx, place).await?.path.into()),
        }
    }

    /// The source as a file: in place if it lies on this machine, else as a copy in the scratch directory.
    pub async fn fetch(&self, ctx: &Context, place: &Place) -> Result<Local, Failure> {
        let Some(store) = self.store(place.tier) else {
            let path = self.mount.join(&place.name);
            return inside(&self.mount, path, place);
        };
        if let (Some(root), Some(path)) = (store.root(), store.local_path(&place.key())) {
            return inside(root, path, place);
        }
        let folder = ctx.scratch()?.join("source");
        tokio::fs::create_dir_all(&folder)
            .await
            .map_err(|error| scratch(&error))?;
        let file_name = Path::new(&place.name).file_name().unwrap_or_default();
        let path = folder.join(file_name);
        let bytes = self.bring(ctx, store, &place.key(), &path).await?;
        let bytes = bytes.ok_or_else(|| missing(place))?;
        if path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("shp"))
        {
            for end in SIDECARS {
                let key = Path::new(&place.key()).with_extension(end);
                let beside = path.with_extension(end);
                self.bring(ctx, store, &key.to_string_lossy(), &beside)
                    .await?;
            }
        }
        let place = place.clone();
        Ok(Local { place, path, bytes })
    }

    async fn bring(
        &self,
        ctx: &Context,
        store: &Store,
        key: &str,
        path: &Path,
    ) -> Result<Option<u64>, Failure> {
        let Some(bytes) = store.head(key).await? else {
            return Ok(None);
        };
        if bytes > self.fetch_bytes_max {
            let message = format!(
                "the source has {bytes} bytes, and a task may bring {} to its worker",
                self.fetch_bytes_max
            );
            return Err(permanent("source_too_large", &message));
        }
        ctx.unless_cancelled(store.download(key, path)).await??;
        Ok(Some(bytes))
    }

    /// Where others find what lies here.
    #[must_use]
    pub fn href(&self, place: &Place) -> String {
        match self.store(place.tier) {
            Some(store) => store.href(&place.key()),
            None => place.url(),
        }
    }

    /// Puts a finished file into silver, under a name that holds the hash of its content: what is there once is never
    /// replaced by something else, and a second run finds it.
    pub async fn publish(
        &self,
        file: &Path,
        container: &str,
        folder: &str,
        stem: &str,
    ) -> Result<Published, Failure> {
        let (sha256, bytes) = hash(file).await?;
        let end = file.extension().and_then(OsStr::to_str).unwrap_or("bin");
        let short = sha256.get(..12).unwrap_or_default();
        let folder = folder.trim_matches('/');
        let name = match folder {
            "" => format!("{stem}-{short}.{end}"),
            folder => format!("{folder}/{stem}-{short}.{end}"),
        };
        let place = Place::new("silver", container, &name)?;
        self.silver.move_in(&place.key(), file).await?;
        Ok(Published {
            place,
            sha256,
            bytes,
        })
    }
}

/// A file that is where it stays.
#[derive(Debug, Clone)]
pub struct Published {
    pub place: Place,
    pub sha256: String,
    pub bytes: u64,
}

impl Published {
    /// SHA-256 as a multihash.
    #[must_use]
    pub fn multihash(&self) -> String {
        format!("1220{}", self.sha256)
    }
}

/// A file below a root, reached without any link that leads out of it.
fn inside(root: &Path, path: PathBuf, place: &Place) -> Result<Local, Failure> {
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => missing(place),
        _ => permanent("unreadable", &format!("{} cannot be read", place.url())),
    })?;
    let root = root.canonicalize().map_err(|error| scratch(&error))?;
    if !real.starts_with(&root) || real != root.join(place_below(&path, &root)) {
        return Err(permanent(
            "bad_path",
            &format!(
                "{} is reached through a link, which is not followed",
                place.url()
            ),
        ));
    }
    let meta = real.metadata().map_err(|error| scratch(&error))?;
    if !meta.is_file() {
        return Err(permanent(
            "not_a_file",
            &format!("{} is not a file", place.url()),
        ));
    }
    if std::fs::File::open(&real).is_err() {
        return Err(permanent(
            "unreadable",
            &format!("{} may not be read", place.url()),
        ));
    }
    Ok(Local {
        place: place.clone(),
        path: real,
        bytes: meta.len(),
    })
}

fn place_below(path: &Path, root: &Path) -> PathBuf {
    path.strip_prefix(root)
        .map_or_else(|_| path.to_owned(), Path::to_owned)
}

/// SHA-256 and size of a file.
pub(crate) async fn hash(file: &Path) -> Result<(String, u64), Failure> {
    let file = file.to_owned();
    let hashed = tokio::task::spawn_blocking(move || crate::store::hash_file(&file)).await;
    hashed
        .map_err(|error| scratch(&std::io::Error::other(error)))?
        .map_err(|error| scratch(&error))
}

fn missing(place: &Place) -> Failure {
    permanent("not_found", &format!("there is nothing at {}", place.url()))
}

fn permanent(code: &str, message: &str) -> Failure {
    Failure::new(FailureClass::Permanent, code, message)
}

/// A directory of the worker that cannot be used.
pub(crate) fn scratch(error: &std::io::Error) -> Failure {
    let message = format!("the files of the worker cannot be used: {error}");
    Failure::new(FailureClass::Transient, "scratch", &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_by_address_and_nothing_leads_out() {
        let place = Place::parse("bronze://uploads/a/b.tif").unwrap();
        assert_eq!(
            (place.container.as_str(), place.name.as_str()),
            ("uploads", "a/b.tif")
        );
        assert_eq!(place.url(), "bronze://uploads/a/b.tif");
        for bad in [
            "http://example.org/a.tif",
            "/etc/passwd",
            "bronze://a",
            "bronze://a/../b",
            "bronze://../a/b",
            "bronze:///etc/passwd",
            "bronze://a//b",
            "mount:///etc/passwd",
            "mount://../x",
            "bronze://a/b\u{0}c",
            "bronze://a/b\\..\\c",
            "/vsicurl/http://x/y.tif",
        ] {
            assert!(Place::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Place::parse("mount://a/ä b.tif").unwrap().stem(), "__b");
    }
}
