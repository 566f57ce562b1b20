//! The connection. It reconnects for ever by itself; only the first attempt may fail loudly.

use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use serde::Serialize;

use crate::login::connect_nats;
use crate::subjects::Subjects;
use crate::topology::ACK_WAIT;

/// How long the first connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer of JetStream may take.
const JETSTREAM_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a wake-up may hold up whoever sends it.
const HINT_TIMEOUT: Duration = Duration::from_millis(50);
/// Messages that may wait in memory for a subscriber of ours.
const SUBSCRIPTION_CAPACITY: usize = 65_536;

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("the message was not sent to {subject}: {reason}")]
pub struct NotSent {
    subject: String,
    reason: String,
}

/// A connected client with the names of the installation.
#[derive(Debug, Clone)]
pub struct Bus {
    pub client: Client,
    pub jetstream: jetstream::Context,
    pub subjects: Subjects,
    /// A message whose worker says nothing for so long is delivered again.
    pub ack_wait: Duration,
    address: Address,
}

/// Where the server is. It may hold a password, so it is never shown.
#[derive(Clone)]
struct Address(String);

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(..)")
    }
}

/// NATS cannot be reached. The address is not repeated here: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to NATS: {0}")]
pub struct ConnectError(String);

impl Bus {
    /// Connects now or fails.
    pub async fn connect(url: &str, subjects: Subjects, name: &str) -> Result<Self, ConnectError> {
        Self::open(options(name), url, subjects).await
    }

    /// Connects now or later: what is published before that waits or fails by itself.
    pub async fn connect_lazily(
        url: &str,
        subjects: Subjects,
        name: &str,
    ) -> Result<Self, ConnectError> {
        Self::open(options(name).retry_on_initial_connect(), url, subjects).await
    }

    /// A second connection to the same server, driven by the runtime that calls this.
    pub async fn another(&self, name: &str) -> Result<Self, ConnectError> {
        let bus = Self::connect_lazily(&self.address.0, self.subjects.clone(), name).await?;
        Ok(bus.with_ack_wait(self.ack_wait))
    }

    /// The same with another patience; that of whoever makes a consumer first holds for all.
    #[must_use]
    pub fn with_ack_wait(mut self, ack_wait: Duration) -> Self {
        self.ack_wait = ack_wait;
        self
    }

    async fn open(
        options: ConnectOptions,
        url: &str,
        subjects: Subjects,
    ) -> Result<Self, ConnectError> {
        let client = connect_nats(url, options)
            .await
            .map_err(|error| ConnectError(error.kind().to_string()))?;
        let jetstream = ContextBuilder::new()
            .timeout(JETSTREAM_TIMEOUT)
            .ack_timeout(JETSTREAM_TIMEOUT)
            .build(client.clone());
        Ok(Self {
            client,
            jetstream,
            subjects,
            ack_wait: ACK_WAIT,
            address: Address(url.to_owned()),
        })
    }

    /// Sends a message of ours again: to the stream that keeps its subject, or to whoever listens now.
    pub async fn send_again(&self, subject: &str, payload: Vec<u8>) -> Result<(), NotSent> {
        let refused = |reason: String| NotSent {
            subject: subject.to_owned(),
            reason,
        };
        if !self.subjects.is_ours(subject) {
            return Err(refused(
                "it is not a subject of this installation".to_owned(),
            ));
        }
        let payload = Bytes::from(payload);
        let published = self.jetstream.publish(subject.to_owned(), payload.clone());
        let stored = match published.await {
            Ok(stored) => stored.await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {}
            Err(error) => return Err(refused(error.to_string())),
        }
        let sent = self.client.publish(subject.to_owned(), payload).await;
        sent.map_err(|error| refused(error.to_string()))?;
        let flushed = self.client.flush().await;
        flushed.map_err(|error| refused(error.to_string()))
    }

    /// Publishes without any promise, as wake-ups are: a failure is only a slower wake-up.
    pub async fn hint(&self, subject: String, payload: &impl Serialize) {
        let Ok(payload) = serde_json::to_vec(payload) else {
            return;
        };
        let sent = self.client.publish(subject, Bytes::from(payload));
        match tokio::time::timeout(HINT_TIMEOUT, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a wake-up was not sent"),
            // While there is no connection the client keeps some thousands and then makes us wait.
            Err(_) => tracing::debug!("a wake-up was not sent in time"),
        }
    }
}

fn options(name: &str) -> ConnectOptions {
    ConnectOptions::new()
        .name(name)
        .connection_timeout(CONNECT_TIMEOUT)
        .request_timeout(Some(JETSTREAM_TIMEOUT))
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .reconnect_delay_callback(|attempt| {
            let factor = u64::try_from(attempt.min(8)).unwrap_or(8);
            Duration::from_millis(50 * factor)
        })
        .event_callback(|event| async move {
            match event {
                async_nats::Event::Connected => tracing::debug!("connected to NATS"),
                // Our own wish.
                async_nats::Event::Closed | async_nats::Event::Draining => {
                    tracing::debug!("the connection to NATS is closed");
                }
                other => tracing::warn!(event = %other, "NATS connection"),
            }
        })
}
