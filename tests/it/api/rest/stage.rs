//! The whole API over a database of its own, with read models that follow, and a key of every role.

use std::sync::Arc;
use std::time::Duration;

use api::ops::fleet::Fleet;
use api::ops::{self, Ops};
use api::{App, Blobs, Options};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use commands::access::{Access, NewKey};
use commands::log::{Append, Expected, Meta};
use commands::write::fresh_id;
use domain::access::Role;
use domain::asset::{self, AssetId, Command};
use domain::context::{Actor, Context};
use domain::event::Event;
use domain::id::JobId;
use futures_util::future::BoxFuture;
use projections::read;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

use crate::repo::root;
use crate::system::rig::Rig;

/// The answer to a call.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

pub(super) struct Stage {
    pub(super) rig: Rig,
    pub(super) app: App,
    pub(super) ops: Ops,
    pub(super) router: Router,
    pub(super) reader: String,
    pub(super) writer: String,
    pub(super) admin: String,
    /// An admin of another organisation.
    pub(super) foreign: String,
    _stop: DropGuard,
}

/// No worker wrote anything here.
struct NoBlobs;

impl Blobs for NoBlobs {
    fn get<'a>(
        &'a self,
        _: &'a str,
        _: usize,
    ) -> BoxFuture<'a, Result<Option<axum::body::Bytes>, String>> {
        Box::pin(async { Ok(None) })
    }
}

impl Stage {
    pub(super) async fn new(name: &str) -> Self {
        let options = Options {
            rate_per_second: None,
            ..Options::default()
        };
        Self::with(name, options).await
    }

    pub(super) async fn with(name: &str, options: Options) -> Self {
        let rig = Rig::new(name).await;
        for file in std::fs::read_dir(root().join("workflows")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "yaml") {
                let text = std::fs::read(&path).unwrap();
                rig.writer.register_workflow(&text).await.unwrap();
            }
        }
        rig.writer.register_platforms().await.unwrap();
        let stop = CancellationToken::new();
        let (pool, bus) = (rig.pool.clone(), rig.bus().clone());
        let projector = projections::Options::new(pool.clone(), bus.clone(), fresh_id());
        tokio::spawn(projections::run(projector, stop.clone()));
        let fleet = Fleet::listen(bus, stop.clone());
        let app = App::new(
            rig.writer.clone(),
            pool.clone(),
            Arc::new(NoBlobs),
            fleet,
            options,
        );
        let watched = ops::Options {
            pool: Some(pool.clone()),
            bus: None,
            read_models: true,
            lag_events_max: ops::LAG_EVENTS_MAX,
            metrics: ops::install().unwrap(),
        };
        let ops = Ops::start(watched, stop.clone());
        let access = Access::new(pool);
        let key = async |org: &str, role: Role| {
            let wanted = NewKey {
                org_id: org.to_owned(),
                label: "test".to_owned(),
                role,
                operator: false,
                lifetime: None,
            };
            access
                .create(wanted, "test")
                .await
                .unwrap()
                .1
                .reveal()
                .to_owned()
        };
        Self {
            router: api::router(app.clone(), ops.clone()),
            reader: key("acme", Role::Reader).await,
            writer: key("acme", Role::Writer).await,
            admin: key("acme", Role::Admin).await,
            foreign: key("other", Role::Admin).await,
            rig,
            app,
            ops,
            _stop: stop.drop_guard(),
        }
    }

    /// Any request at all.
    pub(super) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 64 * 1024 * 1024).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::String(text)),
        }
    }

    pub(super) async fn get(&self, key: &str, path: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("Bearer {key}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(super) async fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        self.post_with(key, path, body, &[]).await
    }

    pub(super) async fn post_with(
        &self,
        key: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    /// How many events there are.
    pub(super) async fn events(&self) -> i64 {
        self.rig.count("select pos from dagapp.log_head").await
    }

    /// Waits until the read models show all of it.
    pub(super) async fn caught_up(&self) {
        let head = self.events().await;
        let deadline = Duration::from_secs(30);
        read::wait_for(&self.rig.pool, head, deadline)
            .await
            .unwrap();
    }

    /// Gives an asset a revision, as the orchestrator does when a job completes.
    pub(super) async fn complete(&self, asset_id: &str, job_id: &str) {
        let asset_id: AssetId = asset_id.parse().unwrap();
        let job_id: JobId = job_id.parse().unwrap();
        let stream = format!("asset:{asset_id}");
        let recorded = self
            .rig
            .writer
            .log
            .read_stream(&stream, 0, 1_000)
            .await
            .unwrap();
        let mut state = asset::State::default();
        for recorded in &recorded {
            if let Ok(Event::Asset(event)) = recorded.decode() {
                state = asset::evolve(state, &event);
            }
        }
        let context = Context {
            now: chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
            actor: Actor {
                id: "orchestrator".to_owned(),
                role: domain::context::Role::Orchestrator,
            },
        };
        let mut events = Vec::new();
        for command in [
            Command::BeginProcessing { job_id },
            Command::CompleteProcessing {
                job_id,
                content_hash: "a".repeat(64),
                artifacts: Vec::new(),
            },
        ] {
            for event in asset::decide(&state, command, &context)
                .unwrap()
                .into_events()
            {
                state = asset::evolve(state, &event);
                events.push(Event::Asset(event));
            }
        }
        let append = Append {
            stream,
            expected: Expected::Version(recorded.len() as u64),
            org_id: "acme".to_owned(),
            meta: Meta {
                actor: "orchestrator".to_owned(),
                command_id: fresh_id(),
                correlation: None,
                causation: None,
                trace: None,
            },
            events,
            open_job: None,
            closes: false,
        };
        self.rig.writer.appender.append(&[append]).await.unwrap();
        self.caught_up().await;
    }
}

impl Answer {
    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// An error in the one form that all errors have.
    #[track_caller]
    pub(super) fn refused(self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        let error = body["error"].clone();
        assert_eq!(error["code"], code, "{body}");
        for field in ["category", "message", "remediation"] {
            assert!(
                error[field].as_str().is_some_and(|text| !text.is_empty()),
                "{body}"
            );
        }
        assert!(error["user_fixable"].is_boolean());
        error
    }

    /// The fields that are named as wrong.
    #[track_caller]
    pub(super) fn problems(self) -> Vec<(String, String)> {
        let error = self.refused(422, "INVALID_REQUEST");
        let text = |problem: &Value, name: &str| problem[name].as_str().unwrap().to_owned();
        let problems = error["problems"].as_array().unwrap().iter();
        problems
            .map(|p| (text(p, "field"), text(p, "code")))
            .collect()
    }
}
