//! Keys straight on the database, for an installation whose API nobody can use yet.

use commands::access::{self, Access, AccessError, NewKey};
use domain::access::Role as DomainRole;

use super::args::{CreateArgs, ListArgs, PlaceArgs, RevokeArgs, Role};
use super::{Key, Made};
use crate::exit::Stop;
use crate::logging;
use crate::roles::local_key::ORG;
use crate::roles::migrate;
use crate::roles::stack::Stack;

/// Who makes it, as far as anybody can tell.
const ACTOR: &str = "strata key --database";

pub(super) async fn create(args: &CreateArgs) -> anyhow::Result<Made> {
    let wanted = NewKey {
        org_id: args.org.clone().unwrap_or_else(|| ORG.to_owned()),
        label: args.label.clone(),
        role: match args.role {
            Role::Reader => DomainRole::Reader,
            Role::Writer => DomainRole::Writer,
            Role::Admin => DomainRole::Admin,
        },
        operator: args.operator,
        lifetime: args.expires,
    };
    let access = open(&args.place).await?;
    let (key, token) = access.create(wanted, ACTOR).await.map_err(refused)?;
    Ok(Made {
        key: key.into(),
        token: token.reveal().to_owned(),
    })
}

pub(super) async fn list(args: &ListArgs) -> anyhow::Result<Vec<Key>> {
    let access = open(&args.place).await?;
    let org = (!args.all).then_some(ORG);
    let keys = access.list(org).await.map_err(refused)?;
    Ok(keys.into_iter().map(Key::from).collect())
}

pub(super) async fn revoke(args: &RevokeArgs) -> anyhow::Result<Option<Key>> {
    let access = open(&args.place).await?;
    let key = access.revoke(None, &args.id).await.map_err(refused)?;
    Ok(key.map(Key::from))
}

async fn open(place: &PlaceArgs) -> anyhow::Result<Access> {
    logging::init_quiet(&place.client.log);
    let stack = Stack::of_database(&place.client.data_dir)?;
    // Asked once and at once: a pool would try again for ten seconds.
    migrate::require(&stack).await?;
    Ok(Access::new(stack.pool(1).await?))
}

fn refused(error: AccessError) -> anyhow::Error {
    match error {
        AccessError::Org(_) | AccessError::Label | AccessError::Lifetime => {
            Stop::usage(error.to_string(), "strata key create --help")
        }
        _ => Stop::unreachable(error.to_string(), "strata doctor"),
    }
}

impl From<access::Key> for Key {
    fn from(key: access::Key) -> Self {
        Self {
            key_id: key.key_id,
            org_id: key.org_id,
            label: key.label,
            role: key.role,
            operator: key.operator,
            prefix: key.prefix,
            created_by: key.created_by,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: key.last_used_at,
        }
    }
}
