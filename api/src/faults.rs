//! From the errors of the write and the read side to what callers are told.

use commands::access::AccessError;
use commands::appender::AppendError;
use commands::control::ControlError;
use commands::definitions::NoDefinition;
use commands::log::LogError;
use commands::older::ReuseError;
use commands::register::RegisterError;
use commands::review::ReviewError;
use commands::rollback::RollbackError;
use commands::submit::SubmitError;
use commands::why::WhyError;
use domain::asset;
use domain::job::NoPlan;
use domain::request;

use crate::error::{Category, Fault, Problem};

impl From<projections::Error> for Fault {
    fn from(error: projections::Error) -> Self {
        match &error {
            projections::Error::Late { .. } => Self::new(
                Category::Unavailable,
                "BEHIND",
                error.to_string(),
                "try again, or ask without waitFor",
            ),
            projections::Error::Cursor(_) => Self::invalid(
                "BAD_CURSOR",
                error.to_string(),
                "use a cursor as it was given to you, or none",
            ),
            projections::Error::Ahead { .. } => Self::invalid(
                "POSITION_AHEAD",
                error.to_string(),
                "name a position or a time of the past",
            ),
            projections::Error::BeforeLog => Self::invalid(
                "BEFORE_LOG",
                error.to_string(),
                "name a later position or time; the first position is 1",
            ),
            projections::Error::Archived(_) => archived(&error),
            projections::Error::NotYet { since, .. } => Self::new(
                Category::NotFound,
                "NOT_YET",
                error.to_string(),
                format!("ask for position {since} or later"),
            ),
            projections::Error::NotSigned(_) => Self::new(
                Category::Unavailable,
                "NOT_SIGNED",
                error.to_string(),
                "try again in a few seconds",
            ),
            projections::Error::Proof(_) => Self::new(
                Category::Internal,
                "NOT_PROVEN",
                error.to_string(),
                "find out where, on the machine with the database: strata audit verify",
            ),
            projections::Error::Database(source) => Self::unavailable(source),
            _ => Self::internal(&error),
        }
    }
}

impl From<LogError> for Fault {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Unavailable(_) => Self::unavailable(&error),
            LogError::Invalid(_) => {
                tracing::warn!(%error, "values of a request cannot be stored");
                Self::invalid(
                    "NOT_STORABLE",
                    "the request has values that cannot be stored",
                    "leave out characters and numbers that no database takes",
                )
            }
            LogError::Archived(_) => archived(&error),
            _ => Self::internal(&error),
        }
    }
}

/// Something of the past that is in the object store, and not in the database.
fn archived(error: &dyn std::error::Error) -> Fault {
    Fault::new(
        Category::Conflict,
        "ARCHIVED",
        error.to_string(),
        "ask the operator to restore it: strata archive restore",
    )
}

impl From<AppendError> for Fault {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Conflict { .. } => contended(&error),
            AppendError::Log(error) => error.into(),
            AppendError::Stopped => Self::unavailable(&error),
        }
    }
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Log(error) => error.into(),
            AccessError::Random(_) => Self::internal(&error),
            AccessError::Org(_) => {
                Self::invalid("INVALID_ORG", error.to_string(), "choose another id")
            }
            AccessError::Label => {
                Self::invalid("INVALID_LABEL", error.to_string(), "choose another label")
            }
            AccessError::Lifetime => Self::invalid(
                "INVALID_LIFETIME",
                error.to_string(),
                "choose another lifetime",
            ),
        }
    }
}

impl From<NoDefinition> for Fault {
    fn from(error: NoDefinition) -> Self {
        match error {
            NoDefinition::Log(error) => error.into(),
            NoDefinition::Broken { .. } => Self::internal(&error),
            NoDefinition::UnknownWorkflow(_) | NoDefinition::UnknownVersion { .. } => {
                Self::invalid(
                    "UNKNOWN_WORKFLOW",
                    error.to_string(),
                    "list the workflows that are registered, and name one of them",
                )
            }
        }
    }
}

impl From<SubmitError> for Fault {
    fn from(error: SubmitError) -> Self {
        let message = error.to_string();
        match error {
            SubmitError::Workflow(error) => error.into(),
            SubmitError::Inputs(problems) => {
                let problem = |problem: domain::definition::InputProblem| Problem {
                    field: format!("inputs.{}", problem.name),
                    code: "INVALID_INPUT".to_owned(),
                    message: problem.message,
                };
                Self::invalid("INVALID_INPUTS", message, "mend the inputs that are named")
                    .with(problems.into_iter().map(problem).collect())
            }
            SubmitError::UnknownPlatform(_) => Self::invalid(
                "UNKNOWN_PLATFORM",
                message,
                "name a registered platform; an operator can register new ones",
            ),
            SubmitError::Refs { .. } => Self::invalid(
                "INVALID_REFS",
                message,
                "give the refs that the platform declares",
            ),
            SubmitError::Key => {
                Self::invalid("INVALID_KEY", message, "give another idempotency key")
            }
            SubmitError::AssetOfAnother => Self::new(
                Category::Permission,
                "ASSET_OF_ANOTHER",
                message,
                "use refs that are your own",
            ),
            SubmitError::Rejected(rejection) => rejection.into(),
            SubmitError::Asset(rejection) => rejection.into(),
            SubmitError::Log(error) => error.into(),
            SubmitError::Append(error) => error.into(),
            SubmitError::Contended => contended(&message),
        }
    }
}

impl From<request::Rejection> for Fault {
    fn from(rejection: request::Rejection) -> Self {
        let message = rejection.to_string();
        match rejection {
            request::Rejection::Conflict { .. } => Self::conflict(
                "OTHER_BODY",
                message,
                "use a new idempotency key for new work",
            ),
            request::Rejection::JobExists { .. } | request::Rejection::Withdrawn { .. } => {
                Self::conflict("ALREADY_SETTLED", message, "look at the request")
            }
            request::Rejection::InvalidCallback { .. } => Self::invalid(
                "INVALID_CALLBACK",
                message,
                "give a plain http or https address",
            ),
            _ => Self::invalid("INVALID_REQUEST", message, "mend what is named"),
        }
    }
}

impl From<asset::Rejection> for Fault {
    fn from(rejection: asset::Rejection) -> Self {
        use asset::Rejection as R;
        let message = rejection.to_string();
        let (code, remedy) = match rejection {
            R::NotFound => return Self::not_found("asset", ""),
            R::Deleted { .. } => ("ASSET_DELETED", "restore it first"),
            R::NotDeleted { .. } => ("ASSET_NOT_DELETED", "there is nothing to restore"),
            R::NoRevision => (
                "NO_REVISION",
                "wait for the first job of the asset to complete",
            ),
            R::UnknownRevision { .. } => ("UNKNOWN_REVISION", "name a revision that exists"),
            R::NotCurrentRevision { .. } => ("NOT_CURRENT", "look at the current revision"),
            R::IllegalApproval { .. } => ("ILLEGAL_APPROVAL", "only a new revision can pass now"),
            R::NotApproved { .. } => ("NOT_APPROVED", "approve the current revision first"),
            R::AlreadyCurrent { .. } => ("ALREADY_CURRENT", "there is nothing to roll back"),
            R::NotChecked { .. } => (
                "NOT_CHECKED",
                "call checkArtifacts for that revision, and give the id of its job as checkedBy",
            ),
            R::OtherCheck { .. } => (
                "OTHER_CHECK",
                "call checkArtifacts for the revision to go back to",
            ),
            R::CheckTooOld { .. } => ("CHECK_TOO_OLD", "call checkArtifacts again"),
            R::CheckTooLarge { .. } => (
                "CHECK_TOO_LARGE",
                "have the workflow list a manifest instead of every file; reprocess the asset",
            ),
            R::ArtifactMissing { .. } => (
                "ARTIFACT_MISSING",
                "bring it back from a backup, byte for byte, and check again; or go back to another revision; \
                 or reprocess the asset",
            ),
            R::ArtifactChanged { .. } => (
                "ARTIFACT_CHANGED",
                "find out who wrote to it; bring it back from a backup, byte for byte, and check again; or go back \
                 to another revision",
            ),
            R::NotVerifiable { .. } | R::NothingListed { .. } => (
                "NOT_VERIFIABLE",
                "look at it yourself, and then accept it with acceptUnverified; or go back to another revision",
            ),
            R::NoReason => {
                return Self::invalid("NO_REASON", message, "say why, for those who read it later");
            }
            _ => return Self::invalid("INVALID_ASSET", message, "mend what is named"),
        };
        Self::conflict(code, message, remedy)
    }
}

impl From<ReviewError> for Fault {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::NoAsset(id) => Self::not_found("asset", &id.to_string()),
            ReviewError::Rejected(rejection) => rejection.into(),
            ReviewError::Contended => contended(&error),
            ReviewError::Log(error) => error.into(),
            ReviewError::Append(error) => error.into(),
        }
    }
}

impl From<RollbackError> for Fault {
    fn from(error: RollbackError) -> Self {
        let message = error.to_string();
        match error {
            RollbackError::NoCheck(id) => Self {
                message,
                ..Self::not_found("check", &id.to_string())
            },
            RollbackError::CheckAtWork(_) => Self::conflict(
                "CHECK_AT_WORK",
                message,
                "wait until the job has ended, and ask again",
            ),
            RollbackError::CheckFailed { .. } => Self::conflict(
                "CHECK_FAILED",
                message,
                "mend what it says, and call checkArtifacts again",
            ),
            RollbackError::Review(error) => error.into(),
            RollbackError::Submit(SubmitError::Workflow(error)) => {
                let missing = matches!(error, NoDefinition::UnknownWorkflow(_));
                if !missing {
                    return error.into();
                }
                Self::conflict(
                    "NO_CHECK_WORKFLOW",
                    message,
                    "an operator adds workflows/verify_artifacts.yaml to the folder of workflows",
                )
            }
            RollbackError::Submit(error) => error.into(),
        }
    }
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::NoJob(id) => Self::not_found("job", &id.to_string()),
            ControlError::Ended(_) => Self::conflict(
                "JOB_ENDED",
                message,
                "an ended job never changes; retry makes a new one",
            ),
            ControlError::NotClaimed => {
                Self::conflict("NOT_CLAIMED", message, "wait a moment, or cancel it")
            }
            ControlError::Contended => contended(&message),
            ControlError::Log(error) => error.into(),
            ControlError::Append(error) => error.into(),
        }
    }
}

impl From<ReuseError> for Fault {
    fn from(error: ReuseError) -> Self {
        let message = error.to_string();
        match error {
            ReuseError::NoJob(id) => Self::not_found("job", &id.to_string()),
            ReuseError::NoPlan(reason) => no_plan(&reason, message),
            ReuseError::Load(_) => Self::internal(&message),
            ReuseError::Submit(error) => error.into(),
            ReuseError::Log(error) => error.into(),
        }
    }
}

fn no_plan(reason: &NoPlan, message: String) -> Fault {
    match reason {
        NoPlan::NotFailed(_) => Fault::conflict(
            "NOT_RETRYABLE",
            message,
            "retry a failed or a cancelled job; fork a completed one",
        ),
        NoPlan::NotEnded(_) => Fault::conflict(
            "NOT_ENDED",
            message,
            "fork it when it has ended; cancelling it ends it at once",
        ),
        NoPlan::UnknownNode { .. } => Fault::invalid(
            "UNKNOWN_NODE",
            message,
            "name nodes of the workflow that the job ran",
        ),
        NoPlan::TooManyPoints(_) => Fault::invalid(
            "TOO_MANY_NODES",
            message,
            "name the first ones; everything behind them runs too",
        ),
        NoPlan::NothingChanged => Fault::invalid(
            "NOTHING_TO_RUN",
            message,
            "name a node, or an input with another value",
        ),
        _ => Fault::internal(&message),
    }
}

impl From<WhyError> for Fault {
    fn from(error: WhyError) -> Self {
        match error {
            WhyError::NoJob(id) => Self::not_found("job", &id.to_string()),
            WhyError::NoNode { node, .. } => Self::not_found("node", &node.to_string()),
            WhyError::Load(_) => Self::internal(&error),
            WhyError::Log(error) => error.into(),
        }
    }
}

impl From<RegisterError> for Fault {
    fn from(error: RegisterError) -> Self {
        let message = error.to_string();
        match error {
            RegisterError::Platform(domain::platform::Rejection::IdentityChanged { .. }) => {
                Self::conflict(
                    "IDENTITY_CHANGED",
                    message,
                    "register a platform of another id",
                )
            }
            RegisterError::Platform(_) => {
                Self::invalid("INVALID_PLATFORM", message, "mend what is named")
            }
            RegisterError::Contended => contended(&message),
            RegisterError::Log(error) => error.into(),
            RegisterError::Append(error) => error.into(),
        }
    }
}

fn contended(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(
        Category::Unavailable,
        "CONTENDED",
        error.to_string(),
        "try again",
    )
}
