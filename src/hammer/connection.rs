//! One connection to one copy, plain or over TLS: bytes out, an answer in. It does not know when to send what.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::answer::{LARGEST, Progress, parse};
use super::copies::Copy;

/// How long writing may take where nothing else is said.
const LONGEST: Duration = Duration::from_secs(10);

/// A connection and what it has received.
pub struct Connection {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    received: Vec<u8>,
    closed: Option<String>,
    to_head: bool,
}

impl Connection {
    /// Connects and shakes hands. The error says in words what happened and what to do.
    pub fn open(copy: &Copy, config: &Arc<ClientConfig>, timeout: Duration) -> Result<Connection, String> {
        let name = &copy.name;
        let socket = TcpStream::connect_timeout(&copy.address, timeout).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                format!("nothing listens at {name}: is the service running, and is this its port?")
            }
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                format!("{name} does not accept connections within {timeout:?}: is it up, and is there a firewall?")
            }
            _ => format!("cannot connect to {name}: {error}"),
        })?;
        let setup = socket.set_nodelay(true).and_then(|()| socket.set_read_timeout(Some(timeout)));
        setup.and_then(|()| socket.set_write_timeout(Some(timeout))).map_err(|error| format!("{name}: {error}"))?;
        let mut connection = Connection { socket, tls: None, received: Vec::new(), closed: None, to_head: false };
        if copy.endpoint.tls {
            connection.shake_hands(copy, config)?;
        }
        Ok(connection)
    }

    fn shake_hands(&mut self, copy: &Copy, config: &Arc<ClientConfig>) -> Result<(), String> {
        let name = &copy.name;
        let server = ServerName::try_from(copy.endpoint.host.clone()).map_err(|error| format!("{name}: {error}"))?;
        let mut tls = ClientConnection::new(Arc::clone(config), server).map_err(|error| format!("{name}: {error}"))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut self.socket).map_err(|error| tls_failure(name, &error))?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// The request to come is HEAD, so that its answer has no body.
    pub fn expect_head_answer(&mut self, to_head: bool) {
        self.to_head = to_head;
    }

    /// Writes bytes of a request, waiting until the kernel has them.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wire = self.seal(bytes)?;
        let mut left = wire.as_slice();
        let until = Instant::now() + self.socket.write_timeout()?.unwrap_or(LONGEST);
        while !left.is_empty() {
            match self.socket.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left = &left[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                    wait_for(&[self.socket.as_fd()], PollFlags::OUT, Duration::from_millis(50));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes out bytes that were received, at most so many.
    pub fn drain(&mut self, most: usize) -> Vec<u8> {
        let count = most.min(self.received.len());
        self.received.drain(..count).collect()
    }

    /// Whether HTTP/2 may be spoken: over TLS only where both sides have said so.
    pub fn speaks_http2(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.alpn_protocol() == Some(b"h2"))
    }

    /// The bytes as they go over the wire, encrypted in advance where that is needed.
    pub fn seal(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let Some(tls) = &mut self.tls else { return Ok(bytes.to_vec()) };
        let mut wire = Vec::new();
        // The session's buffer is bounded: a long body is sealed piece by piece.
        for piece in bytes.chunks(16 * 1024) {
            tls.writer().write_all(piece)?;
            while tls.wants_write() {
                tls.write_tls(&mut wire)?;
            }
        }
        Ok(wire)
    }

    /// From now on reads do not wait.
    pub fn never_wait(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// This end's address.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Takes in what has arrived. Does not wait after [`Connection::never_wait`].
    pub fn take_in(&mut self) {
        let mut piece = [0; 16 * 1024];
        while self.closed.is_none() && self.received.len() <= LARGEST {
            let read = match &mut self.tls {
                None => self.socket.read(&mut piece),
                Some(tls) => match tls.reader().read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => match tls.read_tls(&mut self.socket) {
                        Ok(0) => Ok(0),
                        Ok(_) => match tls.process_new_packets() {
                            Ok(_) => continue,
                            Err(error) => Err(io::Error::other(error)),
                        },
                        Err(error) => Err(error),
                    },
                    // A peer that hangs up without a farewell has still hung up.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                    other => other,
                },
            };
            match read {
                Ok(0) => self.closed = Some(String::new()),
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.closed = Some(error.to_string()),
            }
        }
    }

    /// Whether bytes of an answer are here.
    pub fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    /// Whether the peer has hung up.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// What the bytes so far amount to.
    pub fn progress(&self) -> Progress {
        match (parse(&self.received, self.closed.is_some(), self.to_head), &self.closed) {
            (Progress::Broken(what), Some(error)) if !error.is_empty() => Progress::Broken(format!("{what}: {error}")),
            (progress, _) => progress,
        }
    }

    /// Waits for a whole answer until the deadline, or until `stop`.
    pub fn answer_by(&mut self, deadline: Instant, stop: &dyn Fn() -> bool) -> Progress {
        loop {
            match self.progress() {
                Progress::Incomplete => {}
                done => return done,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                return Progress::Incomplete;
            }
            wait_readable(&[self.as_fd()], left.min(Duration::from_millis(50)));
            self.take_in();
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Which of the sockets have something to read, after at most `timeout`.
pub fn wait_readable(sockets: &[BorrowedFd<'_>], timeout: Duration) -> Vec<bool> {
    wait_for(sockets, PollFlags::IN, timeout)
}

fn wait_for(sockets: &[BorrowedFd<'_>], what: PollFlags, timeout: Duration) -> Vec<bool> {
    let mut asked: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::from_borrowed_fd(*socket, what)).collect();
    let timeout = rustix::time::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(&mut asked, Some(&timeout)) {
        Ok(_) => asked.iter().map(|socket| !socket.revents().is_empty()).collect(),
        // A signal: nothing is known to be readable, and the caller looks again.
        Err(_) => vec![false; sockets.len()],
    }
}

fn tls_failure(name: &str, error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => format!(
            "the certificate of {name} is not trusted ({why}): name its authority with --cacert FILE, or accept any with --insecure"
        ),
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{name} does not speak TLS: should the URL start with http://?")
        }
        Some(rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)) => {
            format!("{name} does not speak this version of HTTP over TLS: try --http2, or leave it out")
        }
        Some(other) => format!("no TLS handshake with {name}: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{name} closed the connection during the TLS handshake: should the URL start with http://?")
        }
        None if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            format!("{name} does not answer the TLS handshake: should the URL start with http://?")
        }
        None => format!("no TLS handshake with {name}: {error}"),
    }
}
