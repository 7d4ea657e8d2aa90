//! A server in a thread, and federates for it. Also used by the tests of the program.
#![allow(dead_code, reason = "each test program uses a part")]

use starling_core::message::{FromExecutive, ModuleSource, PeerInfo, ToExecutive};
use starling_core::{Callback, DataPath, Federate, Output};
use starling_net::{Descriptors, Endpoint, Fill, Link, Waiter, Watch, dial};
use starling_rid::Settings;
use starling_rtiexec::{Config, Ended, Observer, Server, State, Stopper};
use starling_wire::{
    Frame, Hello, LinkNotice, LinkRequest, VERSION, Welcome, put_data, put_hello, put_link_request,
    put_to_executive, split_frame,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long to wait for what must come: then something is wrong, not slow.
pub const PATIENCE: Duration = Duration::from_secs(120);

const FOM: &str = r#"<objectModel><interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>Number</name><transportation>HLAreliable</transportation>
<order>Receive</order><parameter><name>value</name></parameter></interactionClass>
</interactionClass></interactions></objectModel>"#;

/// A server on a socket of its own. Ends with the test.
pub struct Running {
    path: PathBuf,
    stopper: Stopper,
    observer: Observer,
    pub endpoints: Vec<Endpoint>,
    thread: Option<JoinHandle<Ended>>,
}

pub fn run(change: impl FnOnce(&mut Config)) -> Running {
    start(change, |_| {})
}

/// One that ends when nobody is connected, and a client that has connected before it can be idle.
pub fn run_for(change: impl FnOnce(&mut Config)) -> (Running, Client) {
    let mut first = None;
    let connect = |path: &Path| first = Some(Client::at(&Endpoint::Unix(path.into())));
    let server = start(change, connect);
    let mut first = first.expect("it was called");
    first.hello(VERSION).unwrap();
    (server, first)
}

/// A forwarder to this server, or to another forwarder.
pub fn run_forwarder(upstream: &Running, change: impl FnOnce(&mut Config)) -> Running {
    run_forwarder_to(&Endpoint::Unix(upstream.path.clone()), change)
}

/// One to whatever listens there.
pub fn run_forwarder_to(upstream: &Endpoint, change: impl FnOnce(&mut Config)) -> Running {
    let mut trunk = Client::at(upstream);
    trunk.hello(VERSION).unwrap();
    let (link, welcome) = (trunk.link, trunk.welcome);
    let serve = |config| Server::forwarder(config, link, welcome).unwrap();
    start_as(serve, change, |_| {})
}

/// `before` is called with the path of its socket when that is open and nothing is served yet.
fn start(change: impl FnOnce(&mut Config), before: impl FnOnce(&Path)) -> Running {
    start_as(|config| Server::new(config).unwrap(), change, before)
}

fn start_as(
    serve: impl FnOnce(Config) -> Server,
    change: impl FnOnce(&mut Config),
    before: impl FnOnce(&Path),
) -> Running {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("starling-server-{}-{number}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut config = Config::of(&Settings::default());
    config.listen = vec![Endpoint::Unix(path.clone())];
    // Not a matter of how fast the test's thread is.
    config.hello_timeout = Duration::from_secs(3600);
    change(&mut config);
    let server = serve(config);
    before(&path);
    let (stopper, observer) = (server.stopper(), server.observer());
    let endpoints = server.endpoints();
    let thread = Some(std::thread::spawn(|| server.run().unwrap()));
    Running {
        path,
        stopper,
        observer,
        endpoints,
        thread,
    }
}

impl Running {
    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    pub fn state(&self) -> State {
        self.observer.state().expect("it runs")
    }

    pub fn stop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }

    /// Waits for the end and says what it was.
    pub fn ended(mut self) -> &'static str {
        match self.thread.take().unwrap().join().unwrap() {
            Ended::Stopped(_) => "Stopped",
            Ended::Idle(_) => "Idle",
            Ended::Lost(_) => "Lost",
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

/// A federate: the core and a link, driven by the test's thread.
pub struct Client {
    pub link: Link,
    pub fault: String,
    welcome: Welcome,
    waiter: Waiter,
    federate: Option<Federate>,
    heartbeats: u32,
    /// When more than a heartbeat has come last.
    heard: Instant,
    /// What it was told of best-effort data that is lost.
    pub lost: u64,
}

impl Client {
    /// Connected, but has said nothing.
    pub fn stranger(server: &Running) -> Self {
        Self::at(&Endpoint::Unix(server.path.clone()))
    }

    /// Connected to whatever listens there, but has said nothing.
    pub fn at(endpoint: &Endpoint) -> Self {
        Self {
            link: Link::new(dial(endpoint, Duration::from_secs(10)).unwrap()),
            fault: String::new(),
            welcome: Welcome::default(),
            waiter: Waiter::new().unwrap(),
            federate: None,
            heartbeats: 0,
            heard: Instant::now(),
            lost: 0,
        }
    }

    /// Connected and welcome.
    pub fn connect(server: &Running) -> Self {
        let mut client = Self::stranger(server);
        client.hello(VERSION).unwrap();
        client
    }

    /// Joined to a federation execution that it has created.
    pub fn founder(server: &Running, federation: &str) -> Self {
        Self::connect(server).found(federation)
    }

    /// Creates a federation execution and joins it.
    pub fn found(mut self, federation: &str) -> Self {
        self.create(federation).unwrap();
        self.join(federation, "founder").unwrap();
        self
    }

    /// Joined.
    pub fn member(server: &Running, federation: &str, name: &str) -> Self {
        let mut client = Self::connect(server);
        client.join(federation, name).unwrap();
        client
    }

    pub fn hello(&mut self, version: u32) -> Result<(), String> {
        let info = PeerInfo {
            pid: std::process::id(),
            host: starling_net::host_name(),
            program: "test".into(),
            ..PeerInfo::default()
        };
        let hello = Hello {
            version,
            info,
            ..Hello::default()
        };
        put_hello(self.link.writer.out(), &hello);
        self.send_all();
        self.welcome = self.read(|frame| match frame {
            Frame::Welcome(w) => Some(w.clone()),
            _ => None,
        });
        self.welcome.refusal.clone().map_or(Ok(()), Err)
    }

    pub fn create(&mut self, federation: &str) -> Result<(), String> {
        self.tell(ToExecutive::CreateFederation {
            federation: federation.into(),
            modules: vec![ModuleSource {
                designator: "numbers.xml".into(),
                text: FOM.as_bytes().into(),
            }],
            mim: None,
            time_implementation: String::new(),
        });
        match self.until(|m| matches!(m, FromExecutive::Done(_))) {
            FromExecutive::Done(done) => done.map_err(|e| e.to_string()),
            _ => unreachable!(),
        }
    }

    pub fn join(&mut self, federation: &str, name: &str) -> Result<(), String> {
        self.tell(ToExecutive::Join {
            name: Some(name.into()),
            kind: "test".into(),
            federation: federation.into(),
            modules: Vec::new(),
        });
        let answer = |m: &FromExecutive| {
            matches!(m, FromExecutive::Joined(_) | FromExecutive::JoinRefused(_))
        };
        match self.until(answer) {
            FromExecutive::Joined(snapshot) => {
                self.federate = Some(Federate::new(*snapshot, DataPath::Executive).unwrap());
                Ok(())
            }
            FromExecutive::JoinRefused(why) => Err(why.to_string()),
            _ => unreachable!(),
        }
    }

    pub fn federate(&self) -> &Federate {
        self.federate.as_ref().expect("joined")
    }

    pub fn federate_mut(&mut self) -> &mut Federate {
        self.federate.as_mut().expect("joined")
    }

    pub fn tell(&mut self, message: ToExecutive) {
        put_to_executive(self.link.writer.out(), &message);
        self.send_all();
    }

    /// Says something about links, with these descriptors.
    pub fn tell_link(&mut self, request: &LinkRequest, descriptors: Option<Descriptors>) {
        if let Some(descriptors) = descriptors {
            self.link.reader.admit_descriptors();
            self.link.writer.attach(descriptors);
        }
        put_link_request(self.link.writer.out(), request);
        self.send_until_cut_off();
    }

    /// The next notice about links; what comes before goes to the federate.
    pub fn link_notice(&mut self) -> LinkNotice {
        self.read(|frame| match frame {
            Frame::LinkNotice(notice) => Some(notice.clone()),
            _ => None,
        })
    }

    /// Writes requests and data, waiting for room.
    pub fn send_all(&mut self) {
        self.take_requests();
        while !self.link.writer.flush().unwrap() {
            let mut watches = [Watch::write_only(&self.link)];
            self.waiter.wait(&mut watches, None).unwrap();
        }
    }

    /// Writes to a server that may end the connection before it has read all of it.
    pub fn send_until_cut_off(&mut self) {
        while let Ok(false) = self.link.writer.flush() {
            let mut watches = [Watch::write_only(&self.link)];
            self.waiter.wait(&mut watches, None).unwrap();
        }
    }

    pub fn take_requests(&mut self) {
        let Some(federate) = &mut self.federate else {
            return;
        };
        while let Some(output) = federate.poll_output() {
            let Output::Request(request) = output else {
                panic!("no links of its own");
            };
            put_to_executive(self.link.writer.out(), &ToExecutive::Request(request));
        }
    }

    pub fn subscribe(&mut self) {
        let federate = self.federate_mut();
        let class = federate.interaction_class_handle("Number").unwrap();
        federate.subscribe_interaction_class(class, true).unwrap();
        self.send_all();
    }

    /// Until an interaction would be sent to `other`.
    pub fn until_subscribed(&mut self, other: &Client) {
        let to = other.federate().handle();
        let class = self.federate().interaction_class_handle("Number").unwrap();
        self.federate_mut()
            .publish_interaction_class(class)
            .unwrap();
        self.send_all();
        loop {
            let mut wanted = false;
            self.federate_mut()
                .send_interaction(class, &[], b"", &mut |out| wanted = out.to.contains(&to))
                .unwrap();
            if wanted {
                return;
            }
            self.wait_and_take_in();
        }
    }

    /// Appends an interaction, without writing it.
    pub fn send(&mut self, number: u32) {
        self.send_with(number, b"tag");
    }

    /// The same with this tag.
    pub fn send_with(&mut self, number: u32, tag: &[u8]) {
        let federate = self.federate.as_mut().expect("joined");
        let class = federate.interaction_class_handle("Number").unwrap();
        let value = federate.parameter_handle(class, "value").unwrap();
        // Even if nobody was found to want it: the executive knows better.
        if !federate.publishes_interaction(class) {
            federate.publish_interaction_class(class).unwrap();
        }
        self.take_requests();
        let federate = self.federate.as_mut().expect("joined");
        let mut padded = [0; 100];
        padded[..4].copy_from_slice(&number.to_le_bytes());
        let out = self.link.writer.out();
        federate
            .send_interaction(class, &[(value, &padded)], tag, &mut |d| {
                put_data(out, d.data)
            })
            .unwrap();
    }

    pub fn next_number(&mut self) -> u32 {
        let Callback::ReceiveInteraction { values, .. } = self.next_callback() else {
            panic!("not an interaction");
        };
        let (_, value) = values.iter().next().unwrap();
        u32::from_le_bytes(*value.first_chunk().unwrap())
    }

    pub fn next_callback(&mut self) -> Callback {
        loop {
            if let Some(callback) = self.federate_mut().next_callback() {
                return callback;
            }
            self.wait_and_take_in();
        }
    }

    /// Until a federate of that name is a member, or no longer.
    pub fn until_member(&mut self, name: &str, member: bool) {
        while self.federate().federate_handle(name).is_ok() != member {
            self.wait_and_take_in();
        }
    }

    pub fn until_heartbeat(&mut self) {
        let before = self.heartbeats;
        while self.heartbeats == before {
            self.wait_and_take_in();
        }
    }

    /// The first message for which `wanted` holds; what comes before goes to the federate.
    pub fn until(&mut self, wanted: impl Fn(&FromExecutive) -> bool) -> FromExecutive {
        self.read(|frame| match frame {
            Frame::FromExecutive(m) if wanted(m) => Some(m.clone()),
            _ => None,
        })
    }

    /// Every frame but heartbeats that comes before the server answers a question that is asked now; they go to the federate.
    pub fn frames_so_far(&mut self) -> Vec<String> {
        self.tell(ToExecutive::ListFederations);
        let mut frames = Vec::new();
        self.read(|frame| match frame {
            Frame::FromExecutive(FromExecutive::Federations(_)) => Some(()),
            Frame::Heartbeat => None,
            frame => {
                frames.push(format!("{frame:?}"));
                None
            }
        });
        frames
    }

    pub fn until_closed(&mut self) {
        loop {
            self.wait_for_more();
            // What was not read before the end makes it a reset.
            if matches!(self.link.reader.fill(), Ok(Fill::Closed) | Err(_)) {
                return;
            }
        }
    }

    pub fn wait(&self, time: Duration) {
        let mut watches = [Watch::new(&self.link, true)];
        self.waiter.wait(&mut watches, Some(time)).unwrap();
    }

    /// Waits for something to come, but not for ever where only heartbeats do.
    fn wait_for_more(&self) {
        let left = PATIENCE.saturating_sub(self.heard.elapsed());
        let mut watches = [Watch::new(&self.link, false)];
        self.waiter.wait(&mut watches, Some(left)).unwrap();
        assert!(watches[0].readable, "nothing came for {PATIENCE:?}");
    }

    /// Waits for something to come, and takes it in.
    pub fn wait_and_take_in(&mut self) {
        self.wait_for_more();
        assert!(self.take_in(), "the server closed the connection");
    }

    /// Reads what is there now.
    pub fn take_in(&mut self) -> bool {
        let fill = self.link.reader.fill().unwrap();
        while self.one(|_| None::<()>).is_none_or(|taken| taken.is_none()) {
            if split_frame(self.link.reader.inbox()).unwrap().is_none() {
                break;
            }
        }
        fill != Fill::Closed
    }

    fn read<T>(&mut self, mut pick: impl FnMut(&Frame<'_>) -> Option<T>) -> T {
        loop {
            match self.one(&mut pick) {
                Some(Some(picked)) => return picked,
                Some(None) => {}
                None => {
                    self.wait_for_more();
                    let fill = self.link.reader.fill().unwrap();
                    assert_ne!(fill, Fill::Closed, "the server closed the connection");
                }
            }
        }
    }

    /// Handles one frame of the inbox; what is picked does not go to the federate.
    fn one<T>(&mut self, mut pick: impl FnMut(&Frame<'_>) -> Option<T>) -> Option<Option<T>> {
        let (frame, size) = split_frame(self.link.reader.inbox()).unwrap()?;
        let frame = Frame::decode(frame).unwrap();
        if !matches!(frame, Frame::Heartbeat) {
            self.heard = Instant::now();
        }
        let picked = pick(&frame);
        let unwanted = matches!(frame, Frame::LinkNotice(LinkNotice::Peer { .. }));
        if picked.is_none() {
            match (frame, &mut self.federate) {
                (Frame::Heartbeat, _) => self.heartbeats += 1,
                (Frame::LinkNotice(LinkNotice::Lost { messages }), _) => self.lost += messages,
                (Frame::FromExecutive(message), Some(federate)) => {
                    use starling_core::message::EntryBody::Federation;
                    use starling_core::message::federation::Entry::FederateResigned;
                    if let FromExecutive::Entry(entry) = &message
                        && let Federation(FederateResigned { fault, .. }) = &entry.body
                    {
                        self.fault = fault.clone().unwrap_or_default();
                    }
                    federate.receive(message).unwrap();
                }
                (Frame::Data(data), Some(federate)) => federate
                    .receive_data(&data, DataPath::Executive, None)
                    .unwrap(),
                _ => {}
            }
        }
        self.link.reader.consume(size);
        if unwanted && picked.is_none() {
            self.link.reader.take_descriptors();
        }
        Some(picked)
    }
}
