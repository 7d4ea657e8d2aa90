//! Federates in processes of their own that send and hear numbers, as best-effort data unless they are reliable, and do what
//! they are told.

use super::capture::MARK;
use super::{Ears, PATIENCE, Rtiexec};
use starling::{Callback, CallbackModel, RtiAmbassador, Transportation};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// What they publish.
pub const CLASSES: [&str; 2] = [
    "CustomerTransactions.FoodServed",
    "CustomerTransactions.CustomerSeated",
];

/// The program of a federate: it does what it is told, a line each. `send CLASS COUNT`, `mix COUNT` (of both classes, of
/// the second one in sixteen), `hear CLASS`, `deaf CLASS`, `tell`.
pub fn federate() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(settings) = std::env::var("LOSSY_SETTINGS") else {
        return Ok(());
    };
    let fault = |e: starling::Exception| e.to_string();
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .map_err(fault)?;
    let fom = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml");
    let _ = rti.create_federation_execution("Near", &[fom.display().to_string()], None, "");
    let name = std::env::var("LOSSY_NAME")?;
    let own = rti
        .join_federation_execution(Some(&name), "t", "Near", &[])
        .map_err(fault)?;
    let reliable = std::env::var("LOSSY_RELIABLE")?;
    let mut classes = Vec::new();
    for (n, class) in CLASSES.into_iter().enumerate() {
        let class = rti.interaction_class_handle(class).map_err(fault)?;
        rti.publish_interaction_class(class).map_err(fault)?;
        if !reliable.contains(&n.to_string()) {
            rti.request_interaction_transportation_type_change(class, Transportation::BestEffort)
                .map_err(fault)?;
        }
        classes.push(class);
    }
    let (to, told) = channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        lines.into_iter().try_for_each(|line| to.send(line))
    });
    println!("joined");
    let (mut sent, mut came) = (0_u64, [0_u64; 2]);
    let send = |class: usize, number: u64| {
        let mut tag = [0; 200];
        tag[..8].copy_from_slice(&number.to_le_bytes());
        tag[8..16].copy_from_slice(&u64::from(own.0).to_le_bytes());
        tag[16..][..MARK.len()].copy_from_slice(MARK);
        rti.send_interaction(classes[class], &[], &tag)
            .map_err(fault)
    };
    // Of each sender.
    let (mut first, mut newest) = (0, [const { BTreeMap::new() }; 2]);
    loop {
        rti.evoke_multiple_callbacks(0.01, 0.1).map_err(fault)?;
        for callback in heard.try_iter() {
            match callback {
                Callback::ConnectionLost { fault } => return Err(fault.into()),
                Callback::ReceiveInteraction { class, values, .. } => {
                    let class = classes.iter().position(|c| *c == class);
                    let class = class.ok_or("a class that nobody sends")?;
                    let words = values.tag().as_chunks().0;
                    let [number, sender, ..] = words else {
                        return Err("no number".into());
                    };
                    let [number, sender] = [*number, *sender].map(u64::from_le_bytes);
                    if newest.iter().all(BTreeMap::is_empty) {
                        first = number;
                    }
                    let newest = newest[class].insert(sender, number);
                    if newest.is_some_and(|newest| newest >= number) {
                        return Err(format!("{number} behind {newest:?}").into());
                    }
                    came[class] += 1;
                }
                _ => {}
            }
        }
        for line in told.try_iter() {
            let words: Vec<_> = line.split_whitespace().collect();
            let first_word = words.get(1).map(|word| word.parse::<usize>());
            let class = first_word.transpose()?.unwrap_or(0);
            match words[0] {
                "send" => {
                    for _ in 0..words[2].parse::<u64>()? {
                        send(class, sent)?;
                        sent += 1;
                    }
                }
                "mix" => {
                    for n in 0..class {
                        send(usize::from(n % 16 == 15), sent)?;
                        sent += 1;
                    }
                }
                "hear" => rti
                    .subscribe_interaction_class(classes[class], true)
                    .map_err(fault)?,
                "deaf" => rti
                    .unsubscribe_interaction_class(classes[class])
                    .map_err(fault)?,
                _ => {}
            }
            println!("{} {} {} {first} {sent}", words[0], came[0], came[1]);
        }
    }
}

/// A federate in a process of its own; killed with the test.
pub struct Federate {
    pub child: Child,
    says: Receiver<String>,
}

impl Federate {
    /// By a program that starts it.
    pub fn start_by(by: &[&str], name: &str, settings: &str) -> Self {
        Federate::start_as(false, by, name, settings)
    }

    /// One whose data may be reliable.
    pub fn start_as(reliable: bool, by: &[&str], name: &str, settings: &str) -> Self {
        let reliable = if reliable { "0 1" } else { "" };
        Federate::start_with(reliable, by, name, settings)
    }

    /// One whose data of these classes is reliable.
    pub fn start_with(reliable: &str, by: &[&str], name: &str, settings: &str) -> Self {
        let mut child = Command::new(by[0])
            .args(&by[1..])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "federate", "--ignored", "--nocapture"])
            .env("LOSSY_SETTINGS", settings)
            .env("LOSSY_NAME", name)
            .env("LOSSY_RELIABLE", reliable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (to, says) = channel();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
        });
        let federate = Federate { child, says };
        federate.says("joined");
        federate
    }

    /// The next line that begins so.
    pub fn says(&self, what: &str) -> String {
        loop {
            match self.says.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with(what) => return line,
                Ok(_) => {}
                Err(why) => panic!("it does not say '{what}': {why}"),
            }
        }
    }

    /// Does that; how many messages of both classes had come to it by then, the number of the first, and how many it has
    /// sent.
    pub fn told(&mut self, what: &str) -> [u64; 4] {
        writeln!(self.child.stdin.as_ref().unwrap(), "{what}").unwrap();
        let said = self.says(what.split(' ').next().unwrap());
        let counts = said.split(' ').skip(1).map(|n| n.parse().unwrap());
        let counts: Vec<_> = counts.collect();
        counts.try_into().unwrap()
    }
}

impl Drop for Federate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How best-effort data of the one gets to the other.
pub fn way(rtiexec: &Rtiexec, from: &str, to: &str) -> String {
    let members = rtiexec.members();
    let of = |name: &str| members.iter().find(|m| m["name"] == name).unwrap();
    let handle = &of(to)["handle"];
    let paths = of(from)["best_effort"]["paths"].as_array().unwrap();
    let is_to = |p: &&serde_json::Value| p["to"].as_array().unwrap().contains(handle);
    let path = paths.iter().find(is_to).unwrap();
    path["by"].as_str().unwrap().to_owned()
}

/// One of the counts of a federate.
pub fn counter(rtiexec: &Rtiexec, of: &str, name: &str) -> u64 {
    let members = rtiexec.members();
    let member = members.iter().find(|m| m["name"] == of).unwrap();
    member["counters"][name].as_u64().unwrap()
}
