//! Support services, chapter 10: look-ups in the FDD and among what the federate knows.

pub(crate) mod federate;

/// The groups of services, 1516.1-2010 §10.32, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ServiceGroup {
    FederationManagement,
    DeclarationManagement,
    ObjectManagement,
    OwnershipManagement,
    TimeManagement,
    DataDistributionManagement,
    SupportServices,
}
