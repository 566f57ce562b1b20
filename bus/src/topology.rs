//! The streams and consumers, made by whoever needs them first and again after a wipe.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType, Stream};
use domain::message::MESSAGE_BYTES_MAX;
use domain::priority::Priority;

use crate::connect::Bus;
use crate::subjects::{InvalidQueue, check_queue};

/// The usual patience with a worker that says nothing.
pub const ACK_WAIT: Duration = Duration::from_secs(30);
/// Publishing the same message again within this time is without effect.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// No limit, in the words of JetStream.
const UNLIMITED: i64 = -1;

/// A stream or consumer could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    #[error(transparent)]
    Queue(#[from] InvalidQueue),
    #[error("cannot make the stream {name}: {reason}")]
    Stream { name: String, reason: String },
    #[error("cannot make the consumer {name}: {reason}")]
    Consumer { name: String, reason: String },
}

impl Bus {
    /// The stream of tasks.
    pub async fn tasks_stream(&self) -> Result<Stream, TopologyError> {
        self.work_queue(self.subjects.tasks_stream(), self.subjects.all_tasks())
            .await
    }

    /// The stream of requests that wait for a job.
    pub async fn jobs_stream(&self) -> Result<Stream, TopologyError> {
        self.work_queue(
            self.subjects.jobs_stream(),
            self.subjects.orchestrator_jobs(),
        )
        .await
    }

    /// The consumer that all workers of a queue share, for one priority.
    pub async fn task_consumer(
        &self,
        queue: &str,
        priority: Priority,
    ) -> Result<PullConsumer, TopologyError> {
        check_queue(queue)?;
        let stream = self.tasks_stream().await?;
        let name = format!("{queue}_{}", priority.as_str());
        consumer(
            &stream,
            &name,
            self.subjects.tasks(queue, priority),
            self.ack_wait,
        )
        .await
    }

    /// The consumer that all orchestrators share.
    pub async fn jobs_consumer(&self) -> Result<PullConsumer, TopologyError> {
        let stream = self.jobs_stream().await?;
        let subject = self.subjects.orchestrator_jobs();
        consumer(&stream, "orchestrators", subject, self.ack_wait).await
    }

    async fn work_queue(&self, name: String, subject: String) -> Result<Stream, TopologyError> {
        let config = Config {
            name: name.clone(),
            subjects: vec![subject],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            duplicate_window: DUPLICATE_WINDOW,
            // A message may be a little larger than its JSON: headers.
            max_message_size: i32::try_from(MESSAGE_BYTES_MAX + 4096).unwrap_or(i32::MAX),
            allow_direct: true,
            ..Config::default()
        };
        let made = self.jetstream.get_or_create_stream(config).await;
        made.map_err(|error| TopologyError::Stream {
            name,
            reason: error.to_string(),
        })
    }
}

async fn consumer(
    stream: &Stream,
    name: &str,
    filter_subject: String,
    ack_wait: Duration,
) -> Result<PullConsumer, TopologyError> {
    let config = pull::Config {
        durable_name: Some(name.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait,
        max_deliver: UNLIMITED,
        max_ack_pending: UNLIMITED,
        filter_subject,
        ..pull::Config::default()
    };
    let made = stream.get_or_create_consumer(name, config).await;
    made.map_err(|error| TopologyError::Consumer {
        name: name.to_owned(),
        reason: error.to_string(),
    })
}
