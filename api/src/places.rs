//! How many streams and sockets may be open: all together, and of one key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Category, Fault};

/// Counts what is open.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    all_max: usize,
    key_max: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    of_keys: HashMap<String, usize>,
}

/// One place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    key_id: String,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(crate) fn new(all_max: usize, key_max: usize) -> Self {
        Self {
            all_max,
            key_max,
            taken: Arc::default(),
        }
    }

    /// A place for one more stream of this key, if there is one.
    pub(crate) fn take(&self, key_id: &str) -> Result<Place, Fault> {
        let mut taken = locked(&self.taken);
        if taken.all >= self.all_max {
            return Err(Fault::new(
                Category::Unavailable,
                "TOO_MANY_STREAMS",
                "this server has as many open streams as it takes",
                "try again later, or another server",
            ));
        }
        let of_key = taken.of_keys.get(key_id).copied().unwrap_or_default();
        if of_key >= self.key_max {
            return Err(Fault::new(
                Category::Limit,
                "TOO_MANY_STREAMS",
                format!("this key has {of_key} open streams, which is as many as one may have"),
                "end some; one socket carries many subscriptions",
            ));
        }
        taken.all += 1;
        taken.of_keys.insert(key_id.to_owned(), of_key + 1);
        Ok(Place {
            key_id: key_id.to_owned(),
            taken: Arc::clone(&self.taken),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        taken.all = taken.all.saturating_sub(1);
        if let Some(of_key) = taken.of_keys.get_mut(&self.key_id) {
            *of_key -= 1;
            if *of_key == 0 {
                taken.of_keys.remove(&self.key_id);
            }
        }
    }
}

fn locked(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_leaves_places_to_others_and_gives_its_own_back() {
        let places = Places::new(3, 2);
        let first = places.take("key_a").unwrap();
        let _second = places.take("key_a").unwrap();
        assert_eq!(places.take("key_a").unwrap_err().category, Category::Limit);
        let _other = places.take("key_b").unwrap();
        let full = places.take("key_b").unwrap_err();
        assert_eq!(full.category, Category::Unavailable);
        drop(first);
        assert!(places.take("key_a").is_ok());
        assert_eq!(locked(&places.taken).all, 2);
    }
}
