//! Exceptions of services, and errors of peers.

use crate::{ExceptionKind, Service};
use std::fmt;

/// What a service throws: the standard's exception and a sentence that says what, where and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Which of the standard's exceptions.
    pub kind: ExceptionKind,
    /// The text for the user: ASCII, but for names that users gave. In the C locale a stream of wide
    /// characters fails at the first other character, and loses all that follows.
    pub message: String,
}

/// The longest name that a user may give to anything, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 1024;

/// RTIinternalError for a name that is too long; `what` it is of, with an article.
pub(crate) fn require_name(what: &str, name: &str) -> Result<(), Exception> {
    match name.len() {
        0..=NAME_BYTES_MAX => Ok(()),
        length => Err(Exception::new(
            ExceptionKind::RTIinternalError,
            format!("the name of {what} has {length} bytes; {NAME_BYTES_MAX} are allowed"),
        )),
    }
}

impl Exception {
    /// An exception with its reason.
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Exception {
            kind,
            message: message.into(),
        }
    }

    /// Names the service and its clause: `joinFederationExecution: … (1516.1-2010, 4.9)`.
    pub fn in_service(mut self, service: Service) -> Self {
        self.message = format!(
            "{}: {} (1516.1-2010, {})",
            service.name(),
            self.message,
            service.clause()
        );
        self
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for Exception {}

/// A peer sent what the protocol does not allow; its connection must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProtocolError {}

/// `Err` with an exception, for use in services.
macro_rules! throw {
    ($kind:ident, $($text:tt)*) => {
        return Err($crate::Exception::new($crate::ExceptionKind::$kind, format!($($text)*)))
    };
}
pub(crate) use throw;
