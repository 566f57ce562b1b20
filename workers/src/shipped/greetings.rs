//! The hello-world family: one greeting, several, answers to them, and a count.

use domain::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::handler::{Context, Done, Handler};

/// Greets someone by name.
pub struct HelloWorld;

#[derive(Deserialize)]
pub struct HelloParams {
    name: String,
}

/// What the task of the same index in the next stage reads.
#[derive(Serialize)]
struct Handover {
    greeting: String,
    index: u64,
}

#[derive(Serialize)]
pub struct Greeting {
    greeting: String,
    next_stage_params: Handover,
}

impl Greeting {
    fn new(greeting: String, index: u64) -> Self {
        Self {
            next_stage_params: Handover {
                greeting: greeting.clone(),
                index,
            },
            greeting,
        }
    }
}

impl Handler for HelloWorld {
    const NAME: &'static str = "hello_world";
    type Params = HelloParams;
    type Output = Greeting;

    async fn run(&self, _ctx: &Context, params: HelloParams) -> Result<Done<Greeting>, Failure> {
        Ok(Greeting::new(format!("Hello, {}!", params.name), 0).into())
    }
}

/// Speaks one of several greetings.
pub struct HelloWorldGreeting;

#[derive(Deserialize)]
pub struct GreetingParams {
    index: u64,
    message: String,
}

impl Handler for HelloWorldGreeting {
    const NAME: &'static str = "hello_world_greeting";
    type Params = GreetingParams;
    type Output = Greeting;

    async fn run(&self, _ctx: &Context, params: GreetingParams) -> Result<Done<Greeting>, Failure> {
        let greeting = format!("{} #{}", params.message, params.index);
        Ok(Greeting::new(greeting, params.index).into())
    }
}

/// Answers one greeting.
pub struct HelloWorldReply;

#[derive(Deserialize)]
pub struct ReplyParams {
    greeting: String,
    index: u64,
}

#[derive(Serialize)]
pub struct Reply {
    reply: String,
    index: u64,
}

impl Handler for HelloWorldReply {
    const NAME: &'static str = "hello_world_reply";
    type Params = ReplyParams;
    type Output = Reply;

    async fn run(&self, _ctx: &Context, params: ReplyParams) -> Result<Done<Reply>, Failure> {
        let reply = format!("\"{}\": hello to you, too!", params.greeting);
        let index = params.index;
        Ok(Reply { reply, index }.into())
    }
}

/// Counts the replies.
pub struct HelloWorldSummary;

#[derive(Deserialize)]
pub struct SummaryParams {
    #[serde(default)]
    previous_results: Vec<Value>,
}

#[derive(Serialize)]
pub struct Summary {
    replies: usize,
    summary: String,
}

impl Handler for HelloWorldSummary {
    const NAME: &'static str = "hello_world_summary";
    type Params = SummaryParams;
    type Output = Summary;

    async fn run(&self, _ctx: &Context, params: SummaryParams) -> Result<Done<Summary>, Failure> {
        let replies = params.previous_results.len();
        let summary = match replies {
            0 => "Nobody answered.".to_owned(),
            1 => "One greeting was answered.".to_owned(),
            many => format!("{many} greetings were answered."),
        };
        Ok(Summary { replies, summary }.into())
    }
}
