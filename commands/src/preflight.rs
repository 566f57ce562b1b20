//! Preflight: everything that is wrong with an order, at once, before anything is appended (U-37).

use domain::asset::{self, AssetId};
use domain::context::{Actor, Context, Role};
use domain::definition::resolve_inputs;
use domain::id::RequestId;
use domain::json::size_bytes;
use domain::platform::{RefProblem, check_refs, is_platform_id};
use domain::priority::Priority;
use domain::request::{self, INPUT_BYTES_MAX, Inputs, NAME_BYTES_MAX, REFS_BYTES_MAX};

use crate::definitions::{Definition, NoDefinition};
use crate::log::LogError;
use crate::submit::{KEY_BYTES_MAX, Order, SubmitError, draft};
use crate::write::{Writer, fresh_id};

/// The platform of work that is submitted to Strata itself; such work may be for no asset at all.
const OURS: &str = "strata";

/// One thing that is wrong with an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where it is, such as `inputs.blob_name`.
    pub field: String,
    /// A stable name for programs.
    pub code: &'static str,
    pub message: String,
}

/// What would become of an order.
#[derive(Debug, Clone, Default)]
pub struct Preflight {
    /// Everything that is wrong; it can be submitted if there is nothing.
    pub flaws: Vec<Flaw>,
    /// Why it is refused although it is well formed: it does not fit to what is in the log.
    pub refusal: Option<SubmitError>,
    /// The version that would run.
    pub workflow_version: Option<u32>,
    /// The inputs as the job would see them, completed by defaults.
    pub inputs: Inputs,
    pub priority: Priority,
    pub asset_id: Option<AssetId>,
    pub asset_exists: bool,
    /// The request that has this key already, with the same body.
    pub known: Option<RequestId>,
}

impl Preflight {
    fn flaw(&mut self, field: impl Into<String>, code: &'static str, message: impl Into<String>) {
        let (field, message) = (field.into(), message.into());
        self.flaws.push(Flaw {
            field,
            code,
            message,
        });
    }
}

impl Writer {
    /// Looks at an order as [`Writer::submit`] would, and further: past the first thing that is wrong.
    pub async fn preflight(&self, order: &Order) -> Result<Preflight, LogError> {
        let mut found = Preflight::default();
        let definition = self.check_workflow(order, &mut found).await?;
        let named = self.check_platform(order, &mut found).await?;
        if named {
            self.check_asset(order, &mut found).await?;
        }
        check_sizes(order, &mut found);
        let request_id = match &order.idempotency_key {
            Some(key) if key.trim().is_empty() || key.len() > KEY_BYTES_MAX => {
                let message = SubmitError::Key.to_string();
                found.flaw("Idempotency-Key", "INVALID_KEY", message);
                None
            }
            Some(key) => Some(RequestId::from_key(&order.org_id, key)),
            None => None,
        };
        if let Some(definition) = definition.filter(|_| found.flaws.is_empty()) {
            self.check_request(order, request_id, &definition, &mut found)
                .await?;
        }
        Ok(found)
    }

    async fn check_workflow(
        &self,
        order: &Order,
        found: &mut Preflight,
    ) -> Result<Option<Definition>, LogError> {
        let id = &order.workflow_id;
        if id.is_empty() || id.len() > NAME_BYTES_MAX || id.contains(char::is_control) {
            found.flaw(
                "workflow_id",
                "UNKNOWN_WORKFLOW",
                "this is not the id of a workflow",
            );
            return Ok(None);
        }
        let definition = match self.definitions.find(id, order.workflow_version).await {
            Ok(definition) => definition,
            Err(NoDefinition::Log(error)) => return Err(error),
            Err(error @ NoDefinition::UnknownVersion { .. }) => {
                found.flaw("workflow_version", "UNKNOWN_WORKFLOW", error.to_string());
                return Ok(None);
            }
            Err(error) => {
                found.flaw("workflow_id", "UNKNOWN_WORKFLOW", error.to_string());
                return Ok(None);
            }
        };
        match resolve_inputs(&definition.workflow.inputs, &order.inputs) {
            Ok(inputs) => found.inputs = inputs,
            Err(problems) => {
                for problem in problems {
                    let field = format!("inputs.{}", problem.name);
                    found.flaw(field, "INVALID_INPUT", problem.message);
                }
            }
        }
        found.workflow_version = Some(definition.graph.workflow.version);
        found.priority = order.priority.unwrap_or(definition.graph.priority);
        Ok(Some(definition))
    }

    /// Whether the order names an asset in the way of its platform.
    async fn check_platform(&self, order: &Order, found: &mut Preflight) -> Result<bool, LogError> {
        let unknown = "the platform is not registered; an operator can register it";
        if !is_platform_id(&order.platform_id) {
            found.flaw("platform_id", "UNKNOWN_PLATFORM", unknown);
            return Ok(false);
        }
        let state = self.platform(&order.platform_id).await?;
        if state.platform().is_none() {
            found.flaw("platform_id", "UNKNOWN_PLATFORM", unknown);
            return Ok(false);
        }
        if order.refs.is_empty() && order.platform_id == OURS {
            return Ok(false);
        }
        let Err(problems) = check_refs(&state, &order.refs) else {
            return Ok(true);
        };
        for problem in problems {
            let name = match &problem {
                RefProblem::Missing { name }
                | RefProblem::Unknown { name, .. }
                | RefProblem::WrongType { name, .. }
                | RefProblem::TooLong { name, .. }
                | RefProblem::ZeroCharacter { name } => name.as_str(),
                _ => "",
            };
            found.flaw(
                format!("platform_refs.{name}"),
                "INVALID_REF",
                problem.to_string(),
            );
        }
        Ok(false)
    }

    async fn check_asset(&self, order: &Order, found: &mut Preflight) -> Result<(), LogError> {
        let asset_id = AssetId::derive(&order.platform_id, &order.refs);
        let (state, version) = self.asset(asset_id).await?;
        if let Some(asset) = state.asset() {
            if asset.org_id != order.org_id {
                found.refusal = Some(SubmitError::AssetOfAnother);
            } else if state.is_deleted() {
                let deleted = asset::Rejection::Deleted { asset_id };
                found.refusal = Some(SubmitError::Asset(deleted));
            }
        }
        found.asset_id = Some(asset_id);
        found.asset_exists = version > 0;
        Ok(())
    }

    /// What the request itself says to it, and whether it is known.
    async fn check_request(
        &self,
        order: &Order,
        request_id: Option<RequestId>,
        definition: &Definition,
        found: &mut Preflight,
    ) -> Result<(), LogError> {
        let fresh = request_id.unwrap_or_else(|| RequestId::new(fresh_id()));
        let submission = draft(order.clone(), fresh, found.asset_id, definition);
        let context = self.context(Actor {
            id: order.actor.clone(),
            role: Role::Platform,
        });
        if let Err(rejection) = refused(&submission, &context) {
            found.flaw(
                field_of(&rejection),
                "INVALID_REQUEST",
                rejection.to_string(),
            );
            return Ok(());
        }
        if request_id.is_none() {
            return Ok(());
        }
        match self.known(&submission, &context).await {
            Ok(known) => found.known = known.map(|known| known.request_id),
            Err(SubmitError::Log(error)) => return Err(error),
            Err(error) => found.refusal = Some(error),
        }
        Ok(())
    }
}

fn refused(submission: &request::Submission, context: &Context) -> Result<(), request::Rejection> {
    let command = request::Command::Submit(Box::new(submission.clone()));
    request::decide(&request::State::default(), command, context).map(|_| ())
}

fn field_of(rejection: &request::Rejection) -> String {
    match rejection {
        request::Rejection::InvalidCallback { index }
        | request::Rejection::InvalidPatience { index } => format!("callbacks[{index}]"),
        request::Rejection::TooManyCallbacks { .. } => "callbacks".to_owned(),
        request::Rejection::VersionZero => "workflow_version".to_owned(),
        _ => String::new(),
    }
}

fn check_sizes(order: &Order, found: &mut Preflight) {
    for (field, bytes, most) in [
        ("inputs", size_bytes(&order.inputs), INPUT_BYTES_MAX),
        ("platform_refs", size_bytes(&order.refs), REFS_BYTES_MAX),
    ] {
        if bytes > most {
            let message = format!("{bytes} bytes of JSON are too many; at most {most} are allowed");
            found.flaw(field, "TOO_LARGE", message);
        }
    }
}
