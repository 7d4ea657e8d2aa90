//! Compressed links, seen by who stands between a federate and rtiexec.

use super::common::{self, Running};
use super::numbers::until;
use super::{Member, settings};
use starling::InteractionClassHandle;
use starling_net::{Compression, Endpoint};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Passes on what goes to rtiexec and comes from it, and keeps what goes there.
struct Between {
    address: String,
    went: Arc<Mutex<Vec<u8>>>,
    came: Arc<AtomicUsize>,
}

impl Between {
    fn new(rtiexec: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (went, came) = (Arc::default(), Arc::default());
        let between = Between {
            address,
            went: Arc::clone(&went),
            came: Arc::clone(&came),
        };
        thread::spawn(move || {
            let (federate, _) = listener.accept()?;
            let rtiexec = TcpStream::connect(rtiexec)?;
            let back = (rtiexec.try_clone()?, federate.try_clone()?);
            thread::spawn(move || {
                pass(back.0, back.1, |bytes| {
                    came.fetch_add(bytes.len(), Ordering::Relaxed);
                });
            });
            pass(federate, rtiexec, |bytes| {
                let mut went = went.lock().unwrap_or_else(PoisonError::into_inner);
                went.extend_from_slice(bytes);
            });
            std::io::Result::Ok(())
        });
        between
    }

    fn went(&self) -> Vec<u8> {
        self.went.lock().unwrap().clone()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut note: impl FnMut(&[u8])) {
    let mut buffer = [0; 65_536];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
    {
        note(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A federate that sends to another one, and what it has sent.
struct Sender {
    member: Member,
    class: InteractionClassHandle,
    receiver: Member,
    between: Between,
    server: Running,
}

const TEXT: &[u8] =
    b"position 12.5 17.25 3.5 heading 90 speed 17; position 12.5 17.25 3.5 heading 90 speed 18; ";

impl Sender {
    /// With these settings for rtiexec and for the federate.
    fn new(at_rtiexec: &str, at_federate: &str) -> Self {
        let server = common::run(|config| {
            config.compression = Compression::of(&settings(at_rtiexec));
            config.listen.push(Endpoint::loopback(0));
        });
        let between = Between::new(server.endpoints[1].to_string());
        let text = format!("net.unix=no;{at_federate}");
        let member = Member::join(&between.address, "sender", &text);
        let receiver = Member::join(&server.endpoints[0].to_string(), "receiver", "");
        let class = member.rti.interaction_class_handle("Signal.Horn").unwrap();
        member.rti.publish_interaction_class(class).unwrap();
        receiver
            .rti
            .subscribe_interaction_class(class, true)
            .unwrap();
        let sender = Sender {
            member,
            class,
            receiver,
            between,
            server,
        };
        until("it is heard", || {
            sender.member.rti.evoke_callback(0.01).unwrap();
            sender.send(b"first");
            sender.receiver.rti.evoke_callback(0.01).unwrap();
            sender.receiver.heard.try_iter().next().is_some()
        });
        sender
    }

    fn send(&self, tag: &[u8]) {
        let rti = &self.member.rti;
        rti.send_interaction(self.class, &[], tag).unwrap();
    }

    /// Bytes on the connection for so many of these, when all have come.
    fn bytes(&self, tag: &dyn Fn() -> Vec<u8>, count: usize) -> usize {
        let before = self.between.went().len();
        for _ in 0..count {
            self.send(&tag());
        }
        self.send(b"the last one");
        until("the last one", || {
            self.member.rti.evoke_callback(0.0).unwrap();
            self.receiver.rti.evoke_callback(0.01).unwrap();
            self.receiver.heard.try_iter().any(|callback| {
                matches!(&callback, starling::Callback::ReceiveInteraction { values, .. }
                    if values.tag() == b"the last one")
            })
        });
        self.between.went().len() - before
    }
}

fn text() -> Vec<u8> {
    TEXT.to_vec()
}

fn noise() -> Vec<u8> {
    (0..TEXT.len()).map(|_| fastrand::u8(..)).collect()
}

const COUNT: usize = 2000;
const PATIENT: &str = "bundle.idle_us=1000000;bundle.age_us=1000000;bundle.tcp_bytes=16384";

/// Shows settings: compress.method, compress.level, preset.
#[test]
fn a_link_is_compressed_if_both_ends_want_it() {
    let bytes = |at_rtiexec: &str, at_federate: &str, tag: &dyn Fn() -> Vec<u8>| {
        let sender = Sender::new(at_rtiexec, &format!("{PATIENT};{at_federate}"));
        sender.bytes(tag, COUNT)
    };
    let [lz4, zstd] = ["compress.method=lz4", "compress.method=zstd"];
    let plain = bytes("", "", &text);
    // A federate tells of itself once a second.
    let same = |bytes: usize| assert!(bytes.abs_diff(plain) < plain / 20, "{bytes} and {plain}");
    same(bytes(lz4, "", &text));
    same(bytes("", zstd, &text));
    let by_lz4 = bytes(zstd, lz4, &text);
    let by_zstd = bytes(zstd, zstd, &text);
    assert!(5 * by_lz4 < plain, "{by_lz4} and {plain}");
    assert!(by_zstd < by_lz4, "{by_zstd} and {by_lz4}");
    let wan = bytes("preset=wan", "preset=wan", &text);
    assert!(5 * wan < plain, "{wan} and {plain}");
    // Letters only: more takes more time, and makes less of it.
    let letters = || -> Vec<u8> {
        let digit = || b"0123456789abcdef"[fastrand::usize(..16)];
        (0..TEXT.len()).map(|_| digit()).collect()
    };
    let words =
        move || -> Vec<u8> { [&letters()[..40], b" heading 90 ", &letters()[..20]].concat() };
    let [fast, hard] = [1, 19].map(|level| {
        fastrand::seed(7);
        let level = format!("{zstd};compress.level={level}");
        bytes(zstd, &level, &words)
    });
    assert!(hard < fast, "{hard} and {fast}");
}

/// What is random gets no shorter, and no longer than by 16 bytes for each bundle.
#[test]
fn what_does_not_shrink_goes_as_it_is() {
    let writes = (COUNT * (TEXT.len() + 40) / 16_384 + 20) * 16;
    let bytes = |method: &str| {
        let method = format!("compress.method={method}");
        Sender::new(&method, &format!("{PATIENT};{method}")).bytes(&noise, COUNT)
    };
    let plain = bytes("off");
    for method in ["lz4", "zstd"] {
        let compressed = bytes(method);
        assert!(compressed <= plain + writes, "{compressed} and {plain}");
    }
}

/// What was captured is read by programs that everybody has.
#[test]
fn other_programs_read_what_was_captured() {
    for method in ["lz4", "zstd"] {
        let setting = format!("compress.method={method}");
        let sender = Sender::new(&setting, &format!("{PATIENT};{setting}"));
        let before = sender.between.went().len();
        sender.bytes(&text, COUNT);
        let went = sender.between.went();
        let mut records = &went[before..];
        let mut found = 0;
        while let Some((head, rest)) = records.split_first_chunk::<4>() {
            let head = u32::from_le_bytes(*head);
            let length = (head & !(1 << 31)) as usize;
            let (body, behind) = rest.split_at(length);
            records = behind;
            if head == length as u32 {
                continue;
            }
            let child = Command::new(method)
                .args(["-d", "-c"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            let Ok(mut child) = child else {
                let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
                assert!(!demanded, "CI is set, but {method} can't be run");
                let _ = writeln!(std::io::stderr(), "left out: {method} can't be run");
                return;
            };
            let mut input = child.stdin.take().unwrap();
            input.write_all(body).unwrap();
            drop(input);
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{method}");
            found += output
                .stdout
                .windows(TEXT.len())
                .filter(|w| *w == TEXT)
                .count();
        }
        assert!(found > COUNT / 2, "{method}: {found} of {COUNT}");
    }
}

/// What comes back is compressed, too, and `starling ps` says how.
#[test]
fn both_directions_are_compressed_and_it_is_shown() {
    let answers = |method: &str| {
        let setting = format!("compress.method={method}");
        let sender = Sender::new(&setting, &setting);
        let before = sender.between.came.load(Ordering::Relaxed);
        for _ in 0..200 {
            sender.member.rti.list_federation_executions().unwrap();
        }
        for _ in 0..200 {
            sender.member.until("reportFederationExecutions");
        }
        let shown = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(["ps", &sender.server.endpoints[0].to_string()])
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.contains(", zstd"), method == "zstd", "{shown}");
        sender.between.came.load(Ordering::Relaxed) - before
    };
    let [plain, compressed] = ["off", "zstd"].map(answers);
    assert!(compressed < plain, "{compressed} and {plain}");
}
