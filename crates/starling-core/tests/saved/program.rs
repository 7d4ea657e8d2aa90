//! Random programs: which services federates call, with what.

use starling_core::message::{AttributeRegions, OwnedData, ResignAction};
use starling_core::{
    AttributeHandle, Exception, Federate, FederateHandle, InteractionClassHandle, LogicalTime,
    LogicalTimeInterval, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, Order,
    ParameterHandle, RegionHandle, Transportation,
};
use std::fmt::Debug;

/// Random numbers: the same for the same seed.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a program.
    pub fn of(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    pub fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.below(list.len())])
    }

    pub fn some_of<T: Copy>(&mut self, list: &[T]) -> Vec<T> {
        list.iter().copied().filter(|_| self.chance()).collect()
    }
}

/// Handles of the FOM of all tests.
pub struct Fom {
    classes: [ObjectClassHandle; 2],
    attributes: Vec<Vec<AttributeHandle>>,
    interactions: [InteractionClassHandle; 2],
    parameters: Vec<Vec<ParameterHandle>>,
}

impl Fom {
    pub fn of(federate: &Federate) -> Self {
        let classes = ["A", "A.B"].map(|name| federate.object_class_handle(name).unwrap());
        let interactions =
            ["I", "I.J"].map(|name| federate.interaction_class_handle(name).unwrap());
        let model = federate.model();
        let attributes = classes.iter();
        let attributes = attributes.map(|c| model.object_class(*c).unwrap().attributes.clone());
        let parameters = interactions.iter();
        let parameters =
            parameters.map(|c| model.interaction_class(*c).unwrap().parameters.clone());
        Fom {
            classes,
            attributes: attributes.collect(),
            interactions,
            parameters: parameters.collect(),
        }
    }
}

/// What a call of a service is made of.
pub struct Call<'a> {
    pub fom: Fom,
    pub federate: &'a mut Federate,
    pub random: &'a mut Random,
    pub regions: &'a mut Vec<RegionHandle>,
    pub messages: &'a mut Vec<MessageRetractionHandle>,
    pub data: Vec<(Vec<FederateHandle>, OwnedData)>,
}

/// The answer of a service, for the trace.
fn answer<T: Debug>(result: Result<T, Exception>) -> String {
    format!("{:?}", result.map_err(|e| e.kind))
}

impl Call<'_> {
    fn class(&mut self) -> (ObjectClassHandle, Vec<AttributeHandle>) {
        let at = self.random.below(2);
        let all = self.fom.attributes[at].clone();
        (self.fom.classes[at], self.random.some_of(&all))
    }

    fn interaction(&mut self) -> (InteractionClassHandle, Vec<ParameterHandle>) {
        let at = self.random.below(2);
        let all = self.fom.parameters[at].clone();
        (self.fom.interactions[at], self.random.some_of(&all))
    }

    /// A known instance with some of its attributes, most of the time owned ones.
    fn instance(&mut self) -> (ObjectInstanceHandle, Vec<AttributeHandle>) {
        let known = self.federate.known_instances();
        let one = self.random.one_of(&known);
        let instance = one.unwrap_or(ObjectInstanceHandle::new(FederateHandle(1), 1));
        let owned = self.federate.owned_attributes(instance);
        let mut from = owned.map(<[_]>::to_vec).unwrap_or_default();
        if from.is_empty() || self.random.chance() {
            from = self.fom.attributes[1].clone();
        }
        (instance, self.random.some_of(&from))
    }

    fn some_regions(&mut self) -> Vec<AttributeRegions> {
        let (_, attributes) = self.class();
        let regions = self.random.some_of(&self.regions.clone());
        vec![AttributeRegions {
            attributes,
            regions,
        }]
    }

    fn name(&mut self) -> &'static str {
        ["m", "n", "o"][self.random.below(3)]
    }

    fn time(&mut self) -> LogicalTime {
        let now = self.federate.query_logical_time().unwrap();
        let more = self.random.below(6) as f64;
        LogicalTime::float64(now.as_float64().unwrap() + more).unwrap()
    }

    fn rate(&mut self) -> &'static str {
        ["", "Low", "High"][self.random.below(3)]
    }

    fn order(&mut self) -> Order {
        [Order::Receive, Order::TimeStamp][self.random.below(2)]
    }

    fn transportation(&mut self) -> Transportation {
        [Transportation::Reliable, Transportation::BestEffort][self.random.below(2)]
    }

    /// Some service.
    pub fn any(&mut self) -> (&'static str, String) {
        match self.random.below(6) {
            0 => self.declare(),
            1 => self.object(),
            2 => self.data(),
            3 => self.own(),
            4 => self.ddm(),
            _ => self.time_or_federation(),
        }
    }

    fn declare(&mut self) -> (&'static str, String) {
        let (class, attributes) = self.class();
        let (interaction, _) = self.interaction();
        let (active, rate) = (self.random.chance(), self.rate());
        let f = &mut *self.federate;
        match self.random.below(12) {
            0..=2 => (
                "publish",
                answer(f.publish_object_class_attributes(class, &attributes)),
            ),
            3 => (
                "unpublish",
                answer(f.unpublish_object_class_attributes(class, &attributes)),
            ),
            4..=6 => (
                "subscribe",
                answer(f.subscribe_object_class_attributes(class, &attributes, active, rate)),
            ),
            7 => (
                "unsubscribe",
                answer(f.unsubscribe_object_class_attributes(class, &attributes)),
            ),
            8 => (
                "publish interaction",
                answer(f.publish_interaction_class(interaction)),
            ),
            9 => (
                "subscribe interaction",
                answer(f.subscribe_interaction_class(interaction, active)),
            ),
            10 => (
                "unpublish interaction",
                answer(f.unpublish_interaction_class(interaction)),
            ),
            _ => (
                "unsubscribe interaction",
                answer(f.unsubscribe_interaction_class(interaction)),
            ),
        }
    }

    fn object(&mut self) -> (&'static str, String) {
        let (class, class_attributes) = self.class();
        let (instance, attributes) = self.instance();
        let (interaction, _) = self.interaction();
        let (name, transportation) = (self.name(), self.transportation());
        let named = self.random.chance().then_some(name);
        let f = &mut *self.federate;
        match self.random.below(17) {
            0 => ("reserve", answer(f.reserve_object_instance_name(name))),
            1 => (
                "reserve several",
                answer(f.reserve_multiple_object_instance_name(&["m", name])),
            ),
            2 => ("release", answer(f.release_object_instance_name(name))),
            3..=5 => ("register", answer(f.register_object_instance(class, named))),
            6 => (
                "local delete",
                answer(f.local_delete_object_instance(instance)),
            ),
            7 => (
                "request values",
                answer(f.request_instance_attribute_value_update(instance, &attributes, &[1])),
            ),
            8 => (
                "request class values",
                answer(f.request_class_attribute_value_update(class, &class_attributes, &[2])),
            ),
            9 => (
                "change transportation",
                answer(f.request_attribute_transportation_type_change(
                    instance,
                    &attributes,
                    transportation,
                )),
            ),
            10 => (
                "change interaction transportation",
                answer(
                    f.request_interaction_transportation_type_change(interaction, transportation),
                ),
            ),
            11 => (
                "query interaction transportation",
                answer(f.query_interaction_transportation_type(f.handle(), interaction)),
            ),
            12 => match attributes.first() {
                Some(a) => (
                    "query transportation",
                    answer(f.query_attribute_transportation_type(instance, *a)),
                ),
                None => ("nothing", String::new()),
            },
            13 => (
                "scope on",
                answer(f.enable_attribute_scope_advisory_switch()),
            ),
            14 => (
                "scope off",
                answer(f.disable_attribute_scope_advisory_switch()),
            ),
            15 => match transportation {
                Transportation::Reliable => (
                    "relevance off",
                    answer(f.disable_attribute_relevance_advisory_switch()),
                ),
                Transportation::BestEffort => (
                    "relevance on",
                    answer(f.enable_attribute_relevance_advisory_switch()),
                ),
            },
            _ => match transportation {
                Transportation::Reliable => (
                    "class relevance off",
                    answer(f.disable_object_class_relevance_advisory_switch()),
                ),
                Transportation::BestEffort => (
                    "class relevance on",
                    answer(f.enable_object_class_relevance_advisory_switch()),
                ),
            },
        }
    }

    fn data(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let values: Vec<_> = attributes.iter().map(|a| (*a, &b"value"[..])).collect();
        let (interaction, parameters) = self.interaction();
        let parameters: Vec<_> = parameters.iter().map(|p| (*p, &b"p"[..])).collect();
        let time = self.time();
        let regions = self.random.some_of(&self.regions.clone());
        let (f, data) = (&mut *self.federate, &mut self.data);
        let send = &mut |out: starling_core::DataOut<'_>| {
            data.push((out.to.to_vec(), out.data.to_owned()));
        };
        let tag = &[7];
        let mut sent = None;
        let done = match self.random.below(10) {
            0..=2 => (
                "update",
                answer(f.update_attribute_values(instance, &values, tag, send)),
            ),
            3 | 4 => {
                let done = f.update_attribute_values_at(instance, &values, tag, time, send);
                sent = done.as_ref().ok().copied();
                ("update at", answer(done))
            }
            5 => (
                "interaction",
                answer(f.send_interaction(interaction, &parameters, tag, send)),
            ),
            6 => {
                let done = f.send_interaction_at(interaction, &parameters, tag, time, send);
                sent = done.as_ref().ok().copied();
                ("interaction at", answer(done))
            }
            7 => (
                "interaction with regions",
                answer(f.send_interaction_with_regions(
                    interaction,
                    &parameters,
                    &regions,
                    tag,
                    send,
                )),
            ),
            8 => ("delete", answer(f.delete_object_instance(instance, tag))),
            _ => {
                let done = f.delete_object_instance_at(instance, tag, time);
                sent = done.as_ref().ok().copied();
                ("delete at", answer(done))
            }
        };
        self.messages.extend(sent);
        done
    }

    fn own(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let tag = &[3];
        let f = &mut *self.federate;
        match self.random.below(11) {
            0 => (
                "divest",
                answer(f.unconditional_attribute_ownership_divestiture(instance, &attributes, tag)),
            ),
            1 | 2 => (
                "negotiate",
                answer(f.negotiated_attribute_ownership_divestiture(instance, &attributes, tag)),
            ),
            3 => (
                "confirm",
                answer(f.confirm_divestiture(instance, &attributes, tag)),
            ),
            4 => (
                "divest if wanted",
                answer(f.attribute_ownership_divestiture_if_wanted(instance, &attributes, tag)),
            ),
            5 | 6 => (
                "acquire",
                answer(f.attribute_ownership_acquisition(instance, &attributes, tag)),
            ),
            7 => (
                "acquire if available",
                answer(f.attribute_ownership_acquisition_if_available(instance, &attributes, tag)),
            ),
            8 => (
                "deny",
                answer(f.attribute_ownership_release_denied(instance, &attributes, tag)),
            ),
            9 => (
                "cancel acquisition",
                answer(f.cancel_attribute_ownership_acquisition(instance, &attributes)),
            ),
            _ => match attributes.len() {
                1 => (
                    "query owner",
                    answer(f.query_attribute_ownership(instance, &attributes)),
                ),
                _ => (
                    "cancel divestiture",
                    answer(
                        f.cancel_negotiated_attribute_ownership_divestiture(instance, &attributes),
                    ),
                ),
            },
        }
    }

    fn ddm(&mut self) -> (&'static str, String) {
        let (instance, _) = self.instance();
        let (class, _) = self.class();
        let (interaction, _) = self.interaction();
        let with = self.some_regions();
        let some = self.random.some_of(&self.regions.clone());
        let one = self.random.one_of(&self.regions.clone());
        let (active, rate) = (self.random.chance(), self.rate());
        let lower = self.random.below(90) as u64;
        let dimension = self.federate.dimension_handle("D").unwrap();
        let f = &mut *self.federate;
        match (self.random.below(13), one) {
            (0, Some(region)) => (
                "set range",
                answer(f.set_range_bounds(region, dimension, lower, lower + 10)),
            ),
            (1 | 2, Some(_)) => (
                "commit regions",
                answer(f.commit_region_modifications(&some)),
            ),
            (3, Some(region)) => {
                let deleted = f.delete_region(region);
                if deleted.is_ok() {
                    self.regions.retain(|r| *r != region);
                }
                ("delete region", answer(deleted))
            }
            (4, _) => (
                "register with regions",
                answer(f.register_object_instance_with_regions(class, &with, None)),
            ),
            (5, _) => (
                "associate",
                answer(f.associate_regions_for_updates(instance, &with)),
            ),
            (6, _) => (
                "unassociate",
                answer(f.unassociate_regions_for_updates(instance, &with)),
            ),
            (7 | 8, _) => (
                "subscribe with regions",
                answer(
                    f.subscribe_object_class_attributes_with_regions(class, &with, active, rate),
                ),
            ),
            (9, _) => (
                "unsubscribe with regions",
                answer(f.unsubscribe_object_class_attributes_with_regions(class, &with)),
            ),
            (10, _) => (
                "subscribe interaction with regions",
                answer(f.subscribe_interaction_class_with_regions(interaction, &some, active)),
            ),
            (11, _) => (
                "unsubscribe interaction with regions",
                answer(f.unsubscribe_interaction_class_with_regions(interaction, &some)),
            ),
            _ => {
                let created = f.create_region(&[dimension]);
                self.regions.extend(created.iter());
                ("create region", answer(created))
            }
        }
    }

    fn time_or_federation(&mut self) -> (&'static str, String) {
        let (instance, attributes) = self.instance();
        let (interaction, _) = self.interaction();
        let (time, order, label) = (self.time(), self.order(), self.name());
        let lookahead = LogicalTimeInterval::float64(self.random.below(3) as f64).unwrap();
        let message = self.random.one_of(&self.messages.clone());
        let successfully = self.random.chance();
        let f = &mut *self.federate;
        match (self.random.below(20), message) {
            (0 | 1, _) => ("regulate", answer(f.enable_time_regulation(lookahead))),
            (2 | 3, _) => ("be constrained", answer(f.enable_time_constrained())),
            (4, _) if successfully => ("stop regulating", answer(f.disable_time_regulation())),
            (5, _) if successfully => ("be free", answer(f.disable_time_constrained())),
            (6 | 7, _) => ("advance", answer(f.time_advance_request(time))),
            (8, _) => (
                "advance available",
                answer(f.time_advance_request_available(time)),
            ),
            (9, _) => ("next message", answer(f.next_message_request(time))),
            (10, _) => ("flush", answer(f.flush_queue_request(time))),
            (11, _) => ("lookahead", answer(f.modify_lookahead(lookahead))),
            (12, _) => ("asynchronous", answer(f.enable_asynchronous_delivery())),
            (13, _) => ("synchronous", answer(f.disable_asynchronous_delivery())),
            (14 | 15, Some(message)) => ("retract", answer(f.retract(message))),
            (16, _) => (
                "change order",
                answer(f.change_attribute_order_type(instance, &attributes, order)),
            ),
            (17, _) => (
                "change interaction order",
                answer(f.change_interaction_order_type(interaction, order)),
            ),
            (18, _) => (
                "register point",
                answer(f.register_federation_synchronization_point(label, &[5], &[])),
            ),
            (19, _) if self.random.below(20) == 0 => (
                "resign",
                answer(f.resign_federation_execution(ResignAction::CancelThenDeleteThenDivest)),
            ),
            _ => (
                "achieve point",
                answer(f.synchronization_point_achieved(label, successfully)),
            ),
        }
    }
}
