//! The one way in and the one way out.

use serde_json::Value;

use super::direct;
use super::kind::{Aggregate, Kind, kind_of};
use super::upcast::{UPCASTS, upcast};
use crate::{asset, callback, job, platform, request, workflow};

/// Any event of any aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Asset(asset::Event),
    Callback(callback::Event),
    Job(job::Event),
    Platform(platform::Event),
    Request(request::Event),
    Workflow(workflow::Event),
}

/// An event as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub kind: &'static str,
    pub schema_ver: u16,
    /// Exact bytes: hashed, and never rewritten.
    pub payload: Vec<u8>,
}

/// Why bytes are not an event that this version knows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    #[error("unknown event type `{0}`; a newer version of Strata wrote it")]
    UnknownType(String),
    #[error("event `{kind}` has schema version {found}; this version reads up to {known}")]
    TooNew {
        kind: String,
        found: u16,
        known: u16,
    },
    #[error("event `{kind}` has no upcast from schema version {from}")]
    NoUpcast { kind: String, from: u16 },
    #[error("the payload of event `{kind}` is that of a `{found}`")]
    OtherType { kind: String, found: &'static str },
    #[error("the payload of event `{kind}` cannot be read")]
    Payload {
        kind: String,
        source: serde_json::Error,
    },
}

impl Event {
    /// Its row in the catalogue.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind_of(self)
    }
}

/// Writes an event in its current version.
pub fn encode(event: &Event) -> Result<Encoded, serde_json::Error> {
    let kind = event.kind();
    let payload = match event {
        Event::Asset(event) => serde_json::to_vec(event),
        Event::Callback(event) => serde_json::to_vec(event),
        Event::Job(event) => serde_json::to_vec(event),
        Event::Platform(event) => serde_json::to_vec(event),
        Event::Request(event) => serde_json::to_vec(event),
        Event::Workflow(event) => serde_json::to_vec(event),
    }?;
    Ok(Encoded {
        kind: kind.name,
        schema_ver: kind.schema_ver,
        payload,
    })
}

/// Reads an event of any version that was ever shipped.
pub fn decode(name: &str, schema_ver: u16, payload: &[u8]) -> Result<Event, DecodeError> {
    let kind = Kind::find(name).ok_or_else(|| DecodeError::UnknownType(name.to_owned()))?;
    if schema_ver > kind.schema_ver {
        return Err(DecodeError::TooNew {
            kind: name.to_owned(),
            found: schema_ver,
            known: kind.schema_ver,
        });
    }
    let unreadable = |source| DecodeError::Payload {
        kind: name.to_owned(),
        source,
    };
    if schema_ver == kind.schema_ver {
        if let Some(event) = direct::read(kind, payload) {
            return Ok(Event::Job(event));
        }
        let mut reader = serde_json::Deserializer::from_slice(payload);
        let event = read(kind.aggregate, &mut reader).map_err(unreadable)?;
        reader.end().map_err(unreadable)?;
        return same_kind(event, name);
    }
    let old: Value = serde_json::from_slice(payload).map_err(unreadable)?;
    let new = upcast(UPCASTS, kind, schema_ver, old)?;
    same_kind(read(kind.aggregate, new).map_err(unreadable)?, name)
}

/// The type in the row and the type in the payload must agree.
fn same_kind(event: Event, name: &str) -> Result<Event, DecodeError> {
    let found = event.kind().name;
    if found == name {
        return Ok(event);
    }
    Err(DecodeError::OtherType {
        kind: name.to_owned(),
        found,
    })
}

fn read<'de, D>(aggregate: Aggregate, payload: D) -> Result<Event, D::Error>
where
    D: serde::Deserializer<'de>,
{
    use serde::Deserialize as _;
    Ok(match aggregate {
        Aggregate::Asset => Event::Asset(asset::Event::deserialize(payload)?),
        Aggregate::Callback => Event::Callback(callback::Event::deserialize(payload)?),
        Aggregate::Job => Event::Job(job::Event::deserialize(payload)?),
        Aggregate::Platform => Event::Platform(platform::Event::deserialize(payload)?),
        Aggregate::Request => Event::Request(request::Event::deserialize(payload)?),
        Aggregate::Workflow => Event::Workflow(workflow::Event::deserialize(payload)?),
    })
}
