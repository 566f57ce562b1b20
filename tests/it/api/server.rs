//! The API in this process, on a rig's database, reached over real sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::ops::{Ops, fleet::Fleet};
use api::{App, Blobs, Options};
use bytes::Bytes;
use commands::access::{Access, NewKey};
use domain::access::Role;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use crate::system::rig::Rig;

/// The organisation of [`Rig::submit`].
pub(crate) const ORG: &str = "acme";

pub(crate) struct Server {
    pub(crate) url: String,
    /// An admin of [`ORG`] who is an operator too.
    pub(crate) key: String,
    pub(crate) pool: PgPool,
    pub(crate) http: reqwest::Client,
    stop: CancellationToken,
}

/// Objects as files below the folder of the rig.
struct Files(PathBuf);

impl Blobs for Files {
    fn get<'a>(
        &'a self,
        path: &'a str,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Bytes>, String>> {
        Box::pin(async move {
            let read = std::fs::read(self.0.join(path)).ok();
            Ok(read.map(|bytes| Bytes::from(bytes.into_iter().take(max).collect::<Vec<_>>())))
        })
    }
}

impl Server {
    /// With a pool of its own, whose statements can be counted.
    pub(crate) async fn start(rig: &Rig) -> Self {
        Self::with(rig, Options::default()).await
    }

    pub(crate) async fn with(rig: &Rig, options: Options) -> Self {
        // TLS is not used here, and its provider is a choice of the whole process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        rig.writer.register_platforms().await.unwrap();
        let pool = PgPool::connect(&rig.database_url).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let fleet = Fleet::listen(rig.bus().clone(), stop.clone());
        let watched = api::ops::Options {
            pool: Some(pool.clone()),
            bus: Some(rig.bus().clone()),
            read_models: true,
            lag_events_max: 1_000_000,
            metrics: api::ops::install().unwrap(),
        };
        let ops = Ops::start(watched, stop.clone());
        let options = Options {
            public_url: url.clone(),
            ..options
        };
        let blobs = Arc::new(Files(rig.dir.join("store")));
        let app = App::new(rig.writer.clone(), pool.clone(), blobs, fleet, options);
        tokio::spawn(api::serve(listener, app, ops, stop.clone()));
        let mut server = Self {
            url,
            key: String::new(),
            pool,
            http: reqwest::Client::new(),
            stop,
        };
        server.key = server.make_key(ORG, Role::Admin, true).await;
        server
    }

    /// A key, straight into the database.
    pub(crate) async fn make_key(&self, org: &str, role: Role, operator: bool) -> String {
        let wanted = NewKey {
            org_id: org.to_owned(),
            label: "test".to_owned(),
            role,
            operator,
            lifetime: None,
        };
        let made = Access::new(self.pool.clone()).create(wanted, "test").await;
        made.unwrap().1.reveal().to_owned()
    }

    /// What the API answers to a document, data and errors.
    pub(crate) async fn ask(&self, key: &str, query: &str, variables: Value) -> Value {
        let body = json!({"query": query, "variables": variables});
        let request = self.http.post(format!("{}/graphql", self.url));
        let answer = request.bearer_auth(key).json(&body).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// The data of an answer that has no errors.
    pub(crate) async fn data(&self, query: &str, variables: Value) -> Value {
        let mut answer = self.ask(&self.key, query, variables).await;
        assert!(answer.get("errors").is_none(), "{query}: {answer:#}");
        answer["data"].take()
    }

    /// The code of the first error.
    pub(crate) async fn code(&self, key: &str, query: &str) -> String {
        let answer = self.ask(key, query, json!({})).await;
        code_of(&answer)
    }
}

/// The code of the first error of an answer; empty if there is none.
pub(crate) fn code_of(answer: &Value) -> String {
    let code = &answer["errors"][0]["extensions"]["code"];
    code.as_str().unwrap_or_default().to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
