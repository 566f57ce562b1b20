//! The inputs of a job as people type them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::definition::model::ValueType;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::exit::Stop;
use crate::source;

/// Those of a file, and those of the command line as they were typed.
pub(super) struct Given<'a> {
    file: Map<String, Value>,
    typed: Vec<(&'a str, &'a str)>,
}

impl<'a> Given<'a> {
    /// Of the arguments of `strata job WORD`.
    pub(super) fn read(
        typed: &'a [String],
        file: Option<&Path>,
        word: &str,
    ) -> anyhow::Result<Self> {
        let mut seen = BTreeSet::new();
        let mut given = Vec::new();
        let next = || format!("strata job {word} --help");
        for text in typed {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| Stop::usage(format!("--input {text}: write NAME=VALUE"), next()))?;
            if !seen.insert(name) {
                return Err(Stop::usage(
                    format!("--input {name} is given twice"),
                    next(),
                ));
            }
            given.push((name, value));
        }
        let file = file.map(source::json_object).transpose()?;
        Ok(Self {
            file: file.unwrap_or_default(),
            typed: given,
        })
    }

    /// With the types that the workflow declares; the command line wins over the file.
    pub(super) async fn resolve(
        self,
        client: &Client,
        workflow: (&str, Option<u32>),
    ) -> anyhow::Result<Map<String, Value>> {
        let mut inputs = self.file;
        if self.typed.is_empty() {
            return Ok(inputs);
        }
        let kinds = kinds(workflow, client).await?;
        for (name, value) in self.typed {
            let kind = kinds.get(name).copied();
            inputs.insert(name.to_owned(), source::value_of(value, kind));
        }
        Ok(inputs)
    }
}

/// The types of the workflow's inputs; none if there is no such workflow, which the server will say.
async fn kinds(
    (id, version): (&str, Option<u32>),
    client: &Client,
) -> anyhow::Result<BTreeMap<String, ValueType>> {
    #[derive(Deserialize)]
    struct Answer {
        workflow: Option<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        inputs: BTreeMap<String, Input>,
    }
    #[derive(Deserialize)]
    struct Input {
        #[serde(rename = "type")]
        kind: ValueType,
    }
    let document =
        "query($id: String!, $version: Int) { workflow(id: $id, version: $version) { inputs } }";
    let variables = json!({"id": id, "version": version});
    let answer: Answer = client.ask(document, variables).await?;
    let inputs = answer.workflow.map(|version| version.inputs);
    let inputs = inputs.unwrap_or_default().into_iter();
    Ok(inputs.map(|(name, input)| (name, input.kind)).collect())
}
