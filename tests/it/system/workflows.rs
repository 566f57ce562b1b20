//! Workflows of the system tests.

/// All of them, for the log of every rig.
pub(crate) const ALL: &[&str] = &[
    NOTHING, ONE, CHAIN, FAN, WIDE, CHOICE, FLAKY, DOOMED, PATIENT, DEADLY, NAP, PHASES, BIG,
    HANDLERS, ELSEWHERE, LOW, HIGH, LONG, REST, HALF, RELAY,
];

/// No task at all: the job ends with its first append.
const NOTHING: &str = r#"
workflow_id: nothing
name: Nothing
version: 1
nodes:
  START: { type: start, next: END }
  END: { type: end }
"#;

/// One task.
const ONE: &str = r#"
workflow_id: one
name: One task
version: 1
inputs:
  message: { type: string, default: hello }
nodes:
  START: { type: start, next: only }
  only:
    type: task
    handler: echo
    params: { message: "{{ inputs.message }}" }
    next: END
  END: { type: end }
result:
  said: "{{ nodes.only.output.echoed_params.message }}"
"#;

/// Five tasks in a row.
const CHAIN: &str = r#"
workflow_id: chain
name: Chain
version: 1
nodes:
  START: { type: start, next: a }
  a: { type: task, handler: echo, params: { message: "1" }, next: b }
  b: { type: task, handler: echo, params: { message: "{{ nodes.a.output.echoed_params.message }}2" }, next: c }
  c: { type: task, handler: echo, params: { message: "{{ nodes.b.output.echoed_params.message }}3" }, next: d }
  d: { type: task, handler: echo, params: { message: "{{ nodes.c.output.echoed_params.message }}4" }, next: e }
  e: { type: task, handler: echo, params: { message: "{{ nodes.d.output.echoed_params.message }}5" }, next: END }
  END: { type: end }
result:
  said: "{{ nodes.e.output.echoed_params.message }}"
"#;

/// A fan-out of as many tasks as asked for, and their sum.
const FAN: &str = r#"
workflow_id: fan
name: Fan
version: 1
inputs:
  items: { type: integer, default: 10, min: 0, max: 100000 }
nodes:
  START: { type: start, next: fan }
  fan:
    type: fan_out
    source: "{{ inputs.items }}"
    task:
      handler: chunk_processor
      params: { chunk_id: "{{ index }}", chunk_data: ["{{ item }}"] }
    next: sum
  sum: { type: fan_in, aggregation: sum, field: processed, next: END }
  END: { type: end }
result:
  processed: "{{ nodes.sum.output.total }}"
"#;

/// A fan-out whose results are too large for one message, and a task that gets all of them.
const WIDE: &str = r#"
workflow_id: wide
name: Wide
version: 1
inputs:
  items: { type: integer, default: 10 }
nodes:
  START: { type: start, next: fan }
  fan:
    type: fan_out
    source: "{{ inputs.items }}"
    task: { handler: hello_world_reply, params: { greeting: "a greeting that is not short, number {{ index }}", index: "{{ index }}" } }
    next: all
  all: { type: fan_in, handler: hello_world_summary, next: END }
  END: { type: end }
result:
  replies: "{{ nodes.all.output.replies }}"
"#;

/// A branch that depends on an output.
const CHOICE: &str = r#"
workflow_id: choice
name: Choice
version: 1
inputs:
  size: { type: integer, default: 1 }
nodes:
  START: { type: start, next: check }
  check: { type: task, handler: size_check, params: { size_bytes: "{{ inputs.size }}" }, next: route }
  route:
    type: conditional
    branches:
      - when: "nodes.check.output.category == 'light'"
        next: small
      - default: true
        next: large
  small: { type: task, handler: echo, params: { message: small }, next: END }
  large: { type: task, handler: echo, queue: container-tasks, params: { message: large }, next: END }
  END: { type: end }
result:
  took: "{{ nodes.check.output.category }}"
"#;

/// A task that fails by chance and is tried again.
const FLAKY: &str = r#"
workflow_id: flaky
name: Flaky
version: 1
nodes:
  START: { type: start, next: maybe }
  maybe:
    type: task
    handler: flaky_echo
    params: { failure_rate: 0.3 }
    retry: { max_attempts: 10, backoff: fixed, initial_delay_seconds: 1 }
    next: END
  END: { type: end }
"#;

/// A task that can only fail.
const DOOMED: &str = r#"
workflow_id: doomed
name: Doomed
version: 1
nodes:
  START: { type: start, next: no }
  no: { type: task, handler: fail, params: { error_message: as planned, class: permanent }, next: END }
  END: { type: end }
"#;

/// A task that fails, and fails again much later.
const PATIENT: &str = r#"
workflow_id: patient
name: Patient
version: 1
nodes:
  START: { type: start, next: no }
  no:
    type: task
    handler: fail
    params: { class: transient }
    retry: { max_attempts: 2, backoff: fixed, initial_delay_seconds: 10 }
    next: END
  END: { type: end }
"#;

/// A task with one attempt, for workers that die of it.
const DEADLY: &str = r#"
workflow_id: deadly
name: Deadly
version: 1
nodes:
  START: { type: start, next: only }
  only:
    type: task
    handler: echo
    retry: { max_attempts: 1 }
    next: END
  END: { type: end }
"#;

/// A task that takes its time, twice.
const NAP: &str = r#"
workflow_id: nap
name: Nap
version: 1
inputs:
  seconds: { type: number, default: 1 }
nodes:
  START: { type: start, next: first }
  first: { type: task, handler: sleep, params: { duration_seconds: "{{ inputs.seconds }}" }, next: second }
  second: { type: task, handler: echo, params: {}, next: END }
  END: { type: end }
"#;

/// A task in steps, each with a checkpoint.
const PHASES: &str = r#"
workflow_id: phases
name: Phases
version: 1
inputs:
  steps: { type: integer, default: 4 }
  step_delay: { type: number, default: 0.2 }
nodes:
  START: { type: start, next: work }
  work:
    type: task
    handler: echo
    params: { steps: "{{ inputs.steps }}", step_delay: "{{ inputs.step_delay }}" }
    next: END
  END: { type: end }
"#;

/// Many tasks that do nothing, and nobody waits for their results.
const BIG: &str = r#"
workflow_id: big
name: Big
version: 1
inputs:
  items: { type: integer, default: 1000, min: 0, max: 100000 }
nodes:
  START: { type: start, next: fan }
  fan:
    type: fan_out
    source: "{{ inputs.items }}"
    task: { handler: echo, params: { message: "{{ index }}" } }
    next: END
  END: { type: end }
"#;

/// One node for each handler that is made for tests.
const HANDLERS: &str = r#"
workflow_id: handlers
name: Handlers
version: 1
nodes:
  START: { type: start, next: [echo, hello, phases, size, chunk, flaky, sleep] }
  echo: { type: task, handler: echo, params: { any: [1, { two: 3 }] }, next: END }
  hello: { type: task, handler: hello_world, params: { name: Ada }, next: END }
  phases: { type: task, handler: multi_phase, params: { phases: 3 }, next: END }
  size: { type: task, handler: size_check, params: { size_bytes: 5000000000 }, next: END }
  chunk: { type: task, handler: chunk_processor, params: { chunk_id: 7, chunk_data: [1, 2, 3] }, next: END }
  flaky: { type: task, handler: flaky_echo, params: { failure_rate: 0 }, next: END }
  sleep: { type: task, handler: sleep, params: { duration_seconds: 0 }, next: END }
  END: { type: end }
"#;

/// A queue that no profile serves.
const ELSEWHERE: &str = r#"
workflow_id: elsewhere
name: Elsewhere
version: 1
nodes:
  START: { type: start, next: only }
  only: { type: task, handler: echo, queue: far-away, next: END }
  END: { type: end }
"#;

/// Not urgent.
const LOW: &str = r#"
workflow_id: low
name: Low
version: 1
priority: low
nodes:
  START: { type: start, next: only }
  only: { type: task, handler: echo, next: END }
  END: { type: end }
"#;

/// Urgent.
const HIGH: &str = r#"
workflow_id: high
name: High
version: 1
priority: high
nodes:
  START: { type: start, next: only }
  only: { type: task, handler: echo, next: END }
  END: { type: end }
"#;

/// A task in phases that leave artifacts.
const LONG: &str = r#"
workflow_id: long
name: Long
version: 1
nodes:
  START: { type: start, next: work }
  work: { type: task, handler: multi_phase, params: { phases: 12, phase_delay: 0.3 }, next: END }
  END: { type: end }
"#;

/// A task that does nothing.
const REST: &str = r#"
workflow_id: rest
name: Rest
version: 1
nodes:
  START: { type: start, next: only }
  only: { type: task, handler: sleep, params: { duration_seconds: 0 }, next: END }
  END: { type: end }
"#;

/// A fan-out, and a task after it that can only fail: what a retry takes over.
const HALF: &str = r#"
workflow_id: half
name: Half
version: 1
nodes:
  START: { type: start, next: before }
  before: { type: task, handler: echo, params: { message: kept }, next: fan }
  fan:
    type: fan_out
    source: 12
    task: { handler: echo, params: { message: "{{ index }}" } }
    next: no
  no: { type: task, handler: fail, params: { error_message: half way, class: permanent }, next: END }
  END: { type: end }
"#;

/// A task whose output two arms work with: a fan-out with its join, and two tasks in a row. What a fork is made of.
const RELAY: &str = r#"
workflow_id: relay
name: Relay
version: 1
inputs:
  source: { type: string, default: s }
  word: { type: string, default: one }
  items: { type: integer, default: 6 }
nodes:
  START: { type: start, next: fetch }
  fetch: { type: task, handler: echo, params: { message: "{{ inputs.source }}" }, next: [tiles, say] }
  tiles:
    type: fan_out
    source: "{{ inputs.items }}"
    task: { handler: hello_world_reply, params: { greeting: "a greeting that is not short, number {{ index }}", index: "{{ index }}" } }
    next: join
  join: { type: fan_in, handler: hello_world_summary, next: END }
  say:
    type: task
    handler: echo
    params: { message: "{{ nodes.fetch.output.echoed_params.message }} {{ inputs.word }}" }
    next: last
  last: { type: task, handler: echo, params: { message: "{{ nodes.say.output.echoed_params.message }}!" }, next: END }
  END: { type: end }
result:
  said: "{{ nodes.last.output.echoed_params.message }}"
  replies: "{{ nodes.join.output.replies }}"
"#;
