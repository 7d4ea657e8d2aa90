//! Handles of what the FDD defines: dense numbers from 1, in order of definition.

use std::fmt;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The handle with this number; 0 is never valid.
            pub const fn from_raw(raw: u32) -> Self {
                $name(raw)
            }

            /// Its number.
            pub const fn raw(self) -> u32 {
                self.0
            }

            pub(crate) fn of_index(index: usize) -> Self {
                $name(u32::try_from(index + 1).expect("tables are bounded far below 2^32"))
            }

            pub(crate) fn index(self) -> Option<usize> {
                (self.0 as usize).checked_sub(1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

handles! {
    /// An object class.
    ObjectClassHandle,
    /// An attribute; an inherited attribute has the same handle at every class.
    AttributeHandle,
    /// An interaction class.
    InteractionClassHandle,
    /// A parameter; an inherited parameter has the same handle at every class.
    ParameterHandle,
    /// A dimension.
    DimensionHandle,
}
