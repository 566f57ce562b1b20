//! Who asks, and what they may do. Every row that leaves this package was asked for through a [`Viewer`]:
//! `projections::read` takes the organisation that it gives, and nothing here reads without one.

use commands::access::Identity;
use domain::access::Role;

use crate::error::Fault;

/// The holder of the key of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    identity: Identity,
    /// W3C trace context of the request, if it brought one.
    pub trace: Option<String>,
}

impl Viewer {
    pub(crate) fn new(identity: Identity, trace: Option<String>) -> Self {
        Self { identity, trace }
    }

    /// The organisation whose rows they may see.
    #[must_use]
    pub fn org(&self) -> &str {
        &self.identity.org_id
    }

    /// The opaque id that their events carry.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.identity.key_id
    }

    /// Their role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.identity.role
    }

    /// Whether they look after the installation.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.identity.operator
    }

    /// Refuses whoever has a weaker role.
    pub fn require(&self, needed: Role) -> Result<&Self, Fault> {
        if self.identity.role.allows(needed) {
            Ok(self)
        } else {
            Err(Fault::forbidden(needed.as_str()))
        }
    }

    /// Refuses whoever does not look after the installation.
    pub fn require_operator(&self) -> Result<&Self, Fault> {
        if self.identity.operator {
            Ok(self)
        } else {
            Err(Fault::forbidden("operator"))
        }
    }
}
