//! One end of a link, without federates: who is waited for, what may wait, what is told.

use super::*;

/// What the other end says of a link may be read long after this end has told its own part, and asked for another one: a
/// second word would be taken for the end of that one.
#[test]
fn the_end_of_a_link_is_told_once() {
    let (stream, _theirs) = Stream::pair().unwrap();
    let (_, mut writer) = Link::new(Stream::pair().unwrap().0).split();
    let bundling = Bundling {
        bytes: 1400,
        idle: Duration::ZERO,
        age: Duration::ZERO,
    };
    let mut direct = Direct::new(bundling, (1 << 20, 1 << 20), 1 << 20);
    let (peer, begin) = ((7, FederateHandle(2)), Instant::now());
    direct.await_link(peer.0, peer.1, begin);
    direct.open(peer, Arc::new(stream), None, begin);
    let told = |direct: &mut Direct, after: u64| {
        let now = begin + Duration::from_secs(after);
        let changes = std::iter::from_fn(|| direct.next_change(now, |_| true));
        let told = changes.filter_map(|change| match change {
            Change::Tell(LinkRequest::Over { .. }) => Some("over"),
            Change::Tell(LinkRequest::Again { .. }) => Some("again"),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut direct, 0), [""; 0]);
    direct.break_off(peer.0, "cut", true, &mut writer, begin);
    assert_eq!(told(&mut direct, 0), ["over"]);
    assert_eq!(told(&mut direct, 1), ["again"]);
    direct.peer_broke_off(peer, &mut writer, begin);
    assert_eq!(told(&mut direct, 2), [""; 0]);
    // Of the next one it is told, also if it has not come about.
    direct.await_link(peer.0, peer.1, begin);
    direct.peer_broke_off(peer, &mut writer, begin);
    assert_eq!(told(&mut direct, 3), ["over"]);
}

/// Where no link ever comes about it is tried less and less often; one that there was is asked for again soon.
#[test]
fn who_never_had_a_link_is_seldom_asked_for_one() {
    let most = |had_link: bool| {
        let mut now = Instant::now();
        let (mut direct, _theirs, mut writer) = linked(now);
        let (mark, federate) = (8 - u64::from(had_link), FederateHandle(2));
        let mut pauses = Vec::new();
        for _ in 0..20 {
            direct.await_link(mark, federate, now);
            if had_link {
                direct.break_off(mark, "it is cut", true, &mut writer, now);
            }
            direct.fail((mark, federate), "no answer".into(), true, now);
            let begin = now;
            let mut asked = false;
            while !asked {
                let change = direct.next_change(now, |_| true);
                let again = LinkRequest::Again { to: mark };
                asked = change == Some(Change::Tell(again));
                if change.is_none() {
                    now += Duration::from_millis(100);
                }
            }
            pauses.push(now - begin);
        }
        assert_eq!(pauses[0], Duration::from_millis(100));
        assert!(pauses.is_sorted(), "{pauses:?}");
        pauses.pop().unwrap()
    };
    assert_eq!(most(true), Duration::from_secs(10));
    assert_eq!(most(false), Duration::from_secs(300));
}

/// A link to a peer, over a connection to this test.
fn linked(begin: Instant) -> (Direct, starling_net::LinkReader, starling_net::LinkWriter) {
    linked_over(Stream::pair().unwrap(), begin)
}

fn linked_over(
    (stream, theirs): (Stream, Stream),
    begin: Instant,
) -> (Direct, starling_net::LinkReader, starling_net::LinkWriter) {
    let (_, writer) = Link::new(Stream::pair().unwrap().0).split();
    let bundling = Bundling {
        bytes: 1400,
        idle: Duration::ZERO,
        age: Duration::ZERO,
    };
    let mut direct = Direct::new(bundling, (1 << 20, 1 << 20), 1 << 20);
    let peer = (7, FederateHandle(2));
    direct.await_link(peer.0, peer.1, begin);
    direct.open(peer, Arc::new(stream), None, begin);
    (direct, Link::new(theirs).split().0, writer)
}

/// rtiexec ends whoever tells it more than it takes.
#[test]
fn what_peers_give_as_a_reason_is_told_as_far_as_it_is_taken() {
    let begin = Instant::now();
    let (stream, _theirs) = Stream::pair().unwrap();
    let (mut direct, _, mut writer) = linked(begin);
    let bytes = 1400;
    direct.send_by(Groups::new(
        Wanted::Always,
        bytes,
        Quality::default(),
        begin,
    ));
    direct.open((7, FederateHandle(2)), Arc::new(stream), None, begin);
    let groups = direct.groups.as_mut().unwrap();
    assert!(matches!(direct.peers[0].way(groups, None, 10), Way::Link));
    direct.joined(7, 0, 0, "\u{fc}".repeat(NAME_BYTES_MAX / 2));
    let change = |direct: &mut Direct| direct.next_change(begin, |_| true);
    assert!(matches!(change(&mut direct), Some(Change::Path { .. })));
    let told = change(&mut direct);
    let Some(Change::Tell(LinkRequest::BestEffort { by, .. })) = told else {
        panic!("{told:?}");
    };
    assert!(by.starts_with("the way of reliable data (not by unicast: \u{fc}\u{fc}"));
    assert!(by.len() <= NAME_BYTES_MAX, "{} bytes", by.len());
    let why = format!("x{}", "\u{fc}".repeat(NAME_BYTES_MAX));
    direct.break_off(7, &why, true, &mut writer, begin);
    assert!(matches!(change(&mut direct), Some(Change::Path { .. })));
    let told = change(&mut direct);
    let Some(Change::Tell(LinkRequest::Over { why, .. })) = told else {
        panic!("{told:?}");
    };
    assert_eq!(why.len(), NAME_BYTES_MAX - 1, "whole characters");
}

/// Who has sent all that its window takes sends nothing more that would be confirmed with it.
#[test]
fn what_finds_its_link_full_is_confirmed_once_it_takes_something() {
    let begin = Instant::now();
    let (mut direct, mut reader, mut writer) = linked(begin);
    let mut beat = Vec::new();
    put_heartbeat(&mut beat);
    while direct.blocked().is_empty() {
        direct.misbehave(&beat.repeat(1000));
        direct.flush(&mut writer);
    }
    for position in [20_000, 40_000] {
        direct.put_confirmation(7, position, &mut writer);
    }
    let mut confirmed = Vec::new();
    for _ in 0..10 {
        while let Fill::Bytes(_) | Fill::More(_) = reader.fill().unwrap() {
            while let Some((frame, used)) = split_frame(reader.inbox()).unwrap() {
                match read_on_link(frame) {
                    Some(Ok(OnLink::Confirm { position })) => confirmed.push(position),
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
                reader.consume(used);
            }
        }
        direct.has_room(7, &mut writer, begin);
    }
    assert_eq!(confirmed, [40_000]);
}

/// What readers have confirmed meanwhile counts, though nobody has read it: a federate that does all in its calls was busy
/// elsewhere.
#[test]
fn who_has_confirmed_all_keeps_its_link() {
    let rtiexec = linking();
    let alone = format!("{SMALL};callbacks.io=single-threaded");
    let sender = Member::evoked(&rtiexec, &alone);
    let receiver = Member::evoked(&rtiexec, SMALL);
    subscribe(&sender, &[&receiver]);
    sender.until_direct(1);
    (0..30).for_each(|number| sender.send(number, 2_000));
    receiver.hears_all(0..30);
    // Longer than who reads nothing is waited for.
    let begin = Instant::now();
    until("that is long ago", || {
        begin.elapsed() > Duration::from_millis(600)
    });
    let before = sender.written();
    // More than there is room for, but for what is confirmed.
    sender.send(30, 30_000);
    receiver.hears_all(30..31);
    assert_eq!(sender.direct(), 1);
    let written = sender.written() - before;
    assert!(written < 10_000, "{written} bytes were relayed");
}

/// Puts on a link what is more than it may keep, and `more`.
fn fill(direct: &mut Direct, writer: &mut starling_net::LinkWriter, more: usize) {
    let mut beat = Vec::new();
    put_heartbeat(&mut beat);
    let may = direct.kept().1 + more;
    while direct.kept().0 <= may {
        direct.misbehave(&beat.repeat(1000));
    }
    direct.flush(writer);
}

/// Who confirms nothing is waited for, but not for long: then more may wait for it, and when that is too much, too, it is
/// waited for on. What confirms nothing, or next to nothing, is no sign that somebody reads.
#[test]
fn who_confirms_nothing_new_is_not_waited_for() {
    let ms = Duration::from_millis;
    for (confirmed, stays) in [([0, 0], false), ([0, 5], false), ([0, 20_000], true)] {
        let (mut direct, _theirs, mut writer) = linked(Instant::now());
        fill(&mut direct, &mut writer, 0);
        let begin = Instant::now();
        let until = direct.put_waiting(begin, &mut writer);
        assert!(until.is_some_and(|until| until <= begin + ms(50)));
        assert_eq!(direct.put_waiting(begin + ms(50), &mut writer), None);
        assert!(!direct.is_waiting());
        fill(&mut direct, &mut writer, 1 << 20);
        let until = direct.put_waiting(begin + ms(60), &mut writer);
        assert_eq!(until, Some(begin + ms(500)));
        for position in confirmed {
            direct.confirm(7, position, begin + ms(400)).unwrap();
        }
        direct.put_waiting(begin + ms(500), &mut writer);
        assert_eq!(direct.kept().0 > 0, stays, "{confirmed:?}");
    }
}

/// A long frame is confirmed at its end only, and over a slow network a short one comes late: as long as something comes to
/// the other host its reader keeps its link.
#[test]
fn who_takes_something_keeps_its_link() {
    let ms = Duration::from_millis;
    let listener = Listener::bind(&Endpoint::loopback(0)).unwrap();
    let stream = dial(&listener.endpoint().unwrap(), Duration::from_secs(10)).unwrap();
    let theirs = loop {
        if let Some(theirs) = listener.accept().unwrap() {
            break theirs;
        }
    };
    let mut now = Instant::now();
    let (mut direct, mut theirs, mut writer) = linked_over((stream, theirs), now);
    fill(&mut direct, &mut writer, 0);
    let has = |direct: &Direct| direct.peers[0].stream.as_ref().unwrap().acknowledged();
    for _ in 0..3 {
        // The first time more may wait from here on.
        now += ms(500);
        direct.put_waiting(now, &mut writer);
        let had = has(&direct);
        until("something comes", || {
            theirs.fill().unwrap();
            theirs.consume(theirs.inbox().len());
            direct.flush(&mut writer);
            has(&direct) > had
        });
        direct.put_waiting(now + ms(450), &mut writer);
        assert!(direct.kept().0 > 0, "nothing was confirmed");
        fill(&mut direct, &mut writer, 0);
    }
    // What is under way to it comes yet.
    until("it is given up", || {
        now += ms(500);
        direct.put_waiting(now, &mut writer);
        direct.kept().0 == 0
    });
}

/// Who asks for what is answered on its link, and reads no answers.
#[test]
fn what_is_said_to_who_does_not_read_is_bounded() {
    let ms = Duration::from_millis;
    let (mut direct, _theirs, mut writer) = linked(Instant::now());
    let said = OnLink::Hears {
        number: 1,
        on: true,
    };
    let may = direct.kept().1;
    let begin = Instant::now();
    for number in 0..1_000_000 {
        let now = begin + ms(number);
        direct.say(7, &said, &mut writer, now);
        let kept = direct.kept().0;
        if kept == 0 {
            assert!(number > 0, "one is no reason");
            return;
        }
        // For half a second it may go on.
        assert!(kept < may + 10_000, "{kept} bytes after {number}");
    }
    panic!("all of it is kept");
}
