//! `starling fom`: FOM modules checked, shown, merged and compared without a federation execution.

use crate::{fail, print};
use clap::Subcommand;
use starling_fom::{Difference, InteractionClass, Module, ObjectClass, ObjectModel};
use starling_fom::{Order, Transportation, compose, parse, standard_model};
use std::path::PathBuf;
use std::process::ExitCode;

/// Subcommands of `starling fom`.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Merge modules with the MIM and print all problems
    Check(Files),
    /// Show classes with handles, transportation and order
    Show(Files),
    /// Write the merged modules as one FOM module, with their prose
    Merge {
        #[command(flatten)]
        files: Files,
        /// Write to this file instead of standard output
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Compare two modules by meaning, without prose
    Diff {
        /// The first module
        first: PathBuf,
        /// The second module
        second: PathBuf,
    },
}

/// The modules to load.
#[derive(clap::Args)]
pub(crate) struct Files {
    /// FOM modules, in the order in which they are to be merged
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A MIM instead of the standard one
    #[arg(long)]
    mim: Option<PathBuf>,
}

/// Runs `starling fom`.
pub(crate) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Check(files) => check(files),
        Command::Show(files) => match model(files) {
            Ok(model) => print(&tree(&model)),
            Err(problems) => report(&problems),
        },
        Command::Merge { files, output } => match merge(files) {
            Ok(xml) => write(&xml, output.as_ref()),
            Err(problems) => report(&problems),
        },
        Command::Diff { first, second } => match (read(first), read(second)) {
            (Ok(first), Ok(second)) => diff(&first, &second),
            (first, second) => {
                let problems = [first.err(), second.err()].into_iter().flatten();
                report(&problems.collect::<Vec<_>>())
            }
        },
    }
}

fn check(files: &Files) -> ExitCode {
    let (model, mut problems) = load(files);
    problems.extend(
        model
            .iter()
            .flat_map(ObjectModel::undefined_data_types)
            .map(|p| p.to_string()),
    );
    match model {
        Some(model) if problems.is_empty() => print(&format!(
            "{} modules with the MIM: {} object classes, {} interaction classes, no problem\n",
            files.files.len(),
            model.object_classes().count(),
            model.interaction_classes().count()
        )),
        _ => report(&problems),
    }
}

/// The modules as one, if they merge with the MIM.
fn merge(files: &Files) -> Result<String, Vec<String>> {
    let model = model(files)?;
    let module = |file: &PathBuf| {
        let bytes = bytes(file)?;
        let name = file.display().to_string();
        let module = parse(&name, &bytes).map_err(|e| e.to_string())?;
        Ok((module, bytes))
    };
    let modules: Result<Vec<_>, String> = files.files.iter().map(module).collect();
    let name = model.modules()[1..].join(" + ");
    let composed = modules.and_then(|m| compose(&m, &name).map_err(|e| e.to_string()));
    composed.map_err(|problem| vec![problem])
}

fn write(text: &str, output: Option<&PathBuf>) -> ExitCode {
    match output {
        None => print(text),
        Some(file) => match std::fs::write(file, text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(format!("{}: {error}", file.display()), 1),
        },
    }
}

fn diff(first: &Module, second: &Module) -> ExitCode {
    let (one, two) = (first.meaning(), second.meaning());
    let at = |module: &Module, line: Option<u32>| {
        let line = line.map_or(String::new(), |l| format!(":{l}"));
        format!("{}{line}", module.designator())
    };
    let differences = one.differences(&two);
    let mut out = String::new();
    for difference in &differences {
        out += &match difference {
            Difference::OnlyFirst(what) => {
                format!("- {what}\n    at {}\n", at(first, one.line(what)))
            }
            Difference::OnlySecond(what) => {
                format!("+ {what}\n    at {}\n", at(second, two.line(what)))
            }
            Difference::Both(what, how) => format!(
                "! {what}: {}\n    at {} and {}\n",
                how.trim_start(),
                at(first, one.line(what)),
                at(second, two.line(what))
            ),
        };
    }
    print(&out);
    ExitCode::from(u8::from(!differences.is_empty()))
}

/// The model as far as the modules merge (none without a MIM), and all problems.
fn load(files: &Files) -> (Option<ObjectModel>, Vec<String>) {
    let mut problems = Vec::new();
    let mut modules = Vec::new();
    for file in &files.files {
        match read(file) {
            Ok(module) => modules.push(module),
            Err(problem) => problems.push(problem),
        }
    }
    let mim = match &files.mim {
        None => Ok(standard_model().clone()),
        Some(file) => read(file).and_then(|mim| ObjectModel::new(&mim).map_err(|e| e.to_string())),
    };
    match mim {
        Ok(mim) => {
            let (model, found) = mim.try_merge(&modules);
            problems.extend(found.iter().map(ToString::to_string));
            (Some(model), problems)
        }
        Err(problem) => {
            problems.push(problem);
            (None, problems)
        }
    }
}

fn model(files: &Files) -> Result<ObjectModel, Vec<String>> {
    match load(files) {
        (Some(model), problems) if problems.is_empty() => Ok(model),
        (_, problems) => Err(problems),
    }
}

fn read(file: &PathBuf) -> Result<Module, String> {
    parse(&file.display().to_string(), &bytes(file)?).map_err(|e| e.to_string())
}

fn bytes(file: &PathBuf) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn report(problems: &[String]) -> ExitCode {
    for problem in problems {
        starling_net::say(problem);
    }
    let s = if problems.len() == 1 { "" } else { "s" };
    fail(format!("{} problem{s}", problems.len()), 1)
}

fn tree(model: &ObjectModel) -> String {
    let mut out = String::from("object classes\n");
    if let Some(root) = model.object_classes().next() {
        object_class(model, root, 1, &mut out);
    }
    out += "interaction classes\n";
    if let Some(root) = model.interaction_classes().next() {
        interaction_class(model, root, 1, &mut out);
    }
    out
}

fn object_class(model: &ObjectModel, class: &ObjectClass, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    *out += &format!("{indent}{} ({})\n", last(&class.name), class.handle);
    let own = class.attributes.iter().filter_map(|a| model.attribute(*a));
    for a in own.filter(|a| a.class == class.handle) {
        let how = travel(a.transportation, a.order);
        *out += &format!("{indent}- {} ({}) {how}\n", a.name, a.handle);
    }
    for child in class.children.iter().filter_map(|c| model.object_class(*c)) {
        object_class(model, child, depth + 1, out);
    }
}

fn interaction_class(
    model: &ObjectModel,
    class: &InteractionClass,
    depth: usize,
    out: &mut String,
) {
    let indent = "  ".repeat(depth);
    let how = travel(class.transportation, class.order);
    *out += &format!("{indent}{} ({}) {how}\n", last(&class.name), class.handle);
    let own = class.parameters.iter().filter_map(|p| model.parameter(*p));
    for p in own.filter(|p| p.class == class.handle) {
        *out += &format!("{indent}- {} ({})\n", p.name, p.handle);
    }
    let children = class.children.iter();
    for child in children.filter_map(|c| model.interaction_class(*c)) {
        interaction_class(model, child, depth + 1, out);
    }
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

fn travel(transportation: Transportation, order: Order) -> String {
    let how = match transportation {
        Transportation::Reliable => "HLAreliable",
        Transportation::BestEffort => "HLAbestEffort",
    };
    format!("{how} {order:?}")
}
