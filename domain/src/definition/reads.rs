//! Which inputs of a job a node reads: what must be looked at when they change.

use std::collections::BTreeSet;

use super::graph::{BranchTest, Kind, Node};
use crate::expr::{Reference, Template};

impl Node {
    /// Those of these inputs that the node reads: in its parameters, its source, its conditions or its `when`.
    ///
    /// An expression that takes `inputs` as a whole, or by a name that is computed, reads all of them.
    #[must_use]
    pub fn inputs_read(&self, of: &BTreeSet<String>) -> BTreeSet<String> {
        let mut references = Vec::new();
        if let Some(when) = &self.when {
            when.references(&mut references);
        }
        match &self.kind {
            Kind::Start | Kind::End => {}
            Kind::Conditional(spec) => {
                spec.field.iter().for_each(|t| add(t, &mut references));
                for branch in &spec.branches {
                    match &branch.test {
                        BranchTest::When(expr) => expr.references(&mut references),
                        // A short condition compares the field with constants.
                        BranchTest::Field(_) | BranchTest::Default => {}
                    }
                }
            }
            Kind::FanOut(spec) => {
                add(&spec.source, &mut references);
                add(&spec.task.params, &mut references);
            }
            Kind::Task(_) | Kind::FanIn(_) => {
                let task = self.kind.task();
                task.iter().for_each(|t| add(&t.params, &mut references));
            }
        }
        let mut read = BTreeSet::new();
        for reference in references {
            let mut path = reference.path.iter().map(|segment| segment.key());
            if path.next().flatten() != Some("inputs") {
                continue;
            }
            match path.next().flatten() {
                Some(name) => read.extend(of.get(name).cloned()),
                None => return of.clone(),
            }
        }
        read
    }
}

fn add(template: &Template, references: &mut Vec<Reference>) {
    references.extend(template.references().into_iter().map(|(_, r)| r));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::definition::{compile, model::Workflow};
    use crate::handler::{Catalog, Handler};

    fn read(node: Value) -> Vec<String> {
        let mut catalog = Catalog::default();
        let work = Handler::new("work", "light", 60, "Does something.").open_params();
        catalog.register(work).expect("free");
        let nodes = json!({
            "START": {"type": "start", "next": "n"}, "n": node,
            "b": {"type": "task", "handler": "work", "next": "END"},
            "END": {"type": "end"}});
        let workflow = json!({"workflow_id": "w", "name": "W", "version": 1, "nodes": nodes});
        let workflow: Workflow = serde_json::from_value(workflow).expect("a workflow");
        let graph = compile(&workflow, "hash", &catalog).expect("it compiles");
        let all = ["x", "y", "z"].map(str::to_owned);
        let ix = graph.find("n").expect("the node");
        let read = graph.nodes[ix].inputs_read(&BTreeSet::from(all));
        read.into_iter().collect()
    }

    fn task(params: Value) -> Value {
        json!({"type": "task", "handler": "work", "params": params, "next": "b"})
    }

    #[test]
    fn inputs_are_found_wherever_a_node_may_read_them() {
        assert_eq!(read(task(json!({"a": 1}))), [""; 0]);
        assert_eq!(read(task(json!({"a": {"b": ["{{ inputs.x }}"]}}))), ["x"]);
        assert_eq!(
            read(task(
                json!({"a": "at {{ inputs['y'] | default(inputs.z) }}"})
            )),
            ["y", "z"]
        );
        assert_eq!(read(task(json!({"a": "{{ inputs.other.x }}"}))), [""; 0]);
        let mut with_when = task(json!({}));
        with_when["when"] = json!("inputs.x.deep > 1 or not inputs.z");
        assert_eq!(read(with_when), ["x", "z"]);
        let branch = json!({"type": "conditional", "condition_field": "{{ inputs.x }}",
            "branches": [{"condition": "< 3", "next": "b"}, {"default": true, "next": "b"}]});
        assert_eq!(read(branch), ["x"]);
        let branch = json!({"type": "conditional",
            "branches": [{"when": "inputs.y == 1", "next": "b"}, {"default": true, "next": "b"}]});
        assert_eq!(read(branch), ["y"]);
        let fan_out = json!({"type": "fan_out", "source": "{{ inputs.x }}", "next": "b",
            "task": {"handler": "work", "params": {"p": "{{ inputs.z }}"}}});
        assert_eq!(read(fan_out), ["x", "z"]);
        let fan_in = json!({"type": "fan_in", "handler": "work", "params": {"p": "{{ inputs.z }}"}, "next": "b"});
        assert_eq!(read(fan_in), ["z"]);
    }

    #[test]
    fn whoever_takes_all_inputs_reads_each_of_them() {
        assert_eq!(read(task(json!({"all": "{{ inputs }}"}))), ["x", "y", "z"]);
        assert_eq!(
            read(task(json!({"a": "{{ inputs[inputs.x] }}"}))),
            ["x", "y", "z"]
        );
    }
}
