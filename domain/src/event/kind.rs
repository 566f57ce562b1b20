//! The catalogue of all events: their names on the wire and their current versions.

use super::codec::Event;
use crate::{asset, callback, job, platform, request, workflow};

/// What the log knows of one kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Name on the wire; never reused for another meaning.
    pub name: &'static str,
    pub aggregate: Aggregate,
    /// The version that is written today.
    pub schema_ver: u16,
}

/// Whose event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    Asset,
    Callback,
    Job,
    Platform,
    Request,
    Workflow,
}

macro_rules! catalogue {
    ($($aggregate:ident { $($variant:ident $name:literal v $ver:literal,)* })*) => {
        /// Every kind of event, in the order of the aggregates.
        pub const KINDS: &[Kind] = &[$($(
            Kind { name: $name, aggregate: Aggregate::$aggregate, schema_ver: $ver },
        )*)*];

        /// The row of an event.
        pub(super) fn kind_of(event: &Event) -> Kind {
            match event {
                $(Event::$aggregate(event) => match event {
                    $(catalogue!(@variant $aggregate $variant) => Kind {
                        name: $name, aggregate: Aggregate::$aggregate, schema_ver: $ver,
                    },)*
                },)*
            }
        }
    };
    (@variant Asset $v:ident) => { asset::Event::$v { .. } };
    (@variant Callback $v:ident) => { callback::Event::$v { .. } };
    (@variant Job $v:ident) => { job::Event::$v { .. } };
    (@variant Platform $v:ident) => { platform::Event::$v { .. } };
    (@variant Request $v:ident) => { request::Event::$v { .. } };
    (@variant Workflow $v:ident) => { workflow::Event::$v { .. } };
}

catalogue! {
    Asset {
        AssetCreated "asset_created" v 1,
        AssetDeleted "asset_deleted" v 1,
        AssetRestored "asset_restored" v 1,
        AssetApproved "asset_approved" v 1,
        AssetRejected "asset_rejected" v 1,
        AssetApprovalRevoked "asset_approval_revoked" v 1,
        AssetClearanceSet "asset_clearance_set" v 1,
        AssetProcessingBegan "asset_processing_began" v 1,
        AssetProcessingCompleted "asset_processing_completed" v 1,
        AssetProcessingFailed "asset_processing_failed" v 1,
        AssetRolledBack "asset_rolled_back" v 1,
        AssetCarried "asset_carried" v 1,
    }
    Callback {
        CallbackDelivered "callback_delivered" v 1,
        CallbackGivenUp "callback_given_up" v 1,
        CallbackRedeliveryRequested "callback_redelivery_requested" v 1,
    }
    Job {
        JobCreated "job_created" v 1,
        OutputsReused "outputs_reused" v 1,
        JobClaimed "job_claimed" v 1,
        JobStarted "job_started" v 1,
        JobPaused "job_paused" v 1,
        JobResumed "job_resumed" v 1,
        NodesReady "nodes_ready" v 1,
        NodesSkipped "nodes_skipped" v 1,
        NodePassed "node_passed" v 1,
        BranchTaken "branch_taken" v 1,
        FanOutExpanded "fan_out_expanded" v 1,
        ChildrenReused "children_reused" v 1,
        NodeReused "node_reused" v 1,
        NodeDispatched "node_dispatched" v 1,
        NodeRedispatched "node_redispatched" v 1,
        NodeStarted "node_started" v 1,
        CheckpointSaved "checkpoint_saved" v 1,
        NodeCompleted "node_completed" v 1,
        NodeFailed "node_failed" v 1,
        RunLost "run_lost" v 1,
        RunReleased "run_released" v 1,
        ReportIgnored "report_ignored" v 1,
        JobCompleted "job_completed" v 1,
        JobFailed "job_failed" v 1,
        JobCancelled "job_cancelled" v 1,
    }
    Platform {
        PlatformRegistered "platform_registered" v 1,
        PlatformUpdated "platform_updated" v 1,
        PlatformCarried "platform_carried" v 1,
    }
    Request {
        RequestSubmitted "request_submitted" v 1,
        JobAssigned "job_assigned" v 1,
        RequestWithdrawn "request_withdrawn" v 1,
    }
    Workflow {
        WorkflowRegistered "workflow_registered" v 1,
        WorkflowCarried "workflow_carried" v 1,
    }
}

/// What a stream ends with: nothing that changes anything follows, and nobody who decides reads it again but to repeat
/// an answer.
pub const ENDS: &[&str] = &[
    "job_completed",
    "job_failed",
    "job_cancelled",
    "job_assigned",
    "request_withdrawn",
    "callback_delivered",
    "callback_given_up",
];

/// What says everything that the events before it in its stream say: reading may begin with it.
pub const CARRIES: &[&str] = &["asset_carried", "platform_carried", "workflow_carried"];

impl Kind {
    /// Finds a kind by its name on the wire.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}
