//! Services that a federate calls, with what it has.

use fastrand::Rng;
use starling_bed::Sent;
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    DimensionHandle, LogicalTime, LogicalTimeInterval, Lrc, MessageRetractionHandle,
    ObjectInstanceHandle, Order, RegionHandle, Service, TimeType, Transportation,
};

/// What it has made, which services want named.
#[derive(Default)]
pub struct Own {
    pub regions: Vec<RegionHandle>,
    pub messages: Vec<MessageRetractionHandle>,
}

fn some<T: Copy>(random: &mut Rng, of: &[T]) -> Vec<T> {
    of.iter().copied().filter(|_| random.bool()).collect()
}

fn one<T: Copy>(random: &mut Rng, of: &[T]) -> Option<T> {
    (!of.is_empty()).then(|| of[random.usize(..of.len())])
}

/// One service, if the federate is joined. Whether it throws does not matter.
pub fn act(lrc: &mut Lrc<Sent>, own: &mut Own, random: &mut Rng) -> Option<()> {
    let now = lrc.query_logical_time();
    let now = now.unwrap_or(TimeType::Float64.initial());
    let federate = lrc.federate()?;
    let model = federate.model();
    // Now and then any, as those of the management object model; else few, so that federates meet.
    let any = random.u8(..) < 32;
    let is_it = |name: &str| any || name.ends_with("Car") || name.contains("Signal");
    let classes = model.object_classes().filter(|c| is_it(&c.name));
    let classes: Vec<_> = classes.map(|c| (c.handle, &c.attributes)).collect();
    let (class, class_attributes) = one(random, &classes)?;
    let class_attributes = some(random, class_attributes);
    let interactions = model.interaction_classes().filter(|c| is_it(&c.name));
    let interactions: Vec<_> = interactions.map(|c| (c.handle, &c.parameters)).collect();
    let (interaction, parameters) = one(random, &interactions)?;
    let handle = federate.handle();
    // As many parameters of the management object model have one.
    let number = handle.0.to_be_bytes();
    let parameters: Vec<_> = parameters.iter().map(|p| (*p, &number[..])).collect();

    let known = one(random, &federate.known_instances());
    let instance = known.unwrap_or(ObjectInstanceHandle::new(handle, 1));
    let owned = federate.owned_attributes(instance).unwrap_or_default();
    let of = federate.known_object_class_handle(instance).ok();
    let of = of.and_then(|of| model.object_class(of));
    let all = of.map(|c| &c.attributes[..]).unwrap_or_default();
    let from = if random.bool() { owned } else { all };
    let attributes = some(random, from);
    let attribute = *attributes.first().or(class_attributes.first())?;
    let values: Vec<_> = attributes.iter().map(|a| (*a, &b"value"[..])).collect();

    let regions = some(random, &own.regions);
    let with = |attributes: &Vec<_>| {
        vec![AttributeRegions {
            attributes: attributes.clone(),
            regions: regions.clone(),
        }]
    };
    let dimension = |name: &str| model.dimension_by_name(name).map(|d| d.handle);
    let dimensions: Vec<DimensionHandle> =
        ["X", "Y", "Z"].into_iter().filter_map(dimension).collect();
    let region = one(random, &own.regions).unwrap_or(RegionHandle::new(handle, 1));
    let lower = random.u64(..9);

    let more = random.u8(..4);
    let time = match now.as_integer64() {
        Some(now) => now.checked_add(more.into()).map(LogicalTime::integer64),
        None => LogicalTime::float64(now.as_float64()? + f64::from(more)),
    };
    let time = time.unwrap_or(now);
    let lookahead = match now.as_integer64() {
        Some(_) => LogicalTimeInterval::integer64(more.into()),
        None => LogicalTimeInterval::float64(more.into())?,
    };
    let message = one(random, &own.messages).unwrap_or(MessageRetractionHandle::new(handle, 1));

    let (yes, tag) = (random.bool(), b"tag");
    let transportation = if yes {
        Transportation::Reliable
    } else {
        Transportation::BestEffort
    };
    let order = if yes {
        Order::TimeStamp
    } else {
        Order::Receive
    };
    let name = ["m", "n", "o"][random.usize(..3)];
    let rate = ["", "Slow", "Fast"][random.usize(..3)];
    lrc.set_time_us(u64::from(random.u32(..)));
    // Several numbers of one, for what comes to little alone.
    let _ = match random.u8(..90) {
        0..3 => lrc.publish_object_class_attributes(class, &class_attributes),
        3 => lrc.unpublish_object_class_attributes(class, &class_attributes),
        4 => lrc.unpublish_object_class(class),
        5..8 => lrc.subscribe_object_class_attributes(class, &class_attributes, yes, rate),
        8 => lrc.unsubscribe_object_class_attributes(class, &class_attributes),
        9 => lrc.unsubscribe_object_class(class),
        10..12 => lrc.publish_interaction_class(interaction),
        12 => lrc.unpublish_interaction_class(interaction),
        13..15 => lrc.subscribe_interaction_class(interaction, yes),
        15 => lrc.unsubscribe_interaction_class(interaction),
        16 => lrc.reserve_object_instance_name(name),
        17 => lrc.reserve_multiple_object_instance_name(&["m", name]),
        18 => lrc.release_object_instance_name(name),
        19..22 => lrc
            .register_object_instance(class, yes.then_some(name))
            .map(drop),
        22 => lrc.delete_object_instance(instance, tag),
        23 => lrc
            .delete_object_instance_at(instance, tag, time)
            .map(|m| own.messages.push(m)),
        24 => lrc.local_delete_object_instance(instance),
        25 => lrc.request_instance_attribute_value_update(instance, &attributes, tag),
        26 => lrc.request_class_attribute_value_update(class, &class_attributes, tag),
        27 => {
            lrc.request_attribute_transportation_type_change(instance, &attributes, transportation)
        }
        28 => lrc.query_attribute_transportation_type(instance, attribute),
        29 => lrc.request_interaction_transportation_type_change(interaction, transportation),
        30 => lrc.query_interaction_transportation_type(handle, interaction),
        31..34 => lrc.update_attribute_values(instance, &values, tag),
        34..36 | 76..79 => lrc
            .update_attribute_values_at(instance, &values, tag, time)
            .map(|m| own.messages.push(m)),
        36 => lrc.send_interaction(interaction, &parameters, tag),
        37 | 87..90 => lrc
            .send_interaction_at(interaction, &parameters, tag, time)
            .map(|m| own.messages.push(m)),
        38 => lrc.send_interaction_with_regions(interaction, &parameters, &regions, tag),
        39 => lrc
            .send_interaction_with_regions_at(interaction, &parameters, &regions, tag, time)
            .map(|m| own.messages.push(m)),
        40 => lrc.unconditional_attribute_ownership_divestiture(instance, &attributes, tag),
        41 => lrc.negotiated_attribute_ownership_divestiture(instance, &attributes, tag),
        42 => lrc
            .attribute_ownership_divestiture_if_wanted(instance, &attributes, tag)
            .map(drop),
        43 => lrc.attribute_ownership_acquisition(instance, &attributes, tag),
        44 => lrc.attribute_ownership_acquisition_if_available(instance, &attributes, tag),
        45 => lrc.attribute_ownership_release_denied(instance, &attributes, tag),
        46 => lrc.cancel_negotiated_attribute_ownership_divestiture(instance, &attributes),
        47 => lrc.cancel_attribute_ownership_acquisition(instance, &attributes),
        48 => lrc.query_attribute_ownership(instance, &attributes),
        49 | 79 => lrc.enable_time_regulation(lookahead),
        50 | 80 => lrc.enable_time_constrained(),
        51 if yes => lrc.disable_time_regulation(),
        51 => lrc.disable_time_constrained(),
        52 | 85 => lrc.time_advance_request(time),
        53 => lrc.time_advance_request_available(time),
        54 => lrc.next_message_request(time),
        55 => lrc.next_message_request_available(time),
        56 => lrc.flush_queue_request(time),
        57 if yes => lrc.enable_asynchronous_delivery(),
        57 => lrc.disable_asynchronous_delivery(),
        58 => lrc.modify_lookahead(lookahead),
        59 => lrc.retract(message),
        60 | 81..84 => lrc.change_attribute_order_type(instance, &attributes, order),
        61 | 84 => lrc.change_interaction_order_type(interaction, order),
        62 => lrc.query_bounds(if yes {
            Service::QueryGALT
        } else {
            Service::QueryLITS
        }),
        63 => lrc.create_region(&dimensions).map(|r| own.regions.push(r)),
        64 => {
            let set = dimensions
                .iter()
                .try_for_each(|d| lrc.set_range_bounds(region, *d, lower, lower + 1));
            set.and_then(|()| lrc.commit_region_modifications(&regions))
        }
        65 => lrc.delete_region(region),
        66 => lrc
            .register_object_instance_with_regions(class, &with(&class_attributes), None)
            .map(drop),
        67 => lrc.associate_regions_for_updates(instance, &with(&attributes)),
        68 => lrc.unassociate_regions_for_updates(instance, &with(&attributes)),
        69 => lrc.subscribe_object_class_attributes_with_regions(
            class,
            &with(&class_attributes),
            yes,
            rate,
        ),
        70 => lrc.unsubscribe_object_class_attributes_with_regions(class, &with(&class_attributes)),
        71 if yes => lrc.subscribe_interaction_class_with_regions(interaction, &regions, more < 2),
        71 => lrc.unsubscribe_interaction_class_with_regions(interaction, &regions),
        72 => lrc.request_attribute_value_update_with_regions(class, &with(&class_attributes), tag),
        73 | 86 => lrc.register_federation_synchronization_point(name, tag, &[]),
        74 if yes => lrc.enable_attribute_scope_advisory_switch(),
        74 => lrc.enable_attribute_relevance_advisory_switch(),
        _ => lrc.set_automatic_resign_directive(ResignAction::CancelThenDeleteThenDivest),
    };
    Some(())
}
