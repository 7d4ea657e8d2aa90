//! Scenario files.

use crate::value::{Value, parse};
use std::path::Path;

/// One scenario of a file: a federation execution of its own, from nothing to nothing.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// What it shows.
    pub title: String,
    /// Where it stands: `file:line`.
    pub place: String,
    pub(crate) modules: Vec<String>,
    pub(crate) time: String,
    pub(crate) only: Vec<String>,
    pub(crate) joined: Vec<String>,
    pub(crate) connected: Vec<String>,
    pub(crate) unconnected: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) values: Vec<Value>,
}

/// The scenarios of a file, or what is wrong with it and where.
pub fn read_scenarios(path: &Path) -> Result<Vec<Scenario>, String> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{file}: {e}"))?;
    let mut common = Scenario::default();
    let mut scenarios: Vec<Scenario> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", number + 1);
        let values = parse(line).map_err(|e| format!("{place}: {e}"))?;
        let Some(first) = values.first() else {
            continue;
        };
        if first.is_word("scenario") {
            scenarios.push(Scenario {
                title: line.trim_start_matches("scenario").trim().to_owned(),
                place,
                ..common.clone()
            });
            continue;
        }
        let scenario = scenarios.last_mut();
        let alone = scenario.is_none();
        let scenario = scenario.unwrap_or(&mut common);
        if scenario.head(&values) {
            continue;
        }
        if alone {
            return Err(format!("{place}: a step before the first scenario"));
        }
        scenario.steps.push(Step {
            place,
            text: line.to_owned(),
            values,
        });
    }
    Ok(scenarios)
}

impl Scenario {
    /// A line of the head of a file or scenario; false if it is a step.
    fn head(&mut self, values: &[Value]) -> bool {
        let texts = || values[1..].iter().filter_map(Value::text);
        let list = || texts().map(str::to_owned).collect();
        match &values[0] {
            Value::Word(word) => match word.as_str() {
                "fom" => self.modules = list(),
                "time" => self.time = texts().next().unwrap_or_default().to_owned(),
                "only" => self.only.extend(texts().map(str::to_owned)),
                "federates" => self.joined = list(),
                "connected" => self.connected = list(),
                "unconnected" => self.unconnected = list(),
                _ => return false,
            },
            _ => return false,
        }
        true
    }
}
