//! Starts the user's own program several times and stops every process it started, whatever happens. It does not know what
//! is fired at the copies.

use std::fs::{self, File};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use rustls::ClientConfig;

use super::copies::Copy;
use super::interrupt::Interrupt;
use super::plan::{Endpoint, Launch};
use super::request::{Hold, RequestTemplate};
use super::template::{Template, Values};
use super::volley::{Range, Shot, single};

/// How long a copy has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);
/// How many of a log's last lines an error shows.
const TAIL: usize = 15;

/// Copies that run, and their logs. Dropping it stops them.
pub struct Fleet {
    /// Where they listen.
    pub copies: Vec<Copy>,
    /// The folder of their logs.
    pub logs: PathBuf,
    processes: Vec<Process>,
    environments: Vec<Environment>,
    keep_logs: bool,
}

/// What a copy finds in its environment beside `PORT` and `LOCKCHECK_COPY`.
pub type Environment = Vec<(String, String)>;

struct Process {
    child: Child,
    group: Pid,
    guardian: Child,
    log: PathBuf,
}

/// Starts the copies and waits until each is ready, where something is to be sent to them.
pub fn start(launch: &Launch, environments: Vec<Environment>, tls: &Arc<ClientConfig>, interrupt: &Interrupt) -> Result<Fleet> {
    let ports = free_ports(usize::from(launch.copies))?;
    let logs = log_folder(launch.logs.as_deref())?;
    let mut fleet = Fleet { copies: Vec::new(), logs, processes: Vec::new(), environments, keep_logs: true };
    for (index, &port) in ports.iter().enumerate() {
        let log = fleet.logs.join(format!("copy-{}.log", index + 1));
        let process = spawn(&launch.command, port, index, fleet.environment(index), log)
            .with_context(|| format!("--run: cannot start `{}`", launch.command))?;
        fleet.processes.push(process);
    }
    let deadline = Instant::now() + launch.timeout;
    for (index, &port) in ports.iter().enumerate() {
        let address = match launch.ready {
            None if launch.by_itself => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            _ => fleet.wait_ready(index, port, launch, tls, deadline, interrupt)?,
        };
        fleet.copies.push(copy(index, address, &launch.target));
    }
    fleet.keep_logs = false;
    Ok(fleet)
}

impl Fleet {
    fn environment(&self, index: usize) -> &[(String, String)] {
        self.environments.get(index).map_or(&[], Vec::as_slice)
    }

    /// Keeps the logs after the copies are stopped; says where they are.
    pub fn keep_logs(&mut self) -> &Path {
        self.keep_logs = true;
        &self.logs
    }

    /// The process groups of the copies.
    pub fn groups(&self) -> Vec<Pid> {
        self.processes.iter().map(|process| process.group).collect()
    }

    /// Stops a copy, every process of it, until it is resumed.
    pub fn stop(&self, index: usize) -> Result<()> {
        kill_process_group(self.processes[index].group, Signal::STOP).context("a copy cannot be stopped")
    }

    /// Lets a stopped copy go on.
    pub fn resume(&self, index: usize) -> Result<()> {
        kill_process_group(self.processes[index].group, Signal::CONT).context("a copy cannot go on")
    }

    /// Kills a copy, every process of it, at once.
    pub fn kill(&mut self, index: usize) -> Result<()> {
        let process = &mut self.processes[index];
        kill_process_group(process.group, Signal::KILL).context("a copy cannot be killed")?;
        process.child.wait().context("a copy cannot be killed")?;
        Ok(())
    }

    /// Starts a killed copy again, at its old port, and waits until it is ready.
    pub fn restart(&mut self, index: usize, launch: &Launch, tls: &Arc<ClientConfig>, interrupt: &Interrupt) -> Result<()> {
        let port = self.copies[index].address.port();
        let old = &mut self.processes[index];
        _ = old.guardian.kill();
        _ = old.guardian.wait();
        let log = old.log.clone();
        self.processes[index] = spawn(&launch.command, port, index, self.environment(index), log)?;
        self.wait_ready(index, port, launch, tls, Instant::now() + launch.timeout, interrupt).map(|_| ())
    }

    /// The copies that have failed though nobody stopped them, in words; one that ended in good order had nothing more to do.
    pub fn failed(&mut self) -> Vec<String> {
        let ended = self.processes.iter_mut().enumerate().filter_map(|(index, process)| {
            let status = process.child.try_wait().ok().flatten().filter(|status| !status.success())?;
            Some(format!("copy {} failed ({status}); its log ends with:\n{}", index + 1, tail(&process.log)))
        });
        ended.collect()
    }

    /// The copies that have ended though nobody stopped them, in words.
    pub fn fallen(&mut self) -> Vec<String> {
        let ended = self.processes.iter_mut().enumerate().filter_map(|(index, process)| {
            let status = process.child.try_wait().ok().flatten()?;
            Some(format!("copy {} ended by itself ({status}); its log ends with:\n{}", index + 1, tail(&process.log)))
        });
        ended.collect()
    }

    fn wait_ready(
        &mut self,
        index: usize,
        port: u16,
        launch: &Launch,
        tls: &Arc<ClientConfig>,
        deadline: Instant,
        interrupt: &Interrupt,
    ) -> Result<SocketAddr> {
        let mut seen = format!("nothing listened on its PORT ({port})");
        loop {
            ensure!(!interrupt.raised(), "interrupted while the copies were starting; they are stopped");
            if let Some(fallen) = self.fallen().first() {
                bail!("--run: {fallen}\nall logs: {}", self.logs.display());
            }
            if let Some(address) = accepting(port) {
                let Some(path) = &launch.ready else { return Ok(address) };
                match ask_ready(&copy(index, address, &launch.target), path, launch.http2, tls, interrupt) {
                    Ok(()) => return Ok(address),
                    Err(what) => seen = what,
                }
            }
            if Instant::now() >= deadline {
                let log = &self.processes[index].log;
                bail!(
                    "--run: copy {} was not ready within {:?}: {seen}. The program must listen on the port in the \
                     environment variable PORT; a slow start needs a longer --ready-timeout. Its log ends with:\n{}\nall logs: {}",
                    index + 1,
                    launch.timeout,
                    tail(log),
                    self.logs.display()
                );
            }
            interrupt.sleep(Duration::from_millis(25));
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for process in &self.processes {
            _ = kill_process_group(process.group, Signal::TERM);
            _ = kill_process_group(process.group, Signal::CONT);
        }
        let deadline = Instant::now() + GRACE;
        for process in &mut self.processes {
            while !process.is_gone() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            if !process.is_gone() {
                _ = kill_process_group(process.group, Signal::KILL);
            }
            _ = process.child.wait();
            _ = process.guardian.kill();
            _ = process.guardian.wait();
        }
        if !self.keep_logs {
            _ = fs::remove_dir_all(&self.logs);
        }
    }
}

impl Process {
    /// Whether no process of the group is left.
    fn is_gone(&mut self) -> bool {
        let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
        ended && test_kill_process_group(self.group) == Err(Errno::SRCH)
    }
}

fn spawn(command: &str, port: u16, index: usize, environment: &[(String, String)], log: PathBuf) -> Result<Process> {
    let mut file = File::options().create(true).append(true).open(&log)?;
    // The command may hold secrets, so that the log does not repeat it.
    writeln!(file, "copy {} on PORT {port}", index + 1)?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env("PORT", port.to_string())
        .env("LOCKCHECK_COPY", (index + 1).to_string())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    match guard(group) {
        Ok(guardian) => Ok(Process { child, group, guardian, log }),
        Err(error) => {
            _ = kill_process_group(group, Signal::KILL);
            _ = child.wait();
            Err(error.into())
        }
    }
}

/// A shell that ends the group when this process is gone, however it went: its standard input closes then.
fn guard(group: Pid) -> std::io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", "read _; kill -s KILL -- \"-$1\"", "lockcheck-guardian"])
        .arg(group.as_raw_nonzero().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Distinct ports that are free now.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<Vec<_>, _>>();
    let listeners = listeners.context("no free port for a copy")?;
    Ok(listeners.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect::<Result<_, _>>()?)
}

fn log_folder(below: Option<&Path>) -> Result<PathBuf> {
    let name = format!("lockcheck-{}-{:08x}", std::process::id(), rand::random::<u32>());
    let folder = below.map_or_else(std::env::temp_dir, Path::to_path_buf).join(name);
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot make the folder {} for the copies' logs", folder.display()))?;
    Ok(folder)
}

fn accepting(port: u16) -> Option<SocketAddr> {
    let ends = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(|ip| SocketAddr::new(ip, port));
    ends.into_iter().find(|end| TcpStream::connect_timeout(end, Duration::from_millis(250)).is_ok())
}

fn ask_ready(copy: &Copy, path: &str, http2: bool, tls: &Arc<ClientConfig>, interrupt: &Interrupt) -> Result<(), String> {
    let range = Range {
        copies: std::slice::from_ref(copy),
        tls: Arc::clone(tls),
        hold: Hold::Body,
        mechanism: super::release::Mechanism::Loop,
        parts: 1,
        timeout: Duration::from_secs(2),
        http2,
        frozen: Vec::new(),
        window: Duration::ZERO,
        interrupt: interrupt.clone(),
    };
    let target = Template::parse(path, &|_| None, &mut Vec::new()).map_err(|error| error.to_string())?;
    let question = RequestTemplate { method: "GET".to_owned(), headers: Vec::new(), body: None };
    let request = question.render(&copy.endpoint.authority, &target, Values { fresh: "ready", n: 1, captured: &[] });
    match single(&range, &Shot { copy: 0, request })?.answer {
        Ok(answer) if (200..400).contains(&answer.status) => Ok(()),
        Ok(answer) => Err(format!("GET {path} answered {}", answer.status)),
        Err(what) => Err(format!("GET {path}: {what}")),
    }
}

fn copy(index: usize, address: SocketAddr, target: &Template) -> Copy {
    Copy {
        name: format!("copy {}", index + 1),
        endpoint: Endpoint {
            tls: false,
            host: address.ip().to_string(),
            port: address.port(),
            authority: address.to_string(),
            target: target.clone(),
            via: None,
        },
        address,
    }
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    match &lines[lines.len().saturating_sub(TAIL)..] {
        [] => "  (nothing)".to_owned(),
        last => last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"),
    }
}
