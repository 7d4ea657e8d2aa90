//! Declaration management at the executive.

use crate::execution::Execution;
use crate::message::declaration::{Entry, Request};
use crate::message::{Cause, SubscribedAttribute, Subscription};
use crate::mom;
use crate::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ProtocolError, Services};

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_declaration(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::PublishObjectClass { class, attributes } => {
                self.publish_object_class(cause, class, attributes)
            }
            Request::PublishInteraction { class, published } => {
                self.publish_interaction(cause, class, published)
            }
            Request::SubscribeObjectClass { class, attributes } => {
                self.subscribe_object_class(cause, class, attributes)
            }
            Request::SubscribeInteraction {
                class,
                subscription,
            } => self.subscribe_interaction(cause, class, subscription),
        }
    }

    /// Publish and Unpublish Object Class Attributes, 1516.1-2010 §5.2 and §5.3.
    pub(crate) fn publish_object_class(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().copied())?;
        if let Some(name) = mom::own_attribute(&self.model, class, &attributes) {
            return Err(ProtocolError(format!(
                "{} published '{name}', which the RTI alone publishes",
                cause.sender
            )));
        }
        let privilege = self.privilege_to_delete();
        // The privilege to delete is published with whatever else is.
        let with_privilege = |mut list: Vec<AttributeHandle>| {
            list.extend(privilege.filter(|p| !list.is_empty() && !list.contains(p)));
            list
        };
        let now = with_privilege(attributes.clone());
        let before = self.publications.set(cause.sender, class, attributes);
        let mut ended = with_privilege(before);
        let begun: Vec<_> = now.iter().filter(|a| !ended.contains(a)).copied().collect();
        ended.retain(|a| !now.contains(a));
        if !ended.is_empty() {
            self.unpublished(cause, class, &ended);
        }
        if !begun.is_empty() {
            self.offer_published(cause, class, &begun);
        }
        Ok(())
    }

    /// Publish and Unpublish Interaction Class, §5.4 and §5.5.
    pub(crate) fn publish_interaction(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        published: bool,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        let publications = &mut self.publications;
        publications.set_interaction(cause.sender, class, published);
        if !published {
            self.objects.forget_transportation(cause.sender, class);
        }
        Ok(())
    }

    /// Subscribe and Unsubscribe Object Class Attributes, §5.6 and §5.7.
    pub(crate) fn subscribe_object_class(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: Vec<SubscribedAttribute>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().map(|a| a.attribute))?;
        attributes
            .iter()
            .try_for_each(|a| self.require_rate(&a.rate))?;
        let now = self.log.index();
        let table = self.subscriptions.change();
        table.set_object(cause.sender, class, attributes.clone(), now);
        self.log
            .tell_all(cause, Entry::ObjectSubscription { class, attributes });
        self.touch_known(cause.sender, class);
        self.discover_below(cause, class);
        Ok(())
    }

    /// Subscribe and Unsubscribe Interaction Class, §5.8 and §5.9.
    pub(crate) fn subscribe_interaction(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        subscription: Subscription,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        let now = self.log.index();
        let table = self.subscriptions.change();
        table.set_interaction(cause.sender, class, subscription, now);
        self.log.tell_all(
            cause,
            Entry::InteractionSubscription {
                class,
                subscription,
            },
        );
        self.exclude_reporting(cause, class);
        Ok(())
    }

    pub(crate) fn require_attributes(
        &self,
        class: ObjectClassHandle,
        mut attributes: impl Iterator<Item = AttributeHandle>,
    ) -> Result<(), ProtocolError> {
        let known = self.model.object_class(class);
        let known = known.ok_or_else(|| ProtocolError(format!("no object class {class}")))?;
        match attributes.find(|a| known.slot(*a).is_none()) {
            None => Ok(()),
            Some(a) => Err(ProtocolError(format!("no attribute {a} at {}", known.name))),
        }
    }

    /// An update rate of the FDD, or none.
    pub(crate) fn require_rate(&self, rate: &str) -> Result<(), ProtocolError> {
        if rate.is_empty() {
            return Ok(());
        }
        Services::require(self.services.rates, "services.rates")?;
        if self.model.update_rate(rate).is_some() {
            return Ok(());
        }
        Err(ProtocolError("the FDD has no such update rate".into()))
    }

    pub(crate) fn require_interaction(
        &self,
        class: InteractionClassHandle,
    ) -> Result<(), ProtocolError> {
        match self.model.interaction_class(class) {
            Some(_) => Ok(()),
            None => Err(ProtocolError(format!("no interaction class {class}"))),
        }
    }
}
