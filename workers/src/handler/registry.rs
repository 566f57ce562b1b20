//! Which code belongs to which name. A clash is an error at start, never a surprise later (O-102).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use domain::handler::{Catalog, Handler as Declaration};

use crate::shipped::Tools;

use super::{BlockingHandler, Blocks, Body, Handler};

/// All handlers that a worker can run.
#[derive(Default)]
pub struct Registry {
    catalog: Catalog,
    entries: BTreeMap<String, Arc<Entry>>,
}

/// Why a handler cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("the handler `{0}` is registered twice")]
    Duplicate(String),
    #[error("the handler `{0}` is not declared; see docs/guides/add-a-handler.md")]
    Undeclared(String),
}

/// A handler and its declaration.
pub(crate) struct Entry {
    pub(crate) declared: Declaration,
    pub(crate) body: Body,
}

impl Registry {
    /// An empty registry for handlers that `catalog` declares.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            entries: BTreeMap::new(),
        }
    }

    /// The handlers that ship with Strata, with the tools of their worker.
    pub fn shipped(tools: Tools) -> Result<Self, RegistryError> {
        let mut registry = Self::new(Catalog::shipped());
        crate::shipped::register(&mut registry, tools)?;
        Ok(registry)
    }

    /// Those of them that need no tools: for workers of examples and tests.
    pub fn examples() -> Result<Self, RegistryError> {
        let mut registry = Self::new(Catalog::shipped());
        crate::shipped::register_examples(&mut registry)?;
        Ok(registry)
    }

    /// Adds a handler that mostly waits.
    pub fn register<H: Handler>(&mut self, handler: H) -> Result<(), RegistryError> {
        self.add(H::NAME, Body::Waiting(Box::new(handler)))
    }

    /// Adds a handler that blocks its thread.
    pub fn register_blocking<H: BlockingHandler>(
        &mut self,
        handler: H,
    ) -> Result<(), RegistryError> {
        self.add(H::NAME, Body::Blocking(Box::new(Blocks(handler))))
    }

    /// The names of all registered handlers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Finds a handler by name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries
            .get(name)
            .or_else(|| self.entries.get(&self.catalog.find(name)?.name))
    }

    fn add(&mut self, name: &str, body: Body) -> Result<(), RegistryError> {
        let declared = self.catalog.find(name).filter(|found| found.name == name);
        let declared = declared.ok_or_else(|| RegistryError::Undeclared(name.to_owned()))?;
        if self.entries.contains_key(name) {
            return Err(RegistryError::Duplicate(name.to_owned()));
        }
        let entry = Entry {
            declared: declared.clone(),
            body,
        };
        self.entries.insert(name.to_owned(), Arc::new(entry));
        Ok(())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped::Echo;

    #[test]
    fn a_second_registration_is_an_error() {
        let mut registry = Registry::examples().unwrap();
        let again = registry.register(Echo);
        assert_eq!(again, Err(RegistryError::Duplicate("echo".to_owned())));
        let mut empty = Registry::new(Catalog::default());
        let undeclared = empty.register(Echo);
        assert_eq!(
            undeclared,
            Err(RegistryError::Undeclared("echo".to_owned()))
        );
    }
}
