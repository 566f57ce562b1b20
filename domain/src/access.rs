//! What the holder of a key may do within its organisation (T-70).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The role of a key; each may do what the ones before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    Reader,
    /// Asks for work and steers it.
    Writer,
    /// Reviews, deletes, rolls back, and gives keys.
    Admin,
}

/// Why a text is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role; expected `reader`, `writer` or `admin`")]
pub struct InvalidRole(String);

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Writer, Self::Admin];

    /// Whether this role may do what needs `needed`.
    #[must_use]
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        let role = Self::ALL.into_iter().find(|role| role.as_str() == text);
        role.ok_or_else(|| InvalidRole(text.chars().take(40).collect()))
    }
}

/// Whether a text may be the id of an organisation: `[a-z][a-z0-9_-]{0,62}`.
#[must_use]
pub fn is_org_id(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_weaker_ones_may() {
        let may = |role: Role| Role::ALL.map(|needed| role.allows(needed));
        assert_eq!(may(Role::Reader), [true, false, false]);
        assert_eq!(may(Role::Writer), [true, true, false]);
        assert_eq!(may(Role::Admin), [true, true, true]);
    }

    #[test]
    fn roles_are_read_by_their_words() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().is_err());
        assert!(is_org_id("acme-1"));
        for bad in ["", "Acme", "1a", "a b", &"x".repeat(64)] {
            assert!(!is_org_id(bad), "{bad}");
        }
    }
}
