//! Settings of rtiexec.

use super::common::Client;
use super::numbers::{Rtiexec, until};
use super::{Member, is_off, serve};
use starling::Callback;
use starling_net::{Endpoint, Fill, RunDir};
use starling_wire::VERSION;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Started with a variable.
fn with(variable: &str, value: &str) -> Rtiexec {
    Rtiexec::start("", &[(variable, value)])
}

fn path(rtiexec: &Rtiexec) -> &str {
    rtiexec.address.strip_prefix("unix:").expect("a socket")
}

/// Shows settings: limits.hello_timeout_s.
#[test]
fn who_says_nothing_is_cut_off_when_it_is_set() {
    let [patient, hasty] = ["3600", "0.1"].map(|s| with("STARLING_LIMITS_HELLO_TIMEOUT_S", s));
    let [mut kept, mut cut] = [&patient, &hasty].map(|r| UnixStream::connect(path(r)).unwrap());
    let mut told = Vec::new();
    cut.read_to_end(&mut told).unwrap();
    kept.set_nonblocking(true).unwrap();
    let still_there = kept.read(&mut [0]).unwrap_err();
    assert_eq!(still_there.kind(), std::io::ErrorKind::WouldBlock);
}

/// Shows settings: limits.frame_timeout_s.
#[test]
fn who_does_not_end_a_message_is_cut_off_when_it_is_set() {
    let servers = ["0", "0.1"].map(|s| with("STARLING_LIMITS_FRAME_TIMEOUT_S", s));
    let [mut kept, mut cut] = servers.each_ref().map(|rtiexec| {
        let mut client = Client::at(&Endpoint::parse(&rtiexec.address).unwrap());
        client.hello(VERSION).unwrap();
        client.link.writer.out().extend([100, 0, 0, 0, 4]);
        client.send_all();
        client
    });
    cut.until_closed();
    assert_eq!(kept.link.reader.fill().unwrap(), Fill::Nothing);
}

/// Shows settings: limits.federations_per_host.
#[test]
fn a_host_has_so_many_federation_executions() {
    let rtiexec = with("STARLING_LIMITS_FEDERATIONS_PER_HOST", "2");
    let member = Member::connect(&rtiexec.address, "");
    member.create("A").unwrap();
    member.create("B").unwrap();
    let refused = member.create("C").unwrap_err();
    let message = refused.message;
    assert!(message.contains("limits.federations_per_host"), "{message}");
}

/// Shows settings: limits.models_bytes.
#[test]
fn object_models_take_so_much() {
    // As many as a host may have.
    let created = |bytes: &str| {
        let rtiexec = with("STARLING_LIMITS_MODELS_BYTES", bytes);
        let member = Member::connect(&rtiexec.address, "");
        let create = |n: usize| member.create(&format!("F{n}"));
        let mut refused = (0..100).map(|n| (n, create(n))).filter(|c| c.1.is_err());
        refused.next().map(|(n, why)| (n, why.unwrap_err().message))
    };
    let (count, why) = created("1048576").unwrap();
    assert!(why.contains("limits.models_bytes"), "{why}");
    assert!((1..60).contains(&count), "{count} were created");
    assert_eq!(created("1073741824"), None);
}

/// Shows settings: limits.kept_bytes.
#[test]
fn a_federate_reserves_so_many_names() {
    for (bytes, answer) in [
        ("10000", "multipleObjectInstanceNameReservationFailed"),
        (
            "268435456",
            "multipleObjectInstanceNameReservationSucceeded",
        ),
    ] {
        let rtiexec = with("STARLING_LIMITS_KEPT_BYTES", bytes);
        let member = Member::join(&rtiexec.address, "A", "");
        let names: Vec<String> = (0..1000).map(|n| format!("name {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        member
            .rti
            .reserve_multiple_object_instance_name(&names)
            .unwrap();
        member.until(answer);
    }
}

/// How much waits at a server for a receiver that reads nothing, when its sender has sent 3 MB or is held up.
fn waits_for_a_receiver(settings: &str) -> usize {
    let server = serve(settings);
    let mut sender = Client::founder(&server, "F");
    let mut receiver = Client::member(&server, "F", "slow");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    // A hundred bytes each.
    for _ in 0..300 {
        (0..100).for_each(|n| sender.send(n));
        let _ = sender.link.writer.flush().unwrap();
    }
    let mut state = server.state();
    until("it is sent or held up", || {
        let all = sender.link.writer.flush().unwrap();
        state = server.state();
        state.held == 1 || all && state.waiting_bytes > 2_000_000
    });
    state.waiting_bytes
}

/// Shows settings: limits.send_queue_bytes.
#[test]
fn so_much_waits_for_a_receiver() {
    let heartbeat = "fault.heartbeat_s=3600;fault.timeout_s=3600;limits.send_stall_s=0";
    let of = |bytes: usize| {
        waits_for_a_receiver(&format!("{heartbeat};limits.send_queue_bytes={bytes}"))
    };
    let large = of(100_000_000);
    assert!(large > 2_000_000, "{large}");
    // Beyond the limit only what was read at once.
    let small = of(10_000);
    assert!(small < 1_000_000, "{small}");
}

/// Shows settings: limits.send_stall_s.
#[test]
fn who_holds_up_others_is_resigned_when_it_is_set() {
    let more = "fault.heartbeat_s=0.05;limits.send_queue_bytes=4096";
    let servers = ["0", "0.1"].map(|s| serve(&format!("{more};limits.send_stall_s={s}")));
    let mut clients = servers.each_ref().map(|server| {
        let mut sender = Client::founder(server, "F");
        let mut receiver = Client::member(server, "F", "slow");
        receiver.subscribe();
        sender.until_subscribed(&receiver);
        for _ in 0..300 {
            (0..100).for_each(|n| sender.send(n));
            let _ = sender.link.writer.flush().unwrap();
        }
        until("it is held up", || {
            let _ = sender.link.writer.flush().unwrap();
            server.state().held == 1 || server.state().leaving == 1
        });
        (sender, receiver)
    });
    clients[1].0.until_member("slow", false);
    let why = &clients[1].0.fault;
    assert!(why.contains("limits.send_stall_s"), "{why}");
    assert_eq!(servers[0].state().held, 1, "0: never");
}

/// What is refused without a service, asked of a federate: what throws names the setting.
fn services(member: &Member, off: &[&str]) {
    let rti = &member.rti;
    let class = rti.object_class_handle("Vehicle").unwrap();
    let speed = rti.attribute_handle(class, "Speed").unwrap();
    let x = rti.dimension_handle("X").unwrap();
    let manager = "HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost";
    let report = rti.interaction_class_handle(manager).unwrap();
    let done = [
        (
            "services.mom",
            rti.subscribe_interaction_class(report, true),
        ),
        ("services.time", rti.query_logical_time().map(|_| ())),
        ("services.ddm", rti.create_region(&[x]).map(|_| ())),
        (
            "services.rates",
            rti.subscribe_object_class_attributes(class, &[speed], true, "Slow"),
        ),
    ];
    for (setting, done) in done {
        if off.contains(&setting) {
            is_off(done, setting);
        } else {
            done.unwrap_or_else(|e| panic!("{setting}: {e}"));
        }
    }
}

/// Shows settings: services.mom, services.time, services.ddm, services.rates.
#[test]
fn a_service_that_is_off_throws_and_the_others_work() {
    for off in [
        &[][..],
        &["services.mom"],
        &["services.time"],
        &["services.ddm"],
        &["services.rates"],
    ] {
        let variables: Vec<String> = off
            .iter()
            .map(|s| format!("STARLING_{}", s.replace('.', "_").to_uppercase()))
            .collect();
        let variables: Vec<_> = variables.iter().map(|v| (v.as_str(), "off")).collect();
        let rtiexec = Rtiexec::start("", &variables);
        services(&Member::join(&rtiexec.address, "A", ""), off);
    }
}

/// An object model that refers to a data type which nobody defines.
fn doubtful() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("doubtful.xml");
    let text = "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
                <name>A</name><attribute><name>a</name><dataType>Nowhere</dataType></attribute>\
                </objectClass></objectClass></objects></objectModel>";
    std::fs::write(&path, text).unwrap();
    (directory, path.display().to_string())
}

fn takes_doubtful(rtiexec: &Rtiexec) -> bool {
    let (_directory, module) = doubtful();
    let member = Member::connect(&rtiexec.address, "");
    let create = member
        .rti
        .create_federation_execution("Doubtful", &[module], None, "");
    match create {
        Ok(()) => true,
        Err(why) => {
            assert!(why.message.contains("Nowhere"), "{why}");
            false
        }
    }
}

/// Shows settings: fom.check.
#[test]
fn what_is_doubtful_is_refused_where_it_is_set() {
    assert!(takes_doubtful(&with("STARLING_FOM_CHECK", "lenient")));
    assert!(!takes_doubtful(&with("STARLING_FOM_CHECK", "strict")));
}

/// Shows settings: preset.
#[test]
fn a_preset_is_what_it_says() {
    for (preset, off, lenient) in [
        ("default", &[][..], true),
        ("compliant", &[], false),
        (
            "fastest",
            &["services.mom", "services.ddm", "services.rates"],
            true,
        ),
        ("wan", &[], true),
    ] {
        let rtiexec = with("STARLING_PRESET", preset);
        services(&Member::join(&rtiexec.address, "A", ""), off);
        assert_eq!(takes_doubtful(&rtiexec), lenient, "{preset}");
    }
}

/// Shows settings: fault.heartbeat_s.
#[test]
fn heartbeats_come_as_often_as_it_is_set() {
    let servers = ["3600", "0.05"].map(|s| with("STARLING_FAULT_HEARTBEAT_S", s));
    let [mut never, mut often] = servers.each_ref().map(|rtiexec| {
        let mut client = Client::at(&Endpoint::parse(&rtiexec.address).unwrap());
        client.hello(VERSION).unwrap();
        client
    });
    (0..5).for_each(|_| often.until_heartbeat());
    assert_eq!(never.link.reader.fill().unwrap(), Fill::Nothing);
}

/// A program that was started, and what it said first.
fn start(variables: &[(&str, &Path)]) -> (std::process::Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_starling"))
        .arg("rtiexec")
        .env("STARLING_LOG_LEVEL", "off")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    (child, line)
}

/// Shows settings: rtiexec.listen, rtiexec.idle_exit_s, net.run_dir.
#[test]
fn it_listens_where_it_is_told_and_ends_when_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let run_dir = directory.path().join("run");
    RunDir::open(&run_dir).unwrap();
    let listen = format!("unix:{}", directory.path().join("here").display());
    let of = |idle: &'static str| {
        let listen = if idle == "0" { "127.0.0.1:0" } else { &listen };
        start(&[
            ("STARLING_NET_RUN_DIR", run_dir.as_path()),
            ("STARLING_RTIEXEC_LISTEN", Path::new(listen)),
            ("STARLING_RTIEXEC_IDLE_EXIT_S", Path::new(idle)),
        ])
    };
    let ((mut stays, at_port), (mut ends, at_path)) = (of("0"), of("0.05"));
    assert_eq!(at_path.trim(), format!("ready {listen}"));
    // Beside a port, the socket of that port in the run directory.
    let words: Vec<_> = at_port.split_whitespace().collect();
    let [_, port, socket] = words[..] else {
        panic!("{at_port}");
    };
    let number = port.strip_prefix("127.0.0.1:").unwrap().parse().unwrap();
    let expected = RunDir::open(&run_dir).unwrap().socket(number);
    assert_eq!(socket, format!("unix:{}", expected.display()));
    assert!(ends.wait().unwrap().success());
    assert!(stays.try_wait().unwrap().is_none());
    stays.kill().unwrap();
    stays.wait().unwrap();
}

/// Shows settings: log.level, log.file.
#[test]
fn the_log_says_as_much_as_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let [quiet, full] = ["error", "info"].map(|level| {
        let file = directory.path().join(level);
        let settings = [
            ("STARLING_LOG_LEVEL", level),
            ("STARLING_LOG_FILE", file.to_str().unwrap()),
        ];
        let rtiexec = Rtiexec::start("", &settings);
        let member = Member::join(&rtiexec.address, "A", "");
        member
            .rti
            .resign_federation_execution(starling::ResignAction::NoAction)
            .unwrap();
        // It is written when it ends in good order.
        let mut rtiexec = rtiexec;
        let id = rtiexec.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        rtiexec.child.wait().unwrap();
        std::fs::read_to_string(file).unwrap_or_default()
    });
    assert_eq!(quiet, "");
    assert!(full.contains("listens on"), "{full}");
    assert!(full.contains("'A'"), "{full}");
}

/// Shows settings: saves.dir.
#[test]
fn saves_are_where_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let saves = directory.path().join("kept");
    let rtiexec = with("STARLING_SAVES_DIR", saves.to_str().unwrap());
    let member = Member::join(&rtiexec.address, "A", "");
    member.rti.request_federation_save("here", None).unwrap();
    member.until("initiateFederateSave");
    member.rti.federate_save_begun().unwrap();
    member.rti.federate_save_complete().unwrap();
    assert!(matches!(
        member.until("federationSaved"),
        Callback::FederationSaved
    ));
    assert!(std::fs::read_dir(&saves).unwrap().next().is_some());
}
