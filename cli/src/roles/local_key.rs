//! The key of whoever runs `strata up`: made once, kept beside the data, good for everything on this machine.

use std::path::Path;

use commands::access::{Access, NewKey, Proof};
use domain::access::Role;
use sqlx::PgPool;

use crate::services::files;

/// The organisation of a person at this machine.
pub(crate) const ORG: &str = "default";

/// The local key, and a secret that signs a browser in once.
pub(crate) struct LocalKey {
    pub(crate) token: String,
    pub(crate) sign_in: String,
}

/// Finds the key that was made before, or makes it.
pub(crate) async fn ensure(pool: &PgPool, data_dir: &Path) -> anyhow::Result<LocalKey> {
    let access = Access::new(pool.clone());
    let file = data_dir.join("key");
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let known = access.who(Proof::Key(kept.trim())).await?;
    let (token, key_id) = match known {
        Some(identity) => (kept.trim().to_owned(), identity.key_id),
        None => {
            let wanted = NewKey {
                org_id: ORG.to_owned(),
                label: "made by strata up".to_owned(),
                role: Role::Admin,
                operator: true,
                lifetime: None,
            };
            let (key, token) = access.create(wanted, "strata up").await?;
            files::write(&file, token.reveal().as_bytes(), files::SECRET)?;
            (token.reveal().to_owned(), key.key_id)
        }
    };
    let sign_in = access.sign_in(&key_id).await?;
    Ok(LocalKey { token, sign_in })
}
