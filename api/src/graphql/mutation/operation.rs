//! Keys, platforms and dead letters.

use std::time::Duration;

use async_graphql::{Context, Object, SimpleObject};
use commands::access::NewKey;
use domain::access::Role;
use domain::platform;
use projections::dead_letters;

use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};
use crate::graphql::fleet::{Key, is_whole};
use crate::graphql::words::Role as RoleWord;

/// A key that was made.
#[derive(SimpleObject)]
pub(super) struct KeyPayload {
    key: Key,
    /// The key itself; it is shown this once.
    token: String,
}

/// A way in for a browser.
#[derive(SimpleObject)]
pub(super) struct SignInPayload {
    /// It works once, within a quarter of an hour; whoever opens it is who asked for it.
    url: String,
}

/// A platform that was registered.
#[derive(Debug, SimpleObject)]
pub(super) struct PlatformPayload {
    /// Nothing if it was so before.
    position: Option<Position>,
    platform_id: String,
}

/// What became of a dead letter.
#[derive(Debug, SimpleObject)]
pub(super) struct DeadLetterPayload {
    id: i64,
    /// `replayed` or `discarded`.
    outcome: String,
}

#[derive(Default)]
pub(super) struct Operation;

#[Object]
impl Operation {
    /// Makes a key. Admins make keys of their own organisation, operators of any.
    async fn create_key(
        &self,
        ctx: &Context<'_>,
        label: String,
        role: RoleWord,
        #[graphql(desc = "The organisation; your own without.")] org: Option<String>,
        #[graphql(default, desc = "May look after the installation itself.")] operator: bool,
        #[graphql(desc = "Seconds until it expires; it never does without.")]
        expires_in_seconds: Option<u64>,
    ) -> async_graphql::Result<KeyPayload> {
        let viewer = viewer(ctx)?.require(Role::Admin)?;
        let org_id = org.unwrap_or_else(|| viewer.org().to_owned());
        if operator || org_id != viewer.org() {
            viewer.require_operator()?;
        }
        let wanted = NewKey {
            org_id,
            label,
            role: role.domain(),
            operator,
            lifetime: expires_in_seconds.map(Duration::from_secs),
        };
        let made = core(ctx)?.access.create(wanted, viewer.actor()).await;
        let (key, token) = made.map_err(Fault::from)?;
        Ok(KeyPayload {
            key: Key(key),
            token: token.reveal().to_owned(),
        })
    }

    /// Ends a key for good. New requests are refused within two seconds; what is open ends soon after.
    async fn revoke_key(&self, ctx: &Context<'_>, id: String) -> async_graphql::Result<Key> {
        let viewer = viewer(ctx)?.require(Role::Admin)?;
        let org = (!viewer.is_operator()).then(|| viewer.org());
        let revoked = core(ctx)?.access.revoke(org, &id.replace('\0', "")).await;
        let revoked = revoked.map_err(Fault::from)?;
        Ok(Key(revoked.ok_or_else(|| Fault::not_found("key", &id))?))
    }

    /// Makes a link that signs a browser in, once, as the holder of the key that asks.
    async fn sign_in(&self, ctx: &Context<'_>) -> async_graphql::Result<SignInPayload> {
        let (core, viewer) = (core(ctx)?, viewer(ctx)?);
        let secret = core.access.sign_in(viewer.actor()).await;
        let secret = secret.map_err(Fault::from)?;
        Ok(SignInPayload {
            url: format!("{}/sign-in#{secret}", core.public_url),
        })
    }

    /// Makes a partner system known, or changes its name or its optional refs. For operators.
    async fn register_platform(
        &self,
        ctx: &Context<'_>,
        id: String,
        name: String,
        required_refs: Vec<String>,
        #[graphql(default)] optional_refs: Vec<String>,
    ) -> async_graphql::Result<PlatformPayload> {
        let viewer = viewer(ctx)?.require_operator()?;
        let command = platform::Command::Register {
            platform_id: id.clone(),
            name,
            required_refs,
            optional_refs,
        };
        let done = core(ctx)?.writer.register_platform(command, viewer.actor());
        let position = done.await.map_err(Fault::from)?.map(Position::from);
        Ok(PlatformPayload {
            position,
            platform_id: id,
        })
    }

    /// Sends a dead letter again to where it came from, and forgets it. For operators.
    async fn replay_dead_letter(
        &self,
        ctx: &Context<'_>,
        id: i64,
    ) -> async_graphql::Result<DeadLetterPayload> {
        viewer(ctx)?.require_operator()?;
        let core = core(ctx)?;
        let letter = dead_letters::show(&core.pool, id)
            .await
            .map_err(Fault::from)?;
        let letter = letter.ok_or_else(|| Fault::not_found("dead letter", &id.to_string()))?;
        if !is_whole(&letter) {
            let message = "it was cut or altered when it was kept, so it cannot be sent as it was";
            return Err(Fault::conflict("NOT_WHOLE", message, "look at it, and discard it").into());
        }
        let bus = core.writer.bus.as_ref();
        let bus = bus.ok_or_else(|| Fault::unavailable(&"no connection to NATS"))?;
        let sent = bus.send_again(&letter.subject, letter.payload).await;
        sent.map_err(|error| Fault::unavailable(&error))?;
        // Only now: whatever happens before, it is not lost.
        dead_letters::discard(&core.pool, id)
            .await
            .map_err(Fault::from)?;
        Ok(DeadLetterPayload {
            id,
            outcome: "replayed".to_owned(),
        })
    }

    /// Forgets a dead letter. For operators.
    async fn discard_dead_letter(
        &self,
        ctx: &Context<'_>,
        id: i64,
    ) -> async_graphql::Result<DeadLetterPayload> {
        viewer(ctx)?.require_operator()?;
        let gone = dead_letters::discard(&core(ctx)?.pool, id).await;
        if !gone.map_err(Fault::from)? {
            return Err(Fault::not_found("dead letter", &id.to_string()).into());
        }
        Ok(DeadLetterPayload {
            id,
            outcome: "discarded".to_owned(),
        })
    }
}
