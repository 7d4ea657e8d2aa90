//! Where values come from, and which of them wins.

use crate::designator::{self, Designated};
use crate::error::SettingError;
use crate::file::{self, FileValue};
use crate::nearest::nearest;
use crate::presets;
use crate::table::{PRESET, SETTINGS};
use crate::trust::{self, is_privileged, variable};
use crate::value::{FromValue, Key, Value};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the default.
    BuiltIn,
    /// In the preset of this name.
    Preset(String),
    /// A line of a file.
    File(String, usize),
    /// An environment variable.
    Variable(String),
    /// The localSettingsDesignator.
    Connect,
    /// The environment variable STARLING_OVERRIDES.
    Overrides,
    /// An option of the command line.
    Option(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => write!(f, "built-in"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::File(name, 0) => write!(f, "{name}"),
            Self::File(name, line) => write!(f, "{name}:{line}"),
            Self::Variable(name) => write!(f, "{name}"),
            Self::Connect => write!(f, "connect()"),
            Self::Overrides => write!(f, "STARLING_OVERRIDES"),
            Self::Option(name) => write!(f, "{name}"),
        }
    }
}

/// The value of every setting, and where it came from.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Vec<(Value, Origin)>,
    notes: Vec<String>,
}

impl Settings {
    /// The value of a setting.
    pub fn get<T: FromValue>(&self, key: Key<T>) -> T {
        T::from_value(&self.values[key.0].0).expect("the table gives each setting one type")
    }

    /// Where the value of a setting came from.
    pub fn origin<T>(&self, key: Key<T>) -> &Origin {
        &self.values[key.0].1
    }

    /// What was ignored, in words; for the log.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What of the designator does nothing at a federate, in words, with what to do: settings of rtiexec.
    pub fn not_of_federates(&self) -> Vec<String> {
        let given = self
            .values()
            .filter(|(_, _, origin)| **origin == Origin::Connect);
        let idle = given.filter(|(setting, ..)| setting.is_of_rtiexec());
        let note = |key: &str| {
            let variable = key.replace('.', "_").to_uppercase();
            format!(
                "'{key}' of connect() is a setting of rtiexec and does nothing at a federate; do: give it to rtiexec \
                 (STARLING_{variable}, or a settings file)"
            )
        };
        idle.map(|(setting, ..)| note(setting.key)).collect()
    }

    /// All values in the order of [`SETTINGS`].
    pub fn values(&self) -> impl Iterator<Item = (&'static crate::Setting, &Value, &Origin)> {
        SETTINGS
            .iter()
            .zip(&self.values)
            .map(|(s, (v, o))| (s, v, o))
    }

    /// Gives a setting a value from the command line, which wins over everything.
    pub fn set<T>(&mut self, key: Key<T>, text: &str, option: &str) -> Result<(), SettingError> {
        self.put(key.0, text, Origin::Option(option.into()))
    }

    /// What is given nowhere else is as the preset says.
    fn fill_in(&mut self, preset: Vec<FileValue>) -> Result<(), SettingError> {
        let name = self.get(PRESET);
        for (index, text, _) in preset {
            if self.values[index].1 == Origin::BuiltIn {
                self.put(index, &text, Origin::Preset(name.clone()))?;
            }
        }
        Ok(())
    }

    fn put(&mut self, index: usize, text: &str, origin: Origin) -> Result<(), SettingError> {
        let setting = &SETTINGS[index];
        let value = setting.kind.parse(text).map_err(|why| {
            let unit = if setting.unit.is_empty() {
                String::new()
            } else {
                format!(" ({})", setting.unit)
            };
            SettingError::new(
                format!("{}: {why}", setting.key),
                &origin,
                format!("give {}{unit}; default '{}'", setting.kind, setting.default),
            )
        })?;
        self.values[index] = (value, origin);
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        let built_in = |s: &crate::Setting| {
            let value = s.kind.parse(s.default).expect("defaults are valid");
            (value, Origin::BuiltIn)
        };
        Self {
            values: SETTINGS.iter().map(built_in).collect(),
            notes: Vec::new(),
        }
    }
}

/// The sources of settings. From strongest to weakest: STARLING_OVERRIDES, the designator of
/// connect, STARLING_* variables, the project's file, the user's file, the preset, built-in values.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    designator: String,
    /// It is an argument of a program that is no federate.
    is_argument: bool,
    environment: Vec<(String, String)>,
    project_file: Option<PathBuf>,
    user_file: Option<PathBuf>,
    /// No file may be named either.
    privileged: bool,
}

/// What a file in the working directory can't set: which program runs, and which files are written
/// or served, is not to hang on where a federate was started, which may be an unpacked archive.
const NOT_FROM_WORKING_DIRECTORY: &[&str] = &[
    "start.program",
    "log.file",
    "rtiexec.listen",
    "forwarder.listen",
    "forwarder.upstream",
    "transport.listen",
    "net.run_dir",
    "saves.dir",
];

/// Variables that are no settings, but read elsewhere.
const OTHER_VARIABLES: &[&str] = &["STARLING_OVERRIDES", "STARLING_HOME"];

impl Sources {
    /// No sources: everything built-in.
    pub fn new() -> Self {
        Self::default()
    }

    /// The environment of this process, `./starling.toml`, and `starling/starling.toml` in the
    /// user's configuration directory, where they exist. Nothing of these in a process that runs
    /// with more rights than whoever started it.
    pub fn of_process() -> Self {
        if is_privileged() {
            return Self {
                privileged: true,
                ..Self::default()
            };
        }
        let environment = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.to_string_lossy().into_owned())))
            .collect();
        let configuration = variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|h| Path::new(&h).join(".config")));
        let existing = |path: PathBuf| path.is_file().then_some(path);
        Self {
            environment,
            project_file: existing("starling.toml".into()),
            user_file: configuration.and_then(|d| existing(d.join("starling/starling.toml"))),
            ..Self::default()
        }
    }

    /// With this localSettingsDesignator.
    pub fn designator(mut self, text: &str) -> Self {
        self.designator = text.into();
        self
    }

    /// With this localSettingsDesignator, which is an argument of the command line.
    pub fn argument(self, text: &str) -> Self {
        Self {
            is_argument: true,
            ..self.designator(text)
        }
    }

    /// With these environment variables.
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.environment = variables
            .into_iter()
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        self
    }

    /// With this file of the working directory, which must exist; it can't set everything.
    pub fn project_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.project_file = Some(path.into());
        self
    }

    /// With this user's file, which must exist.
    pub fn user_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.user_file = Some(path.into());
        self
    }

    /// Reads all sources. The first bad value ends it with an error.
    pub fn read(&self) -> Result<Settings, SettingError> {
        let mut settings = Settings::default();
        if let Some(path) = &self.user_file {
            read_file(&mut settings, path, false)?;
        }
        if let Some(path) = &self.project_file {
            read_file(&mut settings, path, true)?;
        }
        self.read_variables(&mut settings)?;
        let origin = if self.is_argument {
            Origin::Option("the command line".into())
        } else {
            Origin::Connect
        };
        let designated = designator::parse(&self.designator, &origin.to_string())?;
        self.apply(&mut settings, designated, &origin)?;
        let overrides = self
            .environment
            .iter()
            .find(|(k, _)| k == "STARLING_OVERRIDES");
        if let Some((name, text)) = overrides {
            let designated = designator::parse(text, name)?;
            self.apply(&mut settings, designated, &Origin::Overrides)?;
        }
        settings.fill_in(presets::of(&settings.get(PRESET))?)?;
        Ok(settings)
    }

    fn apply(
        &self,
        settings: &mut Settings,
        from: Designated,
        origin: &Origin,
    ) -> Result<(), SettingError> {
        if let Some(file) = &from.file {
            if self.privileged {
                return Err(SettingError::new(
                    format!("'{file}' is not read by a program that has more rights than its user"),
                    origin,
                    "give the settings themselves",
                ));
            }
            // A name without directory means what lies where the program was started.
            let path = Path::new(file);
            read_file(settings, path, path.is_relative())?;
        }
        take(settings, from, origin, false)
    }

    fn read_variables(&self, settings: &mut Settings) -> Result<(), SettingError> {
        const PREFIX: &str = "STARLING_";
        let names: Vec<String> = SETTINGS.iter().map(|s| s.variable()).collect();
        let ours = |k: &str| k.starts_with(PREFIX) && !OTHER_VARIABLES.contains(&k);
        let rests = || names.iter().map(|n| &n[PREFIX.len()..]);
        for (name, value) in self.environment.iter().filter(|(k, _)| ours(k)) {
            if let Some(index) = names.iter().position(|n| n == name) {
                settings.put(index, value, Origin::Variable(name.clone()))?;
            } else if let Some(near) = nearest(&name[PREFIX.len()..], rests()) {
                return Err(SettingError::new(
                    format!("there is no setting behind the variable {name}"),
                    "the environment",
                    format!("did you mean {PREFIX}{near}? `starling config show` lists all"),
                ));
            } else {
                // Others may use the prefix for their own purposes.
                settings
                    .notes
                    .push(format!("the variable {name} is no setting"));
            }
        }
        Ok(())
    }
}

fn take(
    settings: &mut Settings,
    from: Designated,
    origin: &Origin,
    working_directory: bool,
) -> Result<(), SettingError> {
    for (index, text) in &from.values {
        refuse_from(working_directory, *index, &origin.to_string())?;
        settings.put(*index, text, origin.clone())?;
    }
    settings.notes.extend(from.notes);
    Ok(())
}

fn refuse_from(working_directory: bool, index: usize, place: &str) -> Result<(), SettingError> {
    let (setting, key) = (&SETTINGS[index], SETTINGS[index].key);
    if working_directory && NOT_FROM_WORKING_DIRECTORY.contains(&key) {
        return Err(SettingError::new(
            format!("{key} is not taken from a file in the working directory"),
            place,
            format!(
                "set it in ~/.config/starling/starling.toml or as {}{}",
                setting.variable(),
                // There it would do nothing.
                if setting.is_of_rtiexec() {
                    ""
                } else {
                    ", or in connect"
                }
            ),
        ));
    }
    Ok(())
}

fn read_file(
    settings: &mut Settings,
    path: &Path,
    working_directory: bool,
) -> Result<(), SettingError> {
    let name = path.display().to_string();
    let text = trust::read(path)?;
    if path.extension().is_some_and(|e| e == "toml") {
        for (index, text, line) in file::parse(&text, &name)? {
            refuse_from(working_directory, index, &format!("{name}:{line}"))?;
            settings.put(index, &text, Origin::File(name.clone(), line))?;
        }
        return Ok(());
    }
    let designated = designator::parse_properties(&text, &name)?;
    if let Some(other) = designated.file {
        return Err(SettingError::new(
            format!("a settings file can't name another one, '{other}'"),
            &name,
            "put the settings into one file",
        ));
    }
    take(
        settings,
        designated,
        &Origin::File(name, 0),
        working_directory,
    )
}
