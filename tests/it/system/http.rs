//! The smallest client there is, for routes that need no more.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Status and body; 0 if nobody answers.
pub(super) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    ask(address, path).await.unwrap_or_default()
}

async fn ask(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// The sum of a metric over those of its labels that contain `label`.
pub(super) fn metric(text: &str, name: &str, label: &str) -> f64 {
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        let is_it = labels.is_empty() || labels.starts_with('{');
        (is_it && labels.contains(label)).then(|| value.parse::<f64>().unwrap())
    });
    lines.sum()
}

#[test]
fn a_metric_is_found_by_its_whole_name_and_added_up() {
    let text = "# HELP a b\na{x=\"1\"} 2\na{x=\"2\"} 3\na_count 7\n";
    assert!((metric(text, "a", "") - 5.0).abs() < 1e-9);
    assert!((metric(text, "a", "x=\"2\"") - 3.0).abs() < 1e-9);
    assert!((metric(text, "a_count", "") - 7.0).abs() < 1e-9);
}
