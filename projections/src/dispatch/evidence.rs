//! Evidence of loss: another stream under the same name, or a message that is not there.

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream;
use bus::Bus;

use super::Publisher;

/// JetStream did not answer, so nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("JetStream does not answer")]
pub struct Unreachable;

impl Publisher {
    /// Whether the message at this place is no longer in the stream: taken, or lost.
    pub async fn is_gone(&self, seq: u64) -> Result<bool, Unreachable> {
        let name = self.bus.subjects.tasks_stream();
        let stream = match self.bus.jetstream.get_stream_no_info(&name).await {
            Ok(stream) => stream,
            Err(_) => return Err(Unreachable),
        };
        match stream.direct_get(seq).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == stream::DirectGetErrorKind::NotFound => Ok(true),
            Err(_) => Err(Unreachable),
        }
    }

    /// Those of the messages that are surely gone; nothing is said of the others.
    pub async fn check<K>(&self, outstanding: Vec<(K, u64)>) -> Vec<K> {
        let mut gone = Vec::new();
        for (key, seq) in outstanding {
            match self.is_gone(seq).await {
                Ok(true) => gone.push(key),
                Ok(false) => {}
                // The others would time out as well.
                Err(Unreachable) => break,
            }
        }
        gone
    }
}

/// The stream as the publisher knows it.
#[derive(Debug, Default)]
pub(super) struct Stream {
    age: Option<i128>,
    highest: u64,
    /// Counts the streams that were known, so that answers of an older one are recognised.
    generation: u64,
}

impl Stream {
    pub(super) fn known(&self) -> (u64, u64) {
        (self.generation, self.highest)
    }

    pub(super) fn is_known(&self) -> bool {
        self.age.is_some()
    }

    /// A new message of the same stream stands behind all that were known when it was sent.
    pub(super) fn is_another(&self, known: (u64, u64), seq: u64, duplicate: bool) -> bool {
        !duplicate && known.0 == self.generation && seq <= known.1
    }

    pub(super) fn is_younger(&self, age: i128) -> bool {
        self.age.is_some_and(|known| known != age)
    }

    pub(super) fn meet(&mut self, age: i128) {
        self.age = Some(age);
    }

    pub(super) fn saw(&mut self, seq: u64) {
        self.highest = self.highest.max(seq);
    }

    pub(super) fn forget(&mut self) {
        self.age = None;
        self.highest = 0;
        self.generation += 1;
    }
}

/// What a look at the server shows.
pub(super) enum Sight {
    There(i128),
    Gone,
    Unknown,
}

/// When a stream was made, in nanoseconds.
pub(super) fn age(stream: &stream::Stream) -> i128 {
    stream.cached_info().created.unix_timestamp_nanos()
}

pub(super) async fn look(bus: &Bus) -> Sight {
    match bus.jetstream.get_stream(bus.subjects.tasks_stream()).await {
        Ok(stream) => Sight::There(age(&stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(error) if error.code() == 404 => Sight::Gone,
            _ => Sight::Unknown,
        },
    }
}
