//! Keys: who holds which, and who asks (T-50, T-70, T-72).
//!
//! Keys live in ordinary tables, not in the log: they must be revocable, and their use is no history of the
//! platform. What they do carries their opaque id into every event. SQL stands in `store.rs`.

mod store;
mod token;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::access::{Role, is_org_id};
use sqlx::PgPool;
use tokio::time::Instant;

use crate::log::LogError;
pub use store::Key;
use token::Hash;
pub use token::Token;

/// A revoked key is refused after this time at the latest.
pub const REMEMBERED: Duration = Duration::from_secs(2);
/// Answers that are remembered; beyond that, all are forgotten.
const REMEMBERED_MAX: usize = 10_000;
/// Longest label of a key.
const LABEL_BYTES_MAX: usize = 100;
/// Keys of one list.
const LIST_MAX: i64 = 1_000;
/// How long a one-time sign-in and a session last.
const SIGN_IN: Duration = Duration::from_secs(15 * 60);
const SESSION: Duration = Duration::from_secs(12 * 3_600);

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Opaque; the actor of events.
    pub key_id: String,
    pub org_id: String,
    pub role: Role,
    /// May look after the installation itself.
    pub operator: bool,
}

/// What somebody shows to say who they are.
#[derive(Clone, Copy)]
pub enum Proof<'a> {
    /// The text of a key.
    Key(&'a str),
    /// The secret of a session.
    Session(&'a str),
}

impl Proof<'_> {
    fn hash(self) -> Hash {
        let (Self::Key(text) | Self::Session(text)) = self;
        token::hash(text)
    }
}

/// A key that somebody wants.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub org_id: String,
    /// What it is for, in the words of whoever makes it.
    pub label: String,
    pub role: Role,
    pub operator: bool,
    pub lifetime: Option<Duration>,
}

/// Why access could not be decided, or a key not be made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AccessError {
    #[error(
        "`{0}` is not the id of an organisation: a lower-case letter and up to 62 of a-z, 0-9, `_` and `-`"
    )]
    Org(String),
    #[error("the label of a key has 1 to {LABEL_BYTES_MAX} bytes without control characters")]
    Label,
    #[error("the lifetime of a key is between one minute and ten years")]
    Lifetime,
    #[error("this machine gives no random bytes: {0}")]
    Random(String),
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<sqlx::Error> for AccessError {
    fn from(error: sqlx::Error) -> Self {
        Self::Log(error.into())
    }
}

/// What was answered, and when.
type Known = HashMap<Hash, (Instant, Option<Identity>)>;

/// Asks the database who somebody is, and remembers the answer for a moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Access {
    pool: PgPool,
    known: Arc<Mutex<Known>>,
    used: Arc<Mutex<HashSet<String>>>,
}

impl Access {
    /// On the database of the platform.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            known: Arc::default(),
            used: Arc::default(),
        }
    }

    /// Who this is; nobody if it is unknown, revoked or expired.
    pub async fn who(&self, proof: Proof<'_>) -> Result<Option<Identity>, AccessError> {
        if let Some(known) = self.remembered(proof) {
            return Ok(known);
        }
        let hash = proof.hash();
        let live = match proof {
            Proof::Key(text) => match Token::key_id(text) {
                None => return Ok(None),
                Some(key_id) => {
                    let live = store::live_key(&self.pool, &key_id).await?;
                    // Hashes of random keys tell nothing, however long comparing them takes.
                    live.filter(|live| live.hash == hash)
                }
            },
            Proof::Session(_) => store::live_session(&self.pool, &hash).await?,
        };
        Ok(self.remember(hash, live.and_then(identity)))
    }

    /// What was answered a moment ago: then nothing is asked of the database.
    #[must_use]
    pub fn remembered(&self, proof: Proof<'_>) -> Option<Option<Identity>> {
        let known = locked(&self.known);
        let (at, identity) = known.get(&proof.hash())?;
        (at.elapsed() < REMEMBERED).then(|| {
            self.mark(identity.as_ref());
            identity.clone()
        })
    }

    /// Makes a key; its text is shown this once.
    pub async fn create(&self, wanted: NewKey, by: &str) -> Result<(Key, Token), AccessError> {
        if !is_org_id(&wanted.org_id) {
            return Err(AccessError::Org(wanted.org_id.chars().take(80).collect()));
        }
        let label = wanted.label.trim();
        if label.is_empty() || label.len() > LABEL_BYTES_MAX || label.contains(char::is_control) {
            return Err(AccessError::Label);
        }
        let allowed = Duration::from_secs(60)..=Duration::from_secs(10 * 366 * 24 * 3_600);
        if wanted.lifetime.is_some_and(|time| !allowed.contains(&time)) {
            return Err(AccessError::Lifetime);
        }
        let (token, key_id) = Token::mint()?;
        let row = store::Row {
            key_id: &key_id,
            org_id: &wanted.org_id,
            label,
            role: wanted.role.as_str(),
            operator: wanted.operator,
            prefix: token.prefix(),
            hash: &token::hash(token.reveal()),
            created_by: by,
            lifetime: wanted.lifetime,
        };
        Ok((store::insert(&self.pool, row).await?, token))
    }

    /// Keys of one organisation, or of all.
    pub async fn list(&self, org_id: Option<&str>) -> Result<Vec<Key>, AccessError> {
        Ok(store::list(&self.pool, org_id, LIST_MAX).await?)
    }

    /// Ends a key for good. Within one organisation, keys of operators are left alone.
    pub async fn revoke(
        &self,
        org_id: Option<&str>,
        key_id: &str,
    ) -> Result<Option<Key>, AccessError> {
        let revoked = store::revoke(&self.pool, org_id, key_id).await?;
        locked(&self.known).clear();
        Ok(revoked)
    }

    /// A secret with which a browser signs in once, as the holder of this key.
    pub async fn sign_in(&self, key_id: &str) -> Result<String, AccessError> {
        let secret = token::secret()?;
        store::add_sign_in(&self.pool, &token::hash(&secret), key_id, SIGN_IN).await?;
        Ok(secret)
    }

    /// Trades a sign-in for the secret of a session; nothing if it was used before.
    pub async fn redeem(&self, sign_in: &str) -> Result<Option<String>, AccessError> {
        let session = token::secret()?;
        let (from, to) = (token::hash(sign_in), token::hash(&session));
        let done = store::redeem(&self.pool, &from, &to, SESSION).await?;
        Ok(done.then_some(session))
    }

    /// Ends a session.
    pub async fn sign_out(&self, session: &str) -> Result<(), AccessError> {
        store::end_session(&self.pool, &token::hash(session)).await?;
        locked(&self.known).clear();
        Ok(())
    }

    /// Notes when keys were last used; called every few seconds, not per request.
    pub async fn note_use(&self) -> Result<(), AccessError> {
        let used: Vec<String> = locked(&self.used).drain().collect();
        if !used.is_empty() {
            store::touch(&self.pool, &used).await?;
        }
        Ok(())
    }

    fn remember(&self, hash: Hash, identity: Option<Identity>) -> Option<Identity> {
        let mut known = locked(&self.known);
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(hash, (Instant::now(), identity.clone()));
        self.mark(identity.as_ref());
        identity
    }

    fn mark(&self, identity: Option<&Identity>) {
        if let Some(identity) = identity {
            let mut used = locked(&self.used);
            if !used.contains(&identity.key_id) {
                used.insert(identity.key_id.clone());
            }
        }
    }
}

/// A role that this build does not know opens nothing.
fn identity(live: store::Live) -> Option<Identity> {
    Some(Identity {
        role: live.role.parse().ok()?,
        key_id: live.key_id,
        org_id: live.org_id,
        operator: live.operator,
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
