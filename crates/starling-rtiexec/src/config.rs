//! What rtiexec takes from the settings.

use crate::direct::Links;
use crate::liveness::Paused;
use crate::saves::SaveStore;
use starling_core::{Check, Services};
use starling_net::{Compression, Endpoint, Quality, RunDir};
use starling_rid::{
    BUNDLE_UDP_BYTES, FAULT_HEARTBEAT_S, FAULT_PAUSED, FAULT_TIMEOUT_S, FOM_CHECK,
    FORWARDER_PASSES, FORWARDER_WINDOW_BYTES, LIMITS_FEDERATIONS_PER_HOST, LIMITS_FRAME_BYTES,
    LIMITS_FRAME_TIMEOUT_S, LIMITS_HELLO_TIMEOUT_S, LIMITS_KEPT_BYTES, LIMITS_MODELS_BYTES,
    LIMITS_SEND_QUEUE_BYTES, LIMITS_SEND_STALL_S, LIMITS_WITHHELD_BYTES, LOG_WAIT_S, NET_UNIX,
    RTIEXEC_IDLE_EXIT_S, RTIEXEC_LISTEN, SAVES_BYTES, SAVES_DIR, SAVES_KEEP, SERVICES_DDM,
    SERVICES_MOM, SERVICES_RATES, SERVICES_TIME, Settings, TRANSPORT_BEST_EFFORT, TRANSPORT_PATH,
    TRANSPORT_SHARED_MEMORY,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens.
    pub listen: Vec<Endpoint>,
    /// Whether federates of this host may come over a Unix-domain socket in `run_dir`.
    pub unix: bool,
    /// The directory of this user's sockets and locks; none if it can't be used.
    pub run_dir: Option<RunDir>,
    /// It was started by a federate, which holds the run directory's lock until it is ready.
    pub by_itself: bool,
    /// It ends after this time without connection and federation execution.
    pub idle_exit: Option<Duration>,
    /// A link that is silent for this long carries a heartbeat.
    pub heartbeat: Duration,
    /// A peer that is silent for this long is judged.
    pub timeout: Duration,
    /// One that is silent for this long before it has said who it is, is cut off.
    pub hello_timeout: Duration,
    /// What becomes of those whose process is stopped.
    pub paused: Paused,
    /// What is done about doubtful FOM modules.
    pub check: Check,
    /// The largest message of a peer.
    pub frame_bytes_max: usize,
    /// Federation executions that one host's federates may have created.
    pub federations_per_host: usize,
    /// Bytes of memory that the object models of all federation executions may take.
    pub models_bytes: usize,
    /// Of messages in time-stamp order that wait for one federate's advance.
    pub withheld_bytes: usize,
    /// What of the standard federation executions have.
    pub services: Services,
    /// Federates of one host may share memory.
    pub shared_memory: bool,
    /// Which federates may have TCP links to each other.
    pub links: Links,
    /// Best-effort data may go by datagrams.
    pub datagrams: bool,
    /// A forwarder wants that also beside a trunk that leads to no other host.
    pub datagrams_near: bool,
    /// A datagram with more than one message is at most this large.
    pub datagram_bytes: usize,
    /// Of what one joined federate has made, of each kind.
    pub kept_bytes: usize,
    /// A message that has begun must have come whole after this long.
    pub frame_timeout: Option<Duration>,
    /// Bytes that may wait for a receiver before its senders are held up.
    pub send_queue_bytes: usize,
    /// Bytes of one federate that may be on their way from or to a forwarder, in either direction.
    pub window_bytes: u64,
    /// Forwarders pass data between federates that come by them, which rtiexec does not see then.
    pub passes: bool,
    /// A receiver that holds up its senders for this long is resigned.
    pub send_stall: Option<Duration>,
    /// A federate whose time waits for longer than this is named in the log.
    pub log_wait: Option<Duration>,
    /// What the network is told of packets.
    pub quality: Quality,
    /// How TCP connections are compressed.
    pub compression: Compression,
    /// Where saved federation executions are kept.
    pub saves: SaveStore,
    /// How long one peer's requests are handled before the others have their turn.
    pub turn: Duration,
    /// While it is held no merging of FOM modules begins; for tests.
    pub merging: Arc<Mutex<()>>,
}

impl Config {
    /// As the settings say.
    pub fn of(settings: &Settings) -> Self {
        let time = |key| Duration::from_secs_f64(settings.get(key));
        let some = |time: Duration| (!time.is_zero()).then_some(time);
        let best_effort = settings.get(TRANSPORT_BEST_EFFORT);
        Self {
            listen: settings.get(RTIEXEC_LISTEN),
            unix: settings.get(NET_UNIX),
            run_dir: None,
            by_itself: false,
            idle_exit: some(time(RTIEXEC_IDLE_EXIT_S)),
            heartbeat: time(FAULT_HEARTBEAT_S),
            timeout: time(FAULT_TIMEOUT_S),
            hello_timeout: time(LIMITS_HELLO_TIMEOUT_S),
            paused: Paused::of(&settings.get(FAULT_PAUSED)),
            check: match settings.get(FOM_CHECK).as_str() {
                "strict" => Check::Strict,
                _ => Check::Lenient,
            },
            frame_bytes_max: settings.get(LIMITS_FRAME_BYTES) as usize,
            federations_per_host: settings.get(LIMITS_FEDERATIONS_PER_HOST) as usize,
            models_bytes: settings.get(LIMITS_MODELS_BYTES) as usize,
            withheld_bytes: settings.get(LIMITS_WITHHELD_BYTES) as usize,
            services: Services {
                mom: settings.get(SERVICES_MOM),
                time: settings.get(SERVICES_TIME),
                ddm: settings.get(SERVICES_DDM),
                rates: settings.get(SERVICES_RATES),
            },
            shared_memory: settings.get(TRANSPORT_SHARED_MEMORY) == "auto",
            links: Links::of(&settings.get(TRANSPORT_PATH)),
            datagrams: best_effort != "stream",
            datagrams_near: best_effort != "auto" && best_effort != "stream",
            datagram_bytes: settings.get(BUNDLE_UDP_BYTES) as usize,
            kept_bytes: settings.get(LIMITS_KEPT_BYTES) as usize,
            frame_timeout: some(time(LIMITS_FRAME_TIMEOUT_S)),
            send_queue_bytes: settings.get(LIMITS_SEND_QUEUE_BYTES) as usize,
            window_bytes: settings.get(FORWARDER_WINDOW_BYTES),
            passes: settings.get(FORWARDER_PASSES),
            send_stall: some(time(LIMITS_SEND_STALL_S)),
            log_wait: some(time(LOG_WAIT_S)),
            quality: Quality::of(settings),
            compression: Compression::of(settings),
            saves: save_store(settings),
            turn: Duration::from_millis(2),
            merging: Arc::default(),
        }
    }
}

/// Where saved federation executions are kept, as the settings say.
pub fn save_store(settings: &Settings) -> SaveStore {
    let of = |variable| std::env::var_os(variable).filter(|d: &std::ffi::OsString| !d.is_empty());
    let directory = match settings.get(SAVES_DIR).as_str() {
        "" => {
            let state = of("XDG_STATE_HOME").map(PathBuf::from);
            let home = || Some(PathBuf::from(of("HOME")?).join(".local/state"));
            let state = state.or_else(home).unwrap_or_else(std::env::temp_dir);
            state.join("starling/saves")
        }
        given => PathBuf::from(given),
    };
    SaveStore::new(
        directory,
        settings.get(SAVES_BYTES),
        settings.get(SAVES_KEEP),
    )
}

#[cfg(test)]
mod tests {
    use starling_rid::{Kind, SETTINGS};
    use starling_wire::FRAME_BYTES_MAX;

    #[test]
    fn no_limit_may_be_set_beyond_the_format() {
        let setting = SETTINGS.iter().find(|s| s.key == "limits.frame_bytes");
        let Kind::Integer(_, most) = setting.unwrap().kind else {
            panic!("a number of bytes");
        };
        assert_eq!(most, FRAME_BYTES_MAX as u64);
    }
}
