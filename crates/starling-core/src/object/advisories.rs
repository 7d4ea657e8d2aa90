//! Advisories about instance attributes, 1516.1-2010 §6.17, §6.18, §6.21, §6.22: which are in
//! scope for a subscriber, and which of an owner's are wanted by anybody else.
//!
//! The executive alone knows owners and who knows which instance. Whatever changes one of these,
//! or a subscription, calls [`Execution::touch`]; at the end of the request what has changed is
//! told to those whose switches are on. With all switches off this costs one comparison.

use crate::callback::Callback;
use crate::exception::throw;
use crate::execution::Execution;
use crate::message::Cause;
use crate::message::object::{Entry, Request};
use crate::object::receive::QueuedObject;
pub(super) use crate::saved::object::Told;
use crate::{
    AttributeHandle, Exception, Federate, FederateHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use starling_fom::Switches;
use std::collections::{BTreeMap, BTreeSet};

/// A member's advisory switches about instance attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceSwitches {
    /// Attribute Scope Advisory Switch.
    pub scope: bool,
    /// Attribute Relevance Advisory Switch.
    pub relevance: bool,
}

impl InstanceSwitches {
    /// As the FDD has them for who joins.
    pub(super) fn of_fdd(fdd: &Switches) -> Self {
        InstanceSwitches {
            scope: fdd.attribute_scope_advisory,
            relevance: fdd.attribute_relevance_advisory,
        }
    }
}

impl Told {
    fn set_switches(&mut self, federate: FederateHandle, switches: InstanceSwitches) {
        if switches.scope || switches.relevance {
            self.switches.insert(federate, switches);
        } else {
            self.switches.remove(&federate);
        }
    }
}

impl Execution {
    /// Something that an instance's advisories depend on may have changed.
    pub(crate) fn touch(&mut self, instance: ObjectInstanceHandle) {
        if self.is_advising() {
            self.objects.told.touched.insert(instance);
        }
    }

    /// A federate's subscription at a class has changed.
    pub(crate) fn touch_known(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        if self.is_advising() {
            let known = self.objects.instances.iter();
            let known = known.filter(|(_, i)| i.known_class(federate) == Some(class));
            self.objects.told.touched.extend(known.map(|(h, _)| *h));
        }
    }

    fn touch_all(&mut self) {
        if self.is_advising() {
            self.objects
                .told
                .touched
                .extend(self.objects.instances.keys());
        }
    }

    pub(crate) fn is_advising(&self) -> bool {
        !self.objects.told.switches.is_empty()
    }

    /// A federate that joins has the switches of the FDD.
    pub(crate) fn advise_joiner(&mut self, joiner: FederateHandle) {
        let switches = InstanceSwitches::of_fdd(self.model.switches());
        self.objects.told.set_switches(joiner, switches);
    }

    /// A federate is gone.
    pub(crate) fn advise_no_more(&mut self, gone: FederateHandle) {
        self.objects.told.switches.remove(&gone);
        self.objects.told.scope.retain(|(f, _), _| *f != gone);
        self.objects.told.relevance.retain(|(f, _), _| *f != gone);
        self.touch_all();
    }

    /// A member's switches about instance attributes, §10.35 to §10.38.
    pub(crate) fn set_instance_switches(&mut self, cause: Cause, switches: InstanceSwitches) {
        self.objects.told.set_switches(cause.sender, switches);
        self.touch_all();
    }

    /// Tells what has changed since the last call.
    pub(crate) fn advise(&mut self, cause: impl Into<Option<Cause>>) {
        let cause = cause.into();
        if self.objects.told.touched.is_empty() {
            return;
        }
        let touched = std::mem::take(&mut self.objects.told.touched);
        for (federate, switches) in self.objects.told.switches.clone() {
            for instance in &touched {
                if switches.scope {
                    self.advise_scope(cause, federate, *instance, false);
                }
                if switches.relevance {
                    self.advise_relevance(cause, federate, *instance);
                }
            }
        }
    }

    /// Tells what has changed by something that is no request in the log.
    pub(crate) fn advise_unasked(&mut self) {
        if !self.objects.told.touched.is_empty() {
            self.log.advance();
            self.advise(None);
        }
    }

    /// The deletion of an instance was retracted that a federate knew. It alone knows whether the removal was delivered
    /// to it, so that all that is in scope is news; and so it is told all, besides what has changed.
    pub(crate) fn advise_again(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) {
        let switches = self.objects.told.switches.get(&federate);
        if switches.is_some_and(|switches| switches.scope) {
            self.advise_scope(None, federate, instance, true);
        }
    }

    fn advise_scope(
        &mut self,
        cause: Option<Cause>,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        again: bool,
    ) {
        let known = self.objects.instances.get(&instance);
        let Some(class) = known.and_then(|i| i.known_class(federate)) else {
            if !self.time.may_be_undeleted(instance, federate) {
                self.objects.told.scope.remove(&(federate, instance));
            }
            return;
        };
        let now: BTreeSet<_> = self
            .subscriptions
            .attributes(federate, class)
            .filter(|a| self.is_in_scope(federate, class, instance, *a))
            .collect();
        let told = self
            .objects
            .told
            .scope
            .entry((federate, instance))
            .or_default();
        let entered = now.iter().filter(|a| again || !told.contains(a));
        let entry = Entry::AttributesScope {
            instance,
            entered: entered.copied().collect(),
            left: told.difference(&now).copied().collect(),
        };
        if *told != now || (again && !now.is_empty()) {
            *told = now;
            self.log.tell(cause, &[federate], entry);
        }
    }

    /// Whether an attribute of a known instance that is subscribed at its known class is in scope
    /// (§6.1.2).
    fn is_in_scope(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> bool {
        let owner = self.owner(instance, Some(attribute));
        owner.is_some_and(|owner| {
            owner != federate && self.reaches(instance, attribute, owner, federate, class)
        })
    }

    fn advise_relevance(
        &mut self,
        cause: Option<Cause>,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) {
        let Some(instance) = self.objects.instances.get(&handle) else {
            self.objects.told.relevance.remove(&(federate, handle));
            return;
        };
        let class = self.model.object_class(instance.class);
        let attributes = class.map_or(&[][..], |c| &c.attributes);
        let owned: BTreeSet<_> = attributes
            .iter()
            .zip(&instance.owners)
            .filter(|(_, owner)| **owner == Some(federate.into()))
            .map(|(attribute, _)| *attribute)
            .collect();
        // The fastest rate of the active subscribers; none at all if one wants every update.
        let mut now: BTreeMap<AttributeHandle, String> = BTreeMap::new();
        for (subscriber, known) in instance.known.iter().filter(|(f, _)| **f != federate) {
            let to = (*subscriber, known.class);
            let subscribed: BTreeSet<_> = self.subscriptions.attributes(to.0, to.1).collect();
            for attribute in subscribed.intersection(&owned) {
                for wanted in self.reaching_rates(handle, *attribute, federate, to.0, to.1) {
                    let rate = now.entry(*attribute);
                    let rate = rate.or_insert_with(|| wanted.to_owned());
                    let of = |r: &str| self.model.update_rate(r).unwrap_or(f64::INFINITY);
                    if of(wanted) > of(rate) {
                        wanted.clone_into(rate);
                    }
                }
            }
        }
        let told = self
            .objects
            .told
            .relevance
            .entry((federate, handle))
            .or_default();
        // What it no longer owns is nobody's news.
        told.retain(|a, _| owned.contains(a));
        let off: Vec<_> = told
            .keys()
            .copied()
            .filter(|a| !now.contains_key(a))
            .collect();
        let mut on: BTreeMap<String, Vec<AttributeHandle>> = BTreeMap::new();
        for (attribute, rate) in &now {
            if told.get(attribute) != Some(rate) {
                on.entry(rate.clone()).or_default().push(*attribute);
            }
        }
        *told = now;
        if !off.is_empty() || !on.is_empty() {
            let entry = Entry::AttributesRelevance {
                instance: handle,
                on: on.into_iter().collect(),
                off,
            };
            self.log.tell(cause, &[federate], entry);
        }
    }
}

impl Federate {
    /// Enable Attribute Scope Advisory Switch, §10.37: what is in scope now is told.
    pub fn enable_attribute_scope_advisory_switch(&mut self) -> Result<(), Exception> {
        if self.objects.switches.scope {
            throw!(AttributeScopeAdvisorySwitchIsOn, "the switch is on already");
        }
        self.objects.switches.scope = true;
        self.log
            .request(Request::SetInstanceSwitches(self.objects.switches));
        Ok(())
    }

    /// Disable Attribute Scope Advisory Switch, §10.38.
    pub fn disable_attribute_scope_advisory_switch(&mut self) -> Result<(), Exception> {
        if !self.objects.switches.scope {
            throw!(
                AttributeScopeAdvisorySwitchIsOff,
                "the switch is off already"
            );
        }
        self.objects.switches.scope = false;
        self.log
            .request(Request::SetInstanceSwitches(self.objects.switches));
        Ok(())
    }

    /// Enable Attribute Relevance Advisory Switch, §10.35: what is wanted now is told.
    pub fn enable_attribute_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if self.objects.switches.relevance {
            throw!(
                AttributeRelevanceAdvisorySwitchIsOn,
                "the switch is on already"
            );
        }
        self.objects.switches.relevance = true;
        self.log
            .request(Request::SetInstanceSwitches(self.objects.switches));
        Ok(())
    }

    /// Disable Attribute Relevance Advisory Switch, §10.36.
    pub fn disable_attribute_relevance_advisory_switch(&mut self) -> Result<(), Exception> {
        if !self.objects.switches.relevance {
            throw!(
                AttributeRelevanceAdvisorySwitchIsOff,
                "the switch is off already"
            );
        }
        self.objects.switches.relevance = false;
        self.log
            .request(Request::SetInstanceSwitches(self.objects.switches));
        Ok(())
    }

    /// What is delivered if its switch is still on and the instance still there.
    pub(crate) fn apply_scope(
        &mut self,
        instance: ObjectInstanceHandle,
        entered: Vec<AttributeHandle>,
        left: Vec<AttributeHandle>,
    ) {
        for (attributes, inside) in [(left, false), (entered, true)] {
            if !attributes.is_empty() {
                self.delivery.push(QueuedObject::Scope {
                    instance,
                    attributes,
                    inside,
                });
            }
        }
    }

    /// What is delivered for what is still owned then.
    pub(crate) fn apply_relevance(
        &mut self,
        instance: ObjectInstanceHandle,
        on: Vec<(String, Vec<AttributeHandle>)>,
        off: Vec<AttributeHandle>,
    ) {
        let off = (!off.is_empty()).then_some((None, off));
        let on = on.into_iter().map(|(rate, list)| (Some(rate.into()), list));
        for (rate, attributes) in off.into_iter().chain(on) {
            self.delivery.push(QueuedObject::Updates {
                instance,
                attributes,
                rate,
            });
        }
    }

    pub(crate) fn deliver_scope(
        &mut self,
        instance: ObjectInstanceHandle,
        mut attributes: Vec<AttributeHandle>,
        inside: bool,
    ) -> Option<Callback> {
        // What waits before its discovery was said of it before it was deleted locally.
        let known = self.objects.instances.get_mut(&instance);
        let known = known.filter(|known| known.discovered)?;
        // Said again after a retracted deletion, it may be nothing new.
        attributes.retain(|a| {
            if inside {
                known.in_scope.insert(*a)
            } else {
                known.in_scope.remove(a)
            }
        });
        let is_told = self.objects.switches.scope && !attributes.is_empty();
        is_told.then_some(if inside {
            Callback::AttributesInScope {
                instance,
                attributes,
            }
        } else {
            Callback::AttributesOutOfScope {
                instance,
                attributes,
            }
        })
    }

    pub(crate) fn deliver_updates(
        &self,
        instance: ObjectInstanceHandle,
        mut attributes: Vec<AttributeHandle>,
        rate: Option<Box<str>>,
    ) -> Option<Callback> {
        let known = self.objects.instances.get(&instance)?;
        attributes.retain(|a| known.owned.contains(a));
        (self.objects.switches.relevance && !attributes.is_empty()).then_some(match rate {
            Some(rate) => Callback::TurnUpdatesOnForObjectInstance {
                instance,
                attributes,
                rate: rate.into(),
            },
            None => Callback::TurnUpdatesOffForObjectInstance {
                instance,
                attributes,
            },
        })
    }
}
