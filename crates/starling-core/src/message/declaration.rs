//! Declaration management, chapter 5.

use super::ddm;
use crate::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};

messages! {
    ($) declaration_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of declaration management" {
        /// The class attributes now published, replacing the former ones; none ends publication (§5.2, §5.3).
        1 PublishObjectClass {
            /// The object class.
            class: ObjectClassHandle,
            /// All that are published now.
            attributes: Vec<AttributeHandle>,
        },
        /// Interaction class published or not (§5.4, §5.5).
        2 PublishInteraction {
            /// The interaction class.
            class: InteractionClassHandle,
            /// On or off.
            published: bool,
        },
        /// The class attributes now subscribed, replacing the former ones (§5.6, §5.7).
        3 SubscribeObjectClass {
            /// The object class.
            class: ObjectClassHandle,
            /// All that are subscribed now.
            attributes: Vec<SubscribedAttribute>,
        },
        /// Interaction class subscribed or not (§5.8, §5.9).
        4 SubscribeInteraction {
            /// The interaction class.
            class: InteractionClassHandle,
            /// Not at all, passively or actively.
            subscription: Subscription,
        },
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of declaration management" {
        /// The sender now subscribes to these attributes at this class. Audience: all.
        1 ObjectSubscription {
            /// The object class.
            class: ObjectClassHandle,
            /// All class attributes subscribed now; none ends the subscription.
            attributes: Vec<SubscribedAttribute>,
        },
        /// The sender now subscribes so to this interaction class. Audience: all.
        2 InteractionSubscription {
            /// The interaction class.
            class: InteractionClassHandle,
            /// Not at all, passively or actively.
            subscription: Subscription,
        },
    }
}

/// All subscriptions, each with from when on it has held: a log index in those of all joined
/// federates, a request number in a federate's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<N> {
    /// To object classes, without regions.
    pub objects: Vec<ObjectSubscription<N>>,
    /// To interaction classes, without regions.
    pub interactions: Vec<(FederateHandle, InteractionClassHandle, (Subscription, N))>,
    /// Those with regions.
    pub regions: ddm::Snapshot<N>,
}

/// What a federate subscribes to at an object class, each attribute with from when on.
pub type ObjectSubscription<N> = (
    FederateHandle,
    ObjectClassHandle,
    Vec<(SubscribedAttribute, N)>,
);

/// A subscribed class attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribedAttribute {
    /// The class attribute.
    pub attribute: AttributeHandle,
    /// False for a passive subscription.
    pub active: bool,
    /// Update rate designator, empty for none.
    pub rate: String,
}

/// How an interaction class is subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// Not.
    None,
    /// Passively: received, but no reason for anyone to send.
    Passive,
    /// Actively.
    Active,
}
