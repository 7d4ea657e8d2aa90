//! Which services a federation execution has: a chapter of the standard can be switched off where
//! rtiexec's settings say so.

use crate::{Exception, ExceptionKind, ProtocolError};

/// What of the standard can be switched off for the federation executions of an rtiexec. All is on by
/// default. It comes with the snapshot to who joins, so that all members have it alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services {
    /// The management object model, chapter 11: `services.mom`.
    pub mom: bool,
    /// Time management, chapter 8: `services.time`.
    pub time: bool,
    /// Data distribution management, chapter 9: `services.ddm`.
    pub ddm: bool,
    /// Update rates, 6.10 and the designators of 5.6: `services.rates`.
    pub rates: bool,
}

impl Default for Services {
    fn default() -> Self {
        Services {
            mom: true,
            time: true,
            ddm: true,
            rates: true,
        }
    }
}

impl Services {
    /// The settings that are off.
    pub fn off(self) -> Vec<&'static str> {
        let off = self.named().into_iter().filter(|(_, on)| !on);
        off.map(|(setting, _)| setting).collect()
    }

    /// The settings, and whether each is on.
    pub(crate) fn named(self) -> [(&'static str, bool); 4] {
        [
            ("services.mom", self.mom),
            ("services.time", self.time),
            ("services.ddm", self.ddm),
            ("services.rates", self.rates),
        ]
    }

    /// Refuses what a peer sends of a chapter that is off.
    pub(crate) fn require(on: bool, setting: &str) -> Result<(), ProtocolError> {
        if on {
            Ok(())
        } else {
            Err(ProtocolError(format!("{setting} is off here")))
        }
    }
}

/// What a service throws that is switched off, or needs what there is none of. `what`: it, and the
/// chapter that it is of.
pub(crate) fn switched_off(what: &str, setting: &str) -> Exception {
    let why = format!(
        "{what}, which this federation execution does not have: rtiexec was started with {setting} = off \
         (docs/settings.md)"
    );
    Exception::new(ExceptionKind::RTIinternalError, why)
}
