//! Copies that outlive one run of hammer, for many volleys at the same ones.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

const READY_WITHIN: Duration = Duration::from_secs(30);

/// Running copies, each a process group of its own; they end with this value.
pub struct Copies(Vec<(Child, u16)>);

impl Copies {
    /// Starts as many as there are `commands`, which get their PORT as hammer would give it, and waits until GET `ready` is answered.
    pub fn start(commands: impl IntoIterator<Item = Command>, ready: &str) -> Result<Copies> {
        let mut copies = Copies(Vec::new());
        for mut command in commands {
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            command.env("PORT", port.to_string()).process_group(0);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            copies.0.push((command.spawn()?, port));
        }
        let end = Instant::now() + READY_WITHIN;
        for (_, port) in &copies.0 {
            while !is_ready(*port, ready).unwrap_or(false) {
                if Instant::now() > end {
                    bail!("a copy is not ready after {READY_WITHIN:?}");
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(copies)
    }

    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(_, port)| format!("http://127.0.0.1:{port}"))
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for (copy, _) in &mut self.0 {
            // A process group is named by the negative id of its first member.
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", copy.id())]).status();
            let _ = copy.wait();
        }
    }
}

fn is_ready(port: u16, path: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}
