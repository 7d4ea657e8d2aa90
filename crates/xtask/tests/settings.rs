//! Which settings are read by rtiexec and forwarders alone: of these a federate says that they do nothing.

use starling_rid::SETTINGS;
use std::path::Path;

/// All Rust sources of these crates.
fn sources(crates: &[&str]) -> String {
    fn read(folder: &Path, to: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, to);
            } else if path.extension().is_some_and(|e| e == "rs") {
                *to += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let mut all = String::new();
    for name in crates {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        read(&folder.join("src"), &mut all);
    }
    all
}

#[test]
fn who_reads_a_setting_is_known() {
    let federate = sources(&["starling", "starling-net"]);
    let rtiexec = sources(&["starling-rtiexec", "starling-cli"]);
    for setting in SETTINGS {
        let name = setting.key.replace('.', "_").to_uppercase();
        let reads = |text: &str| {
            let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.any(|word| word == name)
        };
        let (key, alone) = (setting.key, setting.is_of_rtiexec());
        if alone {
            assert!(!reads(&federate), "federates read {key}");
            assert!(reads(&rtiexec), "nobody reads {key}");
        } else if reads(&rtiexec) {
            assert!(reads(&federate), "federates don't read {key}");
        }
    }
}
