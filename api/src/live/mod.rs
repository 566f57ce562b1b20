//! The live feed: wakes subscribers when the log has grown, and hands them what is new.
//!
//! One task per process reads each event once and lays it into the topics that somebody listens to: the
//! stream of a job or an asset, or everything of an organisation. A topic keeps a bounded tail. A subscriber
//! has a cursor and asks for what comes after it; when that is older than the tail, it reads the log
//! itself. So nobody misses or repeats a position, and a slow reader costs nothing but its own time.

mod cursor;
mod reader;
mod topic;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream, StreamExt as _};
use projections::read::{self, LogEvent};
use sqlx::PgPool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use cursor::{Cursor, CursorError};
pub(crate) use reader::Reader;
use topic::Topic;
pub(crate) use topic::TopicId;

/// How often to look when nobody gives a hint.
const POLL: Duration = Duration::from_millis(250);
/// Events of one look.
const BATCH: i64 = 2_000;

/// The feed of one process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Live {
    inner: Arc<Inner>,
}

struct Inner {
    pool: PgPool,
    wake: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Everything up to here was laid into the topics.
    pos: i64,
    /// With the number of their readers.
    topics: HashMap<TopicId, (Arc<Topic>, usize)>,
}

impl Live {
    pub(crate) fn new(pool: PgPool) -> Self {
        let inner = Inner {
            pool,
            wake: Notify::new(),
            state: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Follows the log until it is told to stop; errors only slow it down.
    pub(crate) async fn run(&self, bus: Option<bus::Bus>, shutdown: CancellationToken) {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.follow(bus) => {}
        }
    }

    async fn follow(&self, bus: Option<bus::Bus>) {
        loop {
            // Whoever comes says where to begin; until then the log is nobody's concern here, and neither
            // are hints that it has grown.
            while self.is_idle() {
                self.inner.wake.notified().await;
            }
            let mut hints = None;
            while !self.is_idle() {
                if let (None, Some(bus)) = (&hints, &bus) {
                    hints = bus.client.subscribe(bus.subjects.log_grew()).await.ok();
                }
                match self.step().await {
                    Ok(true) => {}
                    Ok(false) => self.wait(&mut hints).await,
                    Err(error) => {
                        tracing::warn!(%error, "the live feed stumbled");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
    }

    /// Until the log has grown, or somebody has come, or it is time to look anyway.
    async fn wait(&self, hints: &mut Option<impl Stream + Unpin>) {
        let hinted = async {
            match hints {
                Some(given) => given.next().await.is_some(),
                None => std::future::pending().await,
            }
        };
        let alive = tokio::select! {
            () = tokio::time::sleep(POLL) => true,
            () = self.inner.wake.notified() => true,
            alive = hinted => alive,
        };
        // One look is enough for all that have come meanwhile.
        while let Some(Some(_)) = hints.as_mut().and_then(|given| given.next().now_or_never()) {}
        if !alive {
            *hints = None;
        }
    }

    fn is_idle(&self) -> bool {
        self.state().topics.is_empty()
    }

    /// One look; whether there may be more at once.
    async fn step(&self) -> Result<bool, projections::Error> {
        let pos = self.state().pos;
        let events = read::log_after(&self.inner.pool, pos, BATCH).await?;
        let more = !events.is_empty();
        self.lay(events);
        Ok(more)
    }

    fn lay(&self, events: Vec<LogEvent>) {
        let mut state = self.state();
        let mut touched: Vec<Arc<Topic>> = Vec::new();
        for event in events {
            state.pos = event.pos;
            let event = Arc::new(event);
            for id in [
                TopicId::Stream(event.stream_id.as_str().into()),
                TopicId::Org(event.org_id.as_str().into()),
            ] {
                if let Some((topic, _)) = state.topics.get(&id) {
                    topic.push(Arc::clone(&event));
                    if !touched.iter().any(|known| Arc::ptr_eq(known, topic)) {
                        touched.push(Arc::clone(topic));
                    }
                }
            }
        }
        drop(state);
        for topic in touched {
            topic.wake();
        }
    }

    /// Joins a topic, making it if nobody listens to it yet.
    fn join(&self, id: &TopicId, head: i64) -> Arc<Topic> {
        let mut state = self.state();
        // Nobody has listened: what was before is in the log, for whoever wants it.
        if state.topics.is_empty() {
            state.pos = head;
        }
        let floor = state.pos;
        let topic = state.topics.entry(id.clone());
        let (topic, readers) = topic.or_insert_with(|| (Arc::new(Topic::new(floor)), 0));
        *readers += 1;
        let topic = Arc::clone(topic);
        drop(state);
        self.inner.wake.notify_one();
        topic
    }

    /// Leaves a topic; the last one takes it away.
    fn leave(&self, id: &TopicId) {
        let mut state = self.state();
        if let Some((_, readers)) = state.topics.get_mut(id) {
            *readers -= 1;
            if *readers == 0 {
                state.topics.remove(id);
            }
        }
    }

    /// A reader of everything after a cursor, or of what comes from now on.
    pub(crate) async fn reader(
        &self,
        id: TopicId,
        after: Option<&str>,
    ) -> Result<Reader, CursorError> {
        let head = read::log_head(&self.inner.pool).await?;
        let incarnation = head.incarnation.simple().to_string();
        let from = match after {
            Some(text) => Cursor::parse(text, &incarnation, head.pos)?.pos,
            None => head.pos,
        };
        let topic = self.join(&id, head.pos);
        Ok(Reader::new(self.clone(), id, topic, from, incarnation))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
