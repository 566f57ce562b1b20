//! Whom PostgreSQL runs as: it refuses root, so root hands it to an unprivileged user.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::exit::Stop;

/// Tried in this order.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// The user to drop to: none unless we are root. `data` is where an earlier start left files,
    /// whose owner stays the same.
    pub(crate) fn to_drop_to(data: &Path) -> anyhow::Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let owner = fs::metadata(data).ok().filter(|owner| owner.uid() != 0);
        if let Some(owner) = owner {
            let (uid, gid) = (owner.uid(), owner.gid());
            let name =
                named(&users, |user| user.uid == uid).map_or_else(|| uid.to_string(), |u| u.name);
            return Ok(Some(Self { name, uid, gid }));
        }
        let mut found = UNPRIVILEGED
            .iter()
            .filter_map(|name| named(&users, |user| user.name == *name));
        found.next().map(Some).ok_or_else(|| {
            Stop::unreachable(
                "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`",
                "start Strata as an ordinary user",
            )
        })
    }

    /// Gives a file or folder to this user.
    pub(crate) fn take(&self, path: &Path) -> std::io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// The first folder on the way to `path`, itself included, that this user may not enter.
    pub(crate) fn stopped_at(&self, path: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        let closed = way.into_iter().find(|folder| !self.may_enter(folder));
        closed.map(Path::to_path_buf)
    }

    fn may_enter(&self, folder: &Path) -> bool {
        let Ok(meta) = fs::metadata(folder) else {
            return false;
        };
        let bit = if meta.uid() == self.uid {
            0o100
        } else if meta.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        meta.mode() & bit != 0
    }
}

/// The first line of a passwd file that fits.
fn named(users: &str, fits: impl Fn(&User) -> bool) -> Option<User> {
    let user = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        Some(User {
            name: (*fields.first()?).to_owned(),
            uid: fields.get(2)?.parse().ok()?,
            gid: fields.get(3)?.parse().ok()?,
        })
    };
    users.lines().filter_map(user).find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name() {
        let users = "root:x:0:0::/:/bin/sh\nbroken\nnobody:x:65534:65533::/:/bin/false\n";
        let found = named(users, |user| user.name == "nobody").unwrap();
        assert_eq!((found.uid, found.gid), (65534, 65533));
        assert_eq!(named(users, |user| user.name == "postgres"), None);
    }

    #[test]
    fn a_closed_folder_on_the_way_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let top = std::env::temp_dir().join(format!("strata-closed-{}", std::process::id()));
        let below = top.join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::set_permissions(top.join("a"), fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = User {
            name: "stranger".into(),
            uid: 3_999_999,
            gid: 3_999_999,
        };
        assert_eq!(stranger.stopped_at(&below), Some(top.join("a")));
        fs::remove_dir_all(&top).unwrap();
    }
}
