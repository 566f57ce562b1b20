//! Where callbacks may not go, however it is spelled, and what a receiver gets.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::client::{Answer, Client, Message};
use super::guard::{Lookup, Rules, UrlRefusal, check_url};

/// Urls whose address or form says all: refused at submit and at the call.
const HOSTILE: &[(&str, &str)] = &[
    ("https://127.0.0.1/", "callback_address_forbidden"),
    ("https://127.1/", "callback_address_forbidden"),
    ("https://2130706433/", "callback_address_forbidden"),
    ("https://0x7f000001/", "callback_address_forbidden"),
    ("https://0x7f.1/", "callback_address_forbidden"),
    ("https://0177.0.0.1/", "callback_address_forbidden"),
    ("https://017700000001/", "callback_address_forbidden"),
    ("https://127.0.0.1./", "callback_address_forbidden"),
    ("https://１２７.０.０.１/", "callback_address_forbidden"),
    ("https://%31%32%37.0.0.1/", "callback_address_forbidden"),
    ("https://0.0.0.0/", "callback_address_forbidden"),
    ("https://0/", "callback_address_forbidden"),
    ("https://10.1.2.3/", "callback_address_forbidden"),
    ("https://172.31.0.1/", "callback_address_forbidden"),
    ("https://192.168.0.1:8443/", "callback_address_forbidden"),
    (
        "https://100.100.100.200/latest/meta-data",
        "callback_address_forbidden",
    ),
    (
        "http://169.254.169.254/latest/meta-data",
        "callback_address_forbidden",
    ),
    ("http://0xa9fea9fe/", "callback_address_forbidden"),
    ("http://2852039166/", "callback_address_forbidden"),
    ("https://198.18.0.1/", "callback_address_forbidden"),
    ("https://224.0.0.1/", "callback_address_forbidden"),
    ("https://255.255.255.255/", "callback_address_forbidden"),
    ("https://[::1]/", "callback_address_forbidden"),
    ("https://[::]/", "callback_address_forbidden"),
    ("https://[::ffff:127.0.0.1]/", "callback_address_forbidden"),
    ("https://[::ffff:a9fe:a9fe]/", "callback_address_forbidden"),
    ("https://[::7f00:1]/", "callback_address_forbidden"),
    (
        "https://[64:ff9b::169.254.169.254]/",
        "callback_address_forbidden",
    ),
    ("https://[64:ff9b:1::a00:1]/", "callback_address_forbidden"),
    ("https://[2002:7f00:1::]/", "callback_address_forbidden"),
    (
        "https://[2001:0:4136:e378::1]/",
        "callback_address_forbidden",
    ),
    ("https://[fd00:ec2::254]/", "callback_address_forbidden"),
    ("https://[fe80::1]/", "callback_address_forbidden"),
    ("https://[fec0::1]/", "callback_address_forbidden"),
    ("https://[ff02::1]/", "callback_address_forbidden"),
    ("https://localhost/", "callback_host_forbidden"),
    ("https://LOCALHOST./", "callback_host_forbidden"),
    ("https://x.localhost:8080/", "callback_host_forbidden"),
    ("http://example.org/", "callback_without_tls"),
    ("http://93.184.216.34/", "callback_without_tls"),
    (
        "https://user:secret@example.org/",
        "callback_url_credentials",
    ),
    ("https://example.org@127.0.0.1/", "callback_url_credentials"),
    ("ftp://example.org/", "callback_url_scheme"),
    ("file:///etc/passwd", "callback_url_scheme"),
    ("gopher://127.0.0.1:6379/_INFO", "callback_url_scheme"),
    ("javascript:alert(1)", "callback_url_scheme"),
    ("unix:///var/run/docker.sock", "callback_url_scheme"),
    ("https://", "callback_url_unreadable"),
    ("https://[::1", "callback_url_unreadable"),
    ("//example.org/", "callback_url_unreadable"),
];

#[test]
fn hostile_urls_are_refused_by_name_at_submit() {
    for (url, code) in HOSTILE {
        let refusal = check_url(url, &Rules::default());
        assert_eq!(refusal.map_err(|r| r.code()), Err(*code), "{url}");
    }
    for url in [
        "https://example.org/x?y=z#f",
        "https://93.184.216.34:8443/",
        "https://[2606:4700::1111]/",
        "https://localhost.example.org/",
    ] {
        assert_eq!(check_url(url, &Rules::default()), Ok(()), "{url}");
    }
}

#[test]
fn what_is_listed_may_be_called_in_every_spelling_and_nothing_beside_it() {
    let rules = Rules::parse("127.0.0.0/8, 10.1.2.3,fd00::/8").unwrap();
    for url in [
        "http://127.0.0.1:9/",
        "http://2130706433/",
        "https://[::ffff:127.0.0.1]/",
        "http://10.1.2.3/",
        "https://[fd00::7]/",
        "http://localhost/",
        "http://partner.test/",
    ] {
        assert_eq!(check_url(url, &rules), Ok(()), "{url}");
    }
    for url in [
        "http://10.1.2.4/",
        "https://[fc00::1]/",
        "https://169.254.169.254/",
    ] {
        let refusal = check_url(url, &rules);
        assert!(matches!(refusal, Err(UrlRefusal::Address(_))), "{url}");
    }
    assert_eq!(
        check_url("http://93.184.216.34/", &rules),
        Err(UrlRefusal::PlainHttp)
    );
    assert!(Rules::parse("10.0.0.0/33").is_err());
    assert!(Rules::parse("everything").is_err());
    assert_eq!(Rules::parse(""), Ok(Rules::default()));
}

/// Answers for names, each call with the next of its answers; the last one stays.
#[derive(Default)]
struct Names {
    answers: Mutex<HashMap<&'static str, Vec<&'static str>>>,
    asked: AtomicUsize,
}

impl Names {
    fn with(mut self, name: &'static str, answers: &[&'static str]) -> Self {
        let answers = answers.iter().rev().copied().collect();
        self.answers.get_mut().unwrap().insert(name, answers);
        self
    }
}

impl Lookup for Names {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(name.as_str()).map(|left| {
            let next = if left.len() > 1 {
                left.pop()
            } else {
                left.last().copied()
            };
            next.unwrap_or_default()
        });
        let unknown = || io::Error::other("no such name");
        let found = found.ok_or_else(unknown).map(|text| {
            let each = text.split_whitespace().map(|a| a.parse().unwrap());
            each.collect()
        });
        Box::pin(async move { found })
    }
}

/// A receiver on this machine that counts connections and always answers the same.
async fn receiver(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut read = vec![0; 8_192];
            let _ = stream.read(&mut read).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, connections)
}

fn message(url: &str) -> Message {
    Message {
        url: url.to_owned(),
        id: "msg_1".to_owned(),
        at: DateTime::<Utc>::UNIX_EPOCH,
        signatures: "v1,x".to_owned(),
        body: "{}".into(),
        timeout: Duration::from_secs(5),
    }
}

async fn call(rules: &Rules, names: Names, url: &str) -> Answer {
    let lookup: Arc<dyn Lookup> = Arc::new(names);
    let client = Client::new(rules.clone(), &lookup).unwrap();
    client.send(message(url)).await
}

fn code(answer: &Answer) -> Option<&'static str> {
    answer.fault.as_ref().map(|fault| fault.code)
}

#[tokio::test]
async fn hostile_urls_are_refused_at_the_call_without_a_connection() {
    for (url, expected) in HOSTILE {
        let answer = call(&Rules::default(), Names::default(), url).await;
        assert_eq!(code(&answer), Some(*expected), "{url}");
        assert!(answer.fault.is_some_and(|fault| fault.is_final), "{url}");
    }
}

#[tokio::test]
async fn a_name_that_leads_home_is_refused_without_a_connection() {
    let (port, connections) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "127.0.0.1 10.0.0.1 fd00::1",
    ] {
        let names = Names::default().with("evil.test", &[address]);
        let url = format!("https://evil.test:{port}/");
        let answer = call(&Rules::default(), names, &url).await;
        assert_eq!(
            code(&answer),
            Some("callback_address_forbidden"),
            "{address}"
        );
    }
    // Without TLS only what is listed, whatever the name says.
    let rules = Rules::parse("127.0.0.2/32").unwrap();
    for address in ["127.0.0.1", "93.184.216.34"] {
        let names = Names::default().with("evil.test", &[address]);
        let answer = call(&rules, names, &format!("http://evil.test:{port}/")).await;
        assert_eq!(
            code(&answer),
            Some("callback_address_forbidden"),
            "{address}"
        );
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_between_check_and_connect_gains_nothing() {
    let (port, connections) =
        receiver("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    let rules = Rules::parse("127.0.0.2/32").unwrap();
    let names = Names::default().with("rebind.test", &["127.0.0.2", "127.0.0.1"]);
    let names = Arc::new(names);
    let lookup: Arc<dyn Lookup> = Arc::clone(&names) as _;
    let client = Client::new(rules, &lookup).unwrap();
    let url = format!("http://rebind.test:{port}/");
    // The first answer may be called (and nobody listens there); the second may not.
    let first = client.send(message(&url)).await;
    assert_eq!(code(&first), Some("connect_failed"));
    // One call asks once: there is no second answer between check and connect.
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
    let second = client.send(message(&url)).await;
    assert_eq!(code(&second), Some("callback_address_forbidden"));
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn of_a_mixed_answer_only_what_may_be_called_is_called() {
    let (port, connections) = receiver("HTTP/1.1 204 No Content\r\n\r\n").await;
    let rules = Rules::parse("127.0.0.1/32").unwrap();
    let names = Names::default().with("mixed.test", &["127.0.0.9 10.0.0.1 127.0.0.1"]);
    let answer = call(&rules, names, &format!("http://mixed.test:{port}/")).await;
    assert_eq!((answer.status, code(&answer)), (Some(204), None));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let (inner, connections) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let answer = format!(
        "HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:{inner}/\r\ncontent-length: 0\r\n\r\n"
    );
    let (port, _) = receiver(Box::leak(answer.into_boxed_str())).await;
    let rules = Rules::parse("127.0.0.1").unwrap();
    let answer = call(
        &rules,
        Names::default(),
        &format!("http://127.0.0.1:{port}/"),
    )
    .await;
    assert_eq!(
        (answer.status, code(&answer)),
        (Some(307), Some("redirect"))
    );
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    let metadata =
        "HTTP/1.1 302 Go\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n";
    let (port, _) = receiver(metadata).await;
    let answer = call(
        &rules,
        Names::default(),
        &format!("http://127.0.0.1:{port}/"),
    )
    .await;
    assert_eq!(code(&answer), Some("redirect"));
}

#[tokio::test]
async fn an_answer_is_judged_by_its_status_and_read_only_so_far() {
    let rules = Rules::parse("127.0.0.1").unwrap();
    let ask = async |answer: &'static str| {
        let (port, _) = receiver(answer).await;
        call(
            &rules,
            Names::default(),
            &format!("http://127.0.0.1:{port}/"),
        )
        .await
    };
    let gone = ask("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n").await;
    assert!(gone.fault.is_some_and(|f| f.code == "gone" && f.is_final));
    let busy = ask("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(
        (code(&busy), busy.retry_after),
        (Some("http_4xx"), Some(Duration::from_secs(7)))
    );
    let dated = "HTTP/1.1 503 Slow\r\nretry-after: Thu, 01 Jan 1970 00:01:00 GMT\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(ask(dated).await.retry_after, Some(Duration::from_secs(60)));
    let greedy =
        ask("HTTP/1.1 503 Slow\r\nretry-after: 999999999\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(greedy.retry_after, Some(Duration::from_secs(3_600)));
    let mut long = "HTTP/1.1 500 Bad\r\n\r\n\u{1b}[31mbroken\0 ".to_owned();
    long.push_str(&"x".repeat(100_000));
    let long = ask(Box::leak(long.into_boxed_str())).await;
    let fault = long.fault.unwrap();
    assert_eq!((fault.code, fault.is_final), ("http_5xx", false));
    assert!(
        fault.excerpt.starts_with("[31mbroken xxx") && fault.excerpt.len() <= 200,
        "{}",
        fault.excerpt
    );
}
