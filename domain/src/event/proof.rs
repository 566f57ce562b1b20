//! One job's events with the proof that they are in the log, checked without any database.
//!
//! The file is JSON in exactly one form, and all of it is bound: events by their leaves, their places by the
//! tree, the tree by the checkpoint, the checkpoint by its signature. So any one byte that is changed makes it
//! fail. What it cannot say by itself is whose key that is: whoever checks brings the key that he trusts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::chain::{Hash, Leaf, leaf_hash};
use super::checkpoint::{Checkpoint, CheckpointError, PublicKey, Signed, decoded};
use super::codec::{DecodeError, Event, decode};
use super::tree::{self, Range};
use crate::definition::WorkflowRef;
use crate::id::JobId;
use crate::{job, workflow};

mod replay;
#[cfg(test)]
mod tests;

pub use replay::NoReplay;

/// The largest file that is read, and made.
pub const FILE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Without the definition of the job: what older builds wrote.
const FORMAT_1: &str = "strata.proof.v1";
const FORMAT_2: &str = "strata.proof.v2";

/// What the file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    format: String,
    job_id: JobId,
    /// The key that signed; see [`PublicKey::text`].
    key: String,
    /// The note; see [`Signed::note`].
    checkpoint: String,
    /// An older checkpoint that somebody kept, with the proof that this one goes on from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extends: Option<Extends>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Item>,
    events: Vec<Item>,
    /// The hashes of [`tree::cover`], in base64.
    path: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extends {
    checkpoint: String,
    path: Vec<String>,
}

/// What a proof is of: all events of a job, and the one that registered the definition that it runs, so that the job
/// can be replayed from the file alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Files of the first format do not have it.
    pub definition: Option<Item>,
    pub events: Vec<Item>,
}

/// One event, with everything that its leaf is made of but its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub pos: u64,
    pub version: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub schema_ver: u16,
    pub org_id: String,
    /// The exact bytes, which are text.
    pub meta: String,
    pub payload: String,
}

/// What a good file proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    pub job_id: JobId,
    pub workflow_id: String,
    pub events: u64,
    pub first_pos: u64,
    pub last_pos: u64,
    /// The type of the event that ended the job, if it had ended.
    pub end: Option<String>,
    pub checkpoint: Checkpoint,
    pub key: PublicKey,
    /// The older checkpoint that it goes on from, as a note.
    pub extends: Option<String>,
}

/// Why a file proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    #[error("the file is larger than {} MB", FILE_BYTES_MAX / (1024 * 1024))]
    TooLarge,
    #[error("this is no proof of Strata, or it was cut or changed")]
    Json(#[from] serde_json::Error),
    #[error("`{0}` is a format that this version does not know")]
    Format(String),
    #[error("the file is not in the one form that a proof may have: it was changed")]
    Form,
    #[error("the key or the checkpoint is not good")]
    Checkpoint(#[from] CheckpointError),
    #[error("it was signed with key {found}, and not with {wanted}, the one you trust")]
    NotTrusted { found: String, wanted: String },
    #[error("hash {0} of the path cannot be read")]
    Path(usize),
    #[error("event {version} of {stream} cannot be read")]
    Decode {
        stream: String,
        version: u64,
        source: DecodeError,
    },
    #[error(
        "the events are not versions 1 to {0} of the job without a gap, in the order of their positions"
    )]
    Versions(usize),
    #[error("the first event does not create job {0}")]
    Beginning(JobId),
    #[error("what it gives as the definition of the job is not the one that the job has pinned")]
    Definition,
    #[error("position {pos} is not in a log of {size} events")]
    Outside { pos: u64, size: u64 },
    #[error(
        "the events and the path do not lead to the root that was signed: something was changed"
    )]
    Root,
    #[error(
        "the checkpoint does not go on from the older one: history was rewritten between {old} and {new}"
    )]
    Extends { old: u64, new: u64 },
}

/// The stream of a job.
#[must_use]
pub fn stream(job_id: JobId) -> String {
    format!("job:{job_id}")
}

/// The stream of a workflow's definitions.
#[must_use]
pub fn definition_stream(workflow_id: &str) -> String {
    format!("workflow:{workflow_id}")
}

impl Proof {
    /// Puts a proof together. `path` are the hashes of [`tree::cover`] of the events in the tree of the checkpoint.
    #[must_use]
    pub fn new(
        job_id: JobId,
        key: &PublicKey,
        checkpoint: &Signed,
        history: History,
        path: &[Hash],
    ) -> Self {
        let format = match history.definition {
            None => FORMAT_1,
            Some(_) => FORMAT_2,
        };
        Self {
            format: format.to_owned(),
            job_id,
            key: key.text(),
            checkpoint: checkpoint.note(),
            extends: None,
            definition: history.definition,
            events: history.events,
            path: texts(path),
        }
    }

    /// Adds that its checkpoint goes on from an older one; `path` are the hashes of [`tree::consistency`].
    #[must_use]
    pub fn extending(self, older: &Signed, path: &[Hash]) -> Self {
        let extends = Some(Extends {
            checkpoint: older.note(),
            path: texts(path),
        });
        Self { extends, ..self }
    }

    /// The file.
    pub fn encode(&self) -> Result<String, ProofError> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        match text.len() > FILE_BYTES_MAX {
            true => Err(ProofError::TooLarge),
            false => Ok(text),
        }
    }
}

/// Says what a file proves. With a key that is trusted, it must be the one that signed.
pub fn check(file: &[u8], trusted: Option<&PublicKey>) -> Result<Proven, ProofError> {
    open(file, trusted).map(|(proven, _)| proven)
}

/// The same, and hands out the history that is proven.
pub fn open(file: &[u8], trusted: Option<&PublicKey>) -> Result<(Proven, History), ProofError> {
    if file.len() > FILE_BYTES_MAX {
        return Err(ProofError::TooLarge);
    }
    let proof: Proof = serde_json::from_slice(file)?;
    match (proof.format.as_str(), &proof.definition) {
        (FORMAT_1, None) | (FORMAT_2, Some(_)) => {}
        (FORMAT_1 | FORMAT_2, _) => return Err(ProofError::Form),
        _ => return Err(ProofError::Format(proof.format)),
    }
    if proof.encode()?.as_bytes() != file {
        return Err(ProofError::Form);
    }
    let key = PublicKey::parse(&proof.key)?;
    if let Some(trusted) = trusted.filter(|trusted| **trusted != key) {
        return Err(ProofError::NotTrusted {
            found: key.fingerprint(),
            wanted: trusted.fingerprint(),
        });
    }
    let signed = Signed::parse(&proof.checkpoint)?;
    signed.verify(&key)?;
    let (workflow, end) = complete(&proof)?;
    if let Some(definition) = &proof.definition {
        defined(definition, &workflow, proof.events.first())?;
    }
    included(&proof, &workflow.id, &signed.checkpoint)?;
    let extends = proof.extends.as_ref();
    if let Some(extends) = extends {
        extended(extends, &signed, &key)?;
    }
    let at = |item: Option<&Item>| item.map_or(0, |item| item.pos);
    let proven = Proven {
        job_id: proof.job_id,
        workflow_id: workflow.id,
        events: proof.events.len() as u64,
        first_pos: at(proof.events.first()),
        last_pos: at(proof.events.last()),
        end,
        checkpoint: signed.checkpoint,
        key,
        extends: proof.extends.map(|extends| extends.checkpoint),
    };
    let history = History {
        definition: proof.definition,
        events: proof.events,
    };
    Ok((proven, history))
}

/// No version is missing, and the job begins as jobs do. The workflow, and how it ended.
fn complete(proof: &Proof) -> Result<(WorkflowRef, Option<String>), ProofError> {
    let events = &proof.events;
    let dense = events.iter().zip(1..).all(|(item, n)| item.version == n);
    if !dense || !events.is_sorted_by(|a, b| a.pos < b.pos) {
        return Err(ProofError::Versions(events.len()));
    }
    let stream = stream(proof.job_id);
    let mut workflow = None;
    let mut end = None;
    for item in events {
        let event = decode(&item.kind, item.schema_ver, item.payload.as_bytes());
        let event = event.map_err(|source| ProofError::Decode {
            stream: stream.clone(),
            version: item.version,
            source,
        })?;
        match event {
            Event::Job(job::Event::JobCreated(created))
                if item.version == 1 && created.job_id == proof.job_id =>
            {
                workflow = Some(created.workflow);
            }
            Event::Job(
                job::Event::JobCompleted { .. }
                | job::Event::JobFailed { .. }
                | job::Event::JobCancelled { .. },
            ) => end = Some(item.kind.clone()),
            _ => {}
        }
    }
    let workflow = workflow.ok_or(ProofError::Beginning(proof.job_id))?;
    Ok((workflow, end))
}

/// The definition is the one that the job has pinned, and was there before it.
fn defined(item: &Item, pinned: &WorkflowRef, first: Option<&Item>) -> Result<(), ProofError> {
    let event = decode(&item.kind, item.schema_ver, item.payload.as_bytes());
    let event = event.map_err(|source| ProofError::Decode {
        stream: definition_stream(&pinned.id),
        version: item.version,
        source,
    })?;
    let is_earlier = first.is_some_and(|first| item.pos < first.pos);
    match event {
        Event::Workflow(workflow::Event::WorkflowRegistered { version, hash, .. })
            if is_earlier && version == pinned.version && hash == pinned.hash =>
        {
            Ok(())
        }
        _ => Err(ProofError::Definition),
    }
}

fn included(proof: &Proof, workflow_id: &str, checkpoint: &Checkpoint) -> Result<(), ProofError> {
    let size = checkpoint.size;
    let (stream, definitions) = (stream(proof.job_id), definition_stream(workflow_id));
    let mut leaves = Vec::with_capacity(proof.events.len() + 1);
    let definition = proof.definition.iter().map(|item| (item, &definitions));
    let events = proof.events.iter().map(|item| (item, &stream));
    for (item, stream) in definition.chain(events) {
        let place = item.pos.checked_sub(1).filter(|place| *place < size);
        let pos = item.pos;
        let place = place.ok_or(ProofError::Outside { pos, size })?;
        leaves.push((place, tree::leaf_node(&item.leaf(stream))));
    }
    let path = hashes(&proof.path)?;
    match tree::root_of_cover(size, &leaves, &path) == Some(checkpoint.root) {
        true => Ok(()),
        false => Err(ProofError::Root),
    }
}

fn extended(extends: &Extends, signed: &Signed, key: &PublicKey) -> Result<(), ProofError> {
    let older = Signed::parse(&extends.checkpoint)?;
    older.verify(key)?;
    let (old, new) = (&older.checkpoint, &signed.checkpoint);
    let path = hashes(&extends.path)?;
    let is_same_log = old.incarnation == new.incarnation;
    let goes_on = tree::is_consistent((old.size, &old.root), (new.size, &new.root), &path);
    match is_same_log && goes_on {
        true => Ok(()),
        false => Err(ProofError::Extends {
            old: old.size,
            new: new.size,
        }),
    }
}

impl Item {
    /// Its leaf in a stream.
    #[must_use]
    pub fn leaf(&self, stream: &str) -> Hash {
        leaf_hash(&Leaf {
            stream_id: stream,
            version: self.version,
            kind: &self.kind,
            schema_ver: self.schema_ver,
            org_id: &self.org_id,
            meta: self.meta.as_bytes(),
            payload: self.payload.as_bytes(),
        })
    }
}

impl History {
    /// What the hashes of a proof's path are of.
    #[must_use]
    pub fn path(&self, size: u64) -> Vec<Range> {
        let items = self.definition.iter().chain(&self.events);
        let places: Vec<u64> = items.filter_map(|item| item.pos.checked_sub(1)).collect();
        tree::cover(&places, size)
    }
}

fn texts(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(|hash| BASE64.encode(hash)).collect()
}

fn hashes(texts: &[String]) -> Result<Vec<Hash>, ProofError> {
    let read = |(text, at): (&String, usize)| decoded(text).ok_or(ProofError::Path(at));
    texts.iter().zip(1..).map(read).collect()
}
