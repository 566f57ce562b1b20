//! Sending callbacks again, and the secrets that sign them.

use std::time::Duration;

use async_graphql::{Context, Object, SimpleObject};
use commands::callbacks::RedeliverError;
use commands::secrets::{SecretError, Secrets};
use domain::access::Role;
use domain::id::CallbackId;

use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};

/// How long the secret before still signs, unless something else is asked for.
const OVERLAP_SECONDS: u64 = 24 * 3_600;
const OVERLAP_SECONDS_MAX: u64 = 30 * 24 * 3_600;

/// A callback that will be sent again.
#[derive(Debug, SimpleObject)]
pub(super) struct CallbackPayload {
    position: Position,
    callback_id: String,
}

/// A secret that signs callbacks from now on.
#[derive(SimpleObject)]
pub(super) struct SecretPayload {
    name: String,
    /// The secret itself; it is shown this once.
    secret: String,
    /// So long the one before signs beside it.
    overlap_seconds: u64,
}

#[derive(Default)]
pub(super) struct CallbackWishes;

#[Object]
impl CallbackWishes {
    /// Sends a callback again that was delivered or given up, under the same id.
    async fn redeliver_callback(
        &self,
        ctx: &Context<'_>,
        id: String,
    ) -> async_graphql::Result<CallbackPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let none = || Fault::not_found("callback", &id);
        let callback: CallbackId = id.parse().map_err(|_| none())?;
        let writer = &core(ctx)?.writer;
        let done = writer
            .redeliver_callback(viewer.org(), callback, viewer.actor())
            .await;
        let done = done.map_err(|error| match error {
            RedeliverError::NoCallback(_) => none(),
            RedeliverError::Log(error) => error.into(),
            RedeliverError::Append(error) => error.into(),
            error => Fault::conflict(
                "NOT_SETTLED",
                error.to_string(),
                "wait until it is delivered or given up",
            ),
        })?;
        Ok(CallbackPayload {
            position: done.pos.into(),
            callback_id: id,
        })
    }

    /// Makes a new secret for callbacks; both sign until the overlap is over. Without a name it is the one that
    /// signs what came without a secret of its own.
    async fn rotate_callback_secret(
        &self,
        ctx: &Context<'_>,
        name: Option<String>,
        overlap_seconds: Option<u64>,
    ) -> async_graphql::Result<SecretPayload> {
        let viewer = viewer(ctx)?.require(Role::Admin)?;
        let name = name
            .unwrap_or_else(|| "default".to_owned())
            .replace('\0', "");
        let overlap_seconds = overlap_seconds.unwrap_or(OVERLAP_SECONDS);
        if overlap_seconds > OVERLAP_SECONDS_MAX {
            let message = format!("an overlap has at most {OVERLAP_SECONDS_MAX} seconds");
            return Err(Fault::invalid("INVALID_OVERLAP", message, "choose a shorter one").into());
        }
        let secrets = Secrets::new(core(ctx)?.pool.clone());
        let overlap = Duration::from_secs(overlap_seconds);
        let made = secrets.rotate(viewer.org(), &name, overlap).await;
        let made = made.map_err(|error| match error {
            SecretError::NoSecret(name) => Fault::not_found("callback secret", &name),
            SecretError::Log(error) => error.into(),
            error => Fault::invalid("INVALID_SECRET", error.to_string(), "choose another"),
        })?;
        Ok(SecretPayload {
            name,
            secret: made.reveal().to_owned(),
            overlap_seconds,
        })
    }
}
