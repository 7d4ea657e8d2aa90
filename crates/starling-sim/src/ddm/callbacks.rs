//! What they are told, beside what they are to be told.

use super::*;

impl Run {
    pub(super) fn callback(&mut self, me: FederateHandle, callback: &Callback) {
        match callback {
            Callback::DiscoverObjectInstance {
                instance, class, ..
            } => {
                assert_ne!(instance.registrar(), me, "{me} discovers its own");
                let twice = self.own(me).known.insert(*instance, *class);
                assert_eq!(twice, None, "{me} discovers {instance} twice");
            }
            Callback::RemoveObjectInstance { instance, .. } => {
                let known = self.own(me).known.contains_key(instance);
                assert!(known, "{me} does not know {instance}, which is removed");
                self.forgets(me, *instance);
            }
            Callback::AttributesInScope {
                instance,
                attributes,
            } => {
                for a in attributes {
                    let new = self.own(me).in_scope.insert((*instance, *a));
                    assert!(new, "{me}: {instance}, attribute {a} is in scope twice");
                }
            }
            Callback::AttributesOutOfScope {
                instance,
                attributes,
            } => {
                for a in attributes {
                    let former = self.own(me).in_scope.remove(&(*instance, *a));
                    assert!(former, "{me}: {instance}, attribute {a} was not in scope");
                }
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                producer,
                regions,
                ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, me, "{me} hears itself");
                let class = self.own(me).known.get(instance).copied();
                let class = class.unwrap_or_else(|| panic!("{me} reflects {instance} unknown"));
                let mut with_dimensions = false;
                for (attribute, value) in values.iter() {
                    let number = u64::from_le_bytes(value.try_into().expect("it is 8 bytes"));
                    let source = Source::Attribute(*instance, attribute);
                    let subscribed = self.own(me).objects.get(&(class, attribute)).cloned();
                    self.got(me, source, number, class.raw(), subscribed);
                    let model = self.world.model.as_ref().expect("it has joined");
                    let known = model.attribute(attribute).expect("it is in the FOM");
                    if known.dimensions.is_empty() {
                        continue;
                    }
                    with_dimensions = true;
                    let sent = self.with[&(source, number)].keys().copied();
                    let sent: Vec<_> = sent.collect();
                    let told = regions.clone().unwrap_or_default();
                    assert_eq!(told, sent, "conveyed to {me} of {source:?}, {number}");
                    self.convey(me, (source, number));
                }
                assert_eq!(regions.is_some(), with_dimensions);
            }
            Callback::ReceiveInteraction {
                class,
                values,
                producer,
                regions,
                ..
            } => {
                let producer = producer.expect("the FDD conveys producing federates");
                assert_ne!(producer, me, "{me} hears itself");
                let (_, value) = values.iter().next().expect("I has a parameter");
                let (sent, number) = value.split_at(4);
                let sent = u32::from_le_bytes(sent.try_into().expect("it is 4 bytes"));
                let number = u64::from_le_bytes(number.try_into().expect("it is 8 bytes"));
                let sent = InteractionClassHandle::from_raw(sent);
                let source = Source::Interaction(producer, sent);
                let subscribed = self.own(me).interactions.get(class).cloned();
                self.got(me, source, number, class.raw(), subscribed);
                let mut told = regions.clone().expect("I has dimensions");
                told.sort_unstable();
                let sent: Vec<_> = self.with[&(source, number)].keys().copied().collect();
                assert_eq!(told, sent, "conveyed to {me} of {source:?}, {number}");
                self.convey(me, (source, number));
            }
            Callback::ProvideAttributeValueUpdate { instance, .. } => {
                assert_eq!(instance.registrar(), me, "{me} does not own {instance}");
            }
            _ => {}
        }
    }

    /// Regions are conveyed: they have the ranges that something was sent with.
    pub(super) fn convey(&mut self, me: FederateHandle, sent: (Source, u64)) {
        let mut hosts = self.network.hosts.values();
        let host = hosts.find(|h| h.handle == me);
        let federate = host.expect("callbacks come to the living").federate();
        for (region, ranges) in &self.with[&sent] {
            self.conveyed.insert((me, *region));
            for (dimension, range) in ranges {
                let dimension = DimensionHandle::from_raw(*dimension);
                assert_eq!(federate.range_bounds(*region, dimension), Ok(*range));
            }
        }
    }

    /// Regions that were conveyed are known just while they are there.
    pub(super) fn remembered(&self) {
        for host in self.network.hosts.values() {
            let conveyed = self.conveyed.iter().filter(|(to, _)| *to == host.handle);
            for (me, region) in conveyed {
                let creator = self.own.get(&region.creator());
                let exists = creator.is_some_and(|own| own.regions.contains_key(region));
                let known = host.federate().dimension_handle_set(*region).is_ok();
                assert_eq!(known, exists, "{me} knows {region}, and it exists");
            }
        }
    }

    /// A value has come by a subscription at this class.
    pub(super) fn got(
        &mut self,
        me: FederateHandle,
        source: Source,
        number: u64,
        class: u32,
        subscribed: Option<Subscribed>,
    ) {
        let subscribed = subscribed.unwrap_or_default();
        let sent = self.with[&(source, number)].values().cloned();
        let sent: Vec<_> = sent.collect();
        let counts: BTreeSet<u32> = match source {
            Source::Attribute(..) => BTreeSet::from([1, 2, 3]),
            Source::Interaction(_, sent) => {
                let received = InteractionClassHandle::from_raw(class);
                self.world.common_dimensions(sent, received)
            }
        };
        let own = self.own.get_mut(&me).expect("callbacks come to the living");
        assert!(
            subscribed.gets(&own.committed(), &sent, &counts),
            "{me} got {number} of {source:?}, sent with {sent:?}, subscribed as {subscribed:?}"
        );
        let now = (own.epoch, class);
        if let Some((last, former)) = own.runs.insert(source, (number, now)) {
            assert!(
                number > last,
                "{me} got {number} of {source:?} after {last}"
            );
            let nearer_changed =
                |sent: InteractionClassHandle| sent.raw() != class && own.changed.contains(&sent);
            let excused = matches!(source, Source::Interaction(_, sent) if nearer_changed(sent));
            if subscribed.plainly && former == now && !excused {
                assert_eq!(number, last + 1, "{me} has a gap in {source:?}");
            }
        }
        let with_regions = Subscribed {
            plainly: false,
            ..subscribed
        };
        if with_regions.gets(&own.committed(), &sent, &counts) {
            // It may have come by a region, and those come and go: the next number is open.
            own.runs.insert(source, (number, (u64::MAX, 0)));
        }
        own.got.insert((source, number));
    }
}
