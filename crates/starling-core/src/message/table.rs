//! One place for each message of a room: its number on the wire, its fields, and all that follows
//! from these.

/// Declares the messages of a room. Each variant has its number on the wire; a number is never used
/// again for something else. What follows from the fields follows from their types: how much an
/// entry holds ([`Held`](crate::held::Held)), which of a request's lists are sets
/// ([`Sets`](super::sets::Sets)). For other crates it makes a macro that calls another with all
/// messages and their fields, of which bytes and strategies of property tests are made.
macro_rules! messages {
    (($d:tt) $table:ident $(
        $(#[$about:meta])*
        pub enum $name:ident $what:literal {$(
            $(#[$about_variant:meta])*
            $number:literal $variant:ident
                $({ $($(#[$about_field:meta])* $field:ident: $type:ty,)* })?
                $(($inner:ident: $inner_type:ty))?,
        )*}
    )*) => {
        $(
            $(#[$about])*
            pub enum $name {$(
                $(#[$about_variant])*
                $variant $({ $($(#[$about_field])* $field: $type),* })? $(($inner_type))?,
            )*}

            follows! {
                $name { $($variant $({ $($field),* })? $(($inner))?,)* }
            }
        )*

        /// Calls a macro with the messages of this room.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $table {
            ($d with:ident) => {
                $d with! {$(
                    $name $what {
                        $($number $variant $({ $($field),* })? $(($inner))?,)*
                    }
                )*}
            };
        }
    };
}

/// What follows from the fields of a request, an entry or a notice.
macro_rules! follows {
    (Request $variants:tt) => {
        crate::message::sets::sets! { Request $variants }
    };
    (Entry $variants:tt) => {
        crate::held::holds! { Entry $variants }
    };
    (Notice $variants:tt) => {};
}
