//! Precedence, designators, files and their errors.

use starling_rid::*;
use std::path::PathBuf;

fn designated(text: &str) -> Result<Settings, SettingError> {
    Sources::new().designator(text).read()
}

fn address(text: &str) -> String {
    let settings = designated(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    settings
        .get(CONNECT_ADDRESS)
        .map_or("-".into(), |e| e.to_string())
}

/// A file that goes when the test has ended.
struct File(PathBuf);

impl std::ops::Deref for File {
    type Target = PathBuf;
    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn file(name: &str, text: &str) -> File {
    let path = std::env::temp_dir().join(format!("starling-rid-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    File(path)
}

#[test]
fn every_known_form_of_the_designator_gives_the_address() {
    for (text, expected) in [
        ("", "-"),
        (" \n ", "-"),
        ("sim7:4000", "sim7:4000"),
        ("localhost", "localhost:15160"),
        ("127.0.0.1", "127.0.0.1:15160"),
        ("crcAddress=sim7:4000", "sim7:4000"),
        ("crcAddress=sim7", "sim7:15160"),
        ("crcAddress = sim7:4000\n", "sim7:4000"),
        ("crcHost=sim7\ncrcPort=4000", "sim7:4000"),
        ("crcHost = ::1\ncrcPort = 4000", "[::1]:4000"),
        ("crcHost=sim7", "sim7:15160"),
        ("rti://sim7:4000", "sim7:4000"),
        ("rti://sim7:4000/Fed", "sim7:4000"),
        ("rti://sim7", "sim7:15160"),
        (
            "connect.address=sim7:4000;callbacks.io=single-threaded",
            "sim7:4000",
        ),
        ("nick=Radar,crcAddress=sim7:4000", "sim7:4000"),
        (
            "FedPro.connect.timeout=5\ncrcAddress=sim7:4000",
            "sim7:4000",
        ),
        ("connect.address=unix:/run/x.sock", "unix:/run/x.sock"),
    ] {
        assert_eq!(address(text), expected, "{text:?}");
    }
}

#[test]
fn a_preset_gives_what_is_given_nowhere_else() {
    let plain = Settings::default();
    for (preset, differing) in [
        ("default", 0),
        ("compliant", 1),
        ("fastest", 5),
        ("wan", 10),
    ] {
        let settings = designated(&format!("preset={preset};limits.kept_bytes=5000")).unwrap();
        let pairs = settings.values().zip(plain.values()).skip(1);
        let differ = pairs.filter(|((s, a, _), (_, b, _))| a != b && s.key != "limits.kept_bytes");
        assert_eq!(differ.count(), differing, "{preset}");
    }
    let settings = designated("preset=wan;fault.timeout_s=7").unwrap();
    assert_eq!(settings.get(FAULT_TIMEOUT_S), 7.0);
    assert_eq!(settings.get(FAULT_HEARTBEAT_S), 5.0);
    assert_eq!(settings.origin(FAULT_HEARTBEAT_S).to_string(), "preset wan");
    // One that is given as it was built in is given.
    let settings = designated("preset=fastest;services.mom=true").unwrap();
    assert!(settings.get(SERVICES_MOM) && !settings.get(SERVICES_DDM));
    let refused = designated("preset=fast").unwrap_err().to_string();
    assert!(
        refused.contains("default, compliant, fastest, wan"),
        "{refused}"
    );
    let file = file(
        "preset.toml",
        "preset = \"compliant\"\n[log]\nlevel = \"off\"\n",
    );
    let settings = Sources::new().user_file(&*file).read().unwrap();
    assert_eq!(settings.get(FOM_CHECK), "strict");
}

#[test]
fn known_keys_of_others_leave_a_note() {
    let settings = designated("nick=Radar;FedPro.x=1").unwrap();
    assert_eq!(settings.notes().len(), 2);
    assert!(
        settings.notes()[0].contains("'nick'"),
        "{:?}",
        settings.notes()
    );
}

#[test]
fn garbage_is_refused_with_what_where_and_do() {
    for (text, what, remedy) in [
        (
            "conect.address=x:1",
            "there is no setting 'conect.address'",
            "connect.address",
        ),
        (
            "crcAdress=x:1",
            "there is no setting 'crcAdress'",
            "crcAddress",
        ),
        (
            "address=x:1",
            "there is no setting 'address'",
            "connect.address",
        ),
        ("zzz=1", "there is no setting 'zzz'", "lists all settings"),
        ("garbage", "'garbage' is no address", "give host:port"),
        ("(setqb RTI_tcpPort 4000)", "no address", "give host:port"),
        ("nick@booster:8688", "is no host name", "give host:port"),
        ("x:99999", "'99999' is no port", "give host:port"),
        ("missing.toml", "can't be read", "check its name"),
        (
            "callbacks.io=both",
            "'both' is none of async, single-threaded",
            "give one of",
        ),
        (
            "fault.timeout_s=-1",
            "'-1' is no number from 0.1",
            "(s); default '15'",
        ),
        ("fault.timeout_s=NaN", "'NaN' is no number", "default"),
        ("bundle.tcp_bytes=1.5", "'1.5' is no whole number", "bytes"),
        (
            "net.unix=maybe",
            "neither true nor false",
            "give true or false",
        ),
    ] {
        let error = designated(text).expect_err(text);
        assert!(error.what.contains(what), "{text}: {error}");
        assert!(error.remedy.contains(remedy), "{text}: {error}");
        assert!(!error.place.is_empty());
    }
    let error = designated("callbacks.io=both").unwrap_err();
    assert_eq!(error.place, "connect()");
}

#[test]
fn stronger_sources_win_and_are_remembered() {
    let user = file(
        "user.toml",
        "[connect]\naddress = \"user\"\ntimeout_s = 3\n[fault]\nheartbeat_s = 1.5\n",
    );
    let project = file(
        "starling.toml",
        "# ours\n[connect]\naddress = \"project\"\n\n[fault]\ntimeout_s = 30\n",
    );
    let mut sources = Sources::new().user_file(&*user).project_file(&*project);
    let settings = sources.read().unwrap();
    assert_eq!(
        settings.get(CONNECT_ADDRESS).unwrap().to_string(),
        "project:15160"
    );
    assert_eq!(settings.get(CONNECT_TIMEOUT_S), 3.0);
    assert_eq!(settings.get(FAULT_HEARTBEAT_S), 1.5);
    assert_eq!(settings.get(FAULT_TIMEOUT_S), 30.0);
    let place = format!("{}:6", project.display());
    assert_eq!(settings.origin(FAULT_TIMEOUT_S).to_string(), place);
    assert_eq!(settings.origin(BUNDLE_IDLE_US), &Origin::BuiltIn);

    sources = sources.environment([("STARLING_CONNECT_ADDRESS", "variable"), ("HOME", "/x")]);
    let settings = sources.read().unwrap();
    assert_eq!(
        settings.get(CONNECT_ADDRESS).unwrap().to_string(),
        "variable:15160"
    );
    assert_eq!(
        settings.origin(CONNECT_ADDRESS).to_string(),
        "STARLING_CONNECT_ADDRESS"
    );

    sources = sources.designator("crcAddress=designator");
    let settings = sources.read().unwrap();
    assert_eq!(
        settings.get(CONNECT_ADDRESS).unwrap().to_string(),
        "designator:15160"
    );

    sources = sources.environment([("STARLING_OVERRIDES", "connect.address=overrides:1")]);
    let mut settings = sources.read().unwrap();
    assert_eq!(
        settings.get(CONNECT_ADDRESS).unwrap().to_string(),
        "overrides:1"
    );
    assert_eq!(
        settings.origin(CONNECT_ADDRESS).to_string(),
        "STARLING_OVERRIDES"
    );

    settings
        .set(CONNECT_ADDRESS, "option:2", "--address")
        .unwrap();
    assert_eq!(settings.origin(CONNECT_ADDRESS).to_string(), "--address");
}

#[test]
fn broken_files_name_their_line() {
    for (text, line, what) in [
        ("[connect\n", 1, "not TOML"),
        (
            "\n[connect]\nadress = \"x\"\n",
            3,
            "there is no setting 'connect.adress'",
        ),
        (
            "[fault]\n\ntimeout_s = \"soon\"\n",
            3,
            "'soon' is no number",
        ),
        ("[fault]\ntimeout_s = 1979-05-27\n", 2, "can't be its value"),
        ("connect = 5\n", 1, "there is no setting 'connect'"),
    ] {
        let path = file("broken.toml", text);
        let error = Sources::new().project_file(&*path).read().expect_err(text);
        assert!(error.what.contains(what), "{error}");
        assert_eq!(error.place, format!("{}:{line}", path.display()), "{error}");
    }
}

/// A directory of the test's own, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("starling-rid-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_others_can_have_written_is_refused() {
    use std::os::unix::fs::{chown, symlink};
    let directory = Directory::new("trust");
    let file = directory.0.join("starling.toml");
    std::fs::write(&file, "[fault]\ntimeout_s = 30\n").unwrap();
    let read = || {
        let sources = [
            Sources::new().user_file(&file),
            Sources::new().project_file(&file),
            Sources::new().designator(file.to_str().unwrap()),
        ];
        sources.map(|s| s.read().map(|s| s.get(FAULT_TIMEOUT_S)))
    };
    let refused = |why: &str| {
        for read in read() {
            let error = read.expect_err(why);
            assert!(error.what.contains(why), "{error}");
            assert_eq!(error.place, file.display().to_string());
        }
    };
    let accepted = || assert_eq!(read(), [Ok(30.0), Ok(30.0), Ok(30.0)]);
    accepted();
    mode(&file, 0o646);
    refused("the settings file can be written by others (mode 646)");
    mode(&file, 0o644);
    mode(&directory.0, 0o757);
    refused("can be written by others (mode 757)");
    // As /tmp: others can make files, but not replace this one.
    mode(&directory.0, 0o1777);
    accepted();
    mode(&directory.0, 0o755);
    let pipe = directory.0.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let error = Sources::new().user_file(&pipe).read().unwrap_err();
    assert!(error.what.contains("is no file"), "{error}");
    // Only the superuser can give files away.
    if chown(&file, Some(12345), None).is_err() {
        return;
    }
    refused("the settings file belongs to user 12345");
    chown(&file, Some(0), None).unwrap();
    chown(&directory.0, Some(12345), None).unwrap();
    refused("belongs to user 12345");
    chown(&directory.0, Some(0), None).unwrap();
    accepted();
    let elsewhere = directory.0.join("elsewhere.toml");
    std::fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    accepted();
    std::os::unix::fs::lchown(&file, Some(12345), None).unwrap();
    refused("the settings file belongs to user 12345");
}

#[test]
fn the_working_directory_names_no_program_and_no_files() {
    for (key, value) in [
        ("start.program", "/bin/true"),
        ("log.file", "/tmp/x"),
        ("rtiexec.listen", "0.0.0.0:1"),
        ("net.run_dir", "/tmp/x"),
        ("saves.dir", "/tmp/x"),
    ] {
        let (table, name) = key.split_once('.').unwrap();
        let file = file(
            &format!("{name}.toml"),
            &format!("[{table}]\n{name} = \"{value}\"\n"),
        );
        let error = Sources::new().project_file(&*file).read().unwrap_err();
        let expected = format!("{key} is not taken from a file in the working directory");
        assert_eq!(error.what, expected);
        assert_eq!(error.place, format!("{}:2", file.display()));
        // What is rtiexec's does nothing in connect.
        let of_federates = ["start.program", "net.run_dir"].contains(&key);
        assert_eq!(error.remedy.contains("connect"), of_federates, "{key}");
        // Where the user has put it himself it counts.
        Sources::new().user_file(&*file).read().unwrap();
        designated(file.to_str().unwrap()).unwrap();
    }
}

#[test]
fn a_designator_may_name_a_file() {
    let toml = file(
        "named.toml",
        "[connect]\naddress = \"fromtoml\"\n[rtiexec]\nlisten = [\"127.0.0.1:1\", \"unix:/x\"]\n",
    );
    let settings = designated(toml.to_str().unwrap()).unwrap();
    assert_eq!(
        settings.get(CONNECT_ADDRESS).unwrap().to_string(),
        "fromtoml:15160"
    );
    assert_eq!(settings.get(RTIEXEC_LISTEN).len(), 2);
    let properties = file("pitch.lsd", "# comment\nhost = sim7\nport=4000\n");
    let without_end = properties.with_extension("");
    for name in [&*properties, &without_end] {
        assert_eq!(address(name.to_str().unwrap()), "sim7:4000");
    }
    let bad = file("bad.properties", "just words\n");
    assert!(
        designated(bad.to_str().unwrap())
            .unwrap_err()
            .what
            .contains("no key=value line")
    );
}

#[test]
fn unknown_variables_are_refused_if_they_resemble_a_setting() {
    let read = |name: &str| Sources::new().environment([(name, "x")]).read();
    let error = read("STARLING_CONECT_ADDRESS").unwrap_err();
    assert!(error.remedy.contains("STARLING_CONNECT_ADDRESS"), "{error}");
    assert_eq!(read("STARLING_WEBSITE").unwrap().notes().len(), 1);
    assert!(read("STARLING_HOME").unwrap().notes().is_empty());
}

#[test]
fn keys_are_unique_and_defaults_are_what_they_say() {
    let settings = Settings::default();
    for (setting, value, _) in settings.values() {
        assert_eq!(SETTINGS.iter().filter(|s| s.key == setting.key).count(), 1);
        assert_eq!(value.to_string(), setting.default, "{}", setting.key);
    }
    assert!(as_text(&settings, true, None).contains("callbacks.io"));
    let one = as_text(&settings, false, Some("callbacks.io"));
    assert!(
        one.starts_with("callbacks.io") && one.lines().count() == 1,
        "{one}"
    );
    let table = as_text(&settings, false, Some("connect"));
    let keys: Vec<_> = table.lines().map(|l| l.split(' ').next()).collect();
    assert_eq!(keys, [Some("connect.address"), Some("connect.timeout_s")]);
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        there,
        markdown(),
        "run: starling config document > docs/settings.md"
    );
}
