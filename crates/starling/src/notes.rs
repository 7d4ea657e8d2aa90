//! Notes for whoever runs the federate: settings that are ignored, services that do not exist yet.

use parking_lot::Mutex;
use starling_rid::{LOG_LEVEL, Settings};
use std::collections::BTreeSet;

/// Notes that this process has shown. Bounded: what a federate passes may be made up.
static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
const SHOWN_MAX: usize = 1000;

/// Whether `log.level` asks for no warnings and notes.
pub(crate) fn is_quiet(settings: &Settings) -> bool {
    matches!(settings.get(LOG_LEVEL).as_str(), "off" | "error")
}

/// Writes each note to standard error once per process, unless `log.level` asks for silence.
pub(crate) fn show(settings: &Settings) {
    if is_quiet(settings) {
        return;
    }
    for note in unseen(&mut SHOWN.lock(), &of(settings)) {
        starling_net::remark(format_args!("starling: note: {note}"));
    }
}

/// What is to be said of a federate's settings.
fn of(settings: &Settings) -> Vec<String> {
    [settings.notes(), &settings.not_of_federates()].concat()
}

/// Writes a note to standard error, once per process.
pub fn note(text: &str) {
    for note in unseen(&mut SHOWN.lock(), &[text.to_owned()]) {
        starling_net::remark(format_args!("starling: {note}"));
    }
}

fn unseen<'a>(shown: &mut BTreeSet<String>, notes: &'a [String]) -> Vec<&'a str> {
    let mut fresh = Vec::new();
    for note in notes {
        if shown.len() < SHOWN_MAX && shown.insert(note.clone()) {
            fresh.push(note.as_str());
        }
    }
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong key is refused, and another's key noted: one that does nothing here is, too.
    #[test]
    fn settings_of_rtiexec_are_noted() {
        let given = "127.0.0.1:15714;saves.keep=3;nick=me;bundle.age_us=7";
        let settings = starling_rid::Sources::new().designator(given).read();
        let notes = of(&settings.unwrap());
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("'nick' of "), "{notes:?}");
        let note = "'saves.keep' of connect() is a setting of rtiexec and does nothing at a federate; do: give it to \
                    rtiexec (STARLING_SAVES_KEEP, or a settings file)";
        assert_eq!(notes[1], note);
    }

    #[test]
    fn each_note_once() {
        let mut shown = BTreeSet::new();
        let notes = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(unseen(&mut shown, &notes), ["a", "b"]);
        assert!(unseen(&mut shown, &notes).is_empty());
        let many: Vec<_> = (0..2 * SHOWN_MAX).map(|n| n.to_string()).collect();
        assert_eq!(unseen(&mut shown, &many).len(), SHOWN_MAX - 2);
    }
}
