//! The barest server there is: one thread that waits for what is ready, reads it all, and then answers. What it sees of a volley
//! is how close together the requests were there, with next to nothing of a framework's own work between them.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::Handler;

/// The listener's own number; connections have those above it.
const LISTENER: u64 = 0;
/// As many at once as a volley may have.
const READY: usize = 1024;

/// Serves until the program ends.
pub fn serve(listener: TcpListener, handler: &Handler) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let ready = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&ready, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let mut next = LISTENER + 1;
    let mut events = Vec::with_capacity(READY);
    loop {
        events.clear();
        // A stop and what ends it interrupt the wait.
        rustix::io::retry_on_intr(|| epoll::wait(&ready, rustix::buffer::spare_capacity(&mut events), None))?;
        let mut complete = vec![];
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll::add(&ready, &stream, EventData::new_u64(next), EventFlags::IN)?;
                    connections.insert(next, Connection { stream, read: vec![] });
                    next += 1;
                }
            } else if let Some(connection) = connections.get_mut(&number) {
                match connection.request() {
                    Ok(Some(request)) => {
                        if request == Request::Note {
                            handler.note(Instant::now());
                        }
                        complete.push((number, request));
                    }
                    Ok(None) => {}
                    Err(_) => _ = connections.remove(&number),
                }
            }
        }
        for (number, request) in complete {
            let body = if request == Request::Note { "ok".to_owned() } else { handler.told().to_string() };
            if let Some(connection) = connections.get_mut(&number) {
                let length = body.len();
                let kind = "content-type: application/json";
                write!(connection.stream, "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{body}")?;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Request {
    /// One of a volley.
    Note,
    /// What was seen.
    Told,
}

struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    /// Reads what there is, of what is long a part; the request, if it is complete. The error says that the other side has gone.
    fn request(&mut self) -> std::io::Result<Option<Request>> {
        let mut part = [0; 4096];
        match self.stream.read(&mut part) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.read.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(at)) = head.parse(&self.read) else { return Ok(None) };
        let length = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok()).unwrap_or(0);
        if self.read.len() < at + length {
            return Ok(None);
        }
        let request = if head.path == Some("/spread") { Request::Told } else { Request::Note };
        self.read.drain(..at + length);
        Ok(Some(request))
    }
}
