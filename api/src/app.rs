//! What all requests share.

use std::sync::Arc;

use bytes::Bytes;
use commands::access::Access;
use commands::write::Writer;
use domain::event::checkpoint::PublicKey;
use futures_util::future::BoxFuture;
use projections::callbacks::guard::Rules;
use projections::travel::Traveller;
use sqlx::PgPool;
use tokio::sync::Semaphore;

use crate::auth::Limiter;
use crate::door::Door;
use crate::graphql::Schema;
use crate::live::Live;
use crate::ops::fleet::Fleet;
use crate::places::Places;

/// Proofs that are made at once; each reads all events of a job.
const PROOFS_MAX: usize = 2;

/// How the API behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address under which others reach it, without a slash at the end.
    pub public_url: String,
    /// Origins whose pages may call it from a browser; none by default.
    pub cors_origins: Vec<String>,
    /// Requests per second of one key; bursts are four times that. Nothing means no limit.
    pub rate_per_second: Option<u32>,
    /// How connections are taken, and when they are let go.
    pub door: Door,
    /// Connections for subscriptions, all together.
    pub sockets_max: usize,
    /// Of these, those of one key.
    pub sockets_of_key_max: usize,
    /// Subscriptions of one connection.
    pub subscriptions_max: usize,
    /// Bytes of one request.
    pub body_bytes_max: usize,
    /// Where callbacks may go; the same rules as those of whoever sends them.
    pub callback_rules: Rules,
    /// Who signs checkpoints of the log; without it there are no proofs to hand out.
    pub audit_key: Option<PublicKey>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            public_url: "http://127.0.0.1:8080".to_owned(),
            cors_origins: Vec::new(),
            rate_per_second: Some(500),
            door: Door::default(),
            sockets_max: 20_000,
            sockets_of_key_max: 5_000,
            subscriptions_max: 64,
            body_bytes_max: 1024 * 1024,
            callback_rules: Rules::default(),
            audit_key: None,
        }
    }
}

/// Objects that workers wrote: logs of attempts and large results.
pub trait Blobs: Send + Sync + 'static {
    /// The beginning of an object, at most `max` bytes of it; nothing if there is none.
    fn get<'a>(&'a self, path: &'a str, max: usize)
    -> BoxFuture<'a, Result<Option<Bytes>, String>>;
}

/// The API of one process. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) writer: Writer,
    pub(crate) pool: PgPool,
    pub(crate) access: Access,
    pub(crate) options: Options,
    pub(crate) live: Live,
    pub(crate) limiter: Limiter,
    pub(crate) schema: Schema,
    pub(crate) places: Places,
}

impl App {
    /// An API over this write side and these read models.
    #[must_use]
    pub fn new(
        writer: Writer,
        pool: PgPool,
        blobs: Arc<dyn Blobs>,
        fleet: Fleet,
        options: Options,
    ) -> Self {
        let live = Live::new(pool.clone());
        let core = Core {
            writer: writer.clone(),
            pool: pool.clone(),
            access: Access::new(pool.clone()),
            blobs,
            public_url: options.public_url.clone().into(),
            live: live.clone(),
            fleet,
            callback_rules: options.callback_rules.clone(),
            audit_key: options.audit_key.clone(),
            proving: Arc::new(Semaphore::new(PROOFS_MAX)),
            traveller: Traveller::new(pool.clone(), Arc::new(writer.definitions.catalog().clone())),
        };
        let access = core.access.clone();
        let inner = Inner {
            writer,
            pool,
            access,
            limiter: Limiter::new(options.rate_per_second),
            places: Places::new(options.sockets_max, options.sockets_of_key_max),
            options,
            live,
            schema: crate::graphql::schema(core),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    pub(crate) fn core(&self) -> &Inner {
        &self.inner
    }
}

/// What resolvers work with.
#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) writer: Writer,
    pub(crate) pool: PgPool,
    pub(crate) access: Access,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) public_url: Arc<str>,
    pub(crate) live: Live,
    pub(crate) fleet: Fleet,
    pub(crate) callback_rules: Rules,
    pub(crate) audit_key: Option<PublicKey>,
    /// Places of those who want a proof.
    pub(crate) proving: Arc<Semaphore>,
    pub(crate) traveller: Traveller,
}
