//! Declaration management at the federate.

use crate::exception::throw;
use crate::log::federate::Place;
use crate::message::declaration::{Entry, Request};
use crate::message::{SubscribedAttribute, Subscription};
use crate::mom;
use crate::support::federate::not_in_fdd;
use crate::switches::switched_off;
use crate::{
    AttributeHandle, Exception, Federate, InteractionClassHandle, ObjectClassHandle, ProtocolError,
};
use starling_fom::{InteractionClass, ObjectClass};

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_declaration(
        &mut self,
        entry: Entry,
        place: Place,
    ) -> Result<(), ProtocolError> {
        let Place { index, .. } = place;
        match entry {
            Entry::ObjectSubscription { class, attributes } => {
                let sender = place.sender()?;
                let table = self.declarations.applied_by(sender);
                table.set_object(sender, class, attributes, index);
                self.advise_subscribed(class);
            }
            Entry::InteractionSubscription {
                class,
                subscription,
            } => {
                let sender = place.sender()?;
                let table = self.declarations.applied_by(sender);
                table.set_interaction(sender, class, subscription, index);
                self.advise_interaction_subscribed(class);
            }
        }
        Ok(())
    }

    /// Publish Object Class Attributes, 1516.1-2010 §5.2: adds to what is published.
    pub fn publish_object_class_attributes(
        &mut self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        self.require_attributes(class, attributes)?;
        if let Some(name) = mom::own_attribute(&self.model, class, attributes) {
            let class = mom::own_class(&self.model, class).unwrap_or_default();
            throw!(
                RTIinternalError,
                "'{name}' of '{class}' is published by the RTI alone (1516.1-2010, 11.1); what a FOM adds \
                 may be published"
            );
        }
        let mut all = self
            .declarations
            .published
            .get(&class)
            .cloned()
            .unwrap_or_default();
        all.extend_from_slice(attributes);
        all.sort_unstable();
        all.dedup();
        self.set_published(class, all)
    }

    /// Unpublish Object Class, §5.3.
    pub fn unpublish_object_class(&mut self, class: ObjectClassHandle) -> Result<(), Exception> {
        self.require_object_class(class)?;
        self.set_published(class, Vec::new())
    }

    /// Unpublish Object Class Attributes, §5.3.
    pub fn unpublish_object_class_attributes(
        &mut self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        self.require_attributes(class, attributes)?;
        let mut all = self
            .declarations
            .published
            .get(&class)
            .cloned()
            .unwrap_or_default();
        all.retain(|a| !attributes.contains(a));
        self.set_published(class, all)
    }

    fn set_published(
        &mut self,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) -> Result<(), Exception> {
        let before = self
            .declarations
            .published
            .get(&class)
            .cloned()
            .unwrap_or_default();
        if before == attributes {
            return Ok(());
        }
        let mut ended = before;
        ended.retain(|a| !attributes.contains(a));
        let privilege = self.privilege_to_delete();
        match attributes.is_empty() {
            // The privilege to delete is published with whatever else is.
            true if !ended.contains(&privilege) => ended.push(privilege),
            true => {}
            false => ended.retain(|a| *a != privilege),
        }
        let of_ended = |a: &AttributeHandle| ended.contains(a);
        if let Some(why) = self.acquiring(|i, _, a| i.known_class() == class && of_ended(&a)) {
            throw!(OwnershipAcquisitionPending, "{why}");
        }
        if attributes.is_empty() {
            self.declarations.published.remove(&class)
        } else {
            self.declarations
                .published
                .insert(class, attributes.clone())
        };
        self.advise_published(class);
        let request = Request::PublishObjectClass {
            class,
            attributes: attributes.clone(),
        };
        if ended.is_empty() {
            self.log.request(request)
        } else {
            self.divest_unpublished(class, &ended);
            self.log.ending_request(request);
        }
        Ok(())
    }

    /// Publish Interaction Class, §5.4.
    pub fn publish_interaction_class(
        &mut self,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        self.require_managed_interaction(class)?;
        if self.declarations.published_interactions.insert(class) {
            let published = true;
            self.advise_interaction_published(class);
            self.log
                .request(Request::PublishInteraction { class, published });
        }
        Ok(())
    }

    /// Unpublish Interaction Class, §5.5.
    pub fn unpublish_interaction_class(
        &mut self,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        if self.declarations.published_interactions.remove(&class) {
            self.declarations.plans.publications_changed();
            self.objects.forget_transportation(class);
            self.time.forget_order(class);
            let published = false;
            self.advise_interaction_published(class);
            self.log
                .ending_request(Request::PublishInteraction { class, published });
        }
        Ok(())
    }

    /// Whether this federate publishes an attribute of an object class.
    pub fn publishes_object_class(&self, class: ObjectClassHandle) -> bool {
        self.declarations.published.contains_key(&class)
    }

    /// Whether this federate publishes an interaction class.
    pub fn publishes_interaction(&self, class: InteractionClassHandle) -> bool {
        self.declarations.published_interactions.contains(&class)
    }

    /// Subscribe Object Class Attributes, §5.6: adds to what is subscribed; for attributes that
    /// are subscribed already, `active` and `rate` replace the former ones.
    pub fn subscribe_object_class_attributes(
        &mut self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
        active: bool,
        rate: &str,
    ) -> Result<(), Exception> {
        self.require_attributes(class, attributes)?;
        self.require_update_rate(rate)?;
        self.require_managed_object(class, attributes)?;
        let mut all = self.declarations.mine().object(self.me, class).to_vec();
        all.retain(|a| !attributes.contains(&a.attribute));
        all.extend(attributes.iter().map(|attribute| SubscribedAttribute {
            attribute: *attribute,
            active,
            rate: rate.to_owned(),
        }));
        self.set_subscribed(class, all);
        Ok(())
    }

    /// Unsubscribe Object Class, §5.7.
    pub fn unsubscribe_object_class(&mut self, class: ObjectClassHandle) -> Result<(), Exception> {
        self.require_object_class(class)?;
        self.set_subscribed(class, Vec::new());
        Ok(())
    }

    /// Unsubscribe Object Class Attributes, §5.7.
    pub fn unsubscribe_object_class_attributes(
        &mut self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        self.require_attributes(class, attributes)?;
        let mut all = self.declarations.mine().object(self.me, class).to_vec();
        all.retain(|a| !attributes.contains(&a.attribute));
        self.set_subscribed(class, all);
        Ok(())
    }

    /// InvalidUpdateRateDesignator unless the FDD has it, or it is empty; RTIinternalError where there
    /// are none.
    pub(crate) fn require_update_rate(&self, rate: &str) -> Result<(), Exception> {
        if !rate.is_empty() && !self.services.rates {
            let what = format!("'{rate}' is an update rate");
            return Err(switched_off(&what, "services.rates"));
        }
        if !rate.is_empty() && self.model.update_rate(rate).is_none() {
            throw!(
                InvalidUpdateRateDesignator,
                "the FDD has no update rate '{rate}'{}",
                self.model.nearest_update_rate(rate)
            );
        }
        Ok(())
    }

    fn set_subscribed(
        &mut self,
        class: ObjectClassHandle,
        mut attributes: Vec<SubscribedAttribute>,
    ) {
        attributes.sort_unstable_by_key(|a| a.attribute);
        attributes.dedup_by_key(|a| a.attribute);
        if self.declarations.mine().object(self.me, class) == attributes {
            return;
        }
        let request = self.log.next_request();
        let mine = self.declarations.change_mine();
        mine.set_object(self.me, class, attributes.clone(), request);
        self.log
            .request(Request::SubscribeObjectClass { class, attributes });
    }

    /// Subscribe Interaction Class, §5.8.
    pub fn subscribe_interaction_class(
        &mut self,
        class: InteractionClassHandle,
        active: bool,
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        self.require_managed_interaction(class)?;
        self.require_unreported(class)?;
        self.set_subscribed_interaction(
            class,
            if active {
                Subscription::Active
            } else {
                Subscription::Passive
            },
        );
        Ok(())
    }

    /// Unsubscribe Interaction Class, §5.9.
    pub fn unsubscribe_interaction_class(
        &mut self,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        if self.declarations.mine().has_interaction(self.me, class) {
            self.set_subscribed_interaction(class, Subscription::None);
        }
        Ok(())
    }

    fn set_subscribed_interaction(
        &mut self,
        class: InteractionClassHandle,
        subscription: Subscription,
    ) {
        let request = self.log.next_request();
        let mine = self.declarations.change_mine();
        mine.set_interaction(self.me, class, subscription, request);
        self.log.request(Request::SubscribeInteraction {
            class,
            subscription,
        });
    }

    /// ObjectClassNotDefined unless the FDD has the class.
    pub(crate) fn require_object_class(
        &self,
        class: ObjectClassHandle,
    ) -> Result<&ObjectClass, Exception> {
        match self.model.object_class(class) {
            Some(known) => Ok(known),
            None => {
                let why = not_in_fdd("object class", class.raw());
                throw!(ObjectClassNotDefined, "{why}")
            }
        }
    }

    /// AttributeNotDefined unless all are available at the class.
    pub(crate) fn require_attributes(
        &self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        let known = self.require_object_class(class)?;
        match attributes.iter().find(|a| known.slot(**a).is_none()) {
            None => Ok(()),
            Some(a) => throw!(
                AttributeNotDefined,
                "{} is not an attribute of '{}'",
                self.attribute_text(*a),
                known.name
            ),
        }
    }

    /// InteractionClassNotDefined unless the FDD has the class.
    pub(crate) fn require_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> Result<&InteractionClass, Exception> {
        match self.model.interaction_class(class) {
            Some(known) => Ok(known),
            None => {
                let why = not_in_fdd("interaction class", class.raw());
                throw!(InteractionClassNotDefined, "{why}")
            }
        }
    }

    /// An attribute for messages: its name, or its number where the FDD has none.
    pub(crate) fn attribute_text(&self, attribute: AttributeHandle) -> String {
        match self.model.attribute(attribute) {
            Some(a) => format!("'{}'", a.name),
            None => format!("attribute handle {attribute}"),
        }
    }
}
