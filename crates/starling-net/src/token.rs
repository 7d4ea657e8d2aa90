//! Proof that an rtiexec on a TCP port of this host is the user's own: any user can listen there.
//!
//! The rtiexec writes a secret into its user's run directory, which others can't read. Whoever has
//! found a listener without being told its address sends it a random challenge; only who knows the
//! secret can answer. Neither shows the secret, so a stranger that is asked learns nothing; and an
//! answer is good for one address, so a stranger can't pass the challenge on to an rtiexec of the
//! user's at another.

use crate::run_dir::RunDir;
use crate::stream::Stream;
use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// What is wrong with a peer that does not meet its challenge, for messages.
pub const NOT_OWN: &str = "whoever listens there is no rtiexec of yours; \
                           to use another's, set connect.address";

const BYTES: usize = 32;

/// The secret of an rtiexec; its file goes with it.
#[derive(Debug)]
pub struct Token {
    secret: [u8; BYTES],
    path: PathBuf,
}

impl Token {
    /// Makes a secret for the TCP port and writes it into the run directory; one that a killed
    /// rtiexec left there is replaced. The caller listens at that port.
    pub fn publish(run_dir: &RunDir, port: u16) -> io::Result<Self> {
        let secret = random()?;
        let path = run_dir.token(port);
        // Whole or not at all for whoever reads it meanwhile.
        let new = path.with_extension("token.new");
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&secret)?;
        fs::rename(&new, &path)?;
        Ok(Self { secret, path })
    }

    /// The answer to a challenge that came over this stream.
    pub fn answer(&self, challenge: &[u8], over: &Stream) -> io::Result<Vec<u8>> {
        let mac = mac(&self.secret, challenge, over.local_address()?);
        Ok(mac.finalize().into_bytes().to_vec())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        let _ = fs::remove_file(&self.path);
    }
}

/// A challenge, and how to judge the answer.
#[derive(Clone, Debug)]
pub struct Challenge {
    secret: [u8; BYTES],
    challenge: [u8; BYTES],
    /// Where the stream goes.
    to: SocketAddr,
}

impl Challenge {
    /// For the rtiexec of this run directory that has the TCP port which the stream goes to; none
    /// if none has.
    pub(crate) fn over(stream: &TcpStream, run_dir: &RunDir) -> io::Result<Option<Self>> {
        let to = stream.peer_addr()?;
        match fs::read(run_dir.token(to.port())) {
            Ok(bytes) => match bytes.try_into() {
                Ok(secret) => Ok(Some(Self {
                    secret,
                    challenge: random()?,
                    to,
                })),
                Err(_) => Ok(None),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// What to send.
    pub fn bytes(&self) -> &[u8] {
        &self.challenge
    }

    /// Whether this is the answer of who knows the secret.
    pub fn is_met_by(&self, answer: &[u8]) -> bool {
        let mac = mac(&self.secret, &self.challenge, self.to);
        mac.verify_slice(answer).is_ok()
    }
}

fn mac(secret: &[u8; BYTES], challenge: &[u8], at: SocketAddr) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(at.to_string().as_bytes());
    mac.update(b" ");
    mac.update(challenge);
    mac
}

fn random() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    // Up to 256 bytes come at once.
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        BYTES => Ok(bytes),
        got => Err(io::Error::other(format!("only {got} random bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Both ends of a connection to a listener.
    fn connect(to: &TcpListener) -> (TcpStream, Stream) {
        let near = TcpStream::connect(to.local_addr().unwrap()).unwrap();
        (near, Stream::tcp(to.accept().unwrap().0).unwrap())
    }

    #[test]
    fn only_who_knows_the_secret_and_is_there_meets_a_challenge() {
        let name = format!("starling-token-{}", std::process::id());
        let run_dir = RunDir::open(&std::env::temp_dir().join(name)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (near, far) = connect(&listener);
        assert!(Challenge::over(&near, &run_dir).unwrap().is_none());
        let ours = Token::publish(&run_dir, port).unwrap();
        let challenge = Challenge::over(&near, &run_dir).unwrap().unwrap();
        let next = Challenge::over(&near, &run_dir).unwrap().unwrap();
        let answer = ours.answer(challenge.bytes(), &far).unwrap();
        assert!(challenge.is_met_by(&answer));
        assert!(!next.is_met_by(&answer), "it is good for one challenge");
        assert!(!challenge.is_met_by(&answer[..31]) && !challenge.is_met_by(b""));
        // A stranger with a secret of its own, and one that passes the challenge on.
        let stranger = Token::publish(&run_dir, port ^ 1).unwrap();
        let made_up = stranger.answer(challenge.bytes(), &far).unwrap();
        assert!(!challenge.is_met_by(&made_up));
        let elsewhere = TcpListener::bind("127.0.0.2:0").unwrap();
        let (_near, passed_on) = connect(&elsewhere);
        let passed_on = ours.answer(challenge.bytes(), &passed_on).unwrap();
        assert!(!challenge.is_met_by(&passed_on));
        drop((ours, stranger));
        assert!(Challenge::over(&near, &run_dir).unwrap().is_none());
        fs::remove_dir(run_dir.path()).unwrap();
    }
}
