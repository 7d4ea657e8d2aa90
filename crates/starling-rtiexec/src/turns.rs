//! How much is done for one connection before the others have their turn.
//!
//! Invariants: what a peer has sent is worked off in turns, also when it has gone meanwhile; a turn ends behind the
//! request with which it has taken [`Config::turn`](crate::Config) or come to [`REQUESTS`], and a round behind the
//! turn with which it has taken [`TURNS`] times that, so that new connections, signals and the clock are seen to.

use std::time::{Duration, Instant};

/// Requests in a turn at most.
const REQUESTS: usize = 256;
/// How much longer than a turn a round may take.
const TURNS: u32 = 8;

/// One connection's turn.
pub(crate) struct Turn {
    began: Instant,
    length: Duration,
    requests: usize,
    over: bool,
}

impl Turn {
    /// One that begins now.
    pub(crate) fn new(length: Duration) -> Self {
        Turn {
            began: Instant::now(),
            length,
            requests: 0,
            over: false,
        }
    }

    /// After a request, which may have led to much.
    pub(crate) fn took_request(&mut self) {
        self.requests += 1;
        self.over |= self.requests >= REQUESTS;
        self.took_data();
    }

    /// After what was read at once.
    pub(crate) fn took_data(&mut self) {
        self.over |= self.began.elapsed() >= self.length;
    }

    /// Whether others are to have theirs.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

/// Whether a round that began then has taken so long that all else is to be seen to.
pub(crate) fn is_round_over(began: Instant, turn: Duration) -> bool {
    began.elapsed() >= turn * TURNS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::server::Server;
    use starling_core::PeerId;
    use starling_core::message::{FromExecutive, ModuleSource, ToExecutive};
    use starling_net::{Endpoint, Link, dial};
    use starling_rid::Settings;
    use starling_wire::{
        Frame, Hello, LinkRequest, OnTrunk, VERSION, put_hello, put_link_request, put_on_trunk,
        put_to_executive, split_frame,
    };

    const LONG: Duration = Duration::from_secs(3600);

    /// A server on a socket of its own, which goes on only where the test says so.
    fn server(change: impl FnOnce(&mut Config)) -> (Server, tempfile::TempDir) {
        let at = tempfile::tempdir().unwrap();
        let mut config = Config::of(&Settings::default());
        config.listen = vec![Endpoint::Unix(at.path().join("socket"))];
        config.turn = LONG;
        change(&mut config);
        (Server::new(config).unwrap(), at)
    }

    /// Who has connected and said so much at once.
    fn peer(server: &Server, message: &ToExecutive, times: usize) -> Link {
        let mut link = Link::new(dial(&server.endpoints()[0], LONG).unwrap());
        let hello = Hello {
            version: VERSION,
            ..Hello::default()
        };
        put_hello(link.writer.out(), &hello);
        for _ in 0..times {
            put_to_executive(link.writer.out(), message);
        }
        link.writer.flush().unwrap();
        link
    }

    /// Answers that have come.
    fn answers(link: &mut Link) -> usize {
        link.reader.fill().unwrap();
        let mut answers = 0;
        while let Some((frame, size)) = split_frame(link.reader.inbox()).unwrap() {
            let frame = Frame::decode(frame).unwrap();
            let answer = matches!(
                frame,
                Frame::FromExecutive(FromExecutive::Federations(_) | FromExecutive::JoinRefused(_))
            );
            answers += usize::from(answer);
            link.reader.consume(size);
        }
        answers
    }

    fn round(server: &mut Server) {
        server.accept(Instant::now());
        server.round(Instant::now());
    }

    #[test]
    fn requests_are_worked_off_in_turns() {
        const ASKED: usize = 4 * REQUESTS;
        let (mut server, _at) = server(|_| {});
        let mut many = peer(&server, &ToExecutive::ListFederations, ASKED);
        let mut few = peer(&server, &ToExecutive::ListFederations, 1);
        for done in 1..=4 {
            round(&mut server);
            assert_eq!(answers(&mut many), REQUESTS, "turn {done}");
            assert_eq!(answers(&mut few), 1, "turn {done}");
            put_to_executive(few.writer.out(), &ToExecutive::ListFederations);
            few.writer.flush().unwrap();
            // As when the system reports it.
            server.connection(1).unwrap().readable = true;
            server.queue(1);
        }
        round(&mut server);
        assert_eq!((answers(&mut many), answers(&mut few)), (0, 1));
    }

    /// What takes longer than a turn is one request's, not what all that were sent with it take together.
    #[test]
    fn a_turn_ends_behind_the_request_with_which_its_time_is_over() {
        let (mut server, _at) = server(|config| config.turn = Duration::ZERO);
        let mut first = peer(&server, &ToExecutive::ListFederations, 3);
        let mut second = peer(&server, &ToExecutive::ListFederations, 1);
        // The round ends with it, too; who waits is served next.
        round(&mut server);
        assert_eq!((answers(&mut first), answers(&mut second)), (1, 0));
        round(&mut server);
        assert_eq!((answers(&mut first), answers(&mut second)), (0, 1));
        round(&mut server);
        assert_eq!((answers(&mut first), answers(&mut second)), (1, 0));
    }

    /// What waits for its turn is neither a message that was begun and does not come, nor silence.
    #[test]
    fn who_waits_for_its_turn_is_not_judged() {
        let (mut server, _at) = server(|config| {
            config.turn = Duration::ZERO;
            config.timeout = Duration::ZERO;
            config.frame_timeout = Some(Duration::from_nanos(1));
        });
        let mut many = peer(&server, &ToExecutive::ListFederations, 100);
        for done in 0..100 {
            round(&mut server);
            server.tick(Instant::now());
            assert_eq!(answers(&mut many), 1, "{done}");
        }
    }

    #[test]
    fn what_was_sent_by_who_is_gone_is_worked_off_in_turns_too() {
        let (mut server, _at) = server(|_| {});
        drop(peer(&server, &ToExecutive::ListFederations, 2 * REQUESTS));
        let mut few = peer(&server, &ToExecutive::ListFederations, 1);
        round(&mut server);
        assert_eq!(answers(&mut few), 1);
        assert!(
            server.connection(0).is_some(),
            "it has not been read to its end"
        );
        while server.connection(0).is_some() {
            round(&mut server);
        }
    }

    /// What those behind a forwarder have said, too.
    #[test]
    fn what_was_said_by_a_forwarder_that_is_gone_is_worked_off_too() {
        let (mut server, _at) = server(|_| {});
        let federation = "f".to_owned();
        let module = ModuleSource {
            designator: "m.xml".into(),
            text: b"<objectModel></objectModel>".as_slice().into(),
        };
        let create = ToExecutive::CreateFederation {
            federation: federation.clone(),
            modules: vec![module],
            mim: None,
            time_implementation: String::new(),
        };
        let _creator = peer(&server, &create, 1);
        round(&mut server);
        while server.workshop.is_busy() {
            server.take_merged(Instant::now());
        }
        assert_eq!(server.executive.federations(), 1);
        let mut federate = Vec::new();
        let hello = Hello {
            version: VERSION,
            ..Hello::default()
        };
        put_hello(&mut federate, &hello);
        put_to_executive(
            &mut federate,
            &ToExecutive::DestroyFederation { federation },
        );
        let mut forwarder = peer(&server, &ToExecutive::ListFederations, 0);
        let (channel, bytes, path) = (1, &federate[..], "");
        for said in [
            OnTrunk::Begin,
            OnTrunk::Open { channel, path },
            OnTrunk::Bytes { channel, bytes },
        ] {
            put_on_trunk(forwarder.writer.out(), &said);
        }
        forwarder.writer.flush().unwrap();
        drop(forwarder);
        server.accept(Instant::now());
        // As when the system reports its end with what has come.
        server.connection(1).unwrap().closing = true;
        round(&mut server);
        assert!(server.connection(1).is_none(), "it was read to its end");
        round(&mut server);
        assert_eq!(server.executive.federations(), 0);
        assert_eq!(server.connections.numbers().collect::<Vec<_>>(), [0]);
        assert_eq!(server.trunk_count, 0);
    }

    /// Answers that fill the socket and all the room that there is behind it.
    #[test]
    fn who_takes_no_answers_holds_up_itself_only() {
        let (mut server, _at) = server(|config| config.send_queue_bytes = 1024);
        let join = ToExecutive::Join {
            name: None,
            kind: String::new(),
            federation: "f".repeat(1000),
            modules: Vec::new(),
        };
        let mut slow = peer(&server, &join, REQUESTS - 1);
        let mut other = peer(&server, &ToExecutive::ListFederations, 1);
        // In one round: what is written to the one has to do with the other's request only by chance.
        round(&mut server);
        assert_eq!(server.connection(0).unwrap().held_by, [0]);
        assert!(server.connection(1).unwrap().held_by.is_empty());
        assert_eq!(answers(&mut other), 1);
        assert!(answers(&mut slow) > 0);
    }

    /// The answers to what is no request to a federation execution are bounded, too, of a federate's and of a forwarder's.
    #[test]
    fn who_takes_no_answers_about_links_holds_up_itself_only() {
        const ASKED: u64 = 12_000;
        const ROOM: usize = 1024;
        let ask: [fn(&mut Vec<u8>, u64); 3] = [
            |out, _| put_link_request(out, &LinkRequest::Datagrams),
            |out, _| put_link_request(out, &LinkRequest::Direct { all: true }),
            |out, number| {
                let (channel, path) = (number + 1, "");
                if number == 0 {
                    put_on_trunk(out, &OnTrunk::Begin);
                }
                put_on_trunk(out, &OnTrunk::Open { channel, path });
            },
        ];
        for (what, ask) in ask.into_iter().enumerate() {
            let (mut server, _at) = server(|config| config.send_queue_bytes = ROOM);
            let mut slow = peer(&server, &ToExecutive::ListFederations, 0);
            (0..ASKED).for_each(|number| ask(slow.writer.out(), number));
            assert!(slow.writer.flush().unwrap(), "the socket takes all of it");
            let mut other = peer(&server, &ToExecutive::ListFederations, 1);
            for _ in 0..ASKED as usize / REQUESTS + 2 {
                round(&mut server);
            }
            assert_eq!(answers(&mut other), 1);
            let slow = server.connection(0).unwrap();
            assert_eq!(slow.held_by, [0], "{what}");
            let waits = slow.writer.pending();
            assert!((ROOM..20 * ROOM).contains(&waits), "{what}: {waits} bytes");
        }
    }

    /// Else the queue of the one that is full still would grow without a bound.
    #[test]
    fn who_is_held_by_two_is_read_when_both_have_room() {
        let (mut server, _at) = server(|_| {});
        let _all: Vec<_> = (0..3)
            .map(|_| peer(&server, &ToExecutive::ListFederations, 1))
            .collect();
        round(&mut server);
        let now = Instant::now();
        for receiver in [1, 2, 1] {
            server.hold(0, receiver, now);
        }
        server.release(2);
        assert_eq!(server.connection(0).unwrap().held_by, [1]);
        assert!(server.connection(0).unwrap().must_wait());
        server.release(1);
        assert!(!server.connection(0).unwrap().must_wait());
    }

    /// Else it would be cut off for that.
    #[test]
    fn who_is_gone_is_held_up_by_nobody() {
        let (mut server, _at) = server(|_| {});
        let _all: Vec<_> = (0..3)
            .map(|_| peer(&server, &ToExecutive::ListFederations, 1))
            .collect();
        round(&mut server);
        for sender in [0, 2] {
            server.hold(sender, 1, Instant::now());
        }
        for (gone, holds) in [(0, &[2][..]), (2, &[])] {
            server.remove(gone, "it must go");
            let receiver = server.connection(1).unwrap();
            assert_eq!(receiver.holds, holds);
            assert_eq!(receiver.full_since.is_some(), !holds.is_empty());
        }
    }

    /// What `starling why` says of it: its process may run, and its host or the way to it not.
    #[test]
    fn of_whom_nothing_comes_is_silent_though_its_process_runs() {
        let heartbeat = Duration::from_secs(100);
        let (mut server, _at) = server(|config| config.heartbeat = heartbeat);
        let _peer = peer(&server, &ToExecutive::ListFederations, 1);
        round(&mut server);
        let mut after = |heartbeats| {
            let connection = server.connection(0).unwrap();
            connection.heard = Instant::now() - heartbeats * heartbeat;
            server.turn_of(PeerId(0)).unwrap()
        };
        let (of_old, now) = (after(7), after(1));
        assert!(
            of_old.starts_with("nothing has come from it for "),
            "{of_old}"
        );
        // One heartbeat may be late.
        assert!(!now.contains("nothing has come"), "{now}");
    }

    /// Another process may have its connection open, so that its end is not seen.
    #[test]
    fn of_whom_the_process_is_gone_all_is_read_though_it_is_held() {
        let (mut server, _at) = server(|config| config.timeout = Duration::ZERO);
        let mut held = peer(&server, &ToExecutive::ListFederations, 1);
        let _receiver = peer(&server, &ToExecutive::ListFederations, 1);
        round(&mut server);
        assert_eq!(answers(&mut held), 1);
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        server.hold(0, 1, Instant::now());
        put_to_executive(held.writer.out(), &ToExecutive::ListFederations);
        held.writer.flush().unwrap();
        server.tick(Instant::now());
        round(&mut server);
        assert_eq!(answers(&mut held), 0, "its process runs");
        server.connection(0).unwrap().local_pid = Some(ended.id());
        server.tick(Instant::now());
        round(&mut server);
        assert_eq!(answers(&mut held), 1);
        server.tick(Instant::now());
        assert!(server.connection(0).is_none());
    }

    /// Else those who join and die again and again would fill this process's memory.
    #[test]
    fn what_is_read_of_the_dead_though_they_are_held_is_bounded() {
        let (mut server, _at) = server(|config| config.send_queue_bytes = 10);
        let _all: Vec<_> = (0..2)
            .map(|_| peer(&server, &ToExecutive::ListFederations, 1))
            .collect();
        round(&mut server);
        for (waits, is_held) in [(320, false), (321, true)] {
            server.hold(0, 1, Instant::now());
            let receiver = server.connection(1).unwrap();
            assert_eq!(
                (&receiver.holds[..], receiver.writer.pending()),
                (&[0][..], 0)
            );
            receiver.writer.out().extend(vec![0; waits]);
            server.connection(0).unwrap().closing = true;
            server.let_end(0);
            assert_eq!(server.connection(0).unwrap().must_wait(), is_held);
            // And where it was known before.
            server.hold(0, 1, Instant::now());
            assert_eq!(server.connection(0).unwrap().must_wait(), is_held);
            let receiver = server.connection(1).unwrap();
            assert_eq!(receiver.full_since.is_some(), is_held);
            receiver.writer.discard();
            server.connection(0).unwrap().closing = false;
        }
        server.release(1);
        assert!(!server.connection(0).unwrap().must_wait());
    }
}
