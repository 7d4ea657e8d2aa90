//! What federates and the executive tell each other. `starling-wire` turns it into bytes.

use crate::{
    Address, AddressBuf, AttributeHandle, DimensionHandle, Divestiture, Exception, FederateHandle,
    InstanceSwitches, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, Owner,
    OwnershipNotice, RegionHandle, SynchronizationPointFailure, Transportation, Values, ValuesBuf,
};
use std::fmt;

/// Ordinal of a request among its federate's requests since it joined, from 1; 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(pub u64);

/// Position in a federation execution's control log, from 1; 0 is before its first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u64);

impl RequestNumber {
    /// The number of the request after this one.
    pub fn next(self) -> Self {
        RequestNumber(self.0 + 1)
    }

    /// The number of the request before this one; 0 has none.
    pub(crate) fn previous(self) -> Self {
        RequestNumber(self.0.saturating_sub(1))
    }
}

impl LogIndex {
    /// The position after this one.
    pub fn next(self) -> Self {
        LogIndex(self.0 + 1)
    }

    /// The position before this one; 0 has none.
    pub(crate) fn previous(self) -> Self {
        LogIndex(self.0.saturating_sub(1))
    }
}

impl fmt::Display for RequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LogIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A FOM module or MIM as it was read: the name it was asked for by, and its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleSource {
    /// File name or URL as the federate gave it.
    pub designator: String,
    /// The XML. Empty together with the designator `HLAstandardMIM`: the built-in MIM.
    pub text: Vec<u8>,
}

/// About the process at the other end of a connection, for logs and `starling ps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerInfo {
    /// Process number on its host.
    pub pid: u32,
    /// Its host's name.
    pub host: String,
    /// Its program's name.
    pub program: String,
    /// The Starling version it runs.
    pub version: String,
    /// How it is connected (`unix`, `tcp 10.0.0.7:50312`); filled in by the executive's process.
    pub path: String,
}

/// From a federate (joined or not) to the executive.
#[derive(Clone, Debug, PartialEq)]
pub enum ToExecutive {
    /// Create Federation Execution, 1516.1-2010 §4.5.
    CreateFederation {
        /// The new federation execution.
        federation: String,
        /// At least one FOM module.
        modules: Vec<ModuleSource>,
        /// The MIM if not the standard one.
        mim: Option<ModuleSource>,
        /// Name of the logical time implementation; empty for HLAfloat64Time.
        time_implementation: String,
    },
    /// Destroy Federation Execution, §4.6.
    DestroyFederation {
        /// The federation execution's name.
        federation: String,
    },
    /// List Federation Executions, §4.7.
    ListFederations,
    /// Join Federation Execution, §4.9.
    Join {
        /// The federate's name, or none: the RTI makes one.
        name: Option<String>,
        /// The federate's type.
        kind: String,
        /// Which federation execution.
        federation: String,
        /// Further FOM modules.
        modules: Vec<ModuleSource>,
    },
    /// A joined federate's request to the control log.
    Request(Request),
    /// What all federation executions look like, for `starling ps`.
    QueryStatus,
    /// Resigns a joined federate as if its connection had ended, for `starling resign`.
    ResignFederate {
        /// The name of its federation execution; empty where there is only one.
        federation: String,
        /// Its name.
        federate: String,
    },
    /// Ends the process, for `starling stop`.
    Stop {
        /// Although federates are joined.
        force: bool,
    },
    /// Why nothing arrives, for `starling why`.
    QueryWhy(Question),
}

/// A request to the control log; numbered by the order of sending.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Receivers to which a fence with this request's number was sent on a link of their own.
    pub fenced: Vec<FederateHandle>,
    /// What is asked.
    pub body: RequestBody,
}

/// What a joined federate asks of its federation execution.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestBody {
    /// The class attributes now published, replacing the former ones; none ends publication (§5.2, §5.3).
    PublishObjectClass {
        /// The object class.
        class: ObjectClassHandle,
        /// All that are published now.
        attributes: Vec<AttributeHandle>,
    },
    /// Interaction class published or not (§5.4, §5.5).
    PublishInteraction {
        /// The interaction class.
        class: InteractionClassHandle,
        /// On or off.
        published: bool,
    },
    /// The class attributes now subscribed, replacing the former ones (§5.6, §5.7).
    SubscribeObjectClass {
        /// The object class.
        class: ObjectClassHandle,
        /// All that are subscribed now.
        attributes: Vec<SubscribedAttribute>,
    },
    /// Interaction class subscribed or not (§5.8, §5.9).
    SubscribeInteraction {
        /// The interaction class.
        class: InteractionClassHandle,
        /// Not at all, passively or actively.
        subscription: Subscription,
    },
    /// Reserve (Multiple) Object Instance Name(s), §6.2, §6.5: all or none.
    ReserveNames {
        /// The names.
        names: Vec<String>,
        /// Whether the multiple form was called.
        multiple: bool,
    },
    /// Release (Multiple) Object Instance Name(s), §6.4, §6.7.
    ReleaseNames {
        /// The names.
        names: Vec<String>,
    },
    /// Register Object Instance, §6.8.
    RegisterObject {
        /// From the federate's own block.
        instance: ObjectInstanceHandle,
        /// The registered class.
        class: ObjectClassHandle,
        /// A reserved name, or none: the RTI makes one.
        name: Option<String>,
    },
    /// Delete Object Instance, §6.14.
    DeleteObject {
        /// The instance to delete; the sender owns its privilege to delete.
        instance: ObjectInstanceHandle,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Local Delete Object Instance, §6.16.
    LocalDeleteObject {
        /// The instance that the sender forgets.
        instance: ObjectInstanceHandle,
    },
    /// Request Attribute Value Update of an instance, §6.19.
    RequestInstanceUpdate {
        /// The instance whose values are wanted.
        instance: ObjectInstanceHandle,
        /// The attributes whose values are wanted.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Request Attribute Value Update of a class, §6.19.
    RequestClassUpdate {
        /// The object class; instances of its subclasses count, too.
        class: ObjectClassHandle,
        /// The attributes whose values are wanted.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Set Automatic Resign Directive, §10.3.
    SetResignDirective(ResignAction),
    /// Request Attribute Transportation Type Change, §6.23.
    ChangeAttributeTransportation {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes whose transportation type changes; the sender owns them.
        attributes: Vec<AttributeHandle>,
        /// The new transportation type.
        transportation: Transportation,
    },
    /// Query Attribute Transportation Type, §6.25.
    QueryAttributeTransportation {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attribute.
        attribute: AttributeHandle,
    },
    /// Request Interaction Transportation Type Change, §6.27.
    ChangeInteractionTransportation {
        /// The interaction class.
        class: InteractionClassHandle,
        /// The new transportation type.
        transportation: Transportation,
    },
    /// Query Interaction Transportation Type, §6.29.
    QueryInteractionTransportation {
        /// As this one sends it.
        federate: FederateHandle,
        /// The interaction class.
        class: InteractionClassHandle,
    },
    /// Enable and Disable Attribute Scope and Attribute Relevance Advisory Switch, §10.35 to §10.38.
    SetInstanceSwitches(InstanceSwitches),
    /// Commit Region Modifications, §9.3, of regions that the executive is to know: ranges
    /// ascending by dimension.
    CommitRegions(Vec<RegionSpecification>),
    /// Delete Region, §9.4, of a region that the executive knows.
    DeleteRegion(RegionHandle),
    /// Register Object Instance With Regions, §9.5.
    RegisterObjectWithRegions {
        /// From the federate's own block.
        instance: ObjectInstanceHandle,
        /// The registered class.
        class: ObjectClassHandle,
        /// A reserved name, or none: the RTI makes one.
        name: Option<String>,
        /// Associations for updates.
        regions: Vec<AttributeRegions>,
    },
    /// Associate Regions For Updates, §9.6.
    AssociateRegions {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Attributes with regions to associate, besides those associated already.
        regions: Vec<AttributeRegions>,
    },
    /// Unassociate Regions For Updates, §9.7.
    UnassociateRegions {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Attributes with regions whose association ends, where there is one.
        regions: Vec<AttributeRegions>,
    },
    /// Subscribe Object Class Attributes With Regions, §9.8.
    SubscribeObjectClassWithRegions {
        /// The object class.
        class: ObjectClassHandle,
        /// Attributes with regions to subscribe, besides those subscribed already.
        regions: Vec<AttributeRegions>,
        /// False for a passive subscription.
        active: bool,
        /// Update rate designator, empty for none.
        rate: String,
    },
    /// Unsubscribe Object Class Attributes With Regions, §9.9.
    UnsubscribeObjectClassWithRegions {
        /// The object class.
        class: ObjectClassHandle,
        /// Attributes with regions whose subscription ends, where there is one.
        regions: Vec<AttributeRegions>,
    },
    /// Subscribe Interaction Class With Regions, §9.10.
    SubscribeInteractionWithRegions {
        /// The interaction class.
        class: InteractionClassHandle,
        /// Regions to subscribe with, besides those subscribed with already.
        regions: Vec<RegionHandle>,
        /// False for a passive subscription.
        active: bool,
    },
    /// Unsubscribe Interaction Class With Regions, §9.11.
    UnsubscribeInteractionWithRegions {
        /// The interaction class.
        class: InteractionClassHandle,
        /// Regions with which the subscription ends, where there is one.
        regions: Vec<RegionHandle>,
    },
    /// Request Attribute Value Update With Regions, §9.13.
    RequestClassUpdateWithRegions {
        /// The object class; instances of its subclasses count, too.
        class: ObjectClassHandle,
        /// The attributes whose values are wanted, where their update regions overlap these.
        regions: Vec<AttributeRegions>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Register Federation Synchronization Point, §4.11.
    RegisterSynchronizationPoint {
        /// Its label.
        label: String,
        /// User-supplied tag.
        tag: Vec<u8>,
        /// Who is to achieve it; none: all.
        set: Vec<FederateHandle>,
    },
    /// Synchronization Point Achieved, §4.14.
    AchieveSynchronizationPoint {
        /// The synchronization point's label.
        label: String,
        /// False if the federate has failed to achieve it.
        successfully: bool,
    },
    /// The owner gives attributes away, §7.2, §7.3, §7.6, §7.13.
    DivestOwnership {
        /// By which service.
        how: Divestiture,
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes to give away; the sender owns them.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Attribute Ownership Acquisition (If Available), §7.8, §7.9.
    AcquireOwnership {
        /// Only what is unowned or being divested.
        if_available: bool,
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes wanted; the sender does not own them.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Attribute Ownership Release Denied, §7.12.
    DenyOwnershipRelease {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the sender keeps.
        attributes: Vec<AttributeHandle>,
        /// Log index of the last request for release that the owner was told of.
        seen: LogIndex,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Cancel Negotiated Attribute Ownership Divestiture, §7.14.
    CancelOwnershipDivestiture {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the sender no longer offers.
        attributes: Vec<AttributeHandle>,
    },
    /// Cancel Attribute Ownership Acquisition, §7.15.
    CancelOwnershipAcquisition {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the sender no longer wants.
        attributes: Vec<AttributeHandle>,
    },
    /// Query Attribute Ownership, §7.17.
    QueryOwnership {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes whose owners are asked for.
        attributes: Vec<AttributeHandle>,
    },
    /// Resign Federation Execution, §4.10.
    Resign(ResignAction),
}

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

/// Bounds of a region in one dimension, §9.1.1: lower included, upper not; lower < upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The dimension.
    pub dimension: DimensionHandle,
    /// The first value inside.
    pub lower: u32,
    /// The first value beyond.
    pub upper: u32,
}

/// A region as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionSpecification {
    /// The region.
    pub region: RegionHandle,
    /// By dimension, ascending; others have their default range.
    pub ranges: Vec<Range>,
}

/// Attributes, each of them with each of these regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeRegions {
    /// The attributes.
    pub attributes: Vec<AttributeHandle>,
    /// With these.
    pub regions: Vec<RegionHandle>,
}

impl AttributeRegions {
    /// Each attribute with each of its regions.
    pub fn pairs(list: &[Self]) -> impl Iterator<Item = (AttributeHandle, RegionHandle)> {
        list.iter().flat_map(|item| {
            let attributes = item.attributes.iter();
            attributes.flat_map(|a| item.regions.iter().map(|r| (*a, *r)))
        })
    }
}

/// A subscription with regions, in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionSubscription<C, A> {
    /// The region; its creator subscribes.
    pub region: RegionHandle,
    /// The class at which it is subscribed.
    pub class: C,
    /// The class attribute; nothing for an interaction class.
    pub attribute: A,
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

/// What happens to a federate's instances and attributes when it resigns (§4.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum ResignAction {
    UnconditionallyDivestAttributes = 0,
    DeleteObjects = 1,
    CancelPendingOwnershipAcquisitions = 2,
    DeleteObjectsThenDivest = 3,
    CancelThenDeleteThenDivest = 4,
    NoAction = 5,
}

impl ResignAction {
    /// From the C++ API's number.
    pub fn from_number(n: u32) -> Option<Self> {
        use ResignAction::*;
        [
            UnconditionallyDivestAttributes,
            DeleteObjects,
            CancelPendingOwnershipAcquisitions,
            DeleteObjectsThenDivest,
            CancelThenDeleteThenDivest,
            NoAction,
        ]
        .get(usize::try_from(n).ok()?)
        .copied()
    }

    /// Whether instances for which the federate holds the privilege to delete are deleted.
    pub fn deletes(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            DeleteObjects | DeleteObjectsThenDivest | CancelThenDeleteThenDivest
        )
    }

    /// Whether pending ownership acquisitions are cancelled.
    pub fn cancels(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            CancelPendingOwnershipAcquisitions | CancelThenDeleteThenDivest
        )
    }

    /// Whether owned attributes (that are left) are divested.
    pub fn divests(self) -> bool {
        use ResignAction::*;
        matches!(
            self,
            UnconditionallyDivestAttributes | DeleteObjectsThenDivest | CancelThenDeleteThenDivest
        )
    }
}

/// From the executive to one federate. The stream has no gaps: every log index up to the last
/// one is told as an entry or covered by a watermark.
#[derive(Clone, Debug, PartialEq)]
pub enum FromExecutive {
    /// Answer to CreateFederation or DestroyFederation, in order.
    Done(Result<(), Exception>),
    /// Answer to ListFederations.
    Federations(Vec<FederationInformation>),
    /// Answer to Join.
    Joined(Box<Snapshot>),
    /// Answer to Join: refused.
    JoinRefused(Exception),
    /// A log entry that concerns the federate.
    Entry(Entry),
    /// Entries up to `index` that do not concern it.
    Watermark(Watermark),
    /// The federate is no longer a member, or the federation execution is gone.
    Removed(String),
    /// Answer to QueryStatus.
    Status(Vec<FederationStatus>),
    /// Answer to QueryWhy: the links of the chain up to the first that fails.
    Why(Vec<Finding>),
}

/// One federation execution in List Federation Executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationInformation {
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time_implementation: String,
}

/// "Why does this federate get nothing of that?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name; empty where there is only one.
    pub federation: String,
    /// The receiver's name.
    pub federate: String,
    /// Name of an object instance, object class or interaction class.
    pub subject: String,
}

/// One link of the chain from sender to receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What must hold, in a word or two.
    pub link: String,
    /// Whether it does.
    pub holds: bool,
    /// What was seen, as a sentence.
    pub detail: String,
}

/// One federation execution in `starling ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time_implementation: String,
    /// Designators of its MIM and FOM modules.
    pub modules: Vec<String>,
    /// Object instances now known.
    pub instances: u64,
    /// Length of its control log.
    pub log: LogIndex,
    /// Deletions and updates by federates that do not own what it takes, dropped: not 0 only if
    /// something else than this library takes part.
    pub refused: u64,
    /// Its joined federates.
    pub federates: Vec<(FederateInformation, PeerInfo)>,
}

/// A joined federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederateInformation {
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
}

/// What a federation execution is at the moment of joining.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Of the joiner.
    pub handle: FederateHandle,
    /// Of the joiner.
    pub name: String,
    /// The federation execution's name.
    pub federation: String,
    /// Logical time implementation.
    pub time_implementation: String,
    /// The snapshot holds the log up to here.
    pub index: LogIndex,
    /// MIM, then FOM modules, in the order of merging.
    pub modules: Vec<ModuleSource>,
    /// Joined federates, with the numbers of their last requests in the log. The joiner is one.
    pub federates: Vec<(FederateInformation, RequestNumber)>,
    /// Subscriptions to object classes.
    pub object_subscriptions: Vec<(FederateHandle, ObjectClassHandle, Vec<SubscribedAttribute>)>,
    /// Subscriptions to interaction classes.
    pub interaction_subscriptions: Vec<(FederateHandle, InteractionClassHandle, Subscription)>,
    /// Regions that are subscribed with.
    pub regions: Vec<RegionSpecification>,
    /// Subscriptions to object class attributes with regions.
    pub object_region_subscriptions: Vec<RegionSubscription<ObjectClassHandle, AttributeHandle>>,
    /// Subscriptions to interaction classes with regions.
    pub interaction_region_subscriptions: Vec<RegionSubscription<InteractionClassHandle, ()>>,
}

/// The request that brings a log entry about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The federate that made it.
    pub sender: FederateHandle,
    /// Its number.
    pub request: RequestNumber,
}

/// A log entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place in the log.
    pub index: LogIndex,
    /// None: the RTI itself makes the entry.
    pub cause: Option<Cause>,
    /// What it says.
    pub body: EntryBody,
}

/// What the log says.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryBody {
    /// A federate joined, bringing modules. Audience: all.
    FederateJoined {
        /// The new member.
        federate: FederateInformation,
        /// FOM modules that it added to the FDD.
        modules: Vec<ModuleSource>,
    },
    /// A federate is no longer a member. Audience: all, itself too.
    FederateResigned {
        /// The former member.
        federate: FederateHandle,
        /// Why, if it did not resign of itself.
        fault: Option<String>,
    },
    /// The sender now subscribes to these attributes at this class. Audience: all.
    ObjectSubscription {
        /// The object class.
        class: ObjectClassHandle,
        /// All class attributes subscribed now; none ends the subscription.
        attributes: Vec<SubscribedAttribute>,
    },
    /// The sender now subscribes so to this interaction class. Audience: all.
    InteractionSubscription {
        /// The interaction class.
        class: InteractionClassHandle,
        /// Not at all, passively or actively.
        subscription: Subscription,
    },
    /// Names reserved, or not. Audience: who asked.
    NamesReserved {
        /// All that were asked for.
        names: Vec<String>,
        /// Whether the multiple form was called.
        multiple: bool,
        /// Whether they are reserved now.
        succeeded: bool,
    },
    /// Instances that the receiver discovers. Audience: as the executive computed.
    Discover(Vec<Discovery>),
    /// An instance was deleted. Audience: those who know it.
    Remove {
        /// The instance that was deleted.
        instance: ObjectInstanceHandle,
        /// Who deleted it.
        producer: FederateHandle,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// The sender's attributes travel so from now on. Audience: who asked.
    AttributeTransportationChanged {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes whose transportation type has changed.
        attributes: Vec<AttributeHandle>,
        /// Their transportation type from now on.
        transportation: Transportation,
    },
    /// How an attribute travels. Audience: who asked.
    AttributeTransportation {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attribute.
        attribute: AttributeHandle,
        /// Its transportation type.
        transportation: Transportation,
    },
    /// The sender's interactions travel so from now on. Audience: who asked.
    InteractionTransportationChanged {
        /// The interaction class.
        class: InteractionClassHandle,
        /// Its transportation type from now on.
        transportation: Transportation,
    },
    /// How a federate's interactions travel. Audience: who asked.
    InteractionTransportation {
        /// The federate that sends it.
        federate: FederateHandle,
        /// The interaction class.
        class: InteractionClassHandle,
        /// Its transportation type, as that federate sends it.
        transportation: Transportation,
    },
    /// Attributes have come into scope, or left it (§6.17, §6.18). Audience: whose scope it is.
    AttributesScope {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// In scope now.
        entered: Vec<AttributeHandle>,
        /// Out of scope now.
        left: Vec<AttributeHandle>,
    },
    /// Attributes are wanted, or no longer (§6.21, §6.22). Audience: their owner.
    AttributesRelevance {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Wanted now, by update rate designator (empty for none).
        on: Vec<(String, Vec<AttributeHandle>)>,
        /// Wanted by nobody now.
        off: Vec<AttributeHandle>,
    },
    /// Regions that are subscribed with have new ranges. Audience: all.
    RegionsCommitted(Vec<RegionSpecification>),
    /// The sender now subscribes at this class with these regions, too. Audience: all.
    ObjectRegionSubscription {
        /// The object class.
        class: ObjectClassHandle,
        /// All regions that are named.
        specifications: Vec<RegionSpecification>,
        /// Attributes with regions.
        regions: Vec<AttributeRegions>,
        /// False for a passive subscription.
        active: bool,
        /// Update rate designator, empty for none.
        rate: String,
    },
    /// The sender no longer subscribes at this class with these regions. Audience: all.
    ObjectRegionUnsubscription {
        /// The object class.
        class: ObjectClassHandle,
        /// Attributes with regions.
        regions: Vec<AttributeRegions>,
    },
    /// The sender now subscribes to this interaction class with these regions, too. Audience: all.
    InteractionRegionSubscription {
        /// The interaction class.
        class: InteractionClassHandle,
        /// The regions.
        specifications: Vec<RegionSpecification>,
        /// False for a passive subscription.
        active: bool,
    },
    /// The sender no longer subscribes to this interaction class with these regions. Audience: all.
    InteractionRegionUnsubscription {
        /// The interaction class.
        class: InteractionClassHandle,
        /// The regions.
        regions: Vec<RegionHandle>,
    },
    /// A synchronization point is registered, or not. Audience: who asked.
    SynchronizationPointRegistered {
        /// The synchronization point's label.
        label: String,
        /// Why not.
        failure: Option<SynchronizationPointFailure>,
    },
    /// A synchronization point is to be achieved. Audience: who is to.
    SynchronizationPointAnnounced {
        /// The synchronization point's label.
        label: String,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// All have achieved a synchronization point. Audience: who has.
    FederationSynchronized {
        /// The synchronization point's label.
        label: String,
        /// Those who did so unsuccessfully.
        failed: Vec<FederateHandle>,
    },
    /// Somebody wants values of attributes that the receiver owns.
    ProvideUpdate {
        /// Of each instance, the attributes whose values are wanted.
        wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Something about the ownership of attributes. Audience: whom it concerns.
    Ownership {
        /// What has happened to them.
        notice: OwnershipNotice,
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes concerned.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// What became of Confirm Divestiture or Attribute Ownership Divestiture If Wanted. Audience:
    /// who asked.
    Divested {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that are another federate's now.
        attributes: Vec<AttributeHandle>,
        /// Nobody wants these.
        unwanted: Vec<AttributeHandle>,
    },
    /// Answer to Query Attribute Ownership. Audience: who asked.
    OwnershipReport {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Each with its owner; none if it is unowned.
        owners: Vec<(AttributeHandle, Option<Owner>)>,
    },
    /// Nothing but the fences of a request: data sent before it comes before what follows.
    /// Audience: the fenced receivers. It stands before all else that the request brings about.
    Fenced,
    /// Its creator has deleted a region that may have been conveyed. Audience: all others, with
    /// the switch Convey Region Designator Sets.
    RegionDeleted(RegionHandle),
}

/// An instance as its discoverer comes to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The instance discovered.
    pub instance: ObjectInstanceHandle,
    /// As which class it was registered (slots in updates count in this class).
    pub registered_class: ObjectClassHandle,
    /// The receiver's known class.
    pub known_class: ObjectClassHandle,
    /// Its name; empty for the default name, see [`default_instance_name`].
    pub name: String,
}

/// The name of an instance that was registered without one. Users can't reserve names that
/// begin with HLA (§6.2), so it is unique.
pub fn default_instance_name(instance: ObjectInstanceHandle) -> String {
    format!("HLAinstance-{}-{}", instance.block(), instance.number())
}

/// Covers log entries that do not concern the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// The last one.
    pub index: LogIndex,
    /// For each federate whose requests moved on: the last one now in the log.
    pub requests: Vec<(FederateHandle, RequestNumber)>,
}

/// What a data frame comes after: a receiver holds it until both are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// Requests its sender had made.
    pub requests: RequestNumber,
    /// Log index its sender had applied.
    pub index: LogIndex,
}

/// A data frame, borrowed from the sender's arguments or the receiver's buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data<'a> {
    /// Who sent it.
    pub sender: FederateHandle,
    /// What it comes after.
    pub after: After,
    /// What it says.
    pub body: DataBody<'a>,
}

/// What a data frame says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataBody<'a> {
    /// Update Attribute Values, §6.10.
    Update {
        /// The instance updated.
        instance: ObjectInstanceHandle,
        /// Values by slot of the registered class.
        payload: Payload<'a>,
    },
    /// Send Interaction, §6.12.
    Interaction {
        /// The sent class.
        class: InteractionClassHandle,
        /// Values by slot of the sent class.
        payload: Payload<'a>,
    },
    /// All that this link carried before the sender's request of this number has come.
    Fence {
        /// The request's number.
        request: RequestNumber,
    },
}

/// What updates and interactions have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload<'a> {
    /// How it is to travel.
    pub transportation: Transportation,
    /// The values, each with its slot.
    pub values: Values<'a>,
    /// User-supplied tag.
    pub tag: &'a [u8],
    /// Where the sender says who is to get it; none: whoever subscribes, with the default region.
    pub address: Option<Address<'a>>,
}

/// A payload kept for later.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PayloadBuf {
    pub(crate) transportation: Transportation,
    pub(crate) values: ValuesBuf,
    pub(crate) tag: Vec<u8>,
    pub(crate) address: Option<AddressBuf>,
}

impl Payload<'_> {
    /// A copy that may be kept.
    #[inline]
    pub(crate) fn to_buf(self) -> PayloadBuf {
        PayloadBuf {
            transportation: self.transportation,
            values: self.values.to_buf(),
            tag: self.tag.to_vec(),
            address: self.address.map(Address::to_buf),
        }
    }

    /// Bytes of values, tag and address.
    fn bytes(&self) -> usize {
        let address = self.address.map_or(0, |a| a.as_bytes().len());
        self.values.as_bytes().len() + self.tag.len() + address
    }
}

impl PayloadBuf {
    fn borrow(&self) -> Payload<'_> {
        Payload {
            transportation: self.transportation,
            values: self.values.values(),
            tag: &self.tag,
            address: self.address.as_ref().map(AddressBuf::borrow),
        }
    }
}

/// A data frame kept for later.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedData {
    sender: FederateHandle,
    after: After,
    body: OwnedBody,
}

#[derive(Clone, Debug, PartialEq)]
enum OwnedBody {
    Update(ObjectInstanceHandle, PayloadBuf),
    Interaction(InteractionClassHandle, PayloadBuf),
    Fence(RequestNumber),
}

impl Data<'_> {
    /// What the frame takes in memory when it is kept, about.
    pub(crate) fn bytes(&self) -> usize {
        let said = match self.body {
            DataBody::Update { payload, .. } | DataBody::Interaction { payload, .. } => {
                payload.bytes()
            }
            DataBody::Fence { .. } => 0,
        };
        size_of::<OwnedData>() + said
    }

    /// A copy that may be kept.
    pub fn to_owned(&self) -> OwnedData {
        let body = match self.body {
            DataBody::Update { instance, payload } => OwnedBody::Update(instance, payload.to_buf()),
            DataBody::Interaction { class, payload } => {
                OwnedBody::Interaction(class, payload.to_buf())
            }
            DataBody::Fence { request } => OwnedBody::Fence(request),
        };
        OwnedData {
            sender: self.sender,
            after: self.after,
            body,
        }
    }
}

impl OwnedData {
    /// The frame again.
    pub fn borrow(&self) -> Data<'_> {
        let body = match &self.body {
            OwnedBody::Update(instance, payload) => DataBody::Update {
                instance: *instance,
                payload: payload.borrow(),
            },
            OwnedBody::Interaction(class, payload) => DataBody::Interaction {
                class: *class,
                payload: payload.borrow(),
            },
            OwnedBody::Fence(request) => DataBody::Fence { request: *request },
        };
        Data {
            sender: self.sender,
            after: self.after,
            body,
        }
    }
}
