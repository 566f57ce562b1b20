//! The workflow file as people write it. The JSON schema of the language is made from these types.
//!
//! These are plain data. That a file of this shape makes sense is the business of the validator;
//! what it means to run it is that of the compiled [`Graph`](super::Graph).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::priority::Priority;

/// A workflow: what may be asked for (`inputs`), and the graph of work that answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// Name by which the workflow is submitted, such as `raster_processing`.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_-]{0,63}$"))]
    pub workflow_id: String,
    /// Title for people.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Raise it with every change: a version never changes its content.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub version: u32,
    /// What the workflow is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_000))]
    pub description: Option<String>,
    /// Priority of jobs that are submitted without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// What a submission may or must give.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Input>,
    /// The graph, node by node. A workflow has either `nodes` or `stages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<BTreeMap<String, Node>>,
    /// A row of stages, a shorter notation that compiles to the same graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub stages: Option<Vec<Stage>>,
    /// Template of the job's result. Without it the result has the output of every end's predecessor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

/// One input of a workflow or one parameter of a handler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The JSON type of the value. `str`, `int`, `float`, `bool`, `list` and `dict` are other words for it.
    #[serde(rename = "type")]
    pub kind: ValueType,
    /// Whether a submission must give it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub required: bool,
    /// Value when a submission does not give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The only values that are allowed.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1_000))]
    pub choices: Option<Vec<Value>>,
    /// Smallest number, or fewest characters or items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest number, or most characters or items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Regular expression that the whole string must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub pattern: Option<String>,
    /// What the value means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_000))]
    pub description: Option<String>,
}

/// A JSON type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    #[default]
    #[serde(alias = "str")]
    String,
    #[serde(alias = "int")]
    Integer,
    #[serde(alias = "float")]
    Number,
    #[serde(alias = "bool")]
    Boolean,
    #[serde(alias = "list")]
    Array,
    #[serde(alias = "dict")]
    Object,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Node {
    /// Entry point. Exactly one per workflow.
    Start(Start),
    /// Exit point. At least one per workflow.
    End(End),
    /// Runs a handler on a worker.
    Task(Task),
    /// Chooses one branch by a value; no worker takes part.
    Conditional(Conditional),
    /// Runs one task per item of a list, or per number below a count.
    FanOut(FanOut),
    /// Waits for its predecessors and joins their outputs.
    FanIn(FanIn),
}

/// Entry point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The node or nodes that come first.
    pub next: OneOrMany,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Exit point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Nodes to wait for, besides those whose `next` names this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Runs a handler on a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The handler to run, by name or alias.
    pub handler: String,
    /// Queue that its workers read; the handler's own queue when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))]
    pub queue: Option<String>,
    /// Parameters of the handler; strings may hold `{{ }}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Longest execution; the handler's own limit when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: Option<u32>,
    /// Longest wait for a worker; `timeout_seconds` when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub dispatch_timeout_seconds: Option<u32>,
    /// When and how often to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Priority of this task; that of its job when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Condition, checked when the node could run; if it does not hold, the node is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Nodes to wait for, besides those whose `next` names this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// The node or nodes that come after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<OneOrMany>,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Chooses one branch by a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditional {
    /// Template of the value that each branch's `condition` looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition_field: Option<Value>,
    /// Tried from the top; the first that holds is taken.
    #[schemars(length(min = 1, max = 100))]
    pub branches: Vec<Branch>,
    /// Nodes to wait for, besides those whose `next` names this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One way out of a conditional: exactly one of `condition`, `when` and `default: true`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Operator and value, such as `< 100`, applied to `condition_field`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// An expression of its own, such as `inputs.mode == 'fast'`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Taken when nothing above it holds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub default: bool,
    /// The node or nodes of this branch.
    pub next: OneOrMany,
}

/// Runs one task per item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FanOut {
    /// Template of a list, or of a number: then the items are 0, 1, 2, ...
    pub source: Value,
    /// The task of each item; its templates also know `item` and `index`.
    pub task: ItemTask,
    /// Most children at work at once; no limit of its own when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_parallel: Option<u32>,
    /// More items than this fail the node; 100,000 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_items: Option<u32>,
    /// What an empty list means.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_empty: OnEmpty,
    /// Condition, checked when the node could run; if it does not hold, the node is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Nodes to wait for, besides those whose `next` names this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// The node or nodes that come after all children, usually a `fan_in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<OneOrMany>,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The task that a fan-out runs for each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemTask {
    /// The handler to run, by name or alias.
    pub handler: String,
    /// Queue that its workers read; the handler's own queue when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))]
    pub queue: Option<String>,
    /// Parameters of the handler; strings may hold `{{ }}`, also of `item` and `index`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Longest execution; the handler's own limit when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: Option<u32>,
    /// Longest wait for a worker; `timeout_seconds` when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub dispatch_timeout_seconds: Option<u32>,
    /// When and how often to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Priority of these tasks; that of the job when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
}

/// Joins the outputs of its predecessors; those of a fan-out are its children's, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FanIn {
    /// How the outputs are joined.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aggregation: Aggregation,
    /// Field of each output to join, instead of the whole output; needed by `concat` and `sum`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// A handler that does the joining instead: it gets `previous_results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// Queue of the handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))]
    pub queue: Option<String>,
    /// Further parameters of the handler.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Longest execution of the handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: Option<u32>,
    /// Longest wait of the handler for a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub dispatch_timeout_seconds: Option<u32>,
    /// When and how often to try the handler again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Priority of the handler's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Condition, checked when the node could run; if it does not hold, the node is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Nodes to wait for, besides those whose `next` names this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// The node or nodes that come after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<OneOrMany>,
    /// What the node is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How a fan-in joins outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// All outputs in a list: `{results, count}`.
    #[default]
    Collect,
    /// Lists joined to one list: `{results, count}`.
    Concat,
    /// Numbers added up: `{total, count}`.
    Sum,
    /// The first output: `{result, count}`.
    First,
    /// The last output: `{result, count}`.
    Last,
}

/// What an empty list means to a fan-out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnEmpty {
    /// The node completes without children, and what follows sees an empty list.
    #[default]
    Skip,
    /// The node fails.
    Fail,
}

/// When and how often a task is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Executions in total, the first included.
    #[serde(default = "Retry::attempts")]
    #[schemars(range(min = 1, max = 10))]
    pub max_attempts: u32,
    /// How the delay grows.
    #[serde(default)]
    pub backoff: Backoff,
    /// Delay before the second execution.
    #[serde(default = "Retry::initial")]
    #[schemars(range(min = 0, max = 86_400))]
    pub initial_delay_seconds: u32,
    /// Longest delay.
    #[serde(default = "Retry::longest")]
    #[schemars(range(min = 0, max = 86_400))]
    pub max_delay_seconds: u32,
    /// Whether to shorten each delay by up to half, so that many tasks do not come back at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter: bool,
}

impl Retry {
    fn attempts() -> u32 {
        3
    }
    fn initial() -> u32 {
        5
    }
    fn longest() -> u32 {
        300
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: Self::attempts(),
            backoff: Backoff::default(),
            initial_delay_seconds: Self::initial(),
            max_delay_seconds: Self::longest(),
            jitter: false,
        }
    }
}

/// How a delay grows from one retry to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// 5, 5, 5, ...
    Fixed,
    /// 5, 10, 15, ...
    Linear,
    /// 5, 10, 20, ...
    #[default]
    Exponential,
}

/// One name, or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// The nodes to wait for: all of them, or any one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DependsOn {
    /// A plain list means all of them.
    Names(OneOrMany),
    /// `{all_of: [...]}`.
    All(AllOf),
    /// `{any_of: [...]}`.
    Any(AnyOf),
}

/// All of these nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllOf {
    /// Run when all of them are done.
    pub all_of: Vec<String>,
}

/// Any one of these nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnyOf {
    /// Run as soon as one of them is completed.
    pub any_of: Vec<String>,
}

impl DependsOn {
    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::Names(names) => names.names(),
            Self::All(all) => &all.all_of,
            Self::Any(any) => &any.any_of,
        }
    }

    /// Whether one of them is enough.
    #[must_use]
    pub fn is_any(&self) -> bool {
        matches!(self, Self::Any(_))
    }
}

/// One stage of a workflow in `stages:` notation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Place in the row, from 1.
    #[serde(alias = "stage_number")]
    #[schemars(range(min = 1, max = 100))]
    pub number: u32,
    /// Name of the stage; its node in the graph is called the same.
    #[serde(alias = "stage_name")]
    pub name: String,
    /// The handler of the stage's tasks.
    pub task_type: String,
    /// When the number of tasks is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parallelism: Parallelism,
    /// Number of tasks of a `single` stage, or a template of it; 1 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Value>,
    /// Template of the list that a `fan_out` stage works on, usually of `previous_results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
    /// Parameters of the tasks. Templates know `inputs`, `index`, `item` (in `fan_out`),
    /// `previous_results`, and `next_stage_params`: what the task of the same index handed over.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Most tasks at work at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_parallel_tasks: Option<u32>,
    /// Longest execution of one task, in minutes; 30 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_440))]
    pub timeout_minutes: Option<u32>,
    /// The stage that must be complete before; the one before it when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on_stage: Option<u32>,
    /// Queue of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))]
    pub queue: Option<String>,
    /// When and how often to try a task again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What the stage is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// When the number of a stage's tasks is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parallelism {
    /// Before anything runs: `count` tasks. `fixed` is another word for it.
    #[default]
    #[serde(alias = "fixed")]
    Single,
    /// After the stage before: one task per item. `dynamic` and `match_previous` are other words for it.
    #[serde(alias = "dynamic", alias = "match_previous")]
    FanOut,
    /// One task that gets all results of the stage before.
    FanIn,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
