//! Links, listeners and dialling over real sockets.

use starling_net::*;
use std::time::Duration;

fn wait(waiter: &Waiter, watches: &mut [Watch<'_>]) {
    waiter.wait(watches, None).unwrap();
}

/// Sends `total` bytes from one link to another, both served by this thread, and checks them.
fn transfer(mut from: Link, mut to: Link, total: usize) -> (u64, u64) {
    let waiter = Waiter::new().unwrap();
    from.writer
        .out()
        .extend((0..total).map(|i| (i % 251) as u8));
    let mut partial = false;
    let mut got = 0;
    while got < total {
        partial |= !from.writer.flush().unwrap();
        {
            let more = from.writer.pending() > 0;
            let mut watches = [Watch::new(&to, false), Watch::new(&from, more)];
            wait(&waiter, &mut watches);
        }
        to.reader.fill().unwrap();
        // Leaves a rest behind, as a decoder does with an unfinished frame.
        let take = to
            .reader
            .inbox()
            .len()
            .saturating_sub(5)
            .max(usize::from(got + 5 >= total));
        let take = if got + to.reader.inbox().len() == total {
            to.reader.inbox().len()
        } else {
            take
        };
        for (i, byte) in to.reader.inbox()[..take].iter().enumerate() {
            assert_eq!(*byte, ((got + i) % 251) as u8);
        }
        to.reader.consume(take);
        got += take;
    }
    assert!(partial, "the test is to see a partial write");
    assert_eq!(from.writer.pending(), 0);
    assert_eq!(from.writer.counts().0, total as u64);
    assert_eq!(to.reader.counts().0, total as u64);
    drop(from);
    let mut watches = [Watch::new(&to, false)];
    wait(&waiter, &mut watches);
    assert_eq!(to.reader.fill().unwrap(), Fill::Closed);
    to.reader.counts()
}

fn accept(listener: &Listener) -> Stream {
    let waiter = Waiter::new().unwrap();
    loop {
        if let Some(stream) = listener.accept().unwrap() {
            return stream;
        }
        wait(&waiter, &mut [Watch::new(listener, false)]);
    }
}

#[test]
fn a_unix_link_carries_everything_in_order() {
    let (a, b) = Stream::pair().unwrap();
    transfer(Link::new(a), Link::new(b), 5_000_000);
}

#[test]
fn a_tcp_link_carries_everything_in_order_and_knows_its_peer() {
    let listener = Listener::bind(&Endpoint::loopback(0)).unwrap();
    let endpoint = listener.endpoint().unwrap();
    let client = dial(&endpoint, Duration::from_secs(10)).unwrap();
    let server = accept(&listener);
    assert!(client.peer().path.starts_with("tcp 127.0.0.1:"));
    assert_eq!(client.peer().process, None);
    assert_eq!(server.host_answers(Duration::from_secs(3600)), Some(true));
    transfer(Link::new(client), Link::new(server), 20_000_000);

    let error = Listener::bind(&endpoint).unwrap_err();
    let expected = format!("is in use by process {} (", std::process::id());
    assert!(error.to_string().contains(&expected), "{error}");
    drop(listener);
    let error = dial(&endpoint, Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_unix_socket_is_private_replaced_when_stale_and_removed() {
    let directory = std::env::temp_dir().join(format!("starling-net-{}", std::process::id()));
    let run_dir = RunDir::open(&directory).unwrap();
    let endpoint = Endpoint::Unix(run_dir.socket(1));
    // What a killed process leaves: a socket that nobody serves.
    drop(std::os::unix::net::UnixListener::bind(run_dir.socket(1)).unwrap());
    assert!(run_dir.socket(1).exists());
    let listener = Listener::bind(&endpoint).unwrap();
    let client = dial(&endpoint, Duration::from_secs(10)).unwrap();
    let server = accept(&listener);
    let us = (std::process::id(), user_id());
    assert_eq!(
        server.peer(),
        Peer {
            path: "unix".into(),
            process: Some(us)
        }
    );
    drop(client);
    let error = Listener::bind(&endpoint).unwrap_err();
    let expected = format!("in use by process {} (", std::process::id());
    assert!(error.to_string().contains(&expected), "{error}");
    drop(listener);
    assert!(!run_dir.socket(1).exists());

    let held = run_dir.try_lock().unwrap().expect("nobody has it");
    assert!(run_dir.try_lock().unwrap().is_none());
    let error = run_dir.lock(Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(held);
    assert!(run_dir.try_lock().unwrap().is_some());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A directory for one test, gone with it.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("starling-net-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn only_a_socket_that_nobody_serves_is_replaced() {
    let directory = Directory::new("replace");
    let path = directory.0.join("precious");
    let endpoint = Endpoint::Unix(path.clone());
    let refused = |why: &str| {
        let error = Listener::bind(&endpoint).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    std::fs::write(&path, "the only copy").unwrap();
    refused("precious exists and is no socket");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the only copy");
    std::fs::rename(&path, directory.0.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    refused("is no socket");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused("is no socket");
    std::fs::remove_dir(&path).unwrap();

    let listener = Listener::bind(&endpoint).unwrap();
    // Somebody puts a file of theirs there: it is not ours to remove.
    std::fs::rename(directory.0.join("elsewhere"), &path).unwrap();
    drop(listener);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the only copy");
}

#[test]
fn of_those_that_replace_a_stale_socket_one_wins() {
    let directory = Directory::new("race");
    for round in 0..50 {
        let path = directory.0.join(format!("socket-{round}"));
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let bind = || Listener::bind(&Endpoint::Unix(path.clone()));
        let bound: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(bind)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let winners = bound.iter().filter(|b| b.is_ok()).count();
        assert_eq!(winners, 1, "{bound:?}");
        dial(&Endpoint::Unix(path.clone()), Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn dialling_a_listener_that_takes_nobody_ends() {
    let directory = Directory::new("full");
    let path = directory.0.join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let endpoint = Endpoint::Unix(path);
    let _waits = dial(&endpoint, Duration::from_secs(10)).unwrap();
    let error = dial(&endpoint, Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
    let error = Listener::bind(&endpoint).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse, "{error}");
}

#[test]
fn a_run_directory_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("starling-open-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = RunDir::open(&directory).unwrap_err();
    assert!(
        error.to_string().contains("open to others (mode 755"),
        "{error}"
    );
    std::fs::remove_dir(&directory).unwrap();
    std::fs::write(&directory, "").unwrap();
    let error = RunDir::open(&directory).unwrap_err();
    assert!(error.to_string().contains("is no directory"), "{error}");
    std::fs::remove_file(&directory).unwrap();
}

#[test]
fn a_link_whose_peer_is_gone_fails_without_a_signal() {
    let (a, b) = Stream::pair().unwrap();
    drop(b);
    let mut link = Link::new(a);
    link.writer.out().push(1);
    let error = link.writer.flush().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}
