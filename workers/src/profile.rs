//! What a worker takes on by default: the two kinds of worker (O-66).

use std::fmt;
use std::str::FromStr;

use domain::message::QueueSlots;

/// The kind of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Many short tasks that use little memory.
    Light,
    /// Few tasks that open rasters or move much data.
    Heavy,
}

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a worker profile; expected `light` or `heavy`")]
pub struct InvalidProfile(String);

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Light, Self::Heavy];

    /// The queue that it serves.
    #[must_use]
    pub fn queue(self) -> &'static str {
        match self {
            Self::Light => "functionapp-tasks",
            Self::Heavy => "container-tasks",
        }
    }

    /// How many tasks it runs at once on a machine with so many processors.
    #[must_use]
    pub fn slots(self, cpus: usize) -> u32 {
        match self {
            Self::Light => 32,
            Self::Heavy => u32::try_from(cpus.max(2)).unwrap_or(u32::MAX),
        }
    }

    /// Queue and slots together, as [`Options`](crate::Options) takes them.
    #[must_use]
    pub fn queue_slots(self, cpus: usize) -> QueueSlots {
        QueueSlots {
            queue: self.queue().to_owned(),
            slots: self.slots(cpus),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Light => "light",
            Self::Heavy => "heavy",
        })
    }
}

impl FromStr for Profile {
    type Err = InvalidProfile;

    fn from_str(text: &str) -> Result<Self, InvalidProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.to_string() == text)
            .ok_or_else(|| InvalidProfile(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_profile_serves_its_own_queue_with_its_own_slots() {
        assert_eq!(Profile::Light.queue_slots(1).queue, "functionapp-tasks");
        assert_eq!(Profile::Heavy.queue_slots(1).queue, "container-tasks");
        assert_eq!(Profile::Light.slots(64), 32);
        assert_eq!([1, 2, 8].map(|cpus| Profile::Heavy.slots(cpus)), [2, 2, 8]);
        assert_eq!("heavy".parse(), Ok(Profile::Heavy));
        assert!("medium".parse::<Profile>().is_err());
    }
}
