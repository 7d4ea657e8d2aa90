//! Connecting to what is no rtiexec: the error says with whom, and what it is.

use starling::{Callback, CallbackModel, ExceptionKind, FederateAmbassador, RtiAmbassador};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

struct Deaf;

impl FederateAmbassador for Deaf {
    fn deliver(&mut self, _: Callback) -> Result<(), String> {
        Ok(())
    }
}

/// Connects twice, by the library and by `starling ps`, to a server that gives this answer to
/// whatever it hears, and closes; what the two say.
fn errors(answer: &'static [u8]) -> (String, [String; 2]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1000]).unwrap();
            stream.write_all(answer).unwrap();
        }
    });
    let settings = format!("connect.address={address};net.unix=false");
    let rti = RtiAmbassador::new();
    let error = rti
        .connect(Box::new(Deaf), CallbackModel::Evoked, &settings)
        .unwrap_err();
    assert_eq!(error.kind, ExceptionKind::ConnectionFailed);
    let ps = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["ps", &settings])
        .output()
        .unwrap();
    assert_eq!(ps.status.code(), Some(3));
    let said = String::from_utf8(ps.stderr).unwrap();
    (address, [error.to_string(), said])
}

#[test]
fn errors_say_who_is_there() {
    let tls_alert = &[0x15, 3, 3, 0, 2, 2, 22];
    for (answer, what) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "speaks HTTP"),
        (tls_alert, "speaks TLS"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks SSH"),
        (b"", "it closed the connection"),
        (&[2, 0, 0, 0, 3, 0], "no rtiexec of Starling"),
    ] {
        let (address, said) = errors(answer);
        for text in said {
            assert!(text.contains(what) && text.contains(&address), "{text}");
        }
    }
}
