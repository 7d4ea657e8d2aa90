//! "No updates arrive": the chain from who sends to who should receive, link by link, as the
//! executive knows it. The first link that fails is the answer.

use crate::execution::Execution;
use crate::message::{Finding, Question, Range, Subscription};
use crate::mom;
use crate::object::registered::Instance;
use crate::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Owner, PeerId,
};
use starling_fom::{ObjectModel, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// Asked about a federate of this name, it panics.
#[cfg(test)]
pub(crate) const PANIC: &str = "a federate that makes it panic";

/// A chain being walked: ends at the first link that fails.
#[derive(Default)]
pub(crate) struct Walk {
    found: Vec<Finding>,
    /// The federate that should receive, if it is joined.
    receiver: Option<FederateHandle>,
    /// The federates that own, or publish, what should come.
    senders: BTreeSet<FederateHandle>,
    /// The federate whose turn it is: for what it does everything waits.
    pub(crate) turn: Option<FederateHandle>,
    /// Whose turn it is if that one waits at a synchronization point that it has achieved.
    pub(crate) at_point: Option<FederateHandle>,
}

/// The walk has come to a link that fails.
pub(crate) struct Broken;

impl Walk {
    pub(crate) fn holds(&mut self, link: &str, detail: impl Into<String>) {
        self.note(link, true, detail.into());
    }

    pub(crate) fn fails(&mut self, link: &str, detail: impl Into<String>) -> Result<(), Broken> {
        self.note(link, false, detail.into());
        Err(Broken)
    }

    fn note(&mut self, link: &str, holds: bool, detail: String) {
        let link = link.to_owned();
        self.found.push(Finding {
            link,
            holds,
            detail,
        });
    }
}

/// What a walk has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Why {
    /// The links up to the first that fails.
    pub findings: Vec<Finding>,
    /// The receiver's connection, if it is joined and was asked about data.
    pub receiver: Option<PeerId>,
    /// The connections of those who own, or publish, what should come to it, and their names.
    pub senders: Vec<(PeerId, String)>,
    /// The connection of the federate whose turn it is, and its name: for what it does everything
    /// waits.
    pub turn: Option<(PeerId, String)>,
    /// The same of who has not achieved a synchronization point that the one whose turn it is has achieved: if that one
    /// waits there, it is this one's turn.
    pub at_point: Option<(PeerId, String)>,
}

impl Execution {
    /// Walks the chain for a receiver and an object instance, object class or interaction class,
    /// by name; or for its time.
    pub(crate) fn why(&self, question: &Question) -> Why {
        let walk = self.walk(question);
        Why {
            findings: walk.found,
            receiver: walk.receiver.and_then(|f| self.log.peer(f)),
            senders: walk
                .senders
                .iter()
                .filter_map(|f| self.turn_of(*f))
                .collect(),
            turn: walk.turn.and_then(|f| self.turn_of(f)),
            at_point: walk.at_point.and_then(|f| self.turn_of(f)),
        }
    }

    fn walk(&self, question: &Question) -> Walk {
        #[cfg(test)]
        assert_ne!(question.federate, PANIC, "asked for by a test");
        let mut walk = Walk::default();
        let Some(receiver) = self.federation.member_named(&question.federate) else {
            let joined = listed(self.federation.member_names().collect());
            let why = format!(
                "'{}' is no joined federate of '{}'; there {joined}",
                question.federate,
                self.federation.name()
            );
            let _ = walk.fails("joined", why);
            return walk;
        };
        let since = format!(
            "'{}' is joined to '{}'",
            question.federate,
            self.federation.name()
        );
        walk.holds("joined", since);
        let Some(subject) = question.subject.as_deref() else {
            let _ = self.why_time(&mut walk, receiver);
            self.why_withheld_bytes(&mut walk, receiver);
            self.why_point(&mut walk, receiver);
            return walk;
        };
        walk.receiver = Some(receiver);
        let modules = self.federation.modules().iter();
        let modules: Vec<_> = modules.map(|m| m.designator.as_str()).collect();
        let same = format!(
            "all federates share one FDD, merged from {}",
            modules.join(", ")
        );
        walk.holds("same FOM", same);
        let found = match self.objects.named(subject) {
            Some(named) => self.why_instance(&mut walk, receiver, named),
            None => match (
                self.model.object_class_by_name(subject),
                self.model.interaction_class_by_name(subject),
            ) {
                (Some(class), _) => self.why_class(&mut walk, receiver, class.handle),
                (None, Some(class)) => self.why_interaction(&mut walk, receiver, class.handle),
                (None, None) => walk.fails(
                    "exists",
                    format!(
                        "'{subject}' is no object instance now, and no class of the FDD: {} instances are registered{}",
                        self.objects.of_federates(),
                        self.nearest(subject)
                    ),
                ),
            },
        };
        if found.is_ok() {
            let _ = self.why_withheld(&mut walk, receiver);
            self.why_withheld_bytes(&mut walk, receiver);
            if let Some(turn) = walk.turn {
                self.why_point(&mut walk, turn);
            }
        }
        walk
    }

    fn why_instance(
        &self,
        walk: &mut Walk,
        receiver: FederateHandle,
        (handle, instance): (ObjectInstanceHandle, &Instance),
    ) -> Result<(), Broken> {
        let name = instance.name(handle);
        let class = class_name(&self.model, instance.class());
        let by = self.owner_text(handle.registrar());
        walk.holds(
            "exists",
            format!("'{name}' was registered by {by} as '{class}'"),
        );
        let known = instance.known_class(receiver);
        if let Some((by, time)) = self.time.deletion(handle).filter(|_| known.is_none()) {
            let why = format!(
                "{} has deleted '{name}' at {time} (6.14): {} knows it no more",
                self.federate_text(by),
                self.federate_text(receiver)
            );
            return walk.fails("deleted", why);
        }

        let attributes = self.model.object_class(instance.class());
        let attributes = attributes.map_or(&[][..], |c| &c.attributes);
        let privilege = self.privilege_to_delete();
        let owned = attributes.iter().zip(instance.owners());
        let owned: Vec<_> = owned
            .filter_map(|(a, owner)| Some((*a, (*owner)?)))
            .filter(|(a, _)| Some(*a) != privilege)
            .collect();
        let of_others: Vec<_> = owned.iter().filter(|(_, o)| *o != receiver).collect();
        if of_others.is_empty() {
            let why = if owned.is_empty() {
                format!(
                    "nobody owns an attribute of '{name}': none is published as '{class}', or all are \
                     divested"
                )
            } else {
                format!(
                    "{} itself owns all attributes of '{name}' that anybody owns; nobody reflects its own",
                    self.federate_text(receiver)
                )
            };
            return walk.fails("owned", why);
        }
        let told = of_others.iter().map(|(a, o)| {
            let name = self.model.attribute(*a).map_or("?", |a| &a.name);
            format!("{name} by {}", self.owner_text(*o))
        });
        walk.holds("published and owned", told.collect::<Vec<_>>().join(", "));

        let candidate = self
            .subscriptions
            .candidate_class(&self.model, receiver, instance.class());
        let Some(at) = known.or(candidate) else {
            let why = format!(
                "{} subscribes to nothing at '{class}' or its superclasses{}",
                self.federate_text(receiver),
                self.subscribed_elsewhere(receiver)
            );
            return walk.fails("subscribed", why);
        };
        let at_name = class_name(&self.model, at);
        let subscribed: BTreeSet<_> = self.subscriptions.attributes(receiver, at).collect();
        let wanted = subscribed.iter().filter_map(|a| self.model.attribute(*a));
        let wanted: Vec<_> = wanted.map(|a| a.name.as_str()).collect();
        let wanted = wanted.join(", ");
        if subscribed.is_empty() {
            let why = format!(
                "{} knows '{name}' as '{at_name}' and subscribes to nothing there now{}",
                self.federate_text(receiver),
                self.subscribed_elsewhere(receiver)
            );
            return walk.fails("subscribed", why);
        }
        let both: Vec<_> = of_others
            .iter()
            .filter(|(a, _)| subscribed.contains(a))
            .map(|both| **both)
            .collect();
        if both.is_empty() {
            let why = format!(
                "{} subscribes at '{at_name}' to {wanted} only, which no other federate owns",
                self.federate_text(receiver)
            );
            return walk.fails("subscribed", why);
        }
        let mut rates = self.subscriptions.rates_at(at);
        let rate = rates.find_map(|(f, a, rate)| {
            let at_it = f == receiver && subscribed.contains(&a) && !rate.is_empty();
            at_it.then_some(rate)
        });
        let reduced = rate.map_or(String::new(), |r| format!(", at update rate {r}"));
        walk.holds("subscribed", format!("at '{at_name}' to {wanted}{reduced}"));
        let reaches =
            |(a, o): &(AttributeHandle, Owner)| self.reaches(handle, *a, *o, receiver, at);
        let (reached, apart): (Vec<_>, Vec<_>) = both.into_iter().partition(reaches);
        if !apart.is_empty() {
            let why = self.apart_text(handle, &apart, receiver, at);
            if reached.is_empty() {
                return walk.fails("regions", why);
            } else {
                walk.note("regions", false, why)
            }
        }
        if known.is_none() {
            let why = format!(
                "{} has deleted '{name}' locally; it discovers it again with its next update, or when it subscribes again",
                self.federate_text(receiver)
            );
            return walk.fails("discovered", why);
        }
        walk.holds("discovered", format!("known as '{at_name}'"));
        walk.senders = reached.iter().filter_map(|(_, o)| o.federate()).collect();
        let senders: BTreeSet<_> = reached.iter().map(|(_, o)| self.owner_text(*o)).collect();
        let senders: Vec<_> = senders.into_iter().collect();
        let senders = senders.join(" or ");
        match instance.updates() {
            0 => walk.fails(
                "updated",
                format!("no update that anybody subscribes to has come from {senders} yet"),
            ),
            all => match instance.updates_since_known(receiver) {
                0 => walk.fails(
                    "updated",
                    format!(
                        "none of the {all} updates has come since {} discovered it: ask for its values \
                         (6.19), or switch Auto-Provide on",
                        self.federate_text(receiver)
                    ),
                ),
                since => {
                    walk.holds("updated", format!("{since} have come to the executive"));
                    Ok(())
                }
            },
        }
    }

    fn why_class(
        &self,
        walk: &mut Walk,
        receiver: FederateHandle,
        class: ObjectClassHandle,
    ) -> Result<(), Broken> {
        let name = class_name(&self.model, class);
        let below = |c: ObjectClassHandle| self.model.is_subclass_or_same(c, class);
        let published = self.publications.objects();
        let publishers = published.filter(|(f, c, _)| *f != receiver && below(*c));
        let publishers = self.publishers_text(name, publishers.map(|(f, ..)| f));
        if publishers.is_empty() {
            let why = format!("no other federate publishes '{name}' or a subclass");
            return walk.fails("published", why);
        }
        walk.holds("published", format!("by {}", publishers));
        if self
            .subscriptions
            .candidate_class(&self.model, receiver, class)
            .is_none()
        {
            let why = format!(
                "{} subscribes to nothing at '{name}' or its superclasses{}",
                self.federate_text(receiver),
                self.subscribed_elsewhere(receiver)
            );
            return walk.fails("subscribed", why);
        }
        let of_others = |(h, i): &(ObjectInstanceHandle, &Instance)| {
            below(i.class()) && h.registrar() != receiver
        };
        let all: Vec<_> = self.objects.iter().filter(of_others).collect();
        // One that is not known tells most, unless it is being deleted.
        let unknown = |(handle, i): &&(ObjectInstanceHandle, &Instance)| {
            i.known_class(receiver).is_none() && self.time.deletion(*handle).is_none()
        };
        let known = |(_, i): &&(ObjectInstanceHandle, &Instance)| i.known_class(receiver).is_some();
        let Some(one) = all
            .iter()
            .find(unknown)
            .or_else(|| all.iter().find(known))
            .or(all.first())
        else {
            let why = format!("no other federate has registered an instance of '{name}'");
            return walk.fails("registered", why);
        };
        let known = all
            .iter()
            .filter(|(_, i)| i.known_class(receiver).is_some());
        walk.holds(
            "registered",
            format!(
                "{} instances, of which {} has discovered {}; for one of them:",
                all.len(),
                self.federate_text(receiver),
                known.count()
            ),
        );
        self.why_instance(walk, receiver, *one)
    }

    fn why_interaction(
        &self,
        walk: &mut Walk,
        receiver: FederateHandle,
        class: InteractionClassHandle,
    ) -> Result<(), Broken> {
        let name = |c| self.model.interaction_class(c).map_or("?", |c| &c.name);
        let below =
            |c: InteractionClassHandle| self.model.is_interaction_subclass_or_same(c, class);
        let published = self.publications.interactions();
        let publishers = published.filter(|(f, c)| *f != receiver && below(*c));
        walk.senders = publishers.map(|(f, _)| f).collect();
        let publishers = self.publishers_text(name(class), walk.senders.iter().copied());
        if publishers.is_empty() {
            let class = name(class);
            let why = format!("no other federate publishes '{class}' or a subclass");
            return walk.fails("published", why);
        }
        walk.holds("published", format!("by {}", publishers));
        let subscribes = |c: &InteractionClassHandle| {
            let mut all = self.subscriptions.at_interaction_class(*c);
            all.any(|(f, _)| f == receiver)
        };
        let mut classes = self.model.interaction_lineage(class).map(|c| c.handle);
        let Some(at) = classes.find(subscribes) else {
            let mine = self.subscriptions.interactions();
            let mine = mine.filter(|(f, _, how)| *f == receiver && *how != Subscription::None);
            let mine: Vec<_> = mine.map(|(_, c, _)| name(c)).collect();
            let why = format!(
                "{} does not subscribe to '{}' or a superclass; it {}",
                self.federate_text(receiver),
                name(class),
                if mine.is_empty() {
                    "subscribes to no interaction class".to_owned()
                } else {
                    format!("subscribes to {}", mine.join(", "))
                }
            );
            return walk.fails("subscribed", why);
        };
        let with = if self.subscriptions.has_interaction(receiver, at) {
            ""
        } else {
            ", with regions: what is sent with others does not come"
        };
        walk.holds("subscribed", format!("at '{}'{with}", name(at)));
        let sent = self.objects.interactions_sent().filter(|(c, _)| below(*c));
        match sent.map(|(_, count)| count).sum::<u64>() {
            0 => walk.fails(
                "sent",
                "no interaction of this class or a subclass that anybody subscribes to has come yet",
            ),
            count => {
                walk.holds("sent", format!("{count} have come to the executive"));
                Ok(())
            }
        }
    }

    /// Which regions keep values away: `x, y: 'A' updates with X 0..10; 'B' subscribes with X 20..30:
    /// they do not overlap`.
    fn apart_text(
        &self,
        instance: ObjectInstanceHandle,
        attributes: &[(AttributeHandle, Owner)],
        receiver: FederateHandle,
        at: ObjectClassHandle,
    ) -> String {
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (attribute, owner) in attributes {
            let ranges = |ranges| self.ranges_text(*attribute, ranges);
            let of_owner = self.regions.updated_with(instance, *attribute, *owner);
            let of_owner: Vec<_> = of_owner.map(|(_, r)| ranges(r)).collect();
            let mine = self.subscriptions.regions.regions(receiver, at, *attribute);
            let mine = mine.filter_map(|r| self.regions.committed(r));
            let mine: Vec<_> = mine.map(|r| ranges(r)).collect();
            let regions = format!(
                "{} updates with {}; {} subscribes with {}",
                self.owner_text(*owner),
                of_owner.join(" and "),
                self.federate_text(receiver),
                mine.join(" and ")
            );
            let name = self.model.attribute(*attribute).map_or("?", |a| &a.name);
            alike.entry(regions).or_default().push(name);
        }
        let each = alike.iter();
        let each = each.map(|(regions, names)| format!("{}: {regions}", names.join(", ")));
        let each: Vec<_> = each.collect();
        format!("{}: they do not overlap", each.join("; "))
    }

    /// What may have been meant by a name that is not there, as the end of a sentence.
    fn nearest(&self, subject: &str) -> String {
        let instance = nearest(subject, self.objects.chosen_names());
        let class = || self.model.nearest_object_class(subject);
        let interaction = || self.model.nearest_interaction_class(subject);
        let found = |near: String| Some(near).filter(|near| !near.is_empty());
        let all = found(instance).or_else(|| found(class()));
        all.unwrap_or_else(interaction)
    }

    /// What a federate subscribes to, as the end of a sentence.
    fn subscribed_elsewhere(&self, federate: FederateHandle) -> String {
        let classes = self.model.object_classes();
        let mine = classes.filter(|c| {
            let mut attributes = self.subscriptions.attributes(federate, c.handle);
            attributes.next().is_some()
        });
        let mine: Vec<_> = mine.map(|c| format!("'{}'", c.name)).collect();
        if mine.is_empty() {
            "; it subscribes to no object class".to_owned()
        } else {
            format!("; it subscribes at {}", mine.join(", "))
        }
    }

    /// The ranges of a region that is used with this attribute: `X 0..10, Y 5..6 by default`.
    fn ranges_text(&self, attribute: AttributeHandle, ranges: &[Range]) -> String {
        let available = self.model.attribute(attribute);
        let available = available.map_or(&[][..], |a| &a.dimensions).iter();
        let range = |d: &DimensionHandle| {
            let dimension = self.model.dimension(*d)?;
            let given = ranges.iter().find(|r| r.dimension == *d);
            Some(match (given, dimension.default_range) {
                (Some(r), _) => format!("{} {}..{}", dimension.name, r.lower, r.upper),
                (None, Some((l, u))) => format!("{} {l}..{u} by default", dimension.name),
                (None, None) => return None,
            })
        };
        let all: Vec<_> = available.filter_map(range).collect();
        if all.is_empty() {
            "no range".to_owned()
        } else {
            all.join(", ")
        }
    }

    fn owner_text(&self, owner: Owner) -> String {
        match owner {
            Owner::Rti => "the RTI".to_owned(),
            Owner::Federate(federate) => self.federate_text(federate),
        }
    }

    /// Who publishes a class: the RTI is one of them where the class is the MOM's.
    fn publishers_text(
        &self,
        class: &str,
        federates: impl Iterator<Item = FederateHandle>,
    ) -> String {
        let federates = self.names_text(federates);
        let rti = mom::publisher(class);
        let all = [federates].into_iter().filter(|f| !f.is_empty());
        all.chain(rti).collect::<Vec<_>>().join(", ")
    }

    /// Each federate once: `'A', 'B'`.
    fn names_text(&self, federates: impl Iterator<Item = FederateHandle>) -> String {
        let federates: BTreeSet<_> = federates.collect();
        let names = federates.into_iter().map(|f| self.federate_text(f));
        names.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn federate_text(&self, federate: FederateHandle) -> String {
        match self.federation.federate_name(federate) {
            Some(name) => format!("'{name}'"),
            None => format!("{federate}, which has left"),
        }
    }
}

fn class_name(model: &ObjectModel, class: ObjectClassHandle) -> &str {
    model.object_class(class).map_or("?", |c| &c.name)
}

fn listed(names: Vec<&str>) -> String {
    if names.is_empty() {
        "is none".into()
    } else {
        format!("are '{}'", names.join("', '"))
    }
}
