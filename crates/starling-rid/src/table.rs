//! The one table of settings. Everything else about them (files, designators, environment
//! variables, `docs/settings.md`, `starling config`) is made from it.

use crate::value::{Key, Kind, Setting};
use crate::{ClassGroup, Endpoint};
use std::marker::PhantomData;
use std::net::SocketAddrV4;

macro_rules! settings {
    ($($name:ident: $type:ty = $key:literal, $kind:expr, $unit:literal, $default:literal, $doc:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Row { $($name),* }
        $(
            #[doc = concat!("`", $key, "`: ", $doc)]
            pub const $name: Key<$type> = Key(Row::$name as usize, PhantomData);
        )*
        /// All settings, in the order of the documentation.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            key: $key, kind: $kind, unit: $unit, default: $default, doc: $doc,
        }),*];
    };
}

const DAY_S: f64 = 86_400.0;

settings! {
    PRESET: String = "preset", Kind::Choice(&["default", "compliant", "fastest", "wan"]), "", "default",
        "Values for settings that are given nowhere else: the built-in ones (default), or those of a preset, listed below.";
    CONNECT_ADDRESS: Option<Endpoint> = "connect.address", Kind::Address, "", "",
        "Where rtiexec is. Port 15160 if none is given. Nothing: use the rtiexec of this user on this host, starting one if there is none, which takes its own settings from variables and files, not from the designator.";
    CONNECT_TIMEOUT_S: f64 = "connect.timeout_s", Kind::Number(0.01, DAY_S), "s", "5",
        "How long reaching rtiexec and its answer may take before ConnectionFailed. Where nobody listens it fails at once.";
    START_BY_ITSELF: bool = "start.by_itself", Kind::Switch, "", "true",
        "Whether connect may start an rtiexec when no address is set and none runs.";
    START_PROGRAM: String = "start.program", Kind::Text, "", "",
        "The `starling` program to start, with its whole path. Nothing: look in STARLING_HOME/bin, beside the library, beside the federate's program, in PATH (whole paths only).";
    START_TIMEOUT_S: f64 = "start.timeout_s", Kind::Number(0.1, DAY_S), "s", "10",
        "How long a started rtiexec may take until it is ready.";
    START_IDLE_EXIT_S: f64 = "start.idle_exit_s", Kind::Number(0.0, DAY_S), "s", "10",
        "How long an rtiexec that was started by itself stays without connection, and keeps a federation execution without federates while nobody is connected who could join.";
    CALLBACKS_IO: String = "callbacks.io", Kind::Choice(&["async", "single-threaded"]), "", "async",
        "async: a background thread reads the links while the federate is busy elsewhere. single-threaded: links are read only inside RTI calls, no thread is started.";
    CALLBACKS_SPIN_US: f64 = "callbacks.spin_us", Kind::Number(0.0, 1e4), "us", "50",
        "A thread that waits in an RTI call reads the link again and again for this long before it sleeps, as long as that has paid lately; 0: it sleeps at once.";
    BUNDLE_TCP_BYTES: u64 = "bundle.tcp_bytes", Kind::Integer(0, 1 << 24), "bytes", "16384",
        "Messages are bundled up to this size before they are written to a stream; 0 writes each at once.";
    BUNDLE_UDP_BYTES: u64 = "bundle.udp_bytes", Kind::Integer(0, 65_507), "bytes", "1400",
        "Messages of best-effort data are bundled up to this size before they are sent as a datagram, a head of 34 bytes included (between a forwarder and rtiexec of 18, and some for each federate that it is for); one that is larger is a datagram of its own. As many leave together as have the bytes of a bundle of a stream (bundle.tcp_bytes), or wait when rtiexec's turn ends. 0 sends each at once.";
    BUNDLE_IDLE_US: f64 = "bundle.idle_us", Kind::Number(0.0, 1e6), "us", "50",
        "A message is written at once if its link was idle for this long. 0: each is, as nothing waits for more.";
    BUNDLE_AGE_US: f64 = "bundle.age_us", Kind::Number(0.0, 1e6), "us", "50",
        "A bundle is written when its first message is this old; the last one of a stream of messages at most 1 ms later.";
    COMPRESS_METHOD: String = "compress.method", Kind::Choice(&["off", "lz4", "zstd"]), "", "off",
        "How TCP links are compressed, in both directions: that between a federate and rtiexec, and those of federates (transport.path); where there are forwarders, theirs to rtiexec, but none that leads to a forwarder. A link is compressed if both of its ends want it, by lz4 unless both have zstd. A bundle that gets no shorter goes as it is. Datagrams (transport.best_effort) are never compressed. For networks that carry less than some 100 Mbit/s.";
    COMPRESS_LEVEL: u64 = "compress.level", Kind::Integer(1, 19), "", "1",
        "How hard zstd tries with what this process sends: more makes less of it, and takes longer.";
    TRANSPORT_PATH: String = "transport.path", Kind::Choice(&["auto", "direct", "forwarder"]), "", "auto",
        "How reliable data gets from one federate to another that it shares no memory with. auto: between hosts by a TCP link of these two, if both federates and rtiexec have auto or direct, neither has come to rtiexec by TCP at a loopback address (through a tunnel, perhaps), and one of the two can connect to the other; else, and where that link breaks or is not read, rtiexec forwards it (starling ps shows the path of each pair, and why). direct: between federates of one host, too, if all three have direct. forwarder: rtiexec forwards all of it; for a federate its own, for rtiexec that of all its federates.";
    TRANSPORT_LISTEN: Option<Endpoint> = "transport.listen", Kind::Address, "", "",
        "Where a federate takes TCP links of others (transport.path). Nothing: at the address by which it reaches rtiexec, and any free port; beside rtiexec, at all addresses if rtiexec takes connections of other hosts.";
    TRANSPORT_SHARED_MEMORY: String = "transport.shared_memory", Kind::Choice(&["auto", "off"]), "", "auto",
        "auto: federates of one host and one user that are connected by a Unix-domain link hand data to each other in shared memory; where that can't be, rtiexec forwards it (starling ps shows the path of each pair, and why). off: rtiexec forwards all of it; for a federate its own, for rtiexec that of all its federates.";
    TRANSPORT_RING_BYTES: u64 = "transport.ring_bytes", Kind::Integer(1 << 16, 1 << 24), "bytes", "1048576",
        "How much of what a federate sends waits in its shared memory until all receivers have read it, rounded up to a power of two. What a receiver that leaves it full for 50 ms has not read waits beside it, up to limits.send_queue_bytes; beyond that it gets its data by way of rtiexec for a while. Also how much of what a federate sends on a TCP link (transport.path) is kept until its reader has confirmed it; one that leaves it full and confirms nothing for 50 ms may have up to limits.send_queue_bytes more waiting for it, and gets its data by way of rtiexec when for 450 ms more nothing was confirmed and nothing came to its host. All links together keep at most 8 times that, or 128 KiB each, but for what waits there meanwhile.";
    TRANSPORT_BEST_EFFORT: String = "transport.best_effort", Kind::Choice(&["auto", "multicast", "datagrams", "stream"]), "", "auto",
        "How data declared best effort travels between a federate and rtiexec, and to federates that this one has a TCP link to (transport.path). datagrams: by UDP, with rtiexec beside the port of the TCP listener, where that is open; it may be lost then, which is counted. Who hears none gets its data on the stream or link. stream: as reliable data does. auto: by datagrams to and from other hosts. multicast: as datagrams, but to federates with a link by one datagram for all who hear it (multicast.group). starling ps shows the way to each, and why. What takes shared memory does not come here. A federate with stream gets no datagrams either. For rtiexec: whether it offers datagrams at all. For a forwarder: whether it asks for them beside its connection to rtiexec, and offers them to forwarders behind it.";
    CONFLATE_BEST_EFFORT: String = "conflate.best_effort", Kind::Text, "", "",
        "Object classes, with their subclasses, whose best-effort updates are conflated while they wait for this federate: of those of the same attributes of an object instance only the newest is reflected, where the oldest waited (docs/decisions/conflation.md), the others are counted as conflated. Fully qualified names, separated by spaces; HLAobjectRoot: all. Nothing: every update is reflected.";
    CONFLATE_RELIABLE: String = "conflate.reliable", Kind::Text, "", "",
        "The same for updates that come reliably.";
    MULTICAST_GROUP: Option<SocketAddrV4> = "multicast.group", Kind::Group, "", "",
        "Where datagrams for several federates go with transport.best_effort = multicast: IPv4 address and UDP port of a group (15161 if none is given), for all classes that multicast.classes has no other group for. Nothing: one of 239.192.0.0/14 that follows from the federation execution's name, port 15161.";
    MULTICAST_CLASSES: Vec<ClassGroup> = "multicast.classes", Kind::Groups, "", "",
        "Groups for single classes with transport.best_effort = multicast, as HLAobjectRoot.Aircraft=239.192.7.1 HLAinteractionRoot.Fire=239.192.7.2:15170 (port 15161 if none is given): fully qualified names of object and interaction classes; a subclass has the group of its nearest superclass that has one. For what this federate sends. Who subscribes to it joins the group then, and the network and the system keep from others what they don't subscribe to (docs/decisions/multicast.md). At most 64 different groups.";
    FAULT_HEARTBEAT_S: f64 = "fault.heartbeat_s", Kind::Number(0.05, DAY_S), "s", "2",
        "A link on which nothing else was sent for this long carries a heartbeat.";
    FAULT_TIMEOUT_S: f64 = "fault.timeout_s", Kind::Number(0.1, DAY_S), "s", "15",
        "rtiexec takes a federate that was silent for this long for dead, unless fault.paused says otherwise; a federate takes an rtiexec for lost that was silent for this long and whose host does not answer. To be some times the fault.heartbeat_s of the other end, which else looks stopped between two of them. A closed connection is noticed at once.";
    FAULT_PAUSED: String = "fault.paused", Kind::Choice(&["resign", "keep-debugged", "keep"]), "", "keep-debugged",
        "What becomes of a joined federate whose process lives but is stopped for longer than fault.timeout_s. resign: resigned like a dead one. keep-debugged: kept if a debugger holds it (seen on rtiexec's own host). keep: kept as long as its host answers.";
    NET_UNIX: bool = "net.unix", Kind::Switch, "", "true",
        "Use a Unix-domain link instead of TCP to an rtiexec on the same host.";
    NET_DSCP_RELIABLE: u64 = "net.dscp_reliable", Kind::Integer(0, 63), "", "0",
        "Differentiated services code point (RFC 2474) of what this process sends by TCP, by which networks tell what is to go first, as the system's own queues do: 46 is Expedited Forwarding. 0: none is set.";
    NET_DSCP_BEST_EFFORT: u64 = "net.dscp_best_effort", Kind::Integer(0, 63), "", "0",
        "The same for what it sends by UDP.";
    NET_BUFFER_BYTES: u64 = "net.buffer_bytes", Kind::Integer(0, 1 << 30), "bytes", "0",
        "What the system is asked to keep of each connection and of datagrams, in each direction, until it is sent or read (SO_SNDBUF, SO_RCVBUF); it may keep less. 0: as it likes, of datagrams 4 MiB.";
    NET_RUN_DIR: String = "net.run_dir", Kind::Text, "", "",
        "Directory of Unix-domain sockets, locks and logs; must belong to the user alone. Nothing: $XDG_RUNTIME_DIR/starling, else starling-<uid> in the directory for temporary files.";
    RTIEXEC_LISTEN: Vec<Endpoint> = "rtiexec.listen", Kind::Addresses, "", "127.0.0.1:15160",
        "Where rtiexec listens. 0.0.0.0:15160 lets other hosts connect.";
    RTIEXEC_IDLE_EXIT_S: f64 = "rtiexec.idle_exit_s", Kind::Number(0.0, DAY_S), "s", "0",
        "rtiexec ends after this long without connection and federation execution; 0: never.";
    FORWARDER_UPSTREAM: Option<Endpoint> = "forwarder.upstream", Kind::Address, "", "",
        "Where a forwarder (starling forwarder) hands on to what its federates send: an rtiexec, or another forwarder. Port 15160 if none is given.";
    FORWARDER_LISTEN: Vec<Endpoint> = "forwarder.listen", Kind::Addresses, "", "127.0.0.1:15161",
        "Where a forwarder listens, for federates and other forwarders. 0.0.0.0:15161 lets other hosts connect.";
    FORWARDER_PASSES: bool = "forwarder.passes", Kind::Switch, "", "true",
        "Whether a forwarder passes data in receive order from one of its federates to the others that come by it, without rtiexec, which does not see that data then (starling ps: forwarder). false: all of it goes to rtiexec and comes back. For rtiexec, for all its forwarders.";
    FORWARDER_WINDOW_BYTES: u64 = "forwarder.window_bytes", Kind::Integer(1 << 16, 1 << 30), "bytes", "1048576",
        "Of the stream of each federate behind a forwarder at most so many bytes, and one message, are on their way between the forwarder and the process that it hands on to, or wait in the one that receives them; so much can go in one round trip. For both processes, each for what it receives.";
    LIMITS_FRAME_BYTES: u64 = "limits.frame_bytes", Kind::Integer(1 << 10, 1 << 30), "bytes", "268435456",
        "The largest message that rtiexec takes. Services of a federate throw before they send a larger one; whoever sends one all the same is cut off. Forwarders keep to that of rtiexec.";
    LIMITS_HELLO_TIMEOUT_S: f64 = "limits.hello_timeout_s", Kind::Number(0.1, DAY_S), "s", "15",
        "rtiexec cuts off who has connected and said nothing for this long before it has said who it is.";
    LIMITS_FRAME_TIMEOUT_S: f64 = "limits.frame_timeout_s", Kind::Number(0.0, DAY_S), "s", "60",
        "rtiexec cuts off who has begun a message and not ended it after this long, though its bytes keep coming or it has not joined; 0: never.";
    LIMITS_FEDERATIONS_PER_HOST: u64 = "limits.federations_per_host", Kind::Integer(1, 1 << 20), "", "100",
        "Federation executions that federates of one host may have created and not destroyed at the same time; all on Unix-domain links and loopback addresses count as one host.";
    LIMITS_MODELS_BYTES: u64 = "limits.models_bytes", Kind::Integer(1 << 20, 1 << 40), "bytes", "1073741824",
        "About how much memory the object models of all federation executions may take in rtiexec, with the texts of their FOM modules. A federation execution, or a join that brings modules, that would need more is refused.";
    LIMITS_SEND_QUEUE_BYTES: u64 = "limits.send_queue_bytes", Kind::Integer(1 << 12, 1 << 40), "bytes", "4194304",
        "Bytes that may wait for one receiver, at rtiexec and at each of its senders; beyond it, its senders are slowed down: with callbacks.io = async a service that sends makes no system call that could wait for others until then, but for one of them where a receiver stops reading and its link has room for less (transport.ring_bytes), which waits for it up to 50 ms (in shared memory up to 1 s for one that came back within a second before); and from then on waits, and reads meanwhile, until there is room. One whose receiver reads its link on, but too slowly, is slowed down at once. Best-effort data slows down nobody: it is dropped, and counted at its receiver as lost, where more than half of this waits at rtiexec or a forwarder, or where shared memory or a link has no room.";
    LIMITS_CALLBACK_QUEUE_BYTES: u64 = "limits.callback_queue_bytes", Kind::Integer(1 << 12, 1 << 40), "bytes", "268435456",
        "Callbacks, with all that they hold, that may wait in a federate for it to evoke; beyond it, there is a warning, its links are no longer read for it meanwhile, and its senders are slowed down. A service of the federate that would have to read on, because others are to take what it sends or to answer first, throws RTIinternalError once twice as much waits.";
    LIMITS_WITHHELD_BYTES: u64 = "limits.withheld_bytes", Kind::Integer(1 << 12, 1 << 40), "bytes", "1073741824",
        "Messages that time management may withhold from a time-constrained federate (in time-stamp order until it has advanced, in receive order while it does not advance). At half there is a warning; beyond it the federate is cut off with that reason. Of rtiexec: what it keeps of messages in time-stamp order for one federate, at most about 128 bytes each; beyond it that federate is resigned.";
    LIMITS_KEPT_BYTES: u64 = "limits.kept_bytes", Kind::Integer(1 << 12, 1 << 40), "bytes", "268435456",
        "About what rtiexec keeps of what one joined federate has made, of each of these: names that it has reserved; object instances that it has registered (about 400 bytes each); regions, with what they are used for; synchronization points that are not achieved; messages in time-stamp order that it may retract. Names beyond it are not reserved (Object Instance Name Reservation Failed); who goes beyond it with others is cut off with that reason. What federates leave when they resign, instances that they have registered and synchronization points, is bounded by the same number for all of them together: beyond it nobody joins until some of it is gone.";
    LIMITS_SEND_STALL_S: f64 = "limits.send_stall_s", Kind::Number(0.0, DAY_S), "s", "120",
        "A receiver that holds up its senders for this long is resigned, after a warning, unless it is stopped and fault.paused keeps it; 0: never, senders wait.";
    SAVES_DIR: String = "saves.dir", Kind::Text, "", "",
        "Directory of saved federation executions; made for the user alone. One that exists must belong to the user, and nobody else may write to it. Nothing: starling/saves in $XDG_STATE_HOME, else in ~/.local/state.";
    SAVES_BYTES: u64 = "saves.bytes", Kind::Integer(1 << 10, 1 << 50), "bytes", "17179869184",
        "What all saved federation executions may take on disk together. A save that would need more fails.";
    SAVES_KEEP: u64 = "saves.keep", Kind::Integer(0, 1 << 20), "", "0",
        "How many saves of each federation execution are kept: with a new one the oldest go; 0: all.";
    SERVICES_MOM: bool = "services.mom", Kind::Switch, "", "true",
        "Whether rtiexec's federation executions have a management object model (1516.1-2010, chapter 11; on unless off). off: no objects and reports of the RTI, and nothing counted for them; subscribing to them, publishing what they are asked by, and asking for their values throw RTIinternalError. A save is restored only where it is as it was made. For federates it is as their rtiexec has it.";
    SERVICES_TIME: bool = "services.time", Kind::Switch, "", "true",
        "Whether rtiexec's federation executions have time management (1516.1-2010, chapter 8). off: its services throw RTIinternalError, all data goes in receive order. Saves and federates as with services.mom.";
    SERVICES_DDM: bool = "services.ddm", Kind::Switch, "", "true",
        "Whether rtiexec's federation executions have data distribution management (1516.1-2010, chapter 9). off: its services throw RTIinternalError. Saves and federates as with services.mom.";
    SERVICES_RATES: bool = "services.rates", Kind::Switch, "", "true",
        "Whether rtiexec's federation executions reduce update rates. off: subscribing with an update rate designator throws RTIinternalError. Saves and federates as with services.mom.";
    STATISTICS_ENABLED: bool = "statistics.enabled", Kind::Switch, "", "false",
        "Whether a federate counts its data by class, other federate and way, and measures how long its services and callbacks take, for starling stats. That takes it two looks at the clock for each call, which about halves the rate of small updates in shared memory.";
    FOM_CHECK: String = "fom.check", Kind::Choice(&["lenient", "strict"]), "", "lenient",
        "What rtiexec does about FOM modules that contradict each other, or refer to data types that no module defines, where that can't change any exchange of data, or that hold elements or values that the OMT doesn't know (docs/messages.md: doubtful FDD). lenient: a warning in its log, the first definition holds. strict: they are refused. starling fom check says the same beforehand.";
    LOG_LEVEL: String = "log.level", Kind::Choice(&["off", "error", "warning", "info", "debug", "trace"]), "", "info",
        "How much rtiexec logs. off and error also silence the notes of federates on ignored settings.";
    LOG_WAIT_S: f64 = "log.wait_s", Kind::Number(0.0, DAY_S), "s", "30",
        "A federate that has waited for this long for its time to go on is named in rtiexec's log, once each time, with whom it waits for and what that one does (as starling why says it); so is a save, a restore or a synchronization point that has been under way for so long; 0: never.";
    LOG_FILE: String = "log.file", Kind::Text, "", "",
        "Where the log of rtiexec goes; nothing: standard error, or in the run directory if a federate started it.";
    LOG_FILE_BYTES: u64 = "log.file_bytes", Kind::Integer(0, 1 << 40), "bytes", "16777216",
        "A log file that would grow beyond this is renamed to NAME.1, replacing the one before, and begun again; 0: never.";
}
