//! Whether the kernel still has bytes to deliver for some sockets. It does not know what they carry.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Waits until the peers' kernels have acknowledged everything that was sent from these addresses. `false`: not in time.
pub fn drained(from: &[SocketAddr], patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        match undelivered(from) {
            Some(0) => return true,
            Some(_) if Instant::now() >= until => return false,
            Some(_) => std::thread::sleep(Duration::from_millis(1)),
            // Where the kernel does not tell, a pause has to do.
            None => {
                std::thread::sleep(Duration::from_millis(50));
                return true;
            }
        }
    }
}

/// How many of the sockets have undelivered bytes; `None` where that cannot be known.
fn undelivered(from: &[SocketAddr]) -> Option<usize> {
    let mut queues = 0;
    for (table, wanted) in [("/proc/net/tcp", false), ("/proc/net/tcp6", true)] {
        let ports: Vec<u16> = from.iter().filter(|own| own.is_ipv6() == wanted).map(SocketAddr::port).collect();
        if !ports.is_empty() {
            queues += busy(&std::fs::read_to_string(table).ok()?, &ports);
        }
    }
    Some(queues)
}

/// Rows of the kernel's table whose local port is one of these and whose send queue is not empty.
fn busy(table: &str, ports: &[u16]) -> usize {
    const ESTABLISHED: &str = "01";
    table
        .lines()
        .skip(1)
        .filter(|row| {
            let mut columns = row.split_ascii_whitespace().skip(1);
            let local = columns.next().and_then(|local| u16::from_str_radix(local.rsplit(':').next()?, 16).ok());
            let state = columns.nth(1);
            let queue = columns.next().and_then(|queues| u64::from_str_radix(queues.split(':').next()?, 16).ok());
            local.is_some_and(|port| ports.contains(&port)) && state == Some(ESTABLISHED) && queue != Some(0)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:9C40 0100007F:1F90 01 00000005:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0
";

    #[test]
    fn only_own_sockets_with_bytes_left_count() {
        assert_eq!(busy(TABLE, &[0x9C40, 0x9C41]), 1);
        assert_eq!(busy(TABLE, &[0x9C41]), 0);
        assert_eq!(busy(TABLE, &[0x1F90]), 0);
    }

    #[test]
    fn a_quiet_connection_is_drained() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(drained(&[stream.local_addr().unwrap()], Duration::from_secs(2)));
    }
}
