//! Plays one scenario.

use crate::arguments::{Call, Failure};
use crate::callbacks::{Event, events};
use crate::file::{Scenario, Step};
use crate::names::Names;
use crate::network::{Layer, Network};
use crate::services::find;
use crate::value::{Value, Variables, encode, matches, parse, print};
use starling_core::{ObjectClassHandle, ObjectInstanceHandle, PeerId};
use std::collections::{BTreeMap, VecDeque};

/// What the layers above throw before they call the core.
const GENERIC: [&str; 10] = [
    "NotConnected",
    "AlreadyConnected",
    "FederateNotExecutionMember",
    "FederateAlreadyExecutionMember",
    "FederateIsExecutionMember",
    "CallNotAllowedFromWithinCallback",
    "CouldNotOpenFDD",
    "CouldNotOpenMIM",
    "DesignatorIsHLAstandardMIM",
    "FederateInternalError",
];

/// For one callback the RTI does what is due at most so often: periodic updates are due again for ever.
const TIMERS_MAX: usize = 100;

/// Plays a scenario; `foms` is the folder that `${foms}` stands for. Gives what was left out because
/// it belongs to another layer (services, exceptions, arrangements), or what went wrong: where, what
/// was expected and what came.
pub fn play(scenario: &Scenario, layer: Layer, foms: &str) -> std::result::Result<Left, String> {
    let of_this_layer =
        |only: &String| matches!(only.as_str(), "evoked" | "one-thread" | "processes");
    if let Some(only) = scenario.only.iter().find(|only| !of_this_layer(only)) {
        return Ok(vec![format!("only {only}")]);
    }
    let mut player = Player::new(layer);
    let mut place = &scenario.place;
    let mut doing = "as it begins";
    let mut result = player.begin(scenario, foms);
    let mut next = 0;
    while let (Ok(()), Some(step)) = (&result, scenario.steps.get(next)) {
        (place, doing) = (&step.place, &step.text);
        result = player.step(&scenario.steps, &mut next);
    }
    if result.is_ok() {
        doing = "as it ends";
        result = player.quiet();
    }
    let why = match result {
        Ok(()) => return Ok(player.left_out),
        Err(Failure::Bad(why)) => why,
        Err(Failure::Threw(thrown)) => thrown.to_string(),
        Err(Failure::Elsewhere(what)) => format!("{what} belongs to another layer"),
    };
    let title = &scenario.title;
    Err(format!(
        "{place}: [{layer:?}] scenario {title}\n    {doing}\n    {why}"
    ))
}

/// What a scenario's federates send to the executive, for fuzzing: the sender's number (one byte)
/// and the frame, again and again. Another federate has joined before them.
pub fn record(scenario: &Scenario, foms: &str) -> Vec<u8> {
    let mut player = Player::new(Layer::Core);
    let observed = Scenario {
        joined: vec!["observer".into()],
        ..scenario.clone()
    };
    // How far it gets does not matter.
    let _ = player.begin(&observed, foms);
    player.network.sent.clear();
    player.connect(scenario);
    let _ = player.join(scenario);
    let mut next = 0;
    while next < scenario.steps.len() && player.step(&scenario.steps, &mut next).is_ok() {}
    player.network.sent
}

/// What a layer leaves out.
pub type Left = Vec<String>;

struct Player {
    network: Network,
    federates: BTreeMap<String, Played>,
    variables: Variables,
    left_out: Left,
}

/// A federate of a scenario.
struct Played {
    peer: PeerId,
    classes: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// Callbacks that have been delivered, until the scenario wants them.
    events: VecDeque<Event>,
    /// Calls to be made within the next callback of a name.
    within: Vec<(String, Vec<Value>)>,
}

type Result<T = ()> = std::result::Result<T, Failure>;

fn fail<T>(why: String) -> Result<T> {
    Err(Failure::Bad(why))
}

/// Where `->`, `=` or `!!` begins.
fn outcome_of(values: &[Value]) -> usize {
    let begins = |v: &Value| ["->", "=", "!!"].iter().any(|word| v.is_word(word));
    values.iter().position(begins).unwrap_or(values.len())
}

impl Player {
    fn new(layer: Layer) -> Self {
        Player {
            network: Network::new(layer),
            federates: BTreeMap::new(),
            variables: Variables::new(),
            left_out: Left::new(),
        }
    }

    /// Creates the federation execution with its first federate; then all join.
    fn begin(&mut self, scenario: &Scenario, foms: &str) -> Result {
        let text = |text: &str| Value::Text(text.to_owned());
        self.variables.insert("federation".into(), text("F"));
        self.variables.insert("foms".into(), text(foms));
        self.connect(scenario);
        if let Some(first) = scenario.joined.first() {
            let module = |m: &String| format!("{:?}", format!("{foms}/{m}"));
            let modules: Vec<String> = scenario.modules.iter().map(module).collect();
            let (modules, time) = (modules.join(" "), &scenario.time);
            let create = format!("createFederationExecution \"F\" [{modules}] {time:?}");
            self.line(first, &create)?;
        }
        self.join(scenario)?;
        self.network.settle(); // Everybody has heard of everybody.
        Ok(())
    }

    fn connect(&mut self, scenario: &Scenario) {
        let all = [&scenario.joined, &scenario.connected, &scenario.unconnected];
        for name in all.into_iter().flatten() {
            let played = Played {
                peer: self.network.connect(),
                classes: BTreeMap::new(),
                events: VecDeque::new(),
                within: Vec::new(),
            };
            self.federates.insert(name.clone(), played);
        }
    }

    fn join(&mut self, scenario: &Scenario) -> Result {
        for name in &scenario.joined {
            let join = format!("joinFederationExecution {name:?} \"test\" \"F\" -> {name}");
            self.line(name, &join)?;
        }
        Ok(())
    }

    fn line(&mut self, federate: &str, line: &str) -> Result {
        match parse(line) {
            Ok(values) => self.call(federate, &values),
            Err(why) => fail(why),
        }
    }

    /// The step at `next`, with those that belong to it.
    fn step(&mut self, steps: &[Step], next: &mut usize) -> Result {
        let values = &steps[*next].values;
        *next += 1;
        let first = values[0].text().unwrap_or_default();
        let word = |at: usize| values.get(at).and_then(Value::text).unwrap_or_default();
        match (first, word(1)) {
            ("quiet", "") => self.quiet(),
            ("settle", "") => {
                self.network.settle();
                Ok(())
            }
            ("kill", name) => {
                let peer = self.played(name)?.peer;
                self.federates.remove(name);
                self.network.lose(peer);
                Ok(())
            }
            (federate, "<-") => self.expect(federate, &[&values[2..]]),
            (federate, "<~") => {
                let of_it = |step: &&Step| {
                    step.values[0].is_word(federate)
                        && step.values.get(1).is_some_and(|v| v.is_word("<~"))
                };
                let more: Vec<&Step> = steps[*next..].iter().take_while(of_it).collect();
                *next += more.len();
                let mut wanted = vec![&values[2..]];
                wanted.extend(more.iter().map(|step| &step.values[2..]));
                self.expect(federate, &wanted)
            }
            (federate, "</-") => match self.next(federate)? {
                None => Ok(()),
                Some(event) => fail(format!("expected no callback, got {}", shown(&event))),
            },
            (federate, "within") => {
                if word(3) == "throw" {
                    self.left_out.push("FederateInternalError".into());
                    return Ok(());
                }
                let call = values.get(3..).unwrap_or_default();
                let armed = (word(2).to_owned(), call.to_vec());
                self.played(federate)?.within.push(armed);
                Ok(())
            }
            (_, "") => fail("not a step of this layer".into()),
            (federate, _) => self.call(federate, &values[1..]),
        }
    }

    fn played(&mut self, federate: &str) -> Result<&mut Played> {
        match self.federates.get_mut(federate) {
            Some(played) => Ok(played),
            None => fail(format!("no federate of this scenario: {federate}")),
        }
    }

    /// Calls, and compares with `-> variable`, `= value`, `!! Exception ["part of its text" ...]`
    /// or nothing.
    fn call(&mut self, federate: &str, values: &[Value]) -> Result {
        let (call, outcome) = values.split_at(outcome_of(values));
        let thrown = outcome.first().is_some_and(|v| v.is_word("!!"));
        let exception = outcome.get(1).and_then(Value::text).unwrap_or_default();
        if thrown && GENERIC.contains(&exception) {
            self.left_out.push(exception.to_owned());
            return Ok(());
        }
        let result = self.invoke(federate, call);
        let (kind, text) = match result {
            Err(Failure::Threw(e)) => (e.kind, e.message),
            Err(Failure::Elsewhere(what)) => {
                self.left_out.push(what);
                return Ok(());
            }
            Err(other) => return Err(other),
            Ok(_) if thrown => return fail(format!("expected {exception}, got a normal return")),
            Ok(got) => return self.compare(outcome, &got),
        };
        // Names that users gave stand in a text as they are, all else is ASCII.
        let given = print(call);
        if let Some(foreign) = text.chars().find(|c| !c.is_ascii() && !given.contains(*c)) {
            return fail(format!("{foreign:?} in the exception's text: {text}"));
        }
        if !thrown {
            return fail(format!(
                "expected no exception, got {}: {text}",
                kind.name()
            ));
        }
        if kind.name() != exception {
            return fail(format!("expected {exception}, got {}: {text}", kind.name()));
        }
        for part in &outcome[2..] {
            let part = self.substitute(part)?;
            if !part.text().is_some_and(|part| text.contains(part)) {
                let part = print(&[part]);
                return fail(format!(
                    "expected {part} in the exception's text, got {text}"
                ));
            }
        }
        Ok(())
    }

    fn compare(&mut self, mut outcome: &[Value], got: &[Value]) -> Result {
        while let Some((sign, rest)) = outcome.split_first() {
            let (expected, more) = rest.split_at(outcome_of(rest));
            outcome = more;
            let expected: Vec<Value> = self.substitute_all(expected)?;
            if sign.is_word("->") {
                let (Some(name), Some(value)) =
                    (expected.first().and_then(Value::text), got.first())
                else {
                    return fail("nothing was returned".into());
                };
                self.variables.insert(name.to_owned(), value.clone());
            } else if !matches(&expected, got, &mut self.variables) {
                let (expected, got) = (print(&expected), print(got));
                return fail(format!("expected {expected}, got {got}"));
            }
        }
        Ok(())
    }

    fn invoke(&mut self, federate: &str, call: &[Value]) -> Result<Vec<Value>> {
        let Some((name, arguments)) = call.split_first() else {
            return fail("no service is named".into());
        };
        let arguments = self.substitute_all(arguments)?;
        let act = find(name.text().unwrap_or_default())?;
        let Some(played) = self.federates.get_mut(federate) else {
            return fail(format!("no federate of this scenario: {federate}"));
        };
        let mut call = Call {
            network: &mut self.network,
            peer: played.peer,
            arguments: arguments.into(),
            classes: &mut played.classes,
            object_class: None,
            interaction_class: None,
        };
        act(&mut call)
    }

    /// Exactly these callbacks come next, in any order.
    fn expect(&mut self, federate: &str, wanted: &[&[Value]]) -> Result {
        let substitute = |values: &&[Value]| self.substitute_all(values);
        let mut wanted: Vec<Vec<Value>> = wanted.iter().map(substitute).collect::<Result<_>>()?;
        while !wanted.is_empty() {
            let all: Vec<String> = wanted.iter().map(|w| print(w)).collect();
            let all = all.join("\n      or ");
            let mut next = self.next(federate)?;
            let mut timers = 0..TIMERS_MAX;
            while next.is_none() && timers.next().is_some() && self.network.pass_time() {
                next = self.next(federate)?;
            }
            let Some(event) = next else {
                let passed = TIMERS_MAX - timers.len();
                return fail(format!(
                    "expected {all}, got no callback, also when the RTI had done {passed} times what was due"
                ));
            };
            let got = values(&event);
            let variables = &mut self.variables;
            let Some(at) = wanted.iter().position(|w| matches(w, &got, variables)) else {
                return fail(format!("expected {all}\n    got {}", print(&got)));
            };
            wanted.remove(at);
        }
        Ok(())
    }

    /// The next callback of a federate, delivered with the calls that are to be made within it.
    fn next(&mut self, federate: &str) -> Result<Option<Event>> {
        let played = self.played(federate)?;
        if let Some(event) = played.events.pop_front() {
            return Ok(Some(event));
        }
        let peer = played.peer;
        let Some(callback) = self.network.next_callback(peer) else {
            return Ok(None);
        };
        let Some(played) = self.federates.get_mut(federate) else {
            return Ok(None);
        };
        let known = self.network.federate(peer);
        let names = Names {
            federate: known,
            object_class: None,
            interaction_class: None,
        };
        let classes = &mut played.classes;
        played.events = events(&callback, names, |instance| {
            let class = known.and_then(|f| f.known_object_class_handle(instance).ok());
            if let Some(class) = class {
                classes.insert(instance, class);
            }
            class.or_else(|| classes.get(&instance).copied())
        })
        .into();
        let event = played.events.pop_front();
        let name = event.as_ref().map_or("", |e| e.0);
        let now = played
            .within
            .extract_if(.., |(callback, _)| callback == name);
        for (_, call) in now.collect::<Vec<_>>() {
            self.call(federate, &call)?;
        }
        Ok(event)
    }

    fn quiet(&mut self) -> Result {
        self.network.settle();
        let names: Vec<String> = self.federates.keys().cloned().collect();
        for name in names {
            if let Some(event) = self.next(&name)? {
                return fail(format!("expected quiet, got at {name}: {}", shown(&event)));
            }
        }
        Ok(())
    }

    fn substitute_all(&self, values: &[Value]) -> Result<Vec<Value>> {
        values.iter().map(|value| self.substitute(value)).collect()
    }

    fn substitute(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Word(word) => match word.strip_prefix('$') {
                Some(name) if !name.is_empty() => self.variable(name)?.clone(),
                _ => value.clone(),
            },
            Value::Text(text) => Value::Text(self.filled(text)?),
            Value::Set(items) => Value::Set(self.substitute_all(items)?),
            Value::List(items) => Value::List(self.substitute_all(items)?),
            Value::Pair(key, value) => {
                let key = match key.strip_prefix('$') {
                    Some(name) if !name.starts_with('{') => {
                        self.variable(name)?.text().unwrap_or_default().to_owned()
                    }
                    _ => self.filled(key)?,
                };
                let value = match self.substitute(value)? {
                    Value::List(items) => encode(&items).or_else(fail)?,
                    value => value,
                };
                Value::Pair(key, Box::new(value))
            }
        })
    }

    /// A text with its `${name}`s replaced.
    fn filled(&self, text: &str) -> Result<String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return fail(format!("'}}' is missing in {text}"));
            };
            filled.push_str(before);
            filled.push_str(self.variable(name)?.text().unwrap_or_default());
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn variable(&self, name: &str) -> Result<&Value> {
        match self.variables.get(name) {
            Some(value) => Ok(value),
            None => fail(format!("no variable ${name}")),
        }
    }
}

fn values((name, arguments): &Event) -> Vec<Value> {
    let mut values = vec![Value::word(*name)];
    values.extend_from_slice(arguments);
    values
}

fn shown(event: &Event) -> String {
    print(&values(event))
}
