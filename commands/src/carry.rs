//! Streams that live on say again what is known of them, so that their older events can be archived.

use domain::context::{Actor, Context, Role};
use domain::event::Event;
use domain::{asset, platform, workflow};

use crate::appender::AppendError;
use crate::log::{Append, COMMAND_EVENTS_MAX, Expected, LogError, Recorded};
use crate::write::{Writer, meta, version_of};

/// How often a lost race is tried again.
const TRIES: usize = 10;
/// Bytes of one stream that are said again, at most.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Where a stream can be read from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub stream: String,
    pub version: u64,
    /// The position of the last event that was appended for it.
    pub pos: u64,
}

/// Why a stream could not be carried.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CarryError {
    #[error("`{0}` is of no kind that is carried: wait until it ends")]
    Kind(String),
    #[error("`{stream}` is too large to be carried: {events} events, {bytes} bytes")]
    TooLarge {
        stream: String,
        events: usize,
        bytes: usize,
    },
    #[error("an event of `{0}` cannot be read")]
    Unreadable(String),
    #[error("others keep writing to `{0}`; try again")]
    Contended(String),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Writer {
    /// Appends to a stream what its events so far come to.
    pub async fn carry(&self, stream: &str, by: &str) -> Result<Carried, CarryError> {
        for _ in 0..TRIES {
            let recorded = self.log.read_stream(stream, 0, usize::MAX).await?;
            let version = version_of(&recorded);
            let (id, role) = (by.to_owned(), Role::Platform);
            let context = self.context(Actor { id, role });
            let events = again(stream, &recorded, &context)?;
            check_size(stream, &events)?;
            let org_id = recorded.last().map(|last| last.org_id.clone());
            let append = Append {
                stream: stream.to_owned(),
                expected: Expected::Version(version),
                org_id: org_id.unwrap_or_default(),
                meta: meta(by, None),
                events,
                open_job: None,
                closes: false,
            };
            match self.appender.append(&[append]).await {
                Ok(appended) => {
                    return Ok(Carried {
                        stream: stream.to_owned(),
                        version: version + 1,
                        pos: appended.pos,
                    });
                }
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(CarryError::Contended(stream.to_owned()))
    }
}

/// What the events of a stream come to, as events.
fn again(stream: &str, recorded: &[Recorded], ctx: &Context) -> Result<Vec<Event>, CarryError> {
    let (mut assets, mut platforms, mut workflows) = Default::default();
    for recorded in recorded {
        let unreadable = |_| CarryError::Unreadable(stream.to_owned());
        match recorded.decode().map_err(unreadable)? {
            Event::Asset(event) => assets = asset::evolve(assets, &event),
            Event::Platform(event) => platforms = platform::evolve(platforms, &event),
            Event::Workflow(event) => workflows = workflow::evolve(workflows, &event),
            _ => return Err(CarryError::Kind(stream.to_owned())),
        }
    }
    // None of them refuses it.
    let of_assets = asset::decide(&assets, asset::Command::Carry, ctx).ok();
    let of_platforms = platform::decide(&platforms, platform::Command::Carry, ctx).ok();
    let of_workflows = workflow::decide(&workflows, workflow::Command::Carry, ctx).ok();
    let assets = of_assets
        .into_iter()
        .flat_map(|d| d.into_events())
        .map(Event::Asset);
    let platforms = of_platforms.into_iter().flat_map(|d| d.into_events());
    let workflows = of_workflows.into_iter().flat_map(|d| d.into_events());
    let events = assets.chain(platforms.map(Event::Platform));
    let events: Vec<Event> = events.chain(workflows.map(Event::Workflow)).collect();
    match events.is_empty() {
        true => Err(CarryError::Kind(stream.to_owned())),
        false => Ok(events),
    }
}

fn check_size(stream: &str, events: &[Event]) -> Result<(), CarryError> {
    let bytes = |event| domain::event::encode(event).map_or(usize::MAX, |e| e.payload.len());
    let bytes = events
        .iter()
        .map(bytes)
        .fold(0_usize, usize::saturating_add);
    if events.len() <= COMMAND_EVENTS_MAX && bytes <= BYTES_MAX {
        return Ok(());
    }
    Err(CarryError::TooLarge {
        stream: stream.to_owned(),
        events: events.len(),
        bytes,
    })
}
