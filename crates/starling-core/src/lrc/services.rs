//! The services of a joined federate as methods of its LRC: by hand those that send values or wait for
//! the federation's word, the others by the table. All go the one way, `Lrc::serve`.

use super::door::Extent;
use super::{Awaited, Life, Lrc, Outbox, Preconditions, ceased, restored_meanwhile, said};
use crate::federate::Sink;
use crate::message::RequestNumber;
use crate::mom::arguments::Said;
use crate::time::federate::Bounds;
use crate::{
    AttributeHandle, DataOut, Exception, Given, InteractionClassHandle, LogicalTime,
    MessageRetractionHandle, ObjectInstanceHandle, ParameterHandle, PlainOut, RegionHandle,
    Service,
};

/// An outbox as what takes data frames. No closure: where that is called is for the compiler to choose.
pub(super) struct ToOutbox<'a, O>(pub(super) &'a mut O);

impl<O: Outbox> Sink for ToOutbox<'_, O> {
    #[inline(always)]
    fn put(&mut self, frame: DataOut<'_>) {
        self.0.data(frame);
    }

    #[inline(always)]
    fn put_plain<T: Given>(&mut self, frame: &PlainOut<'_, T>) {
        self.0.plain_data(frame);
    }
}

impl<O: Outbox> Lrc<O> {
    /// [`Lrc::update_attribute_values`], or with a time [`Lrc::update_attribute_values_at`], as most are. None, and
    /// nothing is done: it is another.
    #[inline(always)]
    pub fn update_plainly(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[impl Given<Handle = AttributeHandle>],
        tag: &[u8],
        time: Option<LogicalTime>,
    ) -> Option<MessageRetractionHandle> {
        let (member, mut out) = self.plainly(Service::UpdateAttributeValues)?;
        member.send_plainly(instance, values, tag, time, &mut out)
    }

    /// [`Lrc::send_interaction`], or with a time [`Lrc::send_interaction_at`], as most are. None, and nothing is
    /// done: it is another.
    #[inline(always)]
    pub fn send_plainly(
        &mut self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
        tag: &[u8],
        time: Option<LogicalTime>,
    ) -> Option<MessageRetractionHandle> {
        let (member, mut out) = self.plainly(Service::SendInteraction)?;
        member.send_plainly(class, values, tag, time, &mut out)
    }

    /// Update Attribute Values, 1516.1-2010 §6.10, in receive order.
    pub fn update_attribute_values(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        if self.update_plainly(instance, values, tag, None).is_some() {
            return Ok(());
        }
        self.serve(
            Service::UpdateAttributeValues,
            0,
            said![instance, values, tag],
            |federate, out| {
                federate
                    .update_attribute_values(instance, values, tag, &mut |frame| out.data(frame))
            },
        )
    }

    /// Send Interaction, §6.12, in receive order.
    pub fn send_interaction(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        if self.send_plainly(class, values, tag, None).is_some() {
            return Ok(());
        }
        let service = Service::SendInteraction;
        if self.may_tell_rti(class) {
            return self.in_save(|lrc| {
                lrc.serve(service, 0, said![class, values, tag], |federate, _| {
                    federate.tell_rti(class, values, tag)
                })
            });
        }
        self.serve(service, 0, said![class, values, tag], |federate, out| {
            federate.send_interaction(class, values, tag, &mut |frame| out.data(frame))
        })
    }

    /// Whether a save or a restore is in progress in which the federate may yet send interactions of this class, and
    /// nothing else is wrong.
    fn may_tell_rti(&self, class: InteractionClassHandle) -> bool {
        let unmet = self.unmet & Service::SendInteraction.preconditions();
        let meanwhile = Preconditions::MEANWHILE;
        let only = !unmet.is_empty() && meanwhile.has(unmet);
        let federate = self.federate().filter(|_| only);
        federate.is_some_and(|f| f.may_tell_rti(class, f.stages()))
    }

    /// Update Attribute Values with a time stamp, §6.10. The handle is of what is sent in
    /// time-stamp order.
    #[inline]
    pub fn update_attribute_values_at(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        if let Some(sent) = self.update_plainly(instance, values, tag, Some(time)) {
            return Ok(sent);
        }
        self.serve(
            Service::UpdateAttributeValues,
            0,
            said![instance, values, tag, time],
            |federate, out| {
                let send = &mut |frame: DataOut<'_>| out.data(frame);
                federate.update_attribute_values_at(instance, values, tag, time, send)
            },
        )
    }

    /// Send Interaction with a time stamp, §6.12. The handle is of one sent in time-stamp order.
    #[inline]
    pub fn send_interaction_at(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        if let Some(sent) = self.send_plainly(class, values, tag, Some(time)) {
            return Ok(sent);
        }
        self.serve(
            Service::SendInteraction,
            0,
            said![class, values, tag, time],
            |federate, out| {
                let send = &mut |frame: DataOut<'_>| out.data(frame);
                federate.send_interaction_at(class, values, tag, time, send)
            },
        )
    }

    /// Send Interaction With Regions with a time stamp, §9.12. The handle is of one sent in
    /// time-stamp order.
    pub fn send_interaction_with_regions_at(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
        time: LogicalTime,
    ) -> Result<MessageRetractionHandle, Exception> {
        let service = Service::SendInteractionWithRegions;
        self.serve(
            service,
            0,
            said![class, values, regions, tag, time],
            |federate, out| {
                let send = &mut |frame: DataOut<'_>| out.data(frame);
                federate.send_interaction_with_regions_at(class, values, regions, (tag, time), send)
            },
        )
    }

    /// Query GALT, §8.16, and Query LITS, §8.18, by whichever of the two services. Wait for
    /// [`Lrc::bounds`].
    pub fn query_bounds(&mut self, service: Service) -> Result<(), Exception> {
        self.serve(service, 0, said![], |federate, _| federate.query_bounds())?;
        self.awaited = Some(Awaited::Bounds);
        Ok(())
    }

    /// GALT and LITS, none where undefined, once the executive's word is there. The federate's end
    /// is an answer.
    pub fn bounds(&mut self, service: Service) -> Option<Result<Bounds, Exception>> {
        let answer = match &mut self.life {
            Life::Joined(_) if self.awaited != Some(Awaited::Bounds) => Err(restored_meanwhile()),
            Life::Joined(federate) => Ok(federate.take_bounds()?),
            Life::Losing(_, why) | Life::Lost(why) => Err(Preconditions::CONNECTED.refusal(why)),
            _ => Err(ceased()),
        };
        self.awaited = None;
        Some(answer.map_err(|e| e.in_service(service)))
    }

    /// Send Interaction With Regions, §9.12, in receive order. With no region it is sent with the
    /// default region.
    pub fn send_interaction_with_regions(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        regions: &[RegionHandle],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let service = Service::SendInteractionWithRegions;
        self.serve(
            service,
            0,
            said![class, values, regions, tag],
            |federate, out| {
                let send = &mut |frame: DataOut<'_>| out.data(frame);
                federate.send_interaction_with_regions(class, values, regions, tag, send)
            },
        )
    }

    /// Confirm Divestiture, §7.6. Wait for [`Lrc::divested`] of this number.
    pub fn confirm_divestiture(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        let bytes = attributes.extent() + tag.len();
        let request = self.serve(
            Service::ConfirmDivestiture,
            bytes,
            said![instance, attributes, tag],
            |federate, _| federate.confirm_divestiture(instance, attributes, tag),
        )?;
        self.divesting.insert(request);
        Ok(request)
    }

    /// Attribute Ownership Divestiture If Wanted, §7.13. Wait for [`Lrc::divested`] of this number.
    pub fn attribute_ownership_divestiture_if_wanted(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &[u8],
    ) -> Result<RequestNumber, Exception> {
        let service = Service::AttributeOwnershipDivestitureIfWanted;
        let bytes = attributes.extent() + tag.len();
        let request = self.serve(
            service,
            bytes,
            said![instance, attributes, tag],
            |federate, _| {
                federate.attribute_ownership_divestiture_if_wanted(instance, attributes, tag)
            },
        )?;
        self.divesting.insert(request);
        Ok(request)
    }

    /// What another federate owns now by this request, once the federation execution's word is
    /// there. The federate's end is an answer.
    pub fn divested(
        &mut self,
        service: Service,
        request: RequestNumber,
    ) -> Option<Result<Vec<AttributeHandle>, Exception>> {
        let answer = match &mut self.life {
            Life::Joined(_) if !self.divesting.contains(&request) => Err(restored_meanwhile()),
            Life::Joined(federate) => federate.divested(request)?,
            Life::Losing(_, why) | Life::Lost(why) => Err(Preconditions::CONNECTED.refusal(why)),
            _ => Err(ceased()),
        };
        self.divesting.remove(&request);
        Some(answer.map_err(|e| e.in_service(service)))
    }

    /// The name of the federation execution's logical time implementation (getTimeFactory).
    pub fn time_implementation(&mut self) -> Result<String, Exception> {
        self.serve(Service::GetTimeFactory, 0, said![], |federate, _| {
            Ok(federate.logical_time_implementation().to_owned())
        })
    }
}

/// The rows of the table of services as methods.
macro_rules! methods {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl<O: Outbox> Lrc<O> {$(
            $(#[$doc])*
            #[allow(clippy::useless_conversion, reason = "borrowed results become owned ones, others stay")]
            pub fn $method(&mut self $(, $argument: $type)*) -> Result<$result, Exception> {
                let bytes = 0 $(+ $argument.extent())*;
                self.serve(Service::$service, bytes, said![$($argument),*], |federate, _| {
                    federate.$method($($argument),*).map(Into::into)
                })
            }
        )*}
    };
}
crate::services!(methods);
