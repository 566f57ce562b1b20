//! The border to partners: each platform's own payload becomes work in our words, or a list of problems.
//!
//! Pure functions. Nothing of a partner's payload goes further than this: what leaves here is a workflow of
//! ours with its declared inputs, and the refs, which stay opaque (O-130).

mod arcgis;
mod ddh;
mod files;
mod generic;
mod portal;
#[cfg(test)]
mod tests;

use domain::json::{canonical, sha256_hex};
use domain::platform::Refs;
use domain::priority::Priority;
use domain::request::Inputs;
use serde_json::{Map, Value, json};

use super::callbacks::CallbackWish;
use super::fields::{Fields, problem};
use crate::error::Problem;

/// What a payload asks for, in our words; with gaps where the payload has problems.
#[derive(Clone, Default)]
pub(crate) struct Work {
    pub(crate) platform_id: String,
    pub(crate) refs: Refs,
    pub(crate) workflow_id: String,
    pub(crate) workflow_version: Option<u32>,
    pub(crate) inputs: Inputs,
    pub(crate) priority: Option<Priority>,
    pub(crate) title: Option<String>,
    pub(crate) callbacks: Vec<CallbackWish>,
    /// Asks to do it again although it was done.
    pub(crate) anew: bool,
    /// The version that the caller believes to be the latest (U-33).
    pub(crate) previous: Option<Previous>,
    /// What was given and has no effect.
    pub(crate) warnings: Vec<String>,
    /// Our names for fields, and what the caller calls them; the first that fits counts.
    pub(crate) names: Vec<(&'static str, String)>,
}

/// A place in the chain of versions.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Previous {
    /// The refs that all versions have in common.
    pub(crate) series: Refs,
    /// The ref that tells them apart.
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

impl Work {
    /// Stands for this work as long as it is not asked for anew; `round` counts how often it was.
    pub(crate) fn content_key(&self, round: u32) -> String {
        let content = json!({
            "platform_id": self.platform_id,
            "refs": self.refs,
            "workflow_id": self.workflow_id,
            "workflow_version": self.workflow_version,
            "inputs": self.inputs,
            "round": round,
        });
        format!("content {}", sha256_hex(canonical(&content).as_bytes()))
    }

    /// What the caller calls one of our fields.
    pub(crate) fn name_of(&self, field: &str) -> String {
        for (ours, theirs) in &self.names {
            if field == *ours {
                return theirs.clone();
            }
            let rest = ours
                .strip_suffix('*')
                .and_then(|ours| field.strip_prefix(ours));
            if let Some(rest) = rest {
                return format!("{theirs}{rest}");
            }
        }
        field.to_owned()
    }
}

/// Turns a payload into work. Whose it is follows from the path, from `platform_id`, or from its fields.
pub(crate) fn adapt(platform: Option<&str>, body: Map<String, Value>) -> (Work, Vec<Problem>) {
    let mut fields = Fields::new(body);
    let named = fields.text("platform_id", 64);
    if let (Some(path), Some(named)) = (platform, &named)
        && path != named
    {
        let message = format!("the path says `{path}`, the body another platform");
        fields.problem("platform_id", "INVALID", message);
    }
    let platform = platform.map(str::to_owned).or(named);
    let mut work = match kind_of(platform.as_deref(), &fields) {
        Kind::Generic => generic::read(&mut fields, platform.as_deref()),
        Kind::Ddh => ddh::read(&mut fields),
        Kind::Arcgis => arcgis::read(&mut fields),
        Kind::Portal => portal::read(&mut fields),
    };
    work.callbacks = super::callbacks::wishes_of(&mut fields);
    work.priority = priority(&mut fields);
    (work, fields.finish())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Generic,
    Ddh,
    Arcgis,
    Portal,
}

fn kind_of(platform: Option<&str>, fields: &Fields) -> Kind {
    // Whoever names a workflow speaks our words, from whatever platform.
    if fields.has("workflow_id") {
        return Kind::Generic;
    }
    match platform {
        Some("ddh") => Kind::Ddh,
        Some("arcgis") => Kind::Arcgis,
        Some("strata") => Kind::Portal,
        Some(_) => Kind::Generic,
        None if fields.has("dataset_id") => Kind::Ddh,
        None if fields.has("item_id") => Kind::Arcgis,
        None if fields.has("name") => Kind::Portal,
        None => Kind::Generic,
    }
}

/// A word or a number (C-39).
fn priority(fields: &mut Fields) -> Option<Priority> {
    let value = fields.take("priority")?;
    let tier = match &value {
        Value::String(word) => word.parse().ok(),
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| u8::try_from(number).ok())
            .map(Priority::from_number),
        _ => None,
    };
    if tier.is_none() {
        let message = "`priority` must be high, normal, low, or a number from 0 to 255";
        fields.problem("priority", "NOT_A_CHOICE", message);
    }
    tier
}

/// A ref: a text or a whole number. What it says is not looked at (O-07).
fn required_ref(fields: &mut Fields, refs: &mut Refs, name: &'static str) {
    let Some(value) = fields.required(name) else {
        return;
    };
    match &value {
        Value::String(_) => {}
        Value::Number(number) if !number.is_f64() => {}
        _ => {
            let message = format!("`{name}` must be a text or a whole number");
            fields.problem(name, "WRONG_TYPE", message);
            return;
        }
    }
    refs.insert(name.to_owned(), value);
}

/// A problem of ours in the words of the caller, unless they know it already.
pub(crate) fn told(
    work: &Work,
    known: &[Problem],
    flaw: commands::preflight::Flaw,
) -> Option<Problem> {
    let field = work.name_of(&flaw.field);
    let is_known = known.iter().any(|problem| problem.field == field);
    (!is_known).then(|| problem(field, flaw.code, flaw.message))
}
