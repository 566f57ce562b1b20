//! Writes to pgSTAC: collections that grow, items in transactions of bounded size.

use std::collections::BTreeMap;

use domain::failure::{Failure, FailureClass};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::Catalog;
use crate::names::cut;
use crate::sql::{end, failed};
use crate::stac::{Collection, Extent, widened};

/// Items of one transaction: about half a second in which others of the collection wait.
const ITEMS_MAX: usize = 500;

/// What became of a collection; neither if it was there and needed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ensured {
    pub created: bool,
    pub updated: bool,
}

/// What became of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Upserted {
    pub inserted: u64,
    pub updated: u64,
}

impl Catalog {
    /// Creates a collection, or grows the one that is there.
    pub async fn ensure_collection(&self, collection: &Collection) -> Result<Ensured, Failure> {
        check_id("collection", &collection.id)?;
        let begun = self.pool().begin().await;
        let mut tx = begun.map_err(failed("cannot begin to write the collection"))?;
        let ensured = self.ensure(&mut tx, collection).await;
        end(tx, ensured, "cannot keep the collection").await
    }

    /// Writes items, replacing those of the same id, and grows their collection, which is made if it is
    /// missing. One transaction for each 500: after a failure, writing all of them again is right.
    pub async fn upsert_items(
        &self,
        collection_id: &str,
        items: &[Value],
    ) -> Result<Upserted, Failure> {
        check_id("collection", collection_id)?;
        let items = by_id(collection_id, items)?;
        let items: Vec<(&str, &Value)> = items.into_iter().collect();
        let mut total = Upserted::default();
        for chunk in items.chunks(ITEMS_MAX) {
            let begun = self.pool().begin().await;
            let mut tx = begun.map_err(failed("cannot begin to write items"))?;
            let written = self.upsert_chunk(&mut tx, collection_id, chunk).await;
            let chunk = end(tx, written, "cannot keep the items").await?;
            total.inserted += chunk.inserted;
            total.updated += chunk.updated;
        }
        Ok(total)
    }

    /// The search of all items of a collection, by which a tiler shows them as one mosaic. Always the same
    /// id for the same collection.
    pub async fn register_search(&self, collection_id: &str) -> Result<String, Failure> {
        check_id("collection", collection_id)?;
        let search = json!({"collections": [collection_id]});
        let metadata = json!({"type": "mosaic", "name": collection_id});
        let call = "select hash from pgstac.search_query($1, false, $2)";
        sqlx::query_scalar(call)
            .bind(search)
            .bind(metadata)
            .fetch_one(self.pool())
            .await
            .map_err(failed("cannot register the search of the mosaic"))
    }

    async fn upsert_chunk(
        &self,
        conn: &mut PgConnection,
        collection_id: &str,
        items: &[(&str, &Value)],
    ) -> Result<Upserted, Failure> {
        let extents = items.iter().map(|(_, item)| Extent::of_item(item));
        let collection = Collection {
            id: collection_id.to_owned(),
            extent: extents.fold(Extent::default(), Extent::and),
            ..Collection::default()
        };
        let ids: Vec<&str> = items.iter().map(|(id, _)| *id).collect();
        let list: Vec<&Value> = items.iter().map(|(_, item)| *item).collect();
        self.ensure(conn, &collection).await?;
        let count = "select count(*) from pgstac.items where collection = $1 and id = any($2)";
        let before: i64 = sqlx::query_scalar(count)
            .bind(collection_id)
            .bind(&ids)
            .fetch_one(&mut *conn)
            .await
            .map_err(failed("cannot look for the items"))?;
        let written = sqlx::query("select pgstac.upsert_items($1)")
            .bind(domain::json::clean(json!(list)))
            .execute(conn)
            .await;
        written.map_err(failed("cannot write the items"))?;
        let updated = u64::try_from(before).unwrap_or_default();
        let all = u64::try_from(items.len()).unwrap_or_default();
        Ok(Upserted {
            inserted: all.saturating_sub(updated),
            updated,
        })
    }

    /// Takes the lock of the collection, until the transaction ends.
    async fn ensure(
        &self,
        conn: &mut PgConnection,
        collection: &Collection,
    ) -> Result<Ensured, Failure> {
        lock(conn, &collection.id).await?;
        let old: Option<Value> =
            sqlx::query_scalar("select content from pgstac.collections where id = $1")
                .bind(&collection.id)
                .fetch_optional(&mut *conn)
                .await
                .map_err(failed("cannot read the collection"))?;
        let new = widened(old.as_ref(), collection, self.base_url.as_deref());
        if old.as_ref() == Some(&new) {
            return Ok(Ensured::default());
        }
        let written = sqlx::query("select pgstac.upsert_collection($1)")
            .bind(new)
            .execute(conn)
            .await;
        written.map_err(failed("cannot write the collection"))?;
        Ok(Ensured {
            created: old.is_none(),
            updated: old.is_some(),
        })
    }
}

async fn lock(conn: &mut PgConnection, collection_id: &str) -> Result<(), Failure> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("stac:{collection_id}"))
        .execute(conn)
        .await
        .map_err(failed("cannot wait for other writers of the collection"))?;
    Ok(())
}

/// The items by id, the last one where an id comes twice: pgSTAC cannot take both. Whatever pgSTAC would
/// refuse with an error of its insides is refused here by name.
fn by_id<'a>(
    collection_id: &str,
    items: &'a [Value],
) -> Result<BTreeMap<&'a str, &'a Value>, Failure> {
    let mut map = BTreeMap::new();
    for item in items {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("id");
        check_id("item", id)?;
        let refused = |what: &str| {
            let message = format!("the item `{}` {what}", cut(id));
            Failure::new(FailureClass::Contract, "stac_item", &message)
        };
        if text("collection") != collection_id {
            return Err(refused("belongs to another collection"));
        }
        if !item.get("geometry").is_some_and(Value::is_object) {
            return Err(refused("has no geometry"));
        }
        if Extent::of_item(item).interval.is_none() {
            return Err(refused("has no time"));
        }
        map.insert(id, item);
    }
    Ok(map)
}

fn check_id(what: &str, id: &str) -> Result<(), Failure> {
    if !id.is_empty() && id.len() <= 255 && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let message = format!("`{}` cannot be the id of a {what}", cut(id));
    Err(Failure::new(FailureClass::Contract, "stac_id", &message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::by_id;

    #[test]
    fn the_last_item_of_an_id_counts() {
        let item = |id: &str, note: u8| {
            json!({"id": id, "collection": "c", "geometry": {}, "note": note,
                   "properties": {"datetime": "2024-01-01T00:00:00Z"}})
        };
        let items = [item("b", 1), item("a", 2), item("b", 3)];
        let kept = by_id("c", &items).unwrap();
        let notes: Vec<_> = kept.values().map(|item| &item["note"]).collect();
        assert_eq!(notes, [&json!(2), &json!(3)]);
    }

    #[test]
    fn items_that_pgstac_would_choke_on_are_refused_by_name() {
        let time = json!({"datetime": "2024-01-01T00:00:00Z"});
        for (item, code) in [
            (json!({"id": "", "collection": "c"}), "stac_id"),
            (json!({"id": "a", "collection": "d"}), "stac_item"),
            (
                json!({"id": "a", "collection": "c", "geometry": null, "properties": time}),
                "stac_item",
            ),
            (
                json!({"id": "a", "collection": "c", "geometry": {}, "properties": {"datetime": null}}),
                "stac_item",
            ),
        ] {
            assert_eq!(by_id("c", &[item]).unwrap_err().code, code);
        }
    }
}
