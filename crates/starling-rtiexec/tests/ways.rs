//! Best-effort data by datagrams beside trunks, over cables that the tests hold: what goes which way, how often, and that
//! each message that a cable drops is counted.

mod common;

use common::{Client, PATIENCE, Running, run, run_forwarder_to};
use starling_core::message::{BestEffort, FromExecutive, ToExecutive};
use starling_net::Endpoint;
use starling_rtiexec::Config;
use starling_wire::{OnTrunk, put_on_trunk, read_on_trunk, split_frame, split_parcels};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// What best-effort data of these tests has in it, and nothing else.
const MARK: &[u8] = b"best effort, as marked";
const DATAGRAMS: &str = "its forwarder's datagrams";

/// What is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drops {
    Nothing,
    /// Of datagrams with messages each of so many.
    Each(u64),
    All,
}

/// What has been seen of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Messages on the stream and in datagrams.
    streamed: u64,
    sent: u64,
    /// Messages that were dropped, counted for each federate that they were for.
    dropped: u64,
    datagrams: u64,
}

struct State {
    drops: Drops,
    /// To the forwarder, and from it.
    down: Seen,
    up: Seen,
    /// The last datagram in each direction.
    last_down: Vec<u8>,
    last_up: Vec<u8>,
}

/// Between a forwarder and the process that it hands on to.
struct Cable {
    at: Endpoint,
    state: Arc<Mutex<State>>,
    /// Where the forwarder sends datagrams to, and where these go on.
    near: Arc<UdpSocket>,
    far: Arc<UdpSocket>,
}

impl Cable {
    fn to(server: &Running) -> Cable {
        let is_tcp = |at: &&Endpoint| matches!(at, Endpoint::Tcp { .. });
        let there = server.endpoints.iter().find(is_tcp).unwrap().to_string();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = Endpoint::loopback(listener.local_addr().unwrap().port());
        let socket = || Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let (near, far) = (socket(), socket());
        let state = Arc::new(Mutex::new(State {
            drops: Drops::Nothing,
            down: Seen::default(),
            up: Seen::default(),
            last_down: Vec::new(),
            last_up: Vec::new(),
        }));
        let cable = Cable {
            at,
            state,
            near,
            far,
        };
        let (near, far, state) = (cable.near.clone(), cable.far.clone(), cable.state.clone());
        spawn(move || {
            let (forwarder, _) = listener.accept().unwrap();
            let rtiexec = TcpStream::connect(&there).unwrap();
            let own = near.local_addr().unwrap().port();
            let (from, to, seen) = (forwarder.try_clone(), rtiexec.try_clone(), state.clone());
            spawn(move || {
                let (mut from, mut to) = (from.unwrap(), to.unwrap());
                carry(&mut from, &mut to, |frame| {
                    seen.lock().unwrap().up.streamed += marks(frame);
                    None
                });
            });
            let (mut from, mut to) = (rtiexec, forwarder);
            let mut ways = (near, far, state.clone());
            carry(&mut from, &mut to, |frame| {
                state.lock().unwrap().down.streamed += marks(frame);
                let Some(Ok(OnTrunk::Way { port, secret })) = read_on_trunk(frame) else {
                    return None;
                };
                carry_datagrams(&mut ways, port as u16);
                let mut other = Vec::new();
                let port = own.into();
                put_on_trunk(&mut other, &OnTrunk::Way { port, secret });
                Some(other)
            });
        });
        cable
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What has gone to the forwarder.
    fn down(&self) -> Seen {
        self.state().down
    }

    /// And what has come from it.
    fn up(&self) -> Seen {
        self.state().up
    }

    fn drop(&self, drops: Drops) {
        self.state().drops = drops;
    }
}

/// Carries frames; some are others behind it.
fn carry(
    from: &mut TcpStream,
    to: &mut TcpStream,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) {
    let (mut came, mut more) = (Vec::new(), [0; 65_536]);
    loop {
        while let Some((frame, size)) = split_frame(&came).unwrap() {
            let other = change(frame);
            if to
                .write_all(other.as_deref().unwrap_or(&came[..size]))
                .is_err()
            {
                return;
            }
            came.drain(..size);
        }
        match from.read(&mut more) {
            Ok(count) if count > 0 => came.extend(&more[..count]),
            _ => {
                let _ = to.shutdown(std::net::Shutdown::Both);
                return;
            }
        }
    }
}

fn carry_datagrams(
    (near, far, state): &mut (Arc<UdpSocket>, Arc<UdpSocket>, Arc<Mutex<State>>),
    port: u16,
) {
    far.connect(("127.0.0.1", port)).unwrap();
    let forwarder = Arc::new(Mutex::new(None::<SocketAddr>));
    let (own, there, seen, is_at) = (near.clone(), far.clone(), state.clone(), forwarder.clone());
    spawn(move || {
        let mut buffer = [0; 70_000];
        while let Ok((length, from)) = own.recv_from(&mut buffer) {
            *is_at.lock().unwrap() = Some(from);
            let state = &mut *seen.lock().unwrap();
            state.last_up = buffer[..length].to_vec();
            if state.up.passes(state.drops, &buffer[..length]) {
                let _ = there.send(&buffer[..length]);
            }
        }
    });
    let (own, there, seen) = (near.clone(), far.clone(), state.clone());
    spawn(move || {
        let mut buffer = [0; 70_000];
        while let Ok(length) = there.recv(&mut buffer) {
            let state = &mut *seen.lock().unwrap();
            state.last_down = buffer[..length].to_vec();
            if state.down.passes(state.drops, &buffer[..length])
                && let Some(to) = *forwarder.lock().unwrap()
            {
                let _ = own.send_to(&buffer[..length], to);
            }
        }
    });
}

impl Seen {
    /// Whether a datagram is not dropped.
    fn passes(&mut self, drops: Drops, datagram: &[u8]) -> bool {
        let Some((_, mut parcels)) = split_parcels(datagram) else {
            return true;
        };
        let (mut places, mut messages) = (Vec::new(), 0);
        while let Some(parcel) = parcels.next(&mut places).unwrap() {
            self.sent += parcel.count;
            messages += parcel.count * places.len() as u64;
        }
        self.datagrams += u64::from(messages > 0);
        let passes = match drops {
            Drops::Nothing => true,
            Drops::All => false,
            Drops::Each(n) => messages == 0 || !self.datagrams.is_multiple_of(n),
        };
        if !passes {
            self.dropped += messages;
        }
        passes
    }
}

/// How many messages of best-effort data are in it.
fn marks(bytes: &[u8]) -> u64 {
    bytes.windows(MARK.len()).filter(|w| *w == MARK).count() as u64
}

fn soon(config: &mut Config) {
    config.listen.push(Endpoint::loopback(0));
    config.heartbeat = Duration::from_millis(100);
    config.timeout = Duration::from_secs(3600);
    config.datagrams_near = true;
}

/// Sends so many numbers as best-effort data, a few at a time.
fn send(client: &mut Client, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let before = client.link.writer.out().len();
        client.send_with(number, MARK);
        client.link.writer.out()[before + 4] |= 8;
        if number % 4 == 0 {
            client.send_all();
        }
    }
    client.send_all();
}

/// What rtiexec tells of the best-effort data of a federate.
fn best_effort(server: &Running, name: &str) -> BestEffort {
    let mut asks = Client::connect(server);
    asks.tell(ToExecutive::QueryStatus);
    let status = asks.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let mut federates = list.into_iter().flat_map(|f| f.federates);
    let of = federates.find(|f| f.federate.name == name);
    of.unwrap().best_effort
}

fn until_by(server: &Running, name: &str, is_so: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let by = best_effort(server, name).by;
        if is_so(&by) {
            return by;
        }
        assert!(Instant::now() < end, "still {by}");
    }
}

/// The numbers that come until so many came or are lost. Those in datagrams must grow, which all but `reliable` are.
fn all_with(client: &mut Client, sent: u64, reliable: Option<u32>) -> Vec<u32> {
    let mut came = Vec::new();
    loop {
        while let Some(callback) = client.federate_mut().next_callback() {
            let starling_core::Callback::ReceiveInteraction { values, .. } = callback else {
                continue;
            };
            let (_, value) = values.iter().next().unwrap();
            came.push(u32::from_le_bytes(*value.first_chunk().unwrap()));
        }
        let count = came.len() as u64 + client.lost;
        assert!(count <= sent, "{count} of {sent}");
        if count == sent {
            let newest = came.iter().filter(|n| Some(**n) != reliable);
            assert!(newest.is_sorted_by(|a, b| a < b), "newest wins: {came:?}");
            return came;
        }
        client.wait_and_take_in();
    }
}

fn all_of(client: &mut Client, sent: u64) -> Vec<u32> {
    all_with(client, sent, None)
}

/// A sender at rtiexec, and two federates behind a forwarder, all of whom hear each other.
fn site() -> (Running, Cable, Running, Client, [Client; 2]) {
    let server = run(soon);
    let cable = Cable::to(&server);
    let forwarder = run_forwarder_to(&cable.at, soon);
    let mut one = Client::founder(&server, "here");
    let mut others = ["a", "b"].map(|name| Client::member(&forwarder, "here", name));
    one.subscribe();
    others.iter_mut().for_each(Client::subscribe);
    for other in &mut others {
        one.until_subscribed(other);
        other.until_subscribed(&one);
    }
    let [a, b] = &mut others;
    a.until_subscribed(b);
    until_by(&server, "a", |by| by == DATAGRAMS);
    (server, cable, forwarder, one, others)
}

#[test]
fn best_effort_data_crosses_a_cable_once_by_datagrams_and_not_by_the_stream() {
    let (_server, cable, _forwarder, mut one, [mut a, mut b]) = site();
    send(&mut one, 0..100);
    for client in [&mut a, &mut b] {
        assert_eq!(all_of(client, 100), (0..100).collect::<Vec<_>>());
    }
    let seen = |seen: Seen| (seen.streamed, seen.sent);
    assert_eq!(seen(cable.down()), (0, 100), "once for both");
    assert_eq!(cable.up(), Seen::default());
    // From there to rtiexec's federate and, by rtiexec, to the other one there.
    send(&mut a, 100..200);
    for client in [&mut one, &mut b] {
        assert_eq!(all_of(client, 100), (100..200).collect::<Vec<_>>());
    }
    assert_eq!(seen(cable.up()), (0, 100));
    assert_eq!(seen(cable.down()), (0, 200));
    // What is reliable takes the stream.
    one.send_with(200, MARK);
    one.send_all();
    assert_eq!(a.next_number(), 200);
    assert_eq!(seen(cable.down()), (1, 200));
}

#[test]
fn each_message_that_a_cable_drops_is_counted() {
    const SENT: u64 = 400;
    let (server, cable, _forwarder, mut one, [mut a, mut b]) = site();
    cable.drop(Drops::Each(3));
    send(&mut one, 0..SENT as u32);
    for client in [&mut a, &mut b] {
        let came = all_of(client, SENT);
        assert!(!came.is_empty());
    }
    let down = cable.down();
    assert!(a.lost > 0 && down.dropped > 0);
    assert_eq!(a.lost + b.lost, down.dropped);
    assert_eq!((down.streamed, down.sent), (0, SENT));
    // The other way: rtiexec counts what does not come to it, and what comes is all that is on its way to the others.
    cable.drop(Drops::Each(2));
    send(&mut a, 0..SENT as u32);
    let counted = || best_effort(&server, "a").lost;
    while cable.up().sent < SENT || counted() != cable.up().dropped {}
    let lost = counted();
    assert!(lost > 0);
    let came = all_of(&mut one, SENT - lost).len() as u64;
    assert_eq!(came + lost, SENT);
    b.lost = 0;
    all_of(&mut b, SENT - lost);
    assert_eq!((a.lost, cable.up().streamed), (down.dropped / 2, 0));
}

/// Whichever cable drops it.
#[test]
fn each_message_is_counted_however_many_forwarders_are_between() {
    const SENT: u64 = 400;
    let server = run(soon);
    let first = Cable::to(&server);
    let near = run_forwarder_to(&first.at, soon);
    let second = Cable::to(&near);
    let far = run_forwarder_to(&second.at, soon);
    let mut one = Client::founder(&server, "here");
    let mut other = Client::member(&far, "here", "other");
    one.subscribe();
    other.subscribe();
    one.until_subscribed(&other);
    other.until_subscribed(&one);
    until_by(&server, "other", |by| {
        by == format!("{DATAGRAMS}, behind that one {DATAGRAMS}")
    });
    let both = [&first, &second];
    both.iter().for_each(|cable| cable.drop(Drops::Each(5)));
    send(&mut one, 0..SENT as u32);
    all_of(&mut other, SENT);
    let dropped = both.map(|cable| cable.down().dropped);
    assert!(dropped.iter().all(|dropped| *dropped > 0));
    assert_eq!(other.lost, dropped[0] + dropped[1]);
    send(&mut other, 0..SENT as u32);
    let lost = || both.map(|cable| cable.up().dropped).iter().sum::<u64>();
    while second.up().sent < SENT || best_effort(&server, "other").lost != lost() {}
    all_of(&mut one, SENT - lost());
    for cable in both {
        assert_eq!((cable.down().streamed, cable.up().streamed), (0, 0));
    }
}

/// What comes by one of them goes on by the other, also what is so long that it fills the room of a stream, or takes no
/// datagram.
#[test]
fn one_of_two_trunks_may_have_datagrams() {
    const SENT: u64 = 40;
    for [near_wants, far_wants] in [[true, false], [false, true]] {
        let offering = |wants: bool| {
            move |config: &mut Config| {
                soon(config);
                // For what goes on: it offers them all the same.
                config.datagrams_near = wants;
            }
        };
        let server = run(offering(true));
        let first = Cable::to(&server);
        let near = run_forwarder_to(&first.at, offering(near_wants));
        let second = Cable::to(&near);
        let far = run_forwarder_to(&second.at, offering(far_wants));
        let mut one = Client::founder(&server, "here");
        let mut other = Client::member(&far, "here", "other");
        one.subscribe();
        other.subscribe();
        one.until_subscribed(&other);
        other.until_subscribed(&one);
        let shown = if near_wants {
            DATAGRAMS.to_owned()
        } else {
            format!("its stream, behind that one {DATAGRAMS}")
        };
        until_by(&server, "other", |by| by == shown);
        for (is_up, bytes) in [
            (false, 100),
            (false, 20_000),
            (true, 100),
            (true, 57_000),
            (true, 60_000),
            (true, 100_000),
        ] {
            let seen =
                || [&first, &second].map(|cable| if is_up { cable.up() } else { cable.down() });
            let before = seen();
            let [from, to] = if is_up {
                [&mut other, &mut one]
            } else {
                [&mut one, &mut other]
            };
            let text = [MARK, &vec![7; bytes]].concat();
            for number in 0..SENT as u32 {
                let at = from.link.writer.out().len();
                from.send_with(number, &text);
                from.link.writer.out()[at + 4] |= 8;
                from.send_all();
                // One after the other, and each smaller than the window by far: on a stream down there is room for it.
                assert_eq!(to.next_number(), number);
            }
            let after = seen();
            let ways = [0, 1].map(|n| {
                let sent = after[n].sent - before[n].sent;
                (sent, after[n].streamed - before[n].streamed)
            });
            let fits = bytes < 57_500;
            let is_apart = [
                near_wants && fits,
                // What came on a stream from there goes on by one.
                far_wants && fits && (is_up || near_wants),
            ];
            let expected = is_apart.map(|apart| if apart { (SENT, 0) } else { (0, SENT) });
            assert_eq!(ways, expected, "{bytes} bytes, up: {is_up}");
        }
        assert_eq!(other.lost, 0);
    }
}

/// What a network brings no datagrams of goes by the stream, which is shown with the reason, until it does.
#[test]
fn where_no_datagrams_come_the_stream_is_taken() {
    const SENT: u64 = 200;
    let (server, cable, _forwarder, mut one, [mut a, mut b]) = site();
    cable.drop(Drops::All);
    let by = until_by(&server, "a", |by| by != DATAGRAMS);
    assert!(
        by.starts_with("its forwarder's stream (no datagram has come for "),
        "{by}"
    );
    send(&mut one, 0..SENT as u32);
    assert_eq!(all_of(&mut a, SENT).len() as u64, SENT);
    all_of(&mut b, SENT);
    assert_eq!((cable.down().streamed, cable.down().sent), (SENT, 0));
    cable.drop(Drops::Nothing);
    until_by(&server, "a", |by| by == DATAGRAMS);
    send(&mut one, 0..SENT as u32);
    assert_eq!(all_of(&mut a, SENT).len() as u64, SENT);
    assert_eq!((cable.down().streamed, cable.down().sent), (SENT, SENT));
}

/// What was sent before it was noticed is counted, though nothing comes of it any more.
#[test]
fn what_is_lost_before_the_stream_is_taken_is_counted() {
    let (server, cable, _forwarder, mut one, [mut a, mut b]) = site();
    cable.drop(Drops::All);
    let mut sent = 0;
    while best_effort(&server, "a").by == DATAGRAMS {
        send(&mut one, sent..sent + 4);
        sent += 4;
    }
    send(&mut one, sent..sent + 4);
    let sent = u64::from(sent) + 4;
    for client in [&mut a, &mut b] {
        assert!(all_of(client, sent).len() as u64 >= 4);
        assert!(client.lost > 0);
    }
    assert_eq!(cable.down().dropped, a.lost + b.lost);
}

#[test]
fn rtiexec_may_want_none_and_a_forwarder_says_why() {
    for (at_rtiexec, wants, shown) in [
        (
            false,
            true,
            "its forwarder's stream (transport.best_effort = stream at the rtiexec)",
        ),
        (true, false, "its stream"),
    ] {
        let server = run(|config| {
            soon(config);
            config.datagrams = at_rtiexec;
        });
        let cable = Cable::to(&server);
        let forwarder = run_forwarder_to(&cable.at, |config| {
            soon(config);
            config.datagrams = wants;
        });
        let mut one = Client::founder(&server, "here");
        let mut other = Client::member(&forwarder, "here", "other");
        other.subscribe();
        one.until_subscribed(&other);
        assert_eq!(best_effort(&server, "other").by, shown);
        send(&mut one, 0..10);
        assert_eq!(all_of(&mut other, 10).len(), 10);
        let seen = cable.down();
        assert_eq!((seen.streamed, seen.sent), (10, 0));
    }
}

/// Datagrams that name no way, or one that has ended, change nothing and are not answered; those that make no sense end
/// nothing.
#[test]
fn what_strangers_send_changes_nothing() {
    let (server, cable, mut forwarder, mut one, [mut a, mut b]) = site();
    send(&mut a, 0..10);
    all_of(&mut one, 10);
    all_of(&mut b, 10);
    let (up, down) = {
        let state = cable.state();
        (state.last_up.clone(), state.last_down.clone())
    };
    let there = cable.far.peer_addr().unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let mut guess = up.clone();
    guess[5] ^= 1;
    // It asks for an answer.
    guess[1] = 3;
    for junk in [&guess[..], &[2; 18], &[2; 500], b""] {
        stranger.send_to(junk, there).unwrap();
    }
    // A federate's own forwarder says what makes no sense, and another federate's data.
    let mut wrong = up[..18].to_vec();
    wrong.extend([9, 0, 0, 0, 1, 1, 0, 0, 1, 2, 3, 4, 5]);
    cable.far.send(&wrong).unwrap();
    let mut wrong = down[..18].to_vec();
    wrong[6] ^= 1;
    wrong.extend(&down[18..]);
    // The forwarder's socket takes what comes from there only.
    send(&mut a, 10..20);
    all_of(&mut one, 10);
    all_of(&mut b, 10);
    assert_eq!(best_effort(&server, "a").by, DATAGRAMS);
    assert_eq!(best_effort(&server, "a").lost, 0);
    assert!(
        stranger.recv(&mut [0; 100]).is_err(),
        "a stranger is answered"
    );
    // The way of a forwarder that is gone is nobody's.
    forwarder.stop();
    one.until_member("a", false);
    let mut again = up;
    again[1] = 3;
    stranger.send_to(&again, there).unwrap();
    let mut other = Client::member(&server, "here", "other");
    other.subscribe();
    one.until_subscribed(&other);
    send(&mut one, 0..10);
    assert_eq!(all_of(&mut other, 10).len(), 10);
    assert!(stranger.recv(&mut [0; 100]).is_err());
}

/// One that does not read holds up nobody, a bounded part waits for it, and what is reliable comes, though perhaps before
/// datagrams that were still on their way.
#[test]
fn who_does_not_read_loses_best_effort_data_and_nothing_else() {
    const QUEUE: usize = 100_000;
    let narrow = |config: &mut Config| {
        soon(config);
        config.send_queue_bytes = QUEUE;
    };
    let server = run(narrow);
    let cable = Cable::to(&server);
    let forwarder = run_forwarder_to(&cable.at, narrow);
    let mut one = Client::founder(&server, "here");
    let mut slow = Client::member(&forwarder, "here", "slow");
    slow.subscribe();
    one.until_subscribed(&slow);
    until_by(&server, "slow", |by| by == DATAGRAMS);
    let mut sent = 0;
    while sent < 20_000 {
        send(&mut one, sent..sent + 200);
        sent += 200;
        // They go through rtiexec one after the other.
        one.tell(ToExecutive::ListFederations);
        one.until(|m| matches!(m, FromExecutive::Federations(_)));
        assert_eq!(server.state().held, 0);
        assert!(forwarder.state().waiting_bytes < QUEUE + 10_000);
    }
    one.send_with(sent, b"reliable");
    one.send_all();
    let came = all_with(&mut slow, u64::from(sent) + 1, Some(sent));
    assert!(came.contains(&sent), "the reliable one");
    assert!(slow.lost > 0, "all of it had room");
    assert_eq!(cable.down().streamed, 0);
}
