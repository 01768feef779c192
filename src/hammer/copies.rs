//! The copies under test: names, addresses, and whether they may be fired at. It starts nothing and
//! sends no request.

use std::io::{BufRead, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::plan::Endpoint;

/// One copy of the service.
#[derive(Debug, Clone)]
pub struct Copy {
    /// Its name in reports.
    pub name: String,
    /// The request's address there.
    pub endpoint: Endpoint,
    /// What the host's name resolved to, once and for all.
    pub address: SocketAddr,
}

/// Resolves the endpoints and refuses hosts that are neither near nor allowed.
pub fn resolve(endpoints: &[Endpoint], allowed: &[String], every_address: bool) -> Result<Vec<Copy>> {
    let mut copies: Vec<Copy> = Vec::new();
    for endpoint in endpoints {
        let (host, port) = endpoint.via.as_ref().map_or((endpoint.host.as_str(), endpoint.port), |(host, port)| (host, *port));
        let addresses: Vec<SocketAddr> = (host, port)
            .to_socket_addrs()
            .with_context(|| format!("cannot find the host `{host}`; check the URL's spelling and the name service"))?
            .collect();
        for address in &addresses {
            permit(host, address.ip(), allowed)?;
        }
        if every_address {
            let each = addresses.iter().map(|&address| Copy { name: address.to_string(), endpoint: endpoint.clone(), address });
            copies.extend(each);
            continue;
        }
        let Some(address) = listening(&addresses) else { bail!("the host `{host}` has no address") };
        let plain = format!("{host}:{port}");
        let same = copies.iter().filter(|copy| copy.name == plain || copy.name.starts_with(&format!("{plain}#"))).count();
        let name = if same == 0 { plain } else { format!("{plain}#{}", same + 1) };
        copies.push(Copy { name, endpoint: endpoint.clone(), address });
    }
    Ok(copies)
}

/// The first address that accepts a connection: a name such as localhost may stand for two, of which one is served.
fn listening(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok();
    match addresses {
        [] => None,
        [only] => Some(*only),
        several => several.iter().find(accepts).or(several.first()).copied(),
    }
}

/// Refuses a host that is neither near nor allowed, unless a person at the terminal says yes.
pub fn permit(host: &str, address: IpAddr, allowed: &[String]) -> Result<()> {
    if is_near(address) || allowed.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    let mut terminal = std::io::stdin().lock();
    if terminal.is_terminal() && std::io::stderr().is_terminal() {
        return confirm(host, address, &mut terminal, &mut std::io::stderr());
    }
    bail!(
        "{host} ({address}) is neither this machine nor a private network; if you may fire at it, \
         say so with --allow-host {host} or LOCKCHECK_ALLOW_HOSTS={host}"
    )
}

fn confirm(host: &str, address: IpAddr, answers: &mut dyn BufRead, questions: &mut dyn Write) -> Result<()> {
    write!(
        questions,
        "{host} ({address}) is beyond this machine and its private networks.\nType the host's name to fire at it: "
    )?;
    questions.flush()?;
    let mut typed = String::new();
    answers.read_line(&mut typed)?;
    ensure!(typed.trim().eq_ignore_ascii_case(host), "`{}` is not `{host}`: nothing was sent", typed.trim());
    Ok(())
}

/// Loopback, private or link-local.
pub fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let shared = v4.octets()[0] == 100 && (64..128).contains(&v4.octets()[1]);
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || shared
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_near(IpAddr::V4(v4)),
            None => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_are_told_apart() {
        for near in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_near(near.parse().unwrap()), "{near}");
        }
        for far in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:db8::1", "::ffff:8.8.8.8", "0.0.0.0"] {
            assert!(!is_near(far.parse().unwrap()), "{far}");
        }
    }

    #[test]
    fn a_far_host_must_be_named() {
        let far = "203.0.113.7".parse().unwrap();
        assert!(permit("203.0.113.7", far, &["203.0.113.7".to_owned()]).is_ok());
        let mut question = Vec::new();
        assert!(confirm("example.test", far, &mut "example.test\n".as_bytes(), &mut question).is_ok());
        assert!(String::from_utf8(question).unwrap().contains("Type the host's name"));
        let refused = confirm("example.test", far, &mut "yes\n".as_bytes(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("nothing was sent"));
    }
}
