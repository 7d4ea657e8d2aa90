//! `starling fom`: FOM modules checked, shown, merged and compared without a federation execution.

use crate::{fail, print, print_json};
use clap::Subcommand;
use serde_json::{Value, json};
use starling_fom::{
    Check, Difference, FomError, InteractionClass, MODULE_BYTES_MAX, Meaning, Module, ObjectClass,
    ObjectModel, Order, Place, Problems, STANDARD_MIM_DESIGNATOR, Transportation, compose, parse,
    standard_mim, standard_model,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the modules are refused, 2 wrong usage.\n\
    With --strict, warnings refuse them, as with the setting fom.check = strict.";
const DIFF_EXIT_CODES: &str =
    "Exit codes: 0 they say the same, 1 they differ or can't be read, 2 wrong usage.";

/// Subcommands of `starling fom`.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Merge modules with the MIM as createFederationExecution does, and print all problems
    #[command(after_help = EXIT_CODES)]
    Check(Files),
    /// Show classes with handles, transportation and order
    #[command(after_help = EXIT_CODES)]
    Show {
        #[command(flatten)]
        files: Files,
        /// Show what the MIM defines, too
        #[arg(long)]
        with_mim: bool,
    },
    /// Write the merged modules as one FOM module, with their prose
    #[command(after_help = EXIT_CODES)]
    Merge {
        #[command(flatten)]
        files: Files,
        /// Write to this file instead of standard output
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Compare two modules by meaning, without prose; conflicts that keep them from merging first
    #[command(after_help = DIFF_EXIT_CODES)]
    Diff {
        /// The first module, or HLAstandardMIM
        first: PathBuf,
        /// The second module
        second: PathBuf,
        /// Compared with HLAstandardMIM, show also what only one of them says
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
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
    /// Refuse what is a warning otherwise
    #[arg(long)]
    strict: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Files {
    fn check(&self) -> Check {
        if self.strict {
            Check::Strict
        } else {
            Check::Lenient
        }
    }
}

/// Runs `starling fom`.
pub(crate) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Check(files) => check(files),
        Command::Show { files, with_mim } => match model(files) {
            Ok(model) if files.json => print_json(&shown(&model, *with_mim)),
            Ok(model) => print(&tree(&model, *with_mim)),
            Err(problems) => refused(files, &problems),
        },
        Command::Merge { files, output } => match merge(files) {
            Ok(xml) => write(&xml, output.as_ref()),
            Err(problems) => refused(files, &problems),
        },
        Command::Diff {
            first,
            second,
            all,
            json,
        } => match (read(first), read(second)) {
            (Ok(first), Ok(second)) => diff(&first, &second, *all, *json),
            (first, second) => {
                let errors = [first.err(), second.err()].into_iter().flatten().collect();
                let problems = Problems {
                    errors,
                    ..Problems::default()
                };
                report(&problems, Check::Lenient)
            }
        },
    }
}

fn check(files: &Files) -> ExitCode {
    let (model, problems) = load(files);
    let accepted = problems.refused(files.check()).is_none();
    if files.json {
        print_json(&json!({
            "accepted": accepted,
            "object_classes": model.as_ref().map(|m| m.object_classes().count()),
            "interaction_classes": model.as_ref().map(|m| m.interaction_classes().count()),
            "problems": problems_json(&problems),
        }));
        return ExitCode::from(u8::from(!accepted));
    }
    match model {
        Some(model) if accepted => {
            warn(&problems);
            let warnings = match problems.warnings.len() {
                0 => "no problem".to_owned(),
                n => count(n, "warning"),
            };
            print(&format!(
                "{} with the MIM: {} object classes, {} interaction classes, {warnings}\n",
                count(files.files.len(), "module"),
                model.object_classes().count(),
                model.interaction_classes().count()
            ))
        }
        _ => report(&problems, files.check()),
    }
}

fn count(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

/// The modules as one, if they merge with the MIM.
fn merge(files: &Files) -> Result<String, Problems> {
    let model = model(files)?;
    let one = |error| Problems {
        errors: vec![error],
        ..Problems::default()
    };
    let module = |file: &PathBuf| {
        let bytes = bytes(file)?;
        Ok((parse(&file.display().to_string(), &bytes)?, bytes))
    };
    let modules: Result<Vec<_>, FomError> = files.files.iter().map(module).collect();
    let name = model.modules()[1..].join(" + ");
    let composed = modules.and_then(|m| compose(&m, &name));
    composed.map_err(one)
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

fn diff(first: &Module, second: &Module, all: bool, json: bool) -> ExitCode {
    let (one, two) = (first.meaning(), second.meaning());
    let at = |module: &Module, line: Option<u32>| Place {
        module: module.designator().to_owned(),
        line: line.unwrap_or(0),
    };
    // What the message about it is of: also an attribute that the one inherits from the other.
    let both = [first.clone(), second.clone()];
    let with = match first.designator() {
        STANDARD_MIM_DESIGNATOR => &both[1..],
        _ => &both,
    };
    let (_, problems) = standard_model().try_merge(with);
    let conflicts: Vec<_> = problems
        .errors
        .iter()
        .chain(&problems.warnings)
        .filter(|p| p.first().is_some())
        .collect();
    let mut differences = one.differences(&two);
    let differ = !differences.is_empty() || !conflicts.is_empty();
    let found = differences.len();
    // No module has to repeat the MIM, and what is new in it concerns the MIM only in its classes.
    if first.designator() == STANDARD_MIM_DESIGNATOR && !all {
        differences = one.repeated_by(&two).differences(&two);
        differences.retain(|d| match d {
            Difference::OnlySecond(what) => is_in_class_of(what, &one),
            _ => true,
        });
    }
    let left_out = found - differences.len();
    if json {
        let row = |d: &Difference| {
            let (what, how) = match d {
                Difference::OnlyFirst(what) | Difference::OnlySecond(what) => (what, None),
                Difference::Both(what, how) => (what, Some(how.trim_start())),
            };
            let place = |module, line: Option<u32>| line.map(|l| place_json(&at(module, Some(l))));
            json!({
                "definition": what,
                "first": place(first, one.line(what)),
                "second": place(second, two.line(what)),
                "difference": how,
            })
        };
        print_json(&json!({
            "conflicts": conflicts.iter().map(|p| problem_json(p)).collect::<Vec<_>>(),
            "differences": differences.iter().map(row).collect::<Vec<_>>(),
            "left_out": left_out,
        }));
        return ExitCode::from(u8::from(differ));
    }
    let mut out = String::new();
    for conflict in conflicts {
        let word = if conflict.is_harmless() {
            "warning"
        } else {
            "conflict"
        };
        out += &format!("{word}: {}\n    at {}", conflict.what(), conflict.at());
        let first = conflict.first().map(|first| format!(" and {first}"));
        out += &first.unwrap_or_default();
        out.push('\n');
    }
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
    if left_out > 0 {
        let more = count(left_out, "difference");
        out += &format!("{more} in what only one of them says: --all shows them\n");
    }
    match print(&out) {
        ExitCode::SUCCESS => ExitCode::from(u8::from(differ)),
        failed => failed,
    }
}

/// Whether it is a member of a class that the module defines.
fn is_in_class_of(what: &str, module: &Meaning) -> bool {
    let kinds = [
        ("attribute ", "object class"),
        ("parameter ", "interaction class"),
    ];
    kinds.iter().any(|(member, class)| {
        let name = what.strip_prefix(member).and_then(|n| n.rsplit_once('.'));
        name.is_some_and(|(name, _)| module.line(&format!("{class} {name}")).is_some())
    })
}

/// The model as far as the modules merge (none without a MIM), and all problems.
fn load(files: &Files) -> (Option<ObjectModel>, Problems) {
    let mut unread = Vec::new();
    let mut modules = Vec::new();
    for file in &files.files {
        match read(file) {
            Ok(module) => modules.push(module),
            Err(problem) => unread.push(problem),
        }
    }
    let mim = match &files.mim {
        None => Ok(standard_model().clone()),
        Some(file) => read(file).and_then(|mim| ObjectModel::new(&mim)),
    };
    let (model, mut problems) = match mim {
        Ok(mim) => {
            let (model, problems) = mim.try_merge(&modules);
            (Some(model), problems)
        }
        Err(problem) => {
            unread.push(problem);
            (None, Problems::default())
        }
    };
    problems.errors.splice(..0, unread);
    (model, problems)
}

/// The model, if it is accepted.
fn model(files: &Files) -> Result<ObjectModel, Problems> {
    match load(files) {
        (Some(model), problems) if problems.refused(files.check()).is_none() => Ok(model),
        (_, problems) => Err(problems),
    }
}

fn read(file: &Path) -> Result<Module, FomError> {
    // As messages name it.
    if file.as_os_str() == STANDARD_MIM_DESIGNATOR && !file.exists() {
        return parse(STANDARD_MIM_DESIGNATOR, standard_mim().as_bytes());
    }
    parse(&file.display().to_string(), &bytes(file)?)
}

fn bytes(file: &Path) -> Result<Vec<u8>, FomError> {
    let bytes = starling_net::read_file(file, MODULE_BYTES_MAX);
    bytes.map_err(|e| FomError::unopened(&file.display().to_string(), e))
}

fn refused(files: &Files, problems: &Problems) -> ExitCode {
    if files.json {
        print_json(&json!({ "problems": problems_json(problems) }));
        return ExitCode::from(1);
    }
    report(problems, files.check())
}

fn warn(problems: &Problems) {
    for problem in &problems.warnings {
        starling_net::say(format_args!("{problem}"));
    }
}

fn report(problems: &Problems, check: Check) -> ExitCode {
    for problem in &problems.errors {
        starling_net::say(format_args!("{problem}"));
    }
    warn(problems);
    let (errors, warnings) = (problems.errors.len(), problems.warnings.len());
    let refused = match check {
        Check::Lenient => count(errors, "problem"),
        Check::Strict => count(errors + warnings, "problem"),
    };
    fail(refused, 1)
}

fn place_json(place: &Place) -> Value {
    json!({ "module": place.module, "line": place.line })
}

fn problem_json(problem: &FomError) -> Value {
    json!({
        "code": problem.code().text(),
        "severity": if problem.is_harmless() { "warning" } else { "error" },
        "what": problem.what(),
        "at": place_json(problem.at()),
        "first": problem.first().map(place_json),
        "do": problem.action(),
    })
}

fn problems_json(problems: &Problems) -> Vec<Value> {
    let all = problems.errors.iter().chain(&problems.warnings);
    all.map(problem_json).collect()
}

/// The merged model: with the MIM all of it, else what the modules add and the classes above it.
fn shown(model: &ObjectModel, with_mim: bool) -> Value {
    let dimensions = |of: &[starling_fom::DimensionHandle]| -> Vec<String> {
        let names = of.iter().filter_map(|d| model.dimension(*d));
        names.map(|d| d.name.clone()).collect()
    };
    let objects = model.object_classes();
    let objects = objects.filter(|c| with_mim || !model.is_class_of_mim(c.handle));
    let object = |c: &ObjectClass| {
        let own = c.attributes.iter().filter_map(|a| model.attribute(*a));
        let own = own.filter(|a| a.class == c.handle);
        let attributes = own.map(|a| {
            json!({
                "name": a.name,
                "handle": a.handle.raw(),
                "transportation": transportation(a.transportation),
                "order": order(a.order),
                "dimensions": dimensions(&a.dimensions),
            })
        });
        json!({
            "name": c.name,
            "handle": c.handle.raw(),
            "attributes": attributes.collect::<Vec<_>>(),
        })
    };
    let interactions = model.interaction_classes();
    let interactions = interactions.filter(|c| with_mim || !model.is_interaction_of_mim(c.handle));
    let interaction = |c: &InteractionClass| {
        let own = c.parameters.iter().filter_map(|p| model.parameter(*p));
        let own = own.filter(|p| p.class == c.handle);
        let parameters = own.map(|p| json!({ "name": p.name, "handle": p.handle.raw() }));
        json!({
            "name": c.name,
            "handle": c.handle.raw(),
            "transportation": transportation(c.transportation),
            "order": order(c.order),
            "dimensions": dimensions(&c.dimensions),
            "parameters": parameters.collect::<Vec<_>>(),
        })
    };
    json!({
        "object_classes": objects.map(object).collect::<Vec<_>>(),
        "interaction_classes": interactions.map(interaction).collect::<Vec<_>>(),
    })
}

fn tree(model: &ObjectModel, with_mim: bool) -> String {
    let mut out = String::from("object classes\n");
    if let Some(root) = model.object_classes().next() {
        out += &object_class(model, root, 1, with_mim);
    }
    out += "interaction classes\n";
    if let Some(root) = model.interaction_classes().next() {
        out += &interaction_class(model, root, 1, with_mim);
    }
    out
}

/// Empty for a class of the MIM below which the modules add nothing.
fn object_class(model: &ObjectModel, class: &ObjectClass, depth: usize, with_mim: bool) -> String {
    let indent = "  ".repeat(depth);
    let mut out = format!("{indent}{} ({})\n", last(&class.name), class.handle);
    let of_mim = !with_mim && model.is_class_of_mim(class.handle);
    let own = class.attributes.iter().filter_map(|a| model.attribute(*a));
    for a in own.filter(|a| a.class == class.handle && !of_mim) {
        let how = travel(a.transportation, a.order);
        out += &format!("{indent}- {} ({}) {how}\n", a.name, a.handle);
    }
    let children = class.children.iter().filter_map(|c| model.object_class(*c));
    let below: String = children
        .map(|child| object_class(model, child, depth + 1, with_mim))
        .collect();
    if of_mim && below.is_empty() {
        String::new()
    } else {
        out + &below
    }
}

/// An interaction class with its parameters and all below it, unless all of that is of the MIM.
fn interaction_class(
    model: &ObjectModel,
    class: &InteractionClass,
    depth: usize,
    with_mim: bool,
) -> String {
    let indent = "  ".repeat(depth);
    let how = travel(class.transportation, class.order);
    let mut out = format!("{indent}{} ({}) {how}\n", last(&class.name), class.handle);
    let of_mim = !with_mim && model.is_interaction_of_mim(class.handle);
    let own = class.parameters.iter().filter_map(|p| model.parameter(*p));
    for p in own.filter(|p| p.class == class.handle && !of_mim) {
        out += &format!("{indent}- {} ({})\n", p.name, p.handle);
    }
    let children = class.children.iter();
    let below: String = children
        .filter_map(|c| model.interaction_class(*c))
        .map(|child| interaction_class(model, child, depth + 1, with_mim))
        .collect();
    if of_mim && below.is_empty() {
        String::new()
    } else {
        out + &below
    }
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

fn transportation(how: Transportation) -> &'static str {
    match how {
        Transportation::Reliable => "HLAreliable",
        Transportation::BestEffort => "HLAbestEffort",
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Receive => "Receive",
        Order::TimeStamp => "TimeStamp",
    }
}

fn travel(how: Transportation, in_order: Order) -> String {
    format!("{} {}", transportation(how), order(in_order))
}
