//! Arguments of a service, as the core takes them.

use crate::names::Names;
use crate::network::{Member, Network};
use crate::value::{Value, print};
use starling_core::message::{AttributeRegions, ModuleSource, ResignAction};
use starling_core::{
    AttributeHandle, DimensionHandle, Exception, Federate, FederateHandle, InteractionClassHandle,
    LogicalTime, LogicalTimeInterval, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, Order, ParameterHandle, PeerId, RegionHandle, ServiceGroup, TimeType,
    Transportation,
};
use std::collections::{BTreeMap, VecDeque};

/// Why a call gives nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    Threw(Exception),
    /// It belongs to another layer: why.
    Elsewhere(String),
    /// The scenario is wrong.
    Bad(String),
}

impl From<Exception> for Failure {
    fn from(thrown: Exception) -> Self {
        Failure::Threw(thrown)
    }
}

pub(crate) fn bad<T>(why: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Bad(why.into()))
}

pub(crate) fn elsewhere<T>(why: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Elsewhere(why.into()))
}

/// One call of a service, whose arguments are taken one after the other.
pub(crate) struct Call<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) peer: PeerId,
    pub(crate) arguments: VecDeque<Value>,
    /// The classes at which this federate has known instances.
    pub(crate) classes: &'a mut BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    pub(crate) object_class: Option<ObjectClassHandle>,
    pub(crate) interaction_class: Option<InteractionClassHandle>,
}

/// The value of a handle that never was.
const MADE_UP: u64 = 0x7fff_ffff;

impl Call<'_> {
    /// The joined federate's names.
    pub(crate) fn names(&self) -> Names<'_> {
        Names {
            federate: self.network.federate(self.peer),
            object_class: self.object_class,
            interaction_class: self.interaction_class,
        }
    }

    pub(crate) fn joined(&self) -> Result<&Federate, Failure> {
        match self.network.federate(self.peer) {
            Some(federate) => Ok(federate),
            None => elsewhere("FederateNotExecutionMember"),
        }
    }

    /// Calls the LRC, once all arguments are taken.
    pub(crate) fn serve<T>(
        &mut self,
        work: impl FnOnce(&mut Member) -> Result<T, Exception>,
    ) -> Result<T, Failure> {
        if let Some(value) = self.arguments.front() {
            return bad(format!(
                "one argument too many: {}",
                print(std::slice::from_ref(value))
            ));
        }
        Ok(self.network.call(self.peer, work)?)
    }

    pub(crate) fn next_is(&self, like: impl FnOnce(&Value) -> bool) -> bool {
        self.arguments.front().is_some_and(like)
    }

    pub(crate) fn take(&mut self) -> Result<Value, Failure> {
        match self.arguments.pop_front() {
            Some(value) => Ok(value),
            None => bad("an argument is missing"),
        }
    }

    fn word(&mut self) -> Result<String, Failure> {
        match self.take()? {
            Value::Word(word) => Ok(word),
            value => bad(format!("expected a name, not {}", print(&[value]))),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Failure> {
        match self.take()? {
            Value::Text(text) => Ok(text),
            value => bad(format!("expected a \"text\", not {}", print(&[value]))),
        }
    }

    /// The text, or none at the end.
    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, Failure> {
        if self.arguments.is_empty() {
            return Ok(None);
        }
        self.text().map(Some)
    }

    /// A set, or an empty one at the end.
    pub(crate) fn optional<T>(
        &mut self,
        set: impl FnOnce(&mut Self) -> Result<Vec<T>, Failure>,
    ) -> Result<Vec<T>, Failure> {
        if self.arguments.is_empty() {
            Ok(vec![])
        } else {
            set(self)
        }
    }

    /// A time, or none at the end.
    pub(crate) fn time_at_end(&mut self) -> Result<Option<LogicalTime>, Failure> {
        if self.arguments.is_empty() {
            return Ok(None);
        }
        self.time().map(Some)
    }

    /// `true` at the end.
    pub(crate) fn flag(&mut self) -> Result<bool, Failure> {
        match self.arguments.pop_front() {
            None => Ok(true),
            Some(value) if value.is_word("true") => Ok(true),
            Some(value) if value.is_word("false") => Ok(false),
            Some(value) => bad(format!("expected true or false, not {}", print(&[value]))),
        }
    }

    pub(crate) fn set(&mut self) -> Result<Vec<Value>, Failure> {
        match self.take()? {
            Value::Set(items) => Ok(items),
            value => bad(format!("expected a {{set}}, not {}", print(&[value]))),
        }
    }

    pub(crate) fn list(&mut self) -> Result<Vec<Value>, Failure> {
        match self.take()? {
            Value::List(items) => Ok(items),
            value => bad(format!("expected a [list], not {}", print(&[value]))),
        }
    }

    /// A set, its items taken one by one.
    fn each<T>(
        &mut self,
        items: Vec<Value>,
        mut one: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let rest = std::mem::replace(&mut self.arguments, items.into());
        let mut list = Vec::new();
        while !self.arguments.is_empty() {
            list.push(one(self)?);
        }
        self.arguments = rest;
        Ok(list)
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, Failure> {
        let items = self.set()?;
        self.each(items, Self::text)
    }

    /// A value or user-supplied tag.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Failure> {
        let value = self.take()?;
        bytes_of(&value)
    }

    /// FOM modules: one, or a list of them.
    pub(crate) fn modules(&mut self) -> Result<Vec<ModuleSource>, Failure> {
        if !self.next_is(|v| matches!(v, Value::List(_))) {
            return Ok(vec![self.module()?]);
        }
        let items = self.list()?;
        self.each(items, Self::module)
    }

    pub(crate) fn module(&mut self) -> Result<ModuleSource, Failure> {
        let designator = self.text()?;
        match std::fs::read(&designator) {
            Ok(text) => Ok(ModuleSource {
                designator,
                text: text.into(),
            }),
            Err(_) => elsewhere("reading files"),
        }
    }

    pub(crate) fn resign_action(&mut self) -> Result<ResignAction, Failure> {
        let word = self.word()?;
        let mut actions = (0..).map_while(ResignAction::from_number);
        match actions.find(|action| action.name() == word) {
            Some(action) => Ok(action),
            None => elsewhere("numbers that are no enumerator"),
        }
    }

    pub(crate) fn transportation(&mut self) -> Result<Transportation, Failure> {
        match self.word()?.as_str() {
            "RELIABLE" => Ok(Transportation::Reliable),
            "BEST_EFFORT" => Ok(Transportation::BestEffort),
            _ => elsewhere("numbers that are no enumerator"),
        }
    }

    pub(crate) fn order(&mut self) -> Result<Order, Failure> {
        match self.word()?.as_str() {
            "RECEIVE" => Ok(Order::Receive),
            "TIMESTAMP" => Ok(Order::TimeStamp),
            _ => elsewhere("numbers that are no enumerator"),
        }
    }

    pub(crate) fn service_group(&mut self) -> Result<ServiceGroup, Failure> {
        match self.word()?.as_str() {
            "FEDERATION_MANAGEMENT" => Ok(ServiceGroup::FederationManagement),
            "DECLARATION_MANAGEMENT" => Ok(ServiceGroup::DeclarationManagement),
            "OBJECT_MANAGEMENT" => Ok(ServiceGroup::ObjectManagement),
            "OWNERSHIP_MANAGEMENT" => Ok(ServiceGroup::OwnershipManagement),
            "TIME_MANAGEMENT" => Ok(ServiceGroup::TimeManagement),
            "DATA_DISTRIBUTION_MANAGEMENT" => Ok(ServiceGroup::DataDistributionManagement),
            "SUPPORT_SERVICES" => Ok(ServiceGroup::SupportServices),
            _ => elsewhere("numbers that are no enumerator"),
        }
    }

    /// A time in the federation execution's type, or of one that is named: `integer:5`.
    pub(crate) fn time(&mut self) -> Result<LogicalTime, Failure> {
        let (of, word) = self.typed()?;
        let read = || match of {
            TimeType::Integer64 => Some(LogicalTime::integer64(word.parse().ok()?)),
            TimeType::Float64 => LogicalTime::float64(word.parse().ok()?),
        };
        if word.parse().is_ok_and(|time: f64| !time.is_finite()) {
            return elsewhere("numbers that are no time");
        }
        read().map_or_else(|| bad(format!("expected a time, not {word}")), Ok)
    }

    /// As [`Call::time`].
    pub(crate) fn interval(&mut self) -> Result<LogicalTimeInterval, Failure> {
        let (of, word) = self.typed()?;
        let read = || match of {
            TimeType::Integer64 => Some(LogicalTimeInterval::integer64(word.parse().ok()?)),
            TimeType::Float64 => LogicalTimeInterval::float64(word.parse().ok()?),
        };
        if word.parse().is_ok_and(f64::is_nan) {
            return elsewhere("numbers that are no time");
        }
        read().map_or_else(|| bad(format!("expected an interval, not {word}")), Ok)
    }

    fn typed(&mut self) -> Result<(TimeType, String), Failure> {
        let word = self.word()?;
        for (prefix, of) in [
            ("integer:", TimeType::Integer64),
            ("float:", TimeType::Float64),
        ] {
            if let Some(rest) = word.strip_prefix(prefix) {
                return Ok((of, rest.to_owned()));
            }
        }
        let federate = self.network.federate(self.peer);
        let name = federate.map_or("", Federate::logical_time_implementation);
        Ok((TimeType::by_name(name).unwrap_or(TimeType::Float64), word))
    }

    /// The time, or none at the end.
    pub(crate) fn optional_time(&mut self) -> Result<Option<LogicalTime>, Failure> {
        if self.arguments.is_empty() {
            return Ok(None);
        }
        self.time().map(Some)
    }

    pub(crate) fn retraction(&mut self) -> Result<MessageRetractionHandle, Failure> {
        Ok(MessageRetractionHandle(self.number()?))
    }

    /// `LOWER..UPPER`.
    pub(crate) fn range(&mut self) -> Result<(u64, u64), Failure> {
        let word = self.word()?;
        let bounds = word.split_once("..");
        match bounds.and_then(|(l, u)| Some((l.parse().ok()?, u.parse().ok()?))) {
            Some(range) => Ok(range),
            None => bad(format!("expected LOWER..UPPER, not {word}")),
        }
    }

    /// The number that a word gives as a handle, if it does; else it is a name.
    fn code(word: &str) -> Result<Option<u64>, Failure> {
        match (word, word.split_once('@')) {
            ("invalid", _) => Ok(Some(0)),
            ("madeup", _) => Ok(Some(MADE_UP)),
            (_, Some((_, code))) => match u64::from_str_radix(code, 16) {
                Ok(number) => Ok(Some(number)),
                Err(e) => bad(format!("handle {word}: {e}")),
            },
            (_, None) => Ok(None),
        }
    }

    fn number(&mut self) -> Result<u64, Failure> {
        let word = self.word()?;
        match Self::code(&word)? {
            Some(number) => Ok(number),
            None => bad(format!("expected a $variable with a handle, not {word}")),
        }
    }

    /// A handle by its code, or by its name as `look` finds it.
    fn handle<H>(
        &mut self,
        raw: fn(u32) -> H,
        look: impl FnOnce(&Federate, &str) -> Result<H, Exception>,
    ) -> Result<H, Failure> {
        let word = self.word()?;
        let word = word.strip_prefix("class:").unwrap_or(&word);
        match Self::code(word)? {
            Some(number) => Ok(raw(number as u32)),
            None => look(self.joined()?, word).or_else(|e| bad(format!("{word}: {e}"))),
        }
    }

    pub(crate) fn federate(&mut self) -> Result<FederateHandle, Failure> {
        Ok(FederateHandle(self.number()? as u32))
    }

    pub(crate) fn federates(&mut self) -> Result<Vec<FederateHandle>, Failure> {
        let items = self.set()?;
        self.each(items, Self::federate)
    }

    pub(crate) fn object_class(&mut self) -> Result<ObjectClassHandle, Failure> {
        let class = self.handle(ObjectClassHandle::from_raw, Federate::object_class_handle)?;
        self.object_class = Some(class);
        Ok(class)
    }

    pub(crate) fn interaction_class(&mut self) -> Result<InteractionClassHandle, Failure> {
        let raw = InteractionClassHandle::from_raw;
        let class = self.handle(raw, Federate::interaction_class_handle)?;
        self.interaction_class = Some(class);
        Ok(class)
    }

    pub(crate) fn instance(&mut self) -> Result<ObjectInstanceHandle, Failure> {
        let instance = ObjectInstanceHandle(self.number()?);
        let known = self.network.federate(self.peer);
        if let Some(class) = known.and_then(|f| f.known_object_class_handle(instance).ok()) {
            self.classes.insert(instance, class);
        }
        self.object_class = self.classes.get(&instance).copied();
        Ok(instance)
    }

    /// `Name` at the class at hand (any, if there is none), or `Class/Name`.
    pub(crate) fn attribute(&mut self) -> Result<AttributeHandle, Failure> {
        let class = self.object_class;
        self.handle(AttributeHandle::from_raw, |federate, name| {
            match (name.split_once('/'), class) {
                (Some((class, name)), _) => {
                    federate.attribute_handle(federate.object_class_handle(class)?, name)
                }
                (None, Some(class)) if federate.object_class_name(class).is_ok() => {
                    federate.attribute_handle(class, name)
                }
                _ => Ok(AttributeHandle::from_raw(0)),
            }
        })
    }

    pub(crate) fn attributes(&mut self) -> Result<Vec<AttributeHandle>, Failure> {
        let items = self.set()?;
        self.each(items, Self::attribute)
    }

    pub(crate) fn parameter(&mut self) -> Result<ParameterHandle, Failure> {
        let class = self.interaction_class;
        self.handle(ParameterHandle::from_raw, |federate, name| {
            match (name.split_once('/'), class) {
                (Some((class, name)), _) => {
                    federate.parameter_handle(federate.interaction_class_handle(class)?, name)
                }
                (None, Some(class)) if federate.interaction_class_name(class).is_ok() => {
                    federate.parameter_handle(class, name)
                }
                _ => Ok(ParameterHandle::from_raw(0)),
            }
        })
    }

    pub(crate) fn attribute_values(&mut self) -> Result<Vec<(AttributeHandle, Vec<u8>)>, Failure> {
        self.values(Self::attribute)
    }

    pub(crate) fn parameter_values(&mut self) -> Result<Vec<(ParameterHandle, Vec<u8>)>, Failure> {
        self.values(Self::parameter)
    }

    fn values<H>(
        &mut self,
        mut key: impl FnMut(&mut Self) -> Result<H, Failure>,
    ) -> Result<Vec<(H, Vec<u8>)>, Failure> {
        let items = self.set()?;
        self.each(items, |call| match call.take()? {
            Value::Pair(name, value) => {
                call.arguments.push_front(Value::Word(name));
                Ok((key(call)?, bytes_of(&value)?))
            }
            value => bad(format!("expected NAME=VALUE, not {}", print(&[value]))),
        })
    }

    pub(crate) fn dimension(&mut self) -> Result<DimensionHandle, Failure> {
        self.handle(DimensionHandle::from_raw, Federate::dimension_handle)
    }

    pub(crate) fn dimensions(&mut self) -> Result<Vec<DimensionHandle>, Failure> {
        let items = self.set()?;
        self.each(items, Self::dimension)
    }

    pub(crate) fn region(&mut self) -> Result<RegionHandle, Failure> {
        Ok(RegionHandle(self.number()?))
    }

    pub(crate) fn regions(&mut self) -> Result<Vec<RegionHandle>, Failure> {
        let items = self.set()?;
        self.each(items, Self::region)
    }

    /// `[{attributes} {regions} ...]`.
    pub(crate) fn attribute_regions(&mut self) -> Result<Vec<AttributeRegions>, Failure> {
        let items = self.list()?;
        self.each(items, |call| {
            Ok(AttributeRegions {
                attributes: call.attributes()?,
                regions: call.regions()?,
            })
        })
    }
}

fn bytes_of(value: &Value) -> Result<Vec<u8>, Failure> {
    let word = match value {
        Value::Text(text) => return Ok(text.clone().into_bytes()),
        Value::Word(word) => word,
        _ => {
            return bad(format!(
                "expected a value, not {}",
                print(std::slice::from_ref(value))
            ));
        }
    };
    let digits = word.strip_prefix("0x");
    let Some(digits) = digits.or_else(|| Some(word.split_once('@')?.1)) else {
        return Ok(word.clone().into_bytes());
    };
    let pairs = (0..digits.len()).step_by(2);
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    match pairs.map(byte).collect() {
        Some(bytes) => Ok(bytes),
        None => bad(format!("expected pairs of hexadecimal digits: {word}")),
    }
}
