//! One HTTP/2 connection to one copy, driven by hand: what it would send can be kept back and let go in one write. It does not
//! know which requests belong together.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{PingPong, RecvStream, SendStream};
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::hammer::answer::{Answer, LARGEST};
use crate::hammer::connection::{Connection, wait_readable};
use crate::hammer::copies::Copy;
use crate::hammer::request::Request;

/// Room for what answers bring, in bytes: none of them waits for us.
const WINDOW: u32 = 8 * 1024 * 1024;
/// The longest that is slept before looking again.
const GLANCE: Duration = Duration::from_millis(20);

/// The bytes below HTTP/2.
struct Wire {
    connection: Connection,
    /// What is kept back, in the clear.
    held: Option<Vec<u8>>,
    /// What was written of bodies, kept back or not.
    written: Frames,
}

/// Counts what frames carry, as they are written.
#[derive(Debug, Default)]
struct Frames {
    /// Bytes that were seen.
    seen: usize,
    /// The head of the frame at hand, as far as it is here.
    head: Vec<u8>,
    /// What is left of the frame at hand.
    left: usize,
    /// Bytes of bodies.
    bodies: usize,
    /// Bodies that ended.
    ends: usize,
}

impl Frames {
    fn take_in(&mut self, bytes: &[u8]) {
        const PREFACE: usize = 24;
        const HEAD: usize = 9;
        const DATA: u8 = 0;
        const END_STREAM: u8 = 1;
        let greeting = PREFACE.saturating_sub(self.seen).min(bytes.len());
        self.seen += bytes.len();
        let mut rest = &bytes[greeting..];
        while !rest.is_empty() {
            if self.left > 0 {
                let part = self.left.min(rest.len());
                if self.head[3] == DATA {
                    self.bodies += part;
                }
                self.left -= part;
                rest = &rest[part..];
            } else {
                if self.head.len() == HEAD {
                    self.head.clear();
                }
                let part = (HEAD - self.head.len()).min(rest.len());
                self.head.extend_from_slice(&rest[..part]);
                rest = &rest[part..];
                if let [a, b, c, kind, flags, ..] = self.head[..]
                    && self.head.len() == HEAD
                {
                    self.left = usize::from(a) * 65_536 + usize::from(b) * 256 + usize::from(c);
                    self.ends += usize::from(kind == DATA && flags & END_STREAM != 0);
                }
            }
        }
    }
}

/// The wire as the HTTP/2 library sees it. It never says when to look again: whoever drives it does that.
struct Io(Arc<Mutex<Wire>>);

fn lock(wire: &Mutex<Wire>) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut wire = lock(&self.0);
        wire.connection.take_in();
        let bytes = wire.connection.drain(into.remaining());
        if bytes.is_empty() && !wire.connection.is_closed() {
            return Poll::Pending;
        }
        into.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wire = &mut *lock(&self.0);
        wire.written.take_in(bytes);
        match &mut wire.held {
            Some(held) => held.extend_from_slice(bytes),
            None => wire.connection.send(bytes)?,
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// One request on a connection.
struct Stream {
    sender: Option<SendStream<Bytes>>,
    /// What waits for the gate.
    last: Bytes,
    response: Option<ResponseFuture>,
    body: Option<RecvStream>,
    answer: Answer,
    first_byte: Option<Instant>,
    ended: Option<(Instant, Result<(), String>)>,
}

/// What became of one request.
pub struct Fate {
    /// When the answer began.
    pub first_byte: Option<Instant>,
    /// When it was complete, or could not be any more.
    pub ended: Option<Instant>,
    /// The answer; `None` while it is not complete.
    pub answer: Option<Result<Answer, String>>,
}

/// A connection and its requests.
pub struct Link {
    wire: Arc<Mutex<Wire>>,
    socket: OwnedFd,
    client: SendRequest<Bytes>,
    connection: h2::client::Connection<Io, Bytes>,
    pings: PingPong,
    streams: Vec<Stream>,
    /// Bytes of bodies that go ahead of the gate.
    ahead: usize,
    lost: Option<String>,
    name: String,
}

impl Link {
    /// Connects, and waits for the other side's settings. The error says in words what happened.
    pub fn open(copy: &Copy, config: &Arc<ClientConfig>, timeout: Duration) -> Result<Link, String> {
        let name = copy.name.clone();
        let connection = Connection::open(copy, config, timeout)?;
        if !connection.speaks_http2() {
            return Err(format!("{name} does not speak HTTP/2 over TLS: leave out --http2"));
        }
        connection.never_wait().map_err(|error| format!("{name}: {error}"))?;
        let socket = connection.as_fd().try_clone_to_owned().map_err(|error| format!("{name}: {error}"))?;
        let wire = Arc::new(Mutex::new(Wire { connection, held: None, written: Frames::default() }));
        let mut builder = Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).enable_push(false);
        let mut handshake = pin!(builder.handshake::<_, Bytes>(Io(Arc::clone(&wire))));
        let begun = handshake.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (client, mut connection) = match begun {
            Poll::Ready(Ok(both)) => both,
            Poll::Ready(Err(error)) => return Err(format!("{name}: no HTTP/2 connection: {error}")),
            Poll::Pending => return Err(format!("{name}: the HTTP/2 preface could not be sent")),
        };
        let pings = connection.ping_pong().ok_or("an HTTP/2 connection without pings")?;
        let mut link = Link { wire, socket, client, connection, pings, streams: Vec::new(), ahead: 0, lost: None, name };
        // Its settings come before the answer to a ping.
        link.echoed(timeout)?;
        Ok(link)
    }

    /// How many requests this connection may carry at once.
    pub fn most_streams(&self) -> usize {
        self.connection.max_concurrent_send_streams()
    }

    /// Opens a request, with at most so many bytes of its body, and never the last.
    pub fn stage(&mut self, request: &Request, tls: bool, ahead: usize) -> Result<(), String> {
        let (head, body) = parts(request, tls).map_err(|what| format!("{}: {what}", self.name))?;
        let failed = |error: h2::Error| format!("a request could not be opened: {error}");
        for _ in 0..2 {
            if let Poll::Ready(ready) = self.client.poll_ready(&mut Context::from_waker(Waker::noop())) {
                ready.map_err(failed)?;
                break;
            }
            self.turn();
        }
        let (response, mut sender) = self.client.send_request(head, false).map_err(failed)?;
        let split = body.len().saturating_sub(1).min(ahead);
        if split > 0 {
            sender.send_data(body.slice(..split), false).map_err(failed)?;
            self.ahead += split;
        }
        let answer = Answer { status: 0, headers: Vec::new(), body: Vec::new() };
        self.streams.push(Stream {
            sender: Some(sender),
            last: body.slice(split..),
            response: Some(response),
            body: None,
            answer,
            first_byte: None,
            ended: None,
        });
        self.turn();
        Ok(())
    }

    /// Sends what is staged, and waits until the other side has taken it in.
    pub fn delivered(&mut self, timeout: Duration) -> Result<(), String> {
        let until = Instant::now() + timeout;
        // What is long waits for room that the other side makes.
        while lock(&self.wire).written.bodies < self.ahead && self.lost.is_none() && Instant::now() < until {
            self.turn();
            wait_readable(&[self.as_fd()], Duration::from_millis(1));
        }
        self.echoed(timeout)
    }

    /// From now on nothing is sent.
    pub fn hold(&mut self) {
        lock(&self.wire).held = Some(Vec::new());
    }

    /// Ends all staged requests while nothing is sent, and gives the bytes that would have been, as they go over the wire.
    pub fn held(&mut self) -> Result<Vec<u8>, String> {
        let mut waiting = lock(&self.wire).written.ends;
        for stream in &mut self.streams {
            if let Some(mut sender) = stream.sender.take() {
                sender.send_data(stream.last.clone(), true).map_err(|error| format!("{}: {error}", self.name))?;
                waiting += 1;
            }
        }
        self.turn();
        let wire = &mut *lock(&self.wire);
        let bytes = wire.held.take().unwrap_or_default();
        if wire.written.ends < waiting {
            return Err(format!(
                "{}: the bodies do not fit its HTTP/2 windows: send smaller ones or fewer requests (-n)",
                self.name
            ));
        }
        wire.connection.seal(&bytes).map_err(|error| format!("{}: {error}", self.name))
    }

    /// Sends the rest of a single request.
    pub fn let_go(&mut self) -> Result<(), String> {
        for stream in &mut self.streams {
            if let Some(mut sender) = stream.sender.take() {
                sender.send_data(stream.last.clone(), true).map_err(|error| format!("{}: {error}", self.name))?;
            }
        }
        self.turn();
        Ok(())
    }

    /// Takes in what has come, without waiting.
    pub fn turn(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        if self.lost.is_none()
            && let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(&mut context)
        {
            self.lost = Some(match ended {
                Ok(()) => "closed the connection without an answer".to_owned(),
                Err(error) => error.to_string(),
            });
        }
        for stream in &mut self.streams {
            stream.look(&mut context);
            if let (None, Some(lost)) = (&stream.ended, &self.lost) {
                stream.ended = Some((Instant::now(), Err(lost.clone())));
            }
        }
    }

    /// Whether each request has begun to be answered.
    pub fn answered(&self) -> impl Iterator<Item = bool> + '_ {
        self.streams.iter().map(|stream| stream.first_byte.is_some() || stream.ended.is_some())
    }

    /// Whether all requests have ended.
    pub fn is_done(&self) -> bool {
        self.streams.iter().all(|stream| stream.ended.is_some())
    }

    /// What became of each request.
    pub fn fates(self) -> Vec<Fate> {
        let fate = |stream: Stream| {
            let ended = stream.ended.as_ref().map(|(at, _)| *at);
            let answer = stream.ended.map(|(_, end)| end.map(|()| stream.answer));
            Fate { first_byte: stream.first_byte, ended, answer }
        };
        self.streams.into_iter().map(fate).collect()
    }

    /// A ping and its echo: all that was sent before has been taken in.
    pub fn echoed(&mut self, timeout: Duration) -> Result<(), String> {
        let until = Instant::now() + timeout;
        let mut context = Context::from_waker(Waker::noop());
        self.pings.send_ping(h2::Ping::opaque()).map_err(|error| format!("{}: {error}", self.name))?;
        loop {
            self.turn();
            match self.pings.poll_pong(&mut context) {
                Poll::Ready(Ok(_)) => return Ok(()),
                Poll::Ready(Err(error)) => return Err(self.not_spoken(&error.to_string())),
                Poll::Pending => {}
            }
            if let Some(lost) = self.lost.clone() {
                return Err(self.not_spoken(&lost));
            }
            if Instant::now() >= until {
                return Err(self.not_spoken("no answer to a ping"));
            }
            wait_readable(&[self.as_fd()], GLANCE);
        }
    }

    fn not_spoken(&self, what: &str) -> String {
        format!("{}: {what}. Does it speak HTTP/2? Without --http2, HTTP/1.1 is spoken.", self.name)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Stream {
    fn look(&mut self, context: &mut Context<'_>) {
        if self.ended.is_some() {
            return;
        }
        if let Some(response) = &mut self.response {
            match Pin::new(response).poll(context) {
                Poll::Pending => return,
                Poll::Ready(Err(error)) => return self.end(Err(error.to_string())),
                Poll::Ready(Ok(response)) => {
                    self.first_byte = Some(Instant::now());
                    self.response = None;
                    self.answer.status = response.status().as_u16();
                    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
                    self.answer.headers =
                        response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
                    self.body = Some(response.into_body());
                }
            }
        }
        let Some(mut body) = self.body.take() else { return };
        loop {
            match body.poll_data(context) {
                Poll::Pending => break,
                Poll::Ready(None) => return self.end(Ok(())),
                Poll::Ready(Some(Err(error))) => return self.end(Err(format!("only half an answer: {error}"))),
                Poll::Ready(Some(Ok(data))) => {
                    _ = body.flow_control().release_capacity(data.len());
                    self.answer.body.extend_from_slice(&data);
                    if self.answer.body.len() > LARGEST {
                        return self.end(Err(format!("answered more than {} MiB", LARGEST >> 20)));
                    }
                }
            }
        }
        self.body = Some(body);
    }

    fn end(&mut self, how: Result<(), String>) {
        self.ended = Some((Instant::now(), how));
    }
}

/// Headers that belong to a connection of HTTP/1.1.
const NOT_SENT: [&str; 6] = ["host", "connection", "transfer-encoding", "keep-alive", "upgrade", "te"];

/// A request's head and body as HTTP/2 has them.
fn parts(request: &Request, tls: bool) -> Result<(http::Request<()>, Bytes), String> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut parsed = httparse::Request::new(&mut headers);
    parsed.parse(&request.bytes).map_err(|error| error.to_string())?;
    let host = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
    let host = host.map(|header| String::from_utf8_lossy(header.value).into_owned()).unwrap_or_default();
    let uri = http::Uri::builder()
        .scheme(if tls { "https" } else { "http" })
        .authority(host)
        .path_and_query(parsed.path.unwrap_or("/"))
        .build()
        .map_err(|error| error.to_string())?;
    let mut head = http::Request::builder().method(parsed.method.unwrap_or("GET")).uri(uri).version(http::Version::HTTP_2);
    for header in parsed.headers.iter().filter(|header| !NOT_SENT.iter().any(|own| header.name.eq_ignore_ascii_case(own))) {
        head = head.header(header.name, header.value);
    }
    let head = head.body(()).map_err(|error| error.to_string())?;
    Ok((head, Bytes::copy_from_slice(&request.bytes[request.body_at..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_end_a_body_are_counted() {
        let frame = |kind: u8, flags: u8, length: u8| {
            let mut bytes = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
            bytes.extend(std::iter::repeat_n(b'x', usize::from(length)));
            bytes
        };
        let greeting = vec![b'P'; 24];
        let bytes = [greeting, frame(0, 1, 1), frame(0, 0, 3), frame(1, 1, 2), frame(0, 1, 0)].concat();
        for size in [1, 2, 7, 1000] {
            let mut frames = Frames::default();
            bytes.chunks(size).for_each(|piece| frames.take_in(piece));
            assert_eq!((frames.ends, frames.bodies), (2, 4), "{size}");
        }
    }
}
