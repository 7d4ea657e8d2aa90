//! `docs/messages.md` from the tables of messages.

use crate::Generated;
use starling_fom::{Code, FomErrorKind};

pub(crate) fn generate() -> Generated {
    let mut text = String::from(
        "# Messages with a code\n\n\
         Made by `cargo xtask generate` from the table in `crates/starling-fom/src/error.rs`. A code keeps\n\
         its meaning for ever. Each message says what is wrong, at which line of which module, and what\n\
         to do.\n\n\
         ## FOM modules\n\n\
         What is doubtful is a warning in the log of rtiexec, or refused as inconsistent, as the setting\n\
         `fom.check` says; `starling fom check` and `starling fom check --strict` judge alike.\n\n\
         | code | thrown as | meaning | what to do |\n|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let thrown = match (code, code.kind()) {
            (Code::Unopened, _) => "CouldNotOpenFDD, CouldNotOpenMIM",
            (_, FomErrorKind::Unreadable) => "ErrorReadingFDD, ErrorReadingMIM",
            (_, FomErrorKind::Inconsistent) => "InconsistentFDD",
            (_, FomErrorKind::Harmless) => "warning, or InconsistentFDD",
        };
        text += &format!(
            "| {} | {thrown} | {} | {} |\n",
            code.text(),
            code.meaning(),
            code.action()
        );
    }
    Generated {
        path: "docs/messages.md".into(),
        text,
    }
}
