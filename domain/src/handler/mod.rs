//! What handlers take and return: the contract between workflows and workers.
//!
//! A workflow is checked against these declarations when it is registered: an unknown handler, an
//! unknown or missing parameter, or a template that reads an output that no handler declares is
//! refused before anything runs. The code that does the work lives in `workers`.

mod shipped;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::definition::model::{Input, ValueType};

/// The declaration of a handler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Handler {
    pub name: String,
    pub description: String,
    /// Other names by which workflows may call it.
    pub aliases: Vec<String>,
    /// Queue of tasks whose workflow names none.
    pub queue: String,
    /// Longest execution of tasks whose workflow sets none.
    pub timeout_seconds: u32,
    /// Running it twice has the effect of running it once, so that start and end may be one report.
    pub idempotent: bool,
    pub params: BTreeMap<String, Input>,
    /// Sets of parameters of which at least one must be given completely.
    pub one_of: Vec<Vec<String>>,
    /// Takes parameters that are not declared.
    pub open_params: bool,
    pub outputs: BTreeMap<String, Output>,
}

/// One field of what a handler returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Output {
    #[serde(rename = "type")]
    pub kind: ValueType,
    pub description: String,
    /// May be null or absent.
    pub optional: bool,
    /// Fields of an object; without them its content is not declared and not checked.
    pub fields: Option<BTreeMap<String, Output>>,
}

/// All handlers that workflows may name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    handlers: BTreeMap<String, Handler>,
    aliases: BTreeMap<String, String>,
}

/// What a workflow leaves to a handler, as it was when the workflow was registered. A later build may
/// declare something else; versions that exist keep running as they did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    pub queue: String,
    pub timeout_seconds: u32,
    pub idempotent: bool,
}

/// The pinned values of the handlers that one workflow calls, by canonical name.
pub type Pins = BTreeMap<String, Pinned>;

/// Why a handler cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the handler name `{name}` is taken by `{holder}`")]
pub struct NameTaken {
    pub name: String,
    pub holder: String,
}

impl Catalog {
    /// The handlers that ship with Strata.
    #[must_use]
    pub fn shipped() -> Self {
        let mut catalog = Self::default();
        for handler in shipped::all() {
            // A test proves that the shipped names are distinct; a clash would only hide the later one.
            let _ = catalog.register(handler);
        }
        catalog
    }

    /// Adds a handler; its name and aliases must be free.
    pub fn register(&mut self, handler: Handler) -> Result<(), NameTaken> {
        for name in std::iter::once(&handler.name).chain(&handler.aliases) {
            if let Some(holder) = self.find(name) {
                return Err(NameTaken {
                    name: name.clone(),
                    holder: holder.name.clone(),
                });
            }
        }
        for alias in &handler.aliases {
            self.aliases.insert(alias.clone(), handler.name.clone());
        }
        self.handlers.insert(handler.name.clone(), handler);
        Ok(())
    }

    /// Finds a handler by name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Handler> {
        self.handlers
            .get(name)
            .or_else(|| self.handlers.get(self.aliases.get(name)?))
    }

    /// The same handlers, with the values that a workflow was registered with.
    #[must_use]
    pub fn pinned(&self, pins: &Pins) -> Self {
        let mut catalog = self.clone();
        for (name, pin) in pins {
            if let Some(handler) = catalog.handlers.get_mut(name) {
                handler.queue.clone_from(&pin.queue);
                handler.timeout_seconds = pin.timeout_seconds;
                handler.idempotent = pin.idempotent;
            }
        }
        catalog
    }

    /// All handlers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.values()
    }

    /// All names and aliases, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.handlers
            .keys()
            .chain(self.aliases.keys())
            .map(String::as_str)
    }
}

impl Handler {
    /// A declaration without parameters and outputs yet.
    #[must_use]
    pub fn new(name: &str, queue: &str, timeout_seconds: u32, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            aliases: Vec::new(),
            queue: queue.to_owned(),
            timeout_seconds,
            idempotent: false,
            params: BTreeMap::new(),
            one_of: Vec::new(),
            open_params: false,
            outputs: BTreeMap::new(),
        }
    }

    /// Also answers to these names.
    #[must_use]
    pub fn aliases(mut self, names: &[&str]) -> Self {
        self.aliases.extend(names.iter().map(|n| (*n).to_owned()));
        self
    }

    /// Running it twice has the effect of running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Takes parameters that are not declared.
    #[must_use]
    pub fn open_params(mut self) -> Self {
        self.open_params = true;
        self
    }

    /// Takes this parameter.
    #[must_use]
    pub fn param(mut self, name: &str, input: Input) -> Self {
        self.params.insert(name.to_owned(), input);
        self
    }

    /// Needs at least one of these sets of parameters, completely.
    #[must_use]
    pub fn one_of(mut self, sets: &[&[&str]]) -> Self {
        self.one_of = sets
            .iter()
            .map(|set| set.iter().map(|n| (*n).to_owned()).collect())
            .collect();
        self
    }

    /// Returns this field.
    #[must_use]
    pub fn output(mut self, name: &str, output: Output) -> Self {
        self.outputs.insert(name.to_owned(), output);
        self
    }
}

impl Output {
    /// A field of this type that is always there.
    #[must_use]
    pub fn new(kind: ValueType, description: &str) -> Self {
        Self {
            kind,
            description: description.to_owned(),
            optional: false,
            fields: None,
        }
    }

    /// A field that may be null or absent.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// An object with exactly these fields.
    #[must_use]
    pub fn object(description: &str, fields: &[(&str, Output)]) -> Self {
        let fields = fields
            .iter()
            .map(|(name, f)| ((*name).to_owned(), f.clone()))
            .collect();
        Self {
            fields: Some(fields),
            ..Self::new(ValueType::Object, description)
        }
    }
}
