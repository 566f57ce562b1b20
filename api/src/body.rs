//! Bodies of requests: how large, and how long they may take to arrive.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{Category, Fault};

/// The whole of a body, or why not.
pub(crate) async fn read(body: Body, max: usize) -> Result<Bytes, Fault> {
    to_bytes(body, max).await.map_err(|error| {
        if is_late(&error) {
            return Fault::new(
                Category::TooSlow,
                "BODY_TOO_SLOW",
                "the body did not arrive in time",
                "send it again over a better connection, or send less at once",
            );
        }
        Fault::new(
            Category::TooLarge,
            "BODY_TOO_LARGE",
            format!("the body has more than {max} bytes, or did not arrive completely"),
            "send less at once; large data belongs into a container",
        )
    })
}

/// A body that must have arrived by some time, however slowly it trickles.
pub(crate) struct Timely {
    inner: Body,
    until: Instant,
    /// Made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive in time")]
struct Late;

impl Timely {
    pub(crate) fn wrap(inner: Body, within: Duration) -> Body {
        if inner.is_end_stream() {
            return inner;
        }
        let until = Instant::now() + within;
        Body::new(Self {
            inner,
            until,
            alarm: None,
        })
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let until = this.until;
        let alarm = this
            .alarm
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        alarm.as_mut().poll(cx).map(|()| Some(Err(Late.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn is_late(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<Late>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    fn trickle() -> Body {
        let drops = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        Body::from_stream(drops.take(20))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_given_up() {
        let in_time = Timely::wrap(trickle(), Duration::from_secs(30));
        assert_eq!(read(in_time, 100).await.unwrap().len(), 20);
        let late = Timely::wrap(trickle(), Duration::from_secs(10));
        let fault = read(late, 100).await.unwrap_err();
        assert_eq!(fault.category, Category::TooSlow);
        let large = Timely::wrap(trickle(), Duration::from_secs(30));
        let fault = read(large, 5).await.unwrap_err();
        assert_eq!(fault.category, Category::TooLarge);
    }
}
