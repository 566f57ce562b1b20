//! Takes connections, and lets go of those that only hold on: whoever does not send its request, does not send
//! its body, or does not read its answer.

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bus::metric;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::body::Timely;

/// How the door treats those who come.
#[derive(Debug, Clone)]
pub struct Door {
    /// Connections at once; further ones are closed.
    pub connections_max: usize,
    /// How long a request may take to arrive without its body, and a connection be idle.
    pub head: Duration,
    /// How long a body may take.
    pub body: Duration,
    /// How long a reader may not read.
    pub unread: Duration,
}

/// How long open connections may take when the process ends.
const LAST_ANSWERS: Duration = Duration::from_secs(3);
/// Headers of one request.
const HEADERS_MAX: usize = 64;
/// The first line and the headers of one request together.
const BUFFER_BYTES: usize = 64 * 1024;
/// After an error of the system (such as too many open files) nobody is let in for a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A peer that has gone without a word is noticed after about a minute.
const PROBE_AFTER: Duration = Duration::from_secs(30);
const PROBE_EVERY: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(60);

/// Where a request comes from. Of the sixth version only the part that one holder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer(IpAddr);

impl Peer {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => {
                let network = v6.to_bits() & (u128::MAX << 64);
                Self(Ipv6Addr::from_bits(network).into())
            }
            v4 @ IpAddr::V4(_) => Self(v4),
        }
    }
}

impl Default for Door {
    fn default() -> Self {
        Self {
            connections_max: 24_000,
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
            unread: Duration::from_secs(30),
        }
    }
}

impl Door {
    /// Answers connections until it is told to stop; then open ones have a moment to end.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        router: Router,
        shutdown: CancellationToken,
    ) {
        let places = Arc::new(Semaphore::new(self.connections_max));
        let open = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = shutdown.cancelled() => break,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_of_one(&error) => continue,
                Err(error) => {
                    tracing::warn!(%error, "no connection can be taken");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                metrics::counter!(metric::HTTP_CONNECTIONS_REFUSED).increment(1);
                continue;
            };
            let talk = self.clone().talk(
                stream,
                Peer::of(address.ip()),
                router.clone(),
                shutdown.clone(),
            );
            open.spawn(async move {
                metrics::gauge!(metric::HTTP_CONNECTIONS).increment(1.0);
                talk.await;
                metrics::gauge!(metric::HTTP_CONNECTIONS).decrement(1.0);
                drop(place);
            });
        }
        open.close();
        // Subscriptions never end by themselves.
        let _ = tokio::time::timeout(LAST_ANSWERS, open.wait()).await;
    }

    async fn talk(
        self,
        stream: TcpStream,
        peer: Peer,
        router: Router,
        shutdown: CancellationToken,
    ) {
        if let Err(error) = tune(&stream) {
            tracing::debug!(%error, "a connection could not be set up");
        }
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.unread));
        let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let request = request.map(|body| Timely::wrap(Body::new(body), self.body));
            router.clone().oneshot(request)
        });
        let mut protocol = http1::Builder::new();
        protocol
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .max_headers(HEADERS_MAX)
            .max_buf_size(BUFFER_BYTES);
        let connection = protocol.serve_connection(TokioIo::new(Box::pin(stream)), answer);
        let mut connection = pin!(connection.with_upgrades());
        tokio::select! {
            // What goes wrong between two machines is nobody's news.
            _ = connection.as_mut() => return,
            () = shutdown.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Small messages must not wait for more to come, and silence must be told from death.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let probes = TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(PROBE_EVERY)
        .with_retries(PROBES);
    socket.set_tcp_keepalive(&probes)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX))
}

/// It went wrong for one who came, not for the listener.
fn is_of_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_is_one_peer() {
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
    }
}
