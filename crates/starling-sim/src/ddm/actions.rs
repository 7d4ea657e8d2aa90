//! What the federates of a program do.

use super::*;

impl Run {
    pub(super) fn update(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.instance(peer, me) else {
            return;
        };
        let mut attributes = self.owned(peer, instance);
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        self.send_update(peer, me, instance, &attributes);
    }

    pub(super) fn owned(
        &self,
        peer: PeerId,
        instance: ObjectInstanceHandle,
    ) -> Vec<AttributeHandle> {
        let federate = self.network.hosts[&peer].federate();
        let owned = federate.owned_attributes(instance).expect("it is its own");
        owned.iter().copied().filter(|a| a.raw() != 1).collect()
    }

    pub(super) fn send_update(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let mut values = Vec::new();
        for attribute in attributes {
            let own = &self.own[&me];
            let regions = own.associated.get(&(instance, *attribute));
            let with = own.with(regions.into_iter().flatten());
            let number = self.next(Source::Attribute(instance, *attribute), with);
            values.push((*attribute, number.to_le_bytes()));
        }
        let values: Vec<_> = values.iter().map(|(a, n)| (*a, n.as_slice())).collect();
        let sent = self.network.update(peer, instance, (&values, b""), None);
        legal(sent.map(|_| ()), &[]);
    }

    pub(super) fn interact(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let regions = self.regions(me);
        self.send_interaction(peer, me, class, &regions);
    }

    /// Sends with these regions, if they may be used for it; the number.
    pub(super) fn send_interaction(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Option<u64> {
        let source = Source::Interaction(me, class);
        let number = self.sent.get(&source).copied().unwrap_or_default() + 1;
        let federate = self.network.hosts[&peer].federate();
        let first = federate
            .model()
            .interaction_class(class)
            .expect("it was just found")
            .parameters[0];
        let mut value = class.raw().to_le_bytes().to_vec();
        value.extend(number.to_le_bytes());
        let sent = self.network.call(peer, |f| {
            f.send_interaction_with_regions(class, &[(first, &value)], regions, b"")
        });
        let usable = self.usable(me, regions) && sent.is_ok();
        unusable(&sent, usable);
        if usable {
            let with = self.own[&me].with(regions);
            assert_eq!(self.next(source, with), number);
        }
        usable.then_some(number)
    }

    pub(super) fn usable(&self, me: FederateHandle, regions: &[RegionHandle]) -> bool {
        let own = &self.own[&me].regions;
        regions.iter().all(|r| own[r].committed.is_some())
    }

    /// Creates a region, or sets and mostly commits one.
    pub(super) fn move_region(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.own[&me].regions;
        let all: Vec<_> = own.keys().copied().collect();
        if all.len() < 6 && (all.is_empty() || self.draw.u8(..3) == 0) {
            let dimensions = [&[1][..], &[2], &[1, 2], &[], &[3], &[1, 3]];
            let dimensions = dimensions[self.draw.usize(..dimensions.len())];
            let handles: Vec<_> = dimensions
                .iter()
                .map(|d| DimensionHandle::from_raw(*d))
                .collect();
            let created = self.network.call(peer, |f| f.create_region(&handles));
            let set: Ranges = dimensions.iter().map(|d| (*d, (0, 16))).collect();
            let region = created.expect("the dimensions are in the FDD");
            let mut committed = None;
            if self.draw.u8(..8) > 0 {
                let done = self
                    .network
                    .call(peer, |f| f.commit_region_modifications(&[region]));
                legal(done, &[]);
                committed = Some(set.clone());
            }
            self.own(me)
                .regions
                .insert(region, Region { set, committed });
            return;
        }
        let count = self.draw.usize(1..3);
        let mut moved = BTreeSet::new();
        for _ in 0..count {
            let region = all[self.draw.usize(..all.len())];
            let dimensions: Vec<_> = self.own(me).regions[&region].set.keys().copied().collect();
            for dimension in dimensions {
                let lower = self.draw.u32(..16);
                let upper = self.draw.u32(lower + 1..=16);
                let handle = DimensionHandle::from_raw(dimension);
                let set = self.network.call(peer, |f| {
                    f.set_range_bounds(region, handle, lower.into(), upper.into())
                });
                legal(set, &[]);
                let known = self.own(me).regions.get_mut(&region);
                let known = known.expect("it was just listed");
                known.set.insert(dimension, (lower, upper));
            }
            moved.insert(region);
        }
        if self.draw.u8(..6) > 0 {
            let list: Vec<_> = moved.into_iter().collect();
            let done = self
                .network
                .call(peer, |f| f.commit_region_modifications(&list));
            legal(done, &[]);
            for region in list {
                let known = self.own(me).regions.get_mut(&region);
                let known = known.expect("it was just listed");
                known.committed = Some(known.set.clone());
            }
        }
    }

    pub(super) fn delete_region(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(region) = self.regions(me).first().copied() else {
            return;
        };
        let used = self.own(me).uses(region);
        let done = self.network.call(peer, |f| f.delete_region(region));
        match done {
            Ok(()) => assert!(!used, "{region} is in use and deleted"),
            Err(e) => {
                assert!(used, "{e}");
                assert_eq!(e.kind, ExceptionKind::RegionInUseForUpdateOrSubscription);
                return;
            }
        }
        self.own(me).regions.remove(&region);
    }

    pub(super) fn subscribe(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let choice = self.draw.u8(..10);
        let done = self.network.call(peer, |f| match choice {
            0..5 => f.subscribe_object_class_attributes_with_regions(class, &list, true, ""),
            5..8 => f.unsubscribe_object_class_attributes_with_regions(class, &list),
            8 => f.subscribe_object_class_attributes(class, &attributes, true, ""),
            _ => f.unsubscribe_object_class(class),
        });
        unusable(&done, done.is_ok());
        if done.is_err() {
            return;
        }
        let own = self.own(me);
        if choice == 9 {
            own.epoch += 1;
            for ((at, _), s) in &mut own.objects {
                s.plainly &= *at != class;
            }
            return;
        }
        for attribute in attributes {
            let s = own.objects.entry((class, attribute)).or_default();
            change(s, choice, &regions);
        }
    }

    pub(super) fn subscribe_interaction(&mut self, peer: PeerId, me: FederateHandle) {
        let class = self.interaction(peer);
        let regions = self.regions(me);
        let choice = self.draw.u8(..10);
        let done = self.network.call(peer, |f| match choice {
            0..5 => f.subscribe_interaction_class_with_regions(class, &regions, true),
            5..8 => f.unsubscribe_interaction_class_with_regions(class, &regions),
            8 => f.subscribe_interaction_class(class, true),
            _ => f.unsubscribe_interaction_class(class),
        });
        unusable(&done, done.is_ok());
        if done.is_err() {
            return;
        }
        let own = self.own(me);
        // A subscription at a nearer class decides alone, so any may end another.
        own.epoch += 1;
        own.changed.insert(class);
        let s = own.interactions.entry(class).or_default();
        match choice {
            9 => s.plainly = false,
            _ => change(s, choice, &regions),
        }
    }

    pub(super) fn associate(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(instance) = self.instance(peer, me) else {
            return;
        };
        let mut attributes = self.owned(peer, instance);
        self.draw.shuffle(&mut attributes);
        attributes.truncate(self.draw.usize(1..=attributes.len()));
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }];
        let on = self.draw.u8(..5) < 3;
        let done = self.network.call(peer, |f| {
            if on {
                f.associate_regions_for_updates(instance, &list)
            } else {
                f.unassociate_regions_for_updates(instance, &list)
            }
        });
        unusable(&done, done.is_ok());
        if done.is_ok() {
            self.associated(me, instance, &list, on);
        }
    }

    pub(super) fn associated(
        &mut self,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        list: &[AttributeRegions],
        on: bool,
    ) {
        for (attribute, region) in AttributeRegions::pairs(list) {
            let own = self.own(me);
            let set = own.associated.entry((instance, attribute)).or_default();
            if on {
                set.insert(region)
            } else {
                set.remove(&region)
            };
        }
    }

    pub(super) fn register(&mut self, peer: PeerId, me: FederateHandle) {
        if self.instances(peer, me).len() > 6 {
            return;
        }
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let attributes = self.fitting(peer, me, attributes, &regions);
        let list = [AttributeRegions {
            attributes,
            regions,
        }];
        let done = self.network.call(peer, |f| {
            f.register_object_instance_with_regions(class, &list, None)
        });
        unusable(&done, done.is_ok());
        if let Ok(instance) = done {
            self.associated(me, instance, &list, true);
        }
    }

    pub(super) fn delete(&mut self, peer: PeerId, me: FederateHandle) {
        if let Some(instance) = self.instance(peer, me) {
            let done = self
                .network
                .call(peer, |f| f.delete_object_instance(instance, b""));
            legal(done, &[]);
            self.own(me).associated.retain(|(i, _), _| *i != instance);
        }
    }

    pub(super) fn local_delete(&mut self, peer: PeerId, me: FederateHandle) {
        let known: Vec<_> = self.own(me).known.keys().copied().collect();
        if known.is_empty() {
            return;
        }
        let instance = known[self.draw.usize(..known.len())];
        let done = self
            .network
            .call(peer, |f| f.local_delete_object_instance(instance));
        legal(done, &[]);
        self.forgets(me, instance);
    }

    pub(super) fn forgets(&mut self, me: FederateHandle, instance: ObjectInstanceHandle) {
        let own = self.own(me);
        own.known.remove(&instance);
        own.in_scope.retain(|(i, _)| *i != instance);
        own.epoch += 1;
    }

    pub(super) fn request_values(&mut self, peer: PeerId, me: FederateHandle) {
        let (class, attributes) = self.class(peer);
        let regions = self.regions(me);
        let list = [AttributeRegions {
            attributes,
            regions,
        }];
        let done = self.network.call(peer, |f| {
            f.request_attribute_value_update_with_regions(class, &list, b"please")
        });
        unusable(&done, done.is_ok());
    }

    pub(super) fn resign(&mut self, peer: PeerId, me: FederateHandle) {
        let action = if self.draw.bool() {
            ResignAction::UnconditionallyDivestAttributes
        } else {
            ResignAction::DeleteObjectsThenDivest
        };
        let done = self
            .network
            .call(peer, |f| f.resign_federation_execution(action));
        legal(done, &[]);
        let host = self.network.hosts.get_mut(&peer);
        host.expect("it has just called").resigning = true;
        self.own.remove(&me);
    }
}
