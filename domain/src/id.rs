//! Ids: each kind is a type of its own, and its text form says what it is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind} id; expected {expected}")]
pub struct InvalidId {
    kind: &'static str,
    expected: &'static str,
    text: String,
}

macro_rules! prefixed_uuid {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that the caller derived or drew.
            #[must_use]
            pub fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The bare UUID.
            #[must_use]
            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.strip_prefix($prefix)
                    .filter(|hex| hex.len() == 32 && !hex.bytes().any(|b| b.is_ascii_uppercase()))
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or_else(|| InvalidId {
                        kind: $kind,
                        expected: concat!("`", $prefix, "` and 32 lower-case hex digits"),
                        text: text.chars().take(80).collect(),
                    })
            }
        }

        text_serde!($name);
    };
}

macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

prefixed_uuid!(
    /// One execution of a workflow.
    JobId, "job", "job_"
);
prefixed_uuid!(
    /// One piece of work that somebody asked for.
    RequestId, "request", "req_"
);
prefixed_uuid!(
    /// One callback, the same at every try; receivers know it as `webhook-id`.
    CallbackId, "callback", "msg_"
);

impl RequestId {
    /// The request that an organisation's idempotency key always stands for.
    #[must_use]
    pub fn from_key(org: &str, idempotency_key: &str) -> Self {
        // The length keeps ("a", "bc") apart from ("ab", "c").
        let name = format!("{}:{org}:{idempotency_key}", org.len());
        Self(Uuid::new_v5(&NAMESPACE, name.as_bytes()))
    }
}

impl JobId {
    /// The job of a request: derived, so that creating it at version 0 is the dedupe.
    #[must_use]
    pub fn of_request(request: RequestId) -> Self {
        Self(Uuid::new_v5(&request.uuid(), b"job"))
    }
}

impl CallbackId {
    /// The callback of a job at this place in the list of its request, counted from 0.
    #[must_use]
    pub fn of_job(job: JobId, place: usize) -> Self {
        let name = format!("callback:{place}");
        Self(Uuid::new_v5(&job.uuid(), name.as_bytes()))
    }
}

/// Name space of all derived ids: the UUID version 5 of `strata` in the DNS name space.
const NAMESPACE: Uuid = Uuid::from_u128(0x3a0f_64ea_9c5e_5ad2_8f3a_1b60_44c2_7d11);

macro_rules! bare_uuid {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

bare_uuid!(
    /// One start of an orchestrator process.
    OwnerId
);
bare_uuid!(
    /// One execution of a task by a worker.
    RunId
);

/// A node of a job: a node of its workflow, or one child of a fan-out.
///
/// Its text form is `name` or `name__index`; node names never contain `__`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    pub name: Arc<str>,
    pub child: Option<u32>,
}

impl NodeId {
    /// A node that stands in the workflow.
    #[must_use]
    pub fn of(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            child: None,
        }
    }

    /// A child that a fan-out made.
    #[must_use]
    pub fn child(name: &Arc<str>, index: u32) -> Self {
        Self {
            name: Arc::clone(name),
            child: Some(index),
        }
    }

    /// The id of one attempt at this node, unique over all jobs.
    #[must_use]
    pub fn task_id(&self, job: JobId, attempt: u32) -> String {
        format!("{job}_{self}_{attempt}")
    }
}

impl From<&str> for NodeId {
    fn from(text: &str) -> Self {
        if let Some((name, index)) = text.rsplit_once("__")
            && let Ok(child) = index.parse()
            // Only the canonical spelling: `a__007` is not child 7.
            && (index == "0" || !index.starts_with(['0', '+']))
        {
            return Self {
                name: name.into(),
                child: Some(child),
            };
        }
        Self {
            name: text.into(),
            child: None,
        }
    }
}

impl FromStr for NodeId {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.child {
            None => f.write_str(&self.name),
            Some(index) => write!(f, "{}__{index}", self.name),
        }
    }
}

text_serde!(NodeId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_refuse_the_wrong_prefix() {
        let job = JobId::new(Uuid::from_u128(7));
        assert_eq!(job.to_string().parse(), Ok(job));
        assert_eq!(job.to_string(), "job_00000000000000000000000000000007");
        assert!(
            "req_00000000000000000000000000000007"
                .parse::<JobId>()
                .is_err()
        );
        assert!("job_7".parse::<JobId>().is_err());
        assert!(
            "job_0000000000000000000000000000000A"
                .parse::<JobId>()
                .is_err()
        );
    }

    #[test]
    fn request_and_job_ids_are_derived() {
        let request = RequestId::from_key("acme", "k1");
        assert_eq!(request, RequestId::from_key("acme", "k1"));
        assert_ne!(request, RequestId::from_key("acme", "k2"));
        assert_ne!(
            RequestId::from_key("a", "bc"),
            RequestId::from_key("ab", "c")
        );
        assert_eq!(JobId::of_request(request), JobId::of_request(request));
    }

    #[test]
    fn node_ids_name_children_by_index() {
        let id = NodeId::from("tiles__12");
        assert_eq!((&*id.name, id.child), ("tiles", Some(12)));
        assert_eq!(id.to_string(), "tiles__12");
        assert_eq!(NodeId::from("tiles__012").child, None);
        assert_eq!(NodeId::from("route_by_size").child, None);
        let job = JobId::new(Uuid::from_u128(7));
        assert_eq!(
            id.task_id(job, 2),
            "job_00000000000000000000000000000007_tiles__12_2"
        );
    }
}
