//! The history of an asset: its revisions by pages, and who did what to them, out of the log.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgPool, QueryBuilder};

use super::assets::Revision;
use super::{Page, limit};
use crate::Error;

/// Steps of one asset that are read; the newest.
const STEPS_MAX: i64 = 1_000;

/// Types of events that make, review or bring back a revision.
const KINDS: [&str; 5] = [
    "asset_processing_completed",
    "asset_rolled_back",
    "asset_approved",
    "asset_rejected",
    "asset_approval_revoked",
];

/// Which revisions of an asset to list.
#[derive(Debug, Clone, Default)]
pub struct RevisionFilter {
    pub asset_id: String,
    pub newest_first: bool,
    pub limit: i64,
    /// `next` of the page before: the number of a revision.
    pub cursor: Option<String>,
}

/// What happened to a revision, and who wanted it.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct AssetStep {
    pub asset_id: String,
    pub pos: i64,
    #[sqlx(rename = "type")]
    pub kind: String,
    pub revision: i32,
    pub reason: Option<String>,
    pub actor: Option<String>,
    pub recorded_at: DateTime<Utc>,
}

impl RevisionFilter {
    fn after(&self) -> Result<Option<i32>, Error> {
        let bad = |text: &String| Error::Cursor(text.chars().take(80).collect());
        let number = |text: &String| text.parse().map_err(|_| bad(text));
        self.cursor.as_ref().map(number).transpose()
    }

    /// The page out of all revisions of an asset, the oldest first.
    pub fn page_of(&self, all: &[Revision]) -> Result<Page<Revision>, Error> {
        let after = self.after()?;
        let limit = limit(self.limit);
        let wanted = |row: &&Revision| match after {
            None => true,
            Some(number) if self.newest_first => row.revision < number,
            Some(number) => row.revision > number,
        };
        let take = usize::try_from(limit + 1).unwrap_or(1);
        let rows: Vec<Revision> = if self.newest_first {
            let rows = all.iter().rev().filter(wanted).take(take);
            rows.cloned().collect()
        } else {
            all.iter().filter(wanted).take(take).cloned().collect()
        };
        Ok(Page::cut(rows, limit, Revision::cursor))
    }
}

/// Revisions of one asset by pages; whose it is must be known before.
pub async fn revisions(pool: &PgPool, filter: &RevisionFilter) -> Result<Page<Revision>, Error> {
    let limit = limit(filter.limit);
    let mut query = QueryBuilder::new(
        "select asset_id, revision, content_hash, artifacts, origin, approval, approval_reason, created_at
         from dagapp.asset_revisions where asset_id = ",
    );
    query.push_bind(&filter.asset_id);
    if let Some(number) = filter.after()? {
        let after = if filter.newest_first {
            " and revision < "
        } else {
            " and revision > "
        };
        query.push(after).push_bind(number);
    }
    query.push(if filter.newest_first {
        " order by revision desc limit "
    } else {
        " order by revision limit "
    });
    query.push_bind(limit + 1);
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, Revision::cursor))
}

/// What happened to the revisions of several assets of an organisation, in order; the newest thousand steps of each.
pub async fn steps_of_assets(
    pool: &PgPool,
    org_id: &str,
    ids: &[String],
) -> Result<Vec<AssetStep>, Error> {
    let rows = sqlx::query_as(
        "select a.asset_id, e.pos, e.type, (e.said ->> 'revision')::int as revision, e.said ->> 'reason' as reason,
                e.meta ->> 'actor' as actor, e.recorded_at
         from unnest($1::text[]) as a (asset_id) cross join lateral (
             select pos, version, type, recorded_at, convert_from(payload, 'UTF8')::json as said,
                    convert_from(meta, 'UTF8')::json as meta
             from dagapp.events
             where stream_id = 'asset:' || a.asset_id and org_id = $2 and type = any($3)
             order by version desc limit $4
         ) e order by a.asset_id, e.pos",
    );
    let rows = rows.bind(ids).bind(org_id).bind(KINDS.as_slice());
    Ok(rows.bind(STEPS_MAX).fetch_all(pool).await?)
}

/// Who submitted these requests of an organisation, by id.
pub async fn askers_of_requests(
    pool: &PgPool,
    org_id: &str,
    ids: &[String],
) -> Result<Vec<(String, String)>, Error> {
    let rows = sqlx::query_as(
        "select r.request_id, coalesce(convert_from(e.meta, 'UTF8')::json ->> 'actor', '')
         from unnest($1::text[]) as r (request_id)
         join dagapp.events e on e.stream_id = 'request:' || r.request_id and e.version = 1 and e.org_id = $2",
    );
    Ok(rows.bind(ids).bind(org_id).fetch_all(pool).await?)
}
