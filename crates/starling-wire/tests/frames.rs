//! Every frame comes back as it was; no bytes make the decoder panic or take memory unasked.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use starling_core::message::*;
use starling_core::{
    AddressBuf, AttributeHandle, DimensionHandle, Divestiture, Exception, ExceptionKind,
    FederateHandle, InstanceSwitches, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Owner, OwnershipNotice, RegionHandle, SynchronizationPointFailure,
    Transportation, ValuesBuf,
};
use starling_wire::*;

/// Short texts, to keep cases small.
fn text() -> impl Strategy<Value = String> {
    ".{0,8}"
}

fn tag() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

fn federate() -> impl Strategy<Value = FederateHandle> {
    any::<u32>().prop_map(FederateHandle)
}

fn request_number() -> impl Strategy<Value = RequestNumber> {
    any::<u64>().prop_map(RequestNumber)
}

fn log_index() -> impl Strategy<Value = LogIndex> {
    any::<u64>().prop_map(LogIndex)
}

fn federates() -> impl Strategy<Value = Vec<FederateHandle>> {
    vec(federate(), 0..4)
}

fn instance() -> impl Strategy<Value = ObjectInstanceHandle> {
    (federate(), any::<u32>()).prop_map(|(f, n)| ObjectInstanceHandle::new(f, n))
}

fn object_class() -> impl Strategy<Value = ObjectClassHandle> {
    any::<u32>().prop_map(ObjectClassHandle::from_raw)
}

fn interaction_class() -> impl Strategy<Value = InteractionClassHandle> {
    any::<u32>().prop_map(InteractionClassHandle::from_raw)
}

fn attribute() -> impl Strategy<Value = AttributeHandle> {
    any::<u32>().prop_map(AttributeHandle::from_raw)
}

fn transportation() -> impl Strategy<Value = Transportation> {
    prop_oneof![
        Just(Transportation::Reliable),
        Just(Transportation::BestEffort)
    ]
}

fn attributes() -> impl Strategy<Value = Vec<AttributeHandle>> {
    vec(any::<u32>().prop_map(AttributeHandle::from_raw), 0..5)
}

fn module() -> impl Strategy<Value = ModuleSource> {
    (text(), tag()).prop_map(|(designator, text)| ModuleSource { designator, text })
}

fn modules() -> impl Strategy<Value = Vec<ModuleSource>> {
    vec(module(), 0..3)
}

fn exception() -> impl Strategy<Value = Exception> {
    let kinds = proptest::sample::select(ExceptionKind::ALL.to_vec());
    (kinds, text()).prop_map(|(kind, message)| Exception::new(kind, message))
}

fn peer_info() -> impl Strategy<Value = PeerInfo> {
    let fields = (any::<u32>(), text(), text(), text(), text());
    fields.prop_map(|(pid, host, program, version, path)| PeerInfo {
        pid,
        host,
        program,
        version,
        path,
    })
}

fn resign_action() -> impl Strategy<Value = ResignAction> {
    (0u32..6).prop_map(|n| ResignAction::from_number(n).unwrap())
}

fn subscription() -> impl Strategy<Value = Subscription> {
    prop_oneof![
        Just(Subscription::None),
        Just(Subscription::Passive),
        Just(Subscription::Active)
    ]
}

fn subscribed() -> impl Strategy<Value = Vec<SubscribedAttribute>> {
    let one = (any::<u32>(), any::<bool>(), text()).prop_map(|(raw, active, rate)| {
        let attribute = AttributeHandle::from_raw(raw);
        SubscribedAttribute {
            attribute,
            active,
            rate,
        }
    });
    vec(one, 0..4)
}

fn federate_information() -> impl Strategy<Value = FederateInformation> {
    let fields = (federate(), text(), text());
    fields.prop_map(|(handle, name, kind)| FederateInformation { handle, name, kind })
}

fn ownership_request() -> impl Strategy<Value = RequestBody> {
    use Divestiture::*;
    use RequestBody::*;
    let how = proptest::sample::select(vec![Unconditional, Negotiated, Confirmed, IfWanted]);
    prop_oneof![
        (how, instance(), attributes(), tag()).prop_map(|(how, instance, attributes, tag)| {
            DivestOwnership {
                how,
                instance,
                attributes,
                tag,
            }
        }),
        (any::<bool>(), instance(), attributes(), tag()).prop_map(
            |(if_available, instance, attributes, tag)| AcquireOwnership {
                if_available,
                instance,
                attributes,
                tag,
            }
        ),
        (instance(), attributes(), log_index(), tag()).prop_map(
            |(instance, attributes, seen, tag)| DenyOwnershipRelease {
                instance,
                attributes,
                seen,
                tag,
            }
        ),
        (instance(), attributes(), 0..3u8).prop_map(|(instance, attributes, which)| match which {
            0 => CancelOwnershipDivestiture {
                instance,
                attributes,
            },
            1 => CancelOwnershipAcquisition {
                instance,
                attributes,
            },
            _ => QueryOwnership {
                instance,
                attributes,
            },
        }),
    ]
}

fn region() -> impl Strategy<Value = RegionHandle> {
    any::<u64>().prop_map(RegionHandle)
}

fn regions() -> impl Strategy<Value = Vec<RegionHandle>> {
    vec(region(), 0..4)
}

fn specifications() -> impl Strategy<Value = Vec<RegionSpecification>> {
    let range = (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(dimension, a, b)| {
        let lower = a.min(b).min(u32::MAX - 1);
        Range {
            dimension: DimensionHandle::from_raw(dimension),
            lower,
            upper: a.max(b).max(lower + 1),
        }
    });
    let one = (region(), vec(range, 0..3));
    let one = one.prop_map(|(region, ranges)| RegionSpecification { region, ranges });
    vec(one, 0..3)
}

fn attribute_regions() -> impl Strategy<Value = Vec<AttributeRegions>> {
    let one = (attributes(), regions()).prop_map(|(attributes, regions)| AttributeRegions {
        attributes,
        regions,
    });
    vec(one, 0..3)
}

fn region_subscription<C: std::fmt::Debug, A: std::fmt::Debug>(
    class: impl Strategy<Value = C>,
    attribute: impl Strategy<Value = A>,
) -> impl Strategy<Value = Vec<RegionSubscription<C, A>>> {
    let fields = (region(), class, attribute, any::<bool>(), text());
    let one = fields.prop_map(
        |(region, class, attribute, active, rate)| RegionSubscription {
            region,
            class,
            attribute,
            active,
            rate,
        },
    );
    vec(one, 0..3)
}

fn region_request() -> impl Strategy<Value = RequestBody> {
    use RequestBody::*;
    prop_oneof![
        specifications().prop_map(CommitRegions),
        region().prop_map(DeleteRegion),
        (instance(), object_class(), of(text()), attribute_regions()).prop_map(
            |(instance, class, name, regions)| {
                RegisterObjectWithRegions {
                    instance,
                    class,
                    name,
                    regions,
                }
            }
        ),
        (instance(), attribute_regions())
            .prop_map(|(instance, regions)| AssociateRegions { instance, regions }),
        (instance(), attribute_regions())
            .prop_map(|(instance, regions)| UnassociateRegions { instance, regions }),
        (object_class(), attribute_regions(), any::<bool>(), text()).prop_map(
            |(class, regions, active, rate)| SubscribeObjectClassWithRegions {
                class,
                regions,
                active,
                rate,
            }
        ),
        (object_class(), attribute_regions())
            .prop_map(|(class, regions)| UnsubscribeObjectClassWithRegions { class, regions }),
        (interaction_class(), regions(), any::<bool>()).prop_map(|(class, regions, active)| {
            SubscribeInteractionWithRegions {
                class,
                regions,
                active,
            }
        }),
        (interaction_class(), regions())
            .prop_map(|(class, regions)| UnsubscribeInteractionWithRegions { class, regions }),
        (object_class(), attribute_regions(), tag()).prop_map(|(class, regions, tag)| {
            RequestClassUpdateWithRegions {
                class,
                regions,
                tag,
            }
        }),
    ]
}

fn region_entry() -> impl Strategy<Value = EntryBody> {
    use EntryBody::*;
    prop_oneof![
        specifications().prop_map(RegionsCommitted),
        (
            object_class(),
            specifications(),
            attribute_regions(),
            any::<bool>(),
            text()
        )
            .prop_map(|(class, specifications, regions, active, rate)| {
                ObjectRegionSubscription {
                    class,
                    specifications,
                    regions,
                    active,
                    rate,
                }
            }),
        (object_class(), attribute_regions())
            .prop_map(|(class, regions)| ObjectRegionUnsubscription { class, regions }),
        (interaction_class(), specifications(), any::<bool>()).prop_map(
            |(class, specifications, active)| InteractionRegionSubscription {
                class,
                specifications,
                active,
            }
        ),
        (interaction_class(), regions())
            .prop_map(|(class, regions)| InteractionRegionUnsubscription { class, regions }),
    ]
}

fn request_body() -> impl Strategy<Value = RequestBody> {
    use RequestBody::*;
    prop_oneof![
        region_request(),
        (object_class(), attributes())
            .prop_map(|(class, attributes)| PublishObjectClass { class, attributes }),
        (interaction_class(), any::<bool>())
            .prop_map(|(class, published)| PublishInteraction { class, published }),
        (object_class(), subscribed())
            .prop_map(|(class, attributes)| SubscribeObjectClass { class, attributes }),
        (interaction_class(), subscription()).prop_map(|(class, subscription)| {
            SubscribeInteraction {
                class,
                subscription,
            }
        }),
        (vec(text(), 0..4), any::<bool>())
            .prop_map(|(names, multiple)| ReserveNames { names, multiple }),
        vec(text(), 0..4).prop_map(|names| ReleaseNames { names }),
        (instance(), object_class(), of(text())).prop_map(|(instance, class, name)| {
            RegisterObject {
                instance,
                class,
                name,
            }
        }),
        (instance(), tag()).prop_map(|(instance, tag)| DeleteObject { instance, tag }),
        instance().prop_map(|instance| LocalDeleteObject { instance }),
        (instance(), attributes(), tag()).prop_map(|(instance, attributes, tag)| {
            RequestInstanceUpdate {
                instance,
                attributes,
                tag,
            }
        }),
        (object_class(), attributes(), tag()).prop_map(|(class, attributes, tag)| {
            RequestClassUpdate {
                class,
                attributes,
                tag,
            }
        }),
        resign_action().prop_map(SetResignDirective),
        resign_action().prop_map(Resign),
        ownership_request(),
        (text(), tag(), federates()).prop_map(|(label, tag, set)| RegisterSynchronizationPoint {
            label,
            tag,
            set
        }),
        (instance(), attributes(), transportation()).prop_map(
            |(instance, attributes, transportation)| ChangeAttributeTransportation {
                instance,
                attributes,
                transportation,
            }
        ),
        (instance(), attribute()).prop_map(|(instance, attribute)| QueryAttributeTransportation {
            instance,
            attribute
        }),
        (interaction_class(), transportation()).prop_map(|(class, transportation)| {
            ChangeInteractionTransportation {
                class,
                transportation,
            }
        }),
        (federate(), interaction_class())
            .prop_map(|(federate, class)| QueryInteractionTransportation { federate, class }),
        (any::<bool>(), any::<bool>()).prop_map(|(scope, relevance)| SetInstanceSwitches(
            InstanceSwitches { scope, relevance }
        )),
        (text(), any::<bool>()).prop_map(|(label, successfully)| AchieveSynchronizationPoint {
            label,
            successfully
        }),
    ]
}

fn to_executive() -> impl Strategy<Value = ToExecutive> {
    use ToExecutive::*;
    prop_oneof![
        (text(), modules(), of(module()), text()).prop_map(|(federation, modules, mim, time)| {
            CreateFederation {
                federation,
                modules,
                mim,
                time_implementation: time,
            }
        }),
        text().prop_map(|federation| DestroyFederation { federation }),
        Just(ListFederations),
        (of(text()), text(), text(), modules()).prop_map(|(name, kind, federation, modules)| {
            Join {
                name,
                kind,
                federation,
                modules,
            }
        }),
        (federates(), request_body()).prop_map(|(fenced, body)| ToExecutive::Request(
            starling_core::message::Request { fenced, body }
        )),
        Just(QueryStatus),
        (text(), text()).prop_map(|(federation, federate)| ResignFederate {
            federation,
            federate
        }),
        any::<bool>().prop_map(|force| Stop { force }),
        (text(), text(), text()).prop_map(|(federation, federate, subject)| QueryWhy(Question {
            federation,
            federate,
            subject
        })),
    ]
}

fn entry_body() -> impl Strategy<Value = EntryBody> {
    use EntryBody::*;
    let discovery = (instance(), object_class(), object_class(), text());
    let discovery =
        discovery.prop_map(
            |(instance, registered_class, known_class, name)| Discovery {
                instance,
                registered_class,
                known_class,
                name,
            },
        );
    prop_oneof![
        region_entry(),
        (federate_information(), modules())
            .prop_map(|(federate, modules)| FederateJoined { federate, modules }),
        (federate(), of(text())).prop_map(|(federate, fault)| FederateResigned { federate, fault }),
        (object_class(), subscribed())
            .prop_map(|(class, attributes)| ObjectSubscription { class, attributes }),
        (interaction_class(), subscription()).prop_map(|(class, subscription)| {
            InteractionSubscription {
                class,
                subscription,
            }
        }),
        (vec(text(), 0..4), any::<bool>(), any::<bool>()).prop_map(
            |(names, multiple, succeeded)| NamesReserved {
                names,
                multiple,
                succeeded,
            }
        ),
        vec(discovery, 0..4).prop_map(Discover),
        (instance(), federate(), tag()).prop_map(|(instance, producer, tag)| Remove {
            instance,
            producer,
            tag
        }),
        (vec((instance(), attributes()), 0..3), tag())
            .prop_map(|(wanted, tag)| ProvideUpdate { wanted, tag }),
        (text(), of(any::<bool>())).prop_map(|(label, failure)| SynchronizationPointRegistered {
            label,
            failure: failure.map(|unique| match unique {
                true => SynchronizationPointFailure::LabelNotUnique,
                false => SynchronizationPointFailure::SetMemberNotJoined,
            }),
        }),
        (text(), tag()).prop_map(|(label, tag)| SynchronizationPointAnnounced { label, tag }),
        (instance(), attributes(), attributes()).prop_map(|(instance, entered, left)| {
            AttributesScope {
                instance,
                entered,
                left,
            }
        }),
        (instance(), vec((text(), attributes()), 0..3), attributes())
            .prop_map(|(instance, on, off)| AttributesRelevance { instance, on, off }),
        (instance(), attributes(), transportation()).prop_map(
            |(instance, attributes, transportation)| AttributeTransportationChanged {
                instance,
                attributes,
                transportation,
            }
        ),
        (instance(), attribute(), transportation()).prop_map(
            |(instance, attribute, transportation)| AttributeTransportation {
                instance,
                attribute,
                transportation,
            }
        ),
        (interaction_class(), transportation()).prop_map(|(class, transportation)| {
            InteractionTransportationChanged {
                class,
                transportation,
            }
        }),
        (federate(), interaction_class(), transportation()).prop_map(
            |(federate, class, transportation)| InteractionTransportation {
                federate,
                class,
                transportation,
            }
        ),
        (text(), federates()).prop_map(|(label, failed)| FederationSynchronized { label, failed }),
        ownership_entry(),
    ]
}

fn ownership_entry() -> impl Strategy<Value = EntryBody> {
    use EntryBody::*;
    use OwnershipNotice::*;
    let notices = [
        Acquired,
        Unavailable,
        AcquisitionCancelled,
        ConfirmationRequested,
        ReleaseRequested,
        AssumptionRequested,
    ];
    let notice = proptest::sample::select(notices.to_vec());
    let owner = (
        any::<u32>().prop_map(AttributeHandle::from_raw),
        of(prop_oneof![
            Just(Owner::Rti),
            federate().prop_map(Owner::Federate)
        ]),
    );
    prop_oneof![
        (notice, instance(), attributes(), tag()).prop_map(
            |(notice, instance, attributes, tag)| Ownership {
                notice,
                instance,
                attributes,
                tag,
            }
        ),
        (instance(), attributes(), attributes()).prop_map(|(instance, attributes, unwanted)| {
            Divested {
                instance,
                attributes,
                unwanted,
            }
        }),
        (instance(), vec(owner, 0..4))
            .prop_map(|(instance, owners)| OwnershipReport { instance, owners }),
        Just(Fenced),
        region().prop_map(RegionDeleted),
    ]
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let head = (federate(), text(), text(), text(), log_index(), modules());
    let lists = (
        vec((federate_information(), request_number()), 0..3),
        vec((federate(), object_class(), subscribed()), 0..3),
        vec((federate(), interaction_class(), subscription()), 0..3),
    );
    let regions = (
        specifications(),
        region_subscription(object_class(), attribute()),
        region_subscription(interaction_class(), Just(())),
    );
    (head, lists, regions).prop_map(|(head, lists, regions)| Snapshot {
        handle: head.0,
        name: head.1,
        federation: head.2,
        time_implementation: head.3,
        index: head.4,
        modules: head.5,
        federates: lists.0,
        object_subscriptions: lists.1,
        interaction_subscriptions: lists.2,
        regions: regions.0,
        object_region_subscriptions: regions.1,
        interaction_region_subscriptions: regions.2,
    })
}

fn status() -> impl Strategy<Value = FederationStatus> {
    let fields = (
        text(),
        text(),
        vec(text(), 0..3),
        any::<u64>(),
        log_index(),
        any::<u64>(),
        vec((federate_information(), peer_info()), 0..3),
    );
    fields.prop_map(
        |(name, time, modules, instances, log, refused, federates)| FederationStatus {
            name,
            time_implementation: time,
            modules,
            instances,
            log,
            refused,
            federates,
        },
    )
}

fn from_executive() -> impl Strategy<Value = FromExecutive> {
    use FromExecutive::*;
    let cause = (federate(), request_number());
    let cause = of(cause.prop_map(|(sender, request)| Cause { sender, request }));
    let entry = (log_index(), cause, entry_body());
    let entry = entry.prop_map(|(index, cause, body)| {
        FromExecutive::Entry(starling_core::message::Entry { index, cause, body })
    });
    let mark = (log_index(), vec((federate(), request_number()), 0..4));
    let mark = mark.prop_map(|(index, requests)| {
        FromExecutive::Watermark(starling_core::message::Watermark { index, requests })
    });
    let finding = (text(), any::<bool>(), text()).prop_map(|(link, holds, detail)| Finding {
        link,
        holds,
        detail,
    });
    let information = (text(), text()).prop_map(|(name, time)| FederationInformation {
        name,
        time_implementation: time,
    });
    prop_oneof![
        of(exception()).prop_map(|e| Done(e.map_or(Ok(()), Err))),
        vec(information, 0..4).prop_map(Federations),
        snapshot().prop_map(|s| Joined(Box::new(s))),
        exception().prop_map(JoinRefused),
        entry,
        mark,
        text().prop_map(Removed),
        vec(status(), 0..3).prop_map(Status),
        vec(finding, 0..3).prop_map(Why),
    ]
}

/// The bytes of a frame without its length.
fn body(encoded: &[u8]) -> &[u8] {
    let (frame, taken) = split_frame(encoded).unwrap().expect("a whole frame");
    assert_eq!(taken, encoded.len());
    frame
}

/// A frame cut anywhere is no whole frame to `split_frame`, and refused by `decode` (but for data
/// cut between two values).
fn refused_when_cut(encoded: &[u8]) {
    let frame = body(encoded);
    for cut in 0..encoded.len() {
        assert_eq!(split_frame(&encoded[..cut]), Ok(None));
    }
    for cut in 0..frame.len() {
        assert!(Frame::decode(&frame[..cut]).is_err(), "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn to_executive_comes_back(message in to_executive()) {
        let mut out = Vec::new();
        put_to_executive(&mut out, &message);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::ToExecutive(message));
    }

    #[test]
    fn from_executive_comes_back(message in from_executive()) {
        let mut out = Vec::new();
        put_from_executive(&mut out, &message);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::FromExecutive(message));
    }

    #[test]
    fn greetings_come_back(
        version: u32,
        info in peer_info(),
        refusal in of(text()),
        frame_bytes_max: u64,
        challenge in tag(),
        answer in tag(),
    ) {
        let hello = Hello { version, info: info.clone(), challenge };
        let mut out = Vec::new();
        put_hello(&mut out, &hello);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Hello(hello));
        let welcome = Welcome { version, info, refusal, frame_bytes_max, answer };
        let mut out = Vec::new();
        put_welcome(&mut out, &welcome);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Welcome(welcome));
    }

    #[test]
    fn data_comes_back(
        kind in 0u8..3,
        best_effort: bool,
        sender in federate(),
        requests in request_number(),
        index in log_index(),
        instance in instance(),
        class in interaction_class(),
        tag in tag(),
        list in vec((any::<u32>(), tag()), 0..6),
        sent in of((federates(), proptest::collection::btree_map(any::<u64>(), 1u32..9, 0..3))),
    ) {
        let range = |upper: u32| [Range { dimension: DimensionHandle::from_raw(1), lower: 0, upper }];
        let sent = sent.map(|(to, with)| {
            let with: Vec<_> = with.into_iter().map(|(r, upper)| (RegionHandle(r), range(upper))).collect();
            AddressBuf::new(&to, with.iter().map(|(r, ranges)| (*r, &ranges[..])))
        });
        let address = sent.as_ref().map(AddressBuf::borrow);
        let mut values = ValuesBuf::default();
        for (slot, value) in &list {
            values.push(*slot, value);
        }
        let (tag, values) = (tag.as_slice(), values.values());
        let transportation = match best_effort {
            true => Transportation::BestEffort,
            false => Transportation::Reliable,
        };
        let payload = Payload { transportation, values, tag, address };
        let said = match kind {
            0 => DataBody::Update { instance, payload },
            1 => DataBody::Interaction { class, payload },
            _ => DataBody::Fence { request: requests },
        };
        let data = Data { sender, after: After { requests, index }, body: said };
        let mut out = Vec::new();
        put_data(&mut out, &data);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Data(data));
        for cut in 0..body(&out).len() {
            // Between two values a cut can't be seen; the frame's length guards it.
            let _ = Frame::decode(&body(&out)[..cut]);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..300), kind in 0u8..64) {
        let _ = split_frame(&bytes);
        let _ = Frame::decode(&bytes);
        let typed: Vec<_> = [kind].into_iter().chain(bytes).collect();
        let _ = Frame::decode(&typed);
    }

    #[test]
    fn a_changed_byte_is_decoded_or_refused(
        message in from_executive(), at: prop::sample::Index, to: u8,
    ) {
        let mut out = Vec::new();
        put_from_executive(&mut out, &message);
        let at = 4 + at.index(out.len() - 4);
        out[at] = to;
        let _ = Frame::decode(body(&out));
    }
}

proptest! {
    #[test]
    fn only_creations_and_joins_bring_modules(message in to_executive()) {
        let brings = matches!(message, ToExecutive::CreateFederation { .. } | ToExecutive::Join { .. });
        let mut bytes = Vec::new();
        put_to_executive(&mut bytes, &message);
        let (frame, _) = split_frame(&bytes).unwrap().unwrap();
        prop_assert_eq!(may_bring_modules(frame), Some(brings));
        prop_assert_eq!(may_bring_modules(&frame[..1]), None);
    }
}
