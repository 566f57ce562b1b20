//! What came of callbacks, recorded in the log, and the wish of a person to send one again.

use std::collections::HashMap;

use domain::callback::{self, Command, Settlement};
use domain::context::{Actor, Role};
use domain::event::Event;
use domain::id::CallbackId;

use crate::appender::{AppendError, Appended};
use crate::log::{Append, Expected, LogError, Recorded};
use crate::write::{Writer, meta};

/// How often a lost race is tried again.
const TRIES: usize = 5;

/// A callback will be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redelivering {
    /// Position in the log; readers may wait for it.
    pub pos: u64,
}

/// Why a callback is not sent again.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RedeliverError {
    /// Unknown, of another organisation, or never settled: the log cannot tell.
    #[error("no callback {0} has been delivered or given up")]
    NoCallback(CallbackId),
    #[error(transparent)]
    Rejected(#[from] callback::Rejection),
    #[error("others keep writing to the callback; try again")]
    Contended,
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// A callback as the log has it.
#[derive(Debug, Default)]
struct Folded {
    state: callback::State,
    version: u64,
    org_id: Option<String>,
}

impl Writer {
    /// Records how callbacks ended, all in as few commits as there are. When it returns, each is in the
    /// log, or something that stands over it is.
    pub async fn record_callbacks(&self, settled: Vec<Settlement>) -> Result<(), AppendError> {
        let mut left = settled;
        // Nearly all are the first word about their callback: only what was asked for again is read
        // before the first try.
        let again = left.iter().filter(|s| s.command.round() != Some(0));
        let again: Vec<CallbackId> = again.map(|s| s.callback_id).collect();
        let mut known = self.fold_callbacks(&again).await?;
        for _ in 0..TRIES {
            let mut answers = Vec::new();
            for settlement in std::mem::take(&mut left) {
                let folded = known.remove(&settlement.callback_id).unwrap_or_default();
                let append = self.decide_callback(&settlement, &folded, "sender");
                // A refusal means that something stands over it.
                let Ok(Some(append)) = append else { continue };
                let answer = self.appender.enqueue(&[append]).await?;
                answers.push((settlement, answer));
            }
            for (settlement, answer) in answers {
                match answer.await.unwrap_or(Err(AppendError::Stopped)) {
                    Ok(_) => {}
                    Err(AppendError::Conflict { .. }) => left.push(settlement),
                    Err(error) => return Err(error),
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            let ids: Vec<CallbackId> = left.iter().map(|s| s.callback_id).collect();
            known = self.fold_callbacks(&ids).await?;
        }
        let text = "others keep writing to the same callbacks".to_owned();
        Err(AppendError::Log(LogError::Unavailable(text)))
    }

    /// Sends a callback again that was delivered or given up.
    pub async fn redeliver_callback(
        &self,
        org: &str,
        callback_id: CallbackId,
        actor: &str,
    ) -> Result<Redelivering, RedeliverError> {
        for _ in 0..TRIES {
            let folded = self.fold_callbacks(&[callback_id]).await?;
            let folded = folded.into_values().next();
            let ours = folded.filter(|folded| folded.org_id.as_deref() == Some(org));
            let folded = ours.ok_or(RedeliverError::NoCallback(callback_id))?;
            let wish = Settlement {
                callback_id,
                org_id: org.to_owned(),
                command: Command::RequestRedelivery,
            };
            let append = self.decide_callback(&wish, &folded, actor)?;
            let append = append.ok_or(RedeliverError::Contended)?;
            match self.appender.append(&[append]).await {
                Ok(Appended { pos, .. }) => return Ok(Redelivering { pos }),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(RedeliverError::Contended)
    }

    /// Nothing if it was applied before.
    fn decide_callback(
        &self,
        settlement: &Settlement,
        folded: &Folded,
        actor: &str,
    ) -> Result<Option<Append>, callback::Rejection> {
        let context = self.context(Actor {
            id: actor.to_owned(),
            role: Role::Orchestrator,
        });
        let command = settlement.command.clone();
        let events = callback::decide(&folded.state, command, &context)?.into_events();
        if events.is_empty() {
            return Ok(None);
        }
        Ok(Some(Append {
            stream: stream(settlement.callback_id),
            expected: Expected::Version(folded.version),
            org_id: settlement.org_id.clone(),
            meta: meta(actor, None),
            events: events.into_iter().map(Event::Callback).collect(),
            open_job: None,
            closes: false,
        }))
    }

    async fn fold_callbacks(
        &self,
        ids: &[CallbackId],
    ) -> Result<HashMap<CallbackId, Folded>, LogError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let streams: Vec<String> = ids.iter().copied().map(stream).collect();
        let recorded = self.log.read_streams(&streams).await?;
        let mut folded: HashMap<CallbackId, Folded> = HashMap::new();
        for recorded in &recorded {
            let id = recorded.stream_id.strip_prefix(STREAM);
            let Some(Ok(id)) = id.map(str::parse) else {
                continue;
            };
            folded.entry(id).or_default().take(recorded)?;
        }
        Ok(folded)
    }
}

impl Folded {
    fn take(&mut self, recorded: &Recorded) -> Result<(), LogError> {
        let event = recorded.decode();
        let event = event.map_err(|error| LogError::Decode(error.to_string()))?;
        if let Event::Callback(event) = &event {
            self.state = callback::evolve(std::mem::take(&mut self.state), event);
        }
        self.version = recorded.version;
        self.org_id = Some(recorded.org_id.clone());
        Ok(())
    }
}

const STREAM: &str = "callback:";

fn stream(id: CallbackId) -> String {
    format!("{STREAM}{id}")
}
