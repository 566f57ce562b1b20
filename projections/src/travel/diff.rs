//! What differs between two moments of a job: for people, and as a JSON patch (RFC 6902).

use std::collections::BTreeSet;

use domain::id::NodeId;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::view::{children_of, job_value, node_value};
use super::{JobAt, Moment};
use crate::Error;
use crate::read_models::job::past::{Seen, Whole};

/// Nodes whose changes are told; of more it is only said how many there are.
pub const DIFF_NODES_MAX: usize = 1_000;

/// One field that is another one now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Nothing for a field of the job itself.
    pub node_id: Option<String>,
    pub field: String,
    pub before: Value,
    pub after: Value,
}

/// What differs between two moments of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateDiff {
    pub from: Moment,
    pub to: Moment,
    /// Fields of the job by name, then nodes in topological order, their fields by name.
    pub changes: Vec<Change>,
    /// Nodes that were touched, or came, or went.
    pub nodes_touched: usize,
    /// Those of them whose changes are not told.
    pub nodes_left_out: usize,
    /// Makes the document of the job at `from` that at `to`; nothing when nodes are left out.
    pub patch: Option<Value>,
}

impl JobAt {
    /// What differs from here to another moment of the same job.
    pub async fn diff(&self, to: &Self) -> Result<StateDiff, Error> {
        let (mut before, mut after) = touched(&self.whole, &to.whole);
        let ids = order(&before, &after);
        let nodes_touched = ids.len();
        let told: BTreeSet<NodeId> = ids.iter().take(DIFF_NODES_MAX).cloned().collect();
        before.retain(|row| told.contains(&row.id));
        after.retain(|row| told.contains(&row.id));
        let before = self.part(before).await?;
        let after = to.part(after).await?;
        let names = ids.iter().take(DIFF_NODES_MAX).map(ToString::to_string);
        let names: Vec<String> = names.collect();
        let nodes_left_out = nodes_touched - names.len();
        Ok(StateDiff {
            from: self.moment(),
            to: to.moment(),
            changes: changes(&before, &after, &names),
            nodes_touched,
            nodes_left_out,
            patch: (nodes_left_out == 0).then(|| Value::Array(patch(&before, &after))),
        })
    }

    /// The document with some of its nodes.
    async fn part(&self, rows: Vec<Seen>) -> Result<Value, Error> {
        let mut nodes = Map::new();
        for row in self.filled(rows).await? {
            nodes.insert(row.node_id.clone(), node_value(&row)?);
        }
        Ok(json!({"job": job_value(&self.row())?, "nodes": nodes}))
    }
}

/// The rows on both sides that any event has touched in between. Whatever changes a row moves its position.
fn touched(a: &Whole, b: &Whole) -> (Vec<Seen>, Vec<Seen>) {
    let differs = |row: &Seen, other: &Whole| {
        let found = other.find(&row.id);
        found.is_none_or(|found| found.node.last_pos != row.node.last_pos)
    };
    let all = |whole: &Whole, other: &Whole| -> Vec<Seen> {
        let mut rows = whole.nodes();
        rows.retain(|row| differs(row, other));
        for group in whole.groups() {
            rows.extend(children_of(whole, group, 0).filter(|row| differs(row, other)));
        }
        rows
    };
    (all(a, b), all(b, a))
}

/// The ids of both sides: the nodes of the workflow in its order, each followed by its children.
fn order(a: &[Seen], b: &[Seen]) -> Vec<NodeId> {
    let keys = a.iter().chain(b);
    let keys = keys.map(|row| (row.node.ordinal, row.id.child, row.id.name.clone()));
    let keys: BTreeSet<_> = keys.collect();
    let id = |(_, child, name)| NodeId { name, child };
    keys.into_iter().map(id).collect()
}

fn changes(a: &Value, b: &Value, names: &[String]) -> Vec<Change> {
    let mut all = Vec::new();
    fields(None, a.get("job"), b.get("job"), &mut all);
    for name in names {
        let node = |of: &'_ Value| of.get("nodes").and_then(|nodes| nodes.get(name)).cloned();
        fields(Some(name), node(a).as_ref(), node(b).as_ref(), &mut all);
    }
    all
}

/// The fields that differ; where one side is missing, those that are something.
fn fields(node: Option<&String>, a: Option<&Value>, b: Option<&Value>, all: &mut Vec<Change>) {
    let side = |of: Option<&Value>| of.and_then(Value::as_object).cloned().unwrap_or_default();
    let (a, b) = (side(a), side(b));
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for field in keys {
        let value = |of: &Map<String, Value>| of.get(field).cloned().unwrap_or_default();
        let (before, after) = (value(&a), value(&b));
        if before != after {
            all.push(Change {
                node_id: node.cloned(),
                field: field.clone(),
                before,
                after,
            });
        }
    }
}

/// The operations that make one value the other, object by object.
fn patch(a: &Value, b: &Value) -> Vec<Value> {
    let mut steps = Vec::new();
    walk("", a, b, 0, &mut steps);
    steps
}

/// Fields of nodes are replaced as a whole: what is in them is data of others.
const DEPTH_MAX: usize = 3;

fn walk(path: &str, a: &Value, b: &Value, depth: usize, steps: &mut Vec<Value>) {
    if a == b {
        return;
    }
    let (Value::Object(before), Value::Object(after), true) = (a, b, depth < DEPTH_MAX) else {
        steps.push(json!({"op": "replace", "path": path, "value": b}));
        return;
    };
    for (key, value) in before {
        let path = format!("{path}/{}", escaped(key));
        match after.get(key) {
            Some(new) => walk(&path, value, new, depth + 1, steps),
            None => steps.push(json!({"op": "remove", "path": path})),
        }
    }
    for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
        let path = format!("{path}/{}", escaped(key));
        steps.push(json!({"op": "add", "path": path, "value": value}));
    }
}

/// A key as a part of a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c/~]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[ab/~]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Takes the steps of a patch, by the pointers of another implementation than ours.
    fn patched(mut value: Value, steps: &[Value]) -> Value {
        for step in steps {
            let path = step["path"].as_str().unwrap();
            let Some((parent, key)) = path.rsplit_once('/') else {
                assert_eq!(step["op"], "replace");
                value = step["value"].clone();
                continue;
            };
            let key = key.replace("~1", "/").replace("~0", "~");
            let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
            let fields = parent.expect("the parent is an object");
            let before = match step["op"].as_str() {
                Some("remove") => fields.remove(&key),
                _ => fields.insert(key, step["value"].clone()),
            };
            assert_eq!(before.is_some(), step["op"] != "add", "{step}");
        }
        value
    }

    proptest! {
        #[test]
        fn a_patch_makes_one_document_the_other(a in value(), b in value()) {
            let steps = patch(&a, &b);
            prop_assert_eq!(steps.is_empty(), a == b);
            prop_assert_eq!(patched(a, &steps), b);
        }
    }

    #[test]
    fn changes_are_told_in_the_order_of_the_workflow() {
        let a = json!({"job": {"status": "RUNNING", "paused": false},
                       "nodes": {"z": {"status": "READY", "attempt": 1}}});
        let b = json!({"job": {"status": "FAILED", "paused": false},
                       "nodes": {"z": {"status": "FAILED", "attempt": 2}, "a": {"status": "READY"}}});
        let told = changes(&a, &b, &["z".to_owned(), "a".to_owned()]);
        let told: Vec<_> = told
            .iter()
            .map(|c| (c.node_id.as_deref(), c.field.as_str()))
            .collect();
        let wanted = [
            (None, "status"),
            (Some("z"), "attempt"),
            (Some("z"), "status"),
            (Some("a"), "status"),
        ];
        assert_eq!(told, wanted);
    }
}
