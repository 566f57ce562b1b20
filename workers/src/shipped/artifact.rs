//! Artifacts of earlier jobs: whether they are still there, and what they were.
//!
//! Files are read in pieces and hashed; nothing is copied. Tables are known by the load that their comment names:
//! a later load is a change, and of the same load nothing more can be said, because rows have no recorded hash.

use std::time::Duration;

use domain::asset::{Artifact, Detail, Report, Verdict};
use domain::failure::Failure;
use futures_util::StreamExt as _;
use geo::table::{Held, held};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::tools::{Shared, given, megabytes};
use crate::handler::{Context, Done, Handler, Phase};
use crate::store::hex;
use crate::tiers::Place;

/// Artifacts of which more is told than the verdict.
const DETAILS_MAX: usize = 80;
/// Longest words about one of them.
const DETAIL_BYTES_MAX: usize = 300;
/// Between two checkpoints: each is an event of the job.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// Looks at artifacts.
pub(super) struct VerifyArtifacts(pub(super) Shared);

#[derive(Deserialize)]
pub(super) struct VerifyParams {
    artifacts: Vec<Artifact>,
    made_by: Option<String>,
}

/// One look and where it has come to.
struct Look<'a> {
    ctx: &'a Context,
    artifacts: Vec<Artifact>,
    made_by: Option<String>,
    /// Verdicts of those that were looked at.
    report: Report,
    saved: Instant,
    /// Sizes of files that were looked at, and of those that will be, as far as they are known.
    bytes_done: u64,
    bytes_all: u64,
}

/// What was seen of one artifact.
struct Seen {
    verdict: Verdict,
    found: Option<String>,
    detail: Option<String>,
}

/// What a checkpoint keeps: everything that is certain.
#[derive(Default, Serialize, Deserialize)]
struct Saved {
    report: Report,
}

impl Handler for VerifyArtifacts {
    const NAME: &'static str = "artifact.verify";
    type Params = VerifyParams;
    type Output = Value;

    async fn run(&self, ctx: &Context, params: VerifyParams) -> Result<Done<Value>, Failure> {
        let resumed = ctx.load_checkpoint().await;
        let saved = resumed.and_then(|last| serde_json::from_value(last.checkpoint.state).ok());
        let Saved { report } = saved.unwrap_or_default();
        let sizes = params.artifacts.iter().filter_map(|one| one.bytes);
        let mut look = Look {
            ctx,
            bytes_all: sizes.sum(),
            artifacts: params.artifacts,
            made_by: given(params.made_by),
            report,
            saved: Instant::now(),
            bytes_done: 0,
        };
        look.all(&self.0).await?;
        let Look {
            report, artifacts, ..
        } = look;
        let intact = report
            .verdicts
            .iter()
            .filter(|one| **one == Verdict::Intact);
        let checked = format!("{} of {} are intact", intact.count(), artifacts.len());
        ctx.info(&checked);
        let bytes_read = report.bytes_read;
        let output = json!({
            "verdicts": report.verdicts, "details": report.details, "bytes_read": bytes_read,
            "checked": checked,
        });
        Ok(Done::from(output).metric("bytes_read", bytes_read))
    }
}

impl Look<'_> {
    async fn all(&mut self, tools: &Shared) -> Result<(), Failure> {
        let begin = self.report.verdicts.len();
        for (index, artifact) in self.artifacts.clone().into_iter().enumerate() {
            let size = artifact.bytes.unwrap_or_default();
            if index >= begin {
                let seen = self.one(tools, &artifact).await?;
                self.note(index, &artifact, seen);
            }
            self.bytes_done = self.bytes_done.saturating_add(size);
            self.save(&artifact.name, 0).await?;
        }
        Ok(())
    }

    fn note(&mut self, index: usize, artifact: &Artifact, seen: Seen) {
        self.report.verdicts.push(seen.verdict);
        if seen.verdict == Verdict::Intact {
            return;
        }
        let why = seen.detail.as_deref().unwrap_or_default();
        let word = seen.verdict.as_str();
        let (name, uri) = (&artifact.name, &artifact.uri);
        self.ctx.info(&format!("{name} ({uri}) is {word}: {why}"));
        let tells = seen.found.is_some() || seen.detail.is_some();
        if tells && self.report.details.len() < DETAILS_MAX {
            self.report.details.push(Detail {
                index,
                found: seen.found,
                detail: seen.detail.map(|text| cut(&text)),
            });
        }
    }

    async fn one(&mut self, tools: &Shared, artifact: &Artifact) -> Result<Seen, Failure> {
        self.ctx.check()?;
        if let Some(table) = artifact.uri.strip_prefix("postgis:") {
            return self.table(tools, table).await;
        }
        match Place::parse(&artifact.uri) {
            Ok(place) => self.file(tools, &place, artifact).await,
            Err(_) => {
                let scheme = artifact.uri.split(':').next().unwrap_or_default();
                let scheme: String = scheme.chars().take(40).collect();
                let why = format!("no worker reads `{scheme}:` addresses");
                Ok(Seen::of(Verdict::Unverifiable, why))
            }
        }
    }

    async fn file(
        &mut self,
        tools: &Shared,
        place: &Place,
        artifact: &Artifact,
    ) -> Result<Seen, Failure> {
        let content = match tools.tiers.read(place).await {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(Seen::of(Verdict::Missing, "there is nothing".to_owned())),
            // A link or a folder in its place is not what was made.
            Err(failure) if matches!(failure.code.as_str(), "bad_path" | "not_a_file") => {
                return Ok(Seen::of(Verdict::Changed, failure.message));
            }
            Err(failure) => return Err(failure),
        };
        let Some(expected) = &artifact.sha256 else {
            let why = "no hash of it was recorded".to_owned();
            return Ok(Seen::of(Verdict::Unverifiable, why));
        };
        if let Some(bytes) = artifact.bytes.filter(|bytes| *bytes != content.bytes) {
            let why = format!("it has {} bytes, not {bytes}", content.bytes);
            return Ok(Seen::of(Verdict::Changed, why));
        }
        if artifact.bytes.is_none() {
            self.bytes_all = self.bytes_all.saturating_add(content.bytes);
        }
        let (mut hash, mut read, mut pieces) = (Sha256::new(), 0_u64, content.pieces);
        while let Some(piece) = self.ctx.unless_cancelled(pieces.next()).await? {
            let piece = piece?;
            hash.update(&piece);
            read = read.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            self.save(&artifact.name, read).await?;
        }
        self.report.bytes_read = self.report.bytes_read.saturating_add(read);
        let found = hex(&hash.finalize());
        if found == *expected {
            return Ok(Seen {
                verdict: Verdict::Intact,
                found: None,
                detail: None,
            });
        }
        Ok(Seen {
            verdict: Verdict::Changed,
            found: Some(found),
            detail: None,
        })
    }

    async fn table(&self, tools: &Shared, name: &str) -> Result<Seen, Failure> {
        let catalog = &tools.catalog()?.catalog;
        let acquired = catalog.pool().acquire().await;
        let mut database = acquired.map_err(|error| super::vector::no_database(&error))?;
        let (schema, table) = name.split_once('.').unwrap_or(("", name));
        let held = match held(&mut database, schema, table).await {
            Ok(held) => held,
            Err(failure) if matches!(failure.code.as_str(), "schema_name" | "table_name") => {
                return Ok(Seen::of(Verdict::Unverifiable, failure.message));
            }
            Err(failure) => return Err(failure),
        };
        let maker = self.made_by.as_deref();
        Ok(match held {
            Held::Nothing => Seen::of(Verdict::Missing, "there is no such table".to_owned()),
            Held::Foreign => {
                let why = "the table says of no load that its rows are from it".to_owned();
                Seen::of(Verdict::Changed, why)
            }
            Held::Load(load) => match (load.split('/').next(), maker) {
                (Some(loaded), Some(maker)) if loaded == maker => {
                    let why = format!("the rows are those of {maker}, and have no recorded hash");
                    Seen::of(Verdict::Unverifiable, why)
                }
                (Some(loaded), Some(_)) => {
                    Seen::of(Verdict::Changed, format!("its rows are those of {loaded}"))
                }
                _ => {
                    let why = "no job is recorded that loaded the table".to_owned();
                    Seen::of(Verdict::Unverifiable, why)
                }
            },
        })
    }

    /// Keeps what is certain, now and then, and says how far it is.
    async fn save(&mut self, name: &str, read: u64) -> Result<(), Failure> {
        if self.saved.elapsed() < SAVE_EVERY {
            return Ok(());
        }
        let done = self.bytes_done.saturating_add(read);
        let message = format!(
            "{name}: {} of {} MB",
            megabytes(done),
            megabytes(self.bytes_all.max(done))
        );
        self.ctx.progress(done, self.bytes_all.max(done), &message);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let state = json!({ "report": self.report });
        let phase = Phase {
            name: "looked".to_owned(),
            index: count(self.report.verdicts.len()),
            total: count(self.artifacts.len()),
            state,
            artifacts: Vec::new(),
            is_final: false,
        };
        self.ctx.save_checkpoint(phase).await?;
        self.saved = Instant::now();
        Ok(())
    }
}

impl Seen {
    fn of(verdict: Verdict, detail: String) -> Self {
        Self {
            verdict,
            found: None,
            detail: Some(detail),
        }
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(DETAIL_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
