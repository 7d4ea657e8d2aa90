//! What concerns two of sixteen federates comes to these two, and no frame of it to the fourteen others.

mod common;

use common::{Client, Running, run};
use starling_core::Callback;
use starling_core::message::{FromExecutive, ModuleSource, ToExecutive};
use starling_core::{AttributeHandle, DataOut, ObjectClassHandle, ObjectInstanceHandle};
use starling_wire::put_data;

const FOM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Thing</name><attribute><name>place</name><transportation>HLAreliable</transportation>
<order>Receive</order></attribute></objectClass></objectClass></objects></objectModel>"#;
const FEDERATES: usize = 16;
const INSTANCES: usize = 100;

fn thing(client: &Client) -> (ObjectClassHandle, AttributeHandle) {
    let federate = client.federate();
    let class = federate.object_class_handle("Thing").unwrap();
    (class, federate.attribute_handle(class, "place").unwrap())
}

/// One that publishes the class.
fn publisher(server: &Running, name: &str) -> Client {
    let mut client = Client::member(server, "F", name);
    let (class, attribute) = thing(&client);
    let federate = client.federate_mut();
    federate
        .publish_object_class_attributes(class, &[attribute])
        .unwrap();
    client.send_all();
    client
}

fn update(owner: &mut Client, instance: ObjectInstanceHandle, attribute: AttributeHandle) {
    let mut data = Vec::new();
    owner
        .federate_mut()
        .update_attribute_values(
            instance,
            &[(attribute, b"here")],
            b"",
            &mut |out: DataOut<'_>| {
                put_data(&mut data, out.data);
            },
        )
        .unwrap();
    owner.take_requests();
    owner.link.writer.out().extend_from_slice(&data);
    owner.send_all();
}

/// All that the executive was told before is on the others' streams once it answers them; what has come to each of them
/// meanwhile, but for watermarks. These say only how far the log is, so that nobody waits for what is another's: one at most
/// for each request that it had.
fn came_to(others: &mut [Client], requests: usize) -> Vec<Vec<String>> {
    let came = others.iter_mut().map(|other| {
        let (marks, frames): (Vec<_>, Vec<_>) = other
            .frames_so_far()
            .into_iter()
            .partition(|frame| frame.starts_with("FromExecutive(Watermark("));
        assert!(marks.len() <= requests, "{marks:#?}");
        frames
    });
    came.collect()
}

/// To each of them has come one frame, which says this.
fn one_each(others: &mut [Client], part: &str) {
    for frames in came_to(others, 1) {
        let [frame] = &frames[..] else {
            panic!("not one frame: {frames:#?}");
        };
        assert!(frame.contains(part), "{frame}");
    }
}

#[test]
fn what_is_for_a_newcomer_or_an_owner_comes_to_no_other_of_sixteen() {
    let server = run(|_| {});
    let mut creator = Client::connect(&server);
    creator.tell(ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![ModuleSource {
            designator: "things.xml".into(),
            text: FOM.as_bytes().into(),
        }],
        mim: None,
        time_implementation: String::new(),
    });
    let done = creator.until(|m| matches!(m, FromExecutive::Done(_)));
    assert!(matches!(done, FromExecutive::Done(Ok(()))), "{done:?}");
    // Each of them might own what is asked for, by what it publishes.
    let mut owner = publisher(&server, "owner");
    let others = (2..FEDERATES).map(|n| publisher(&server, &format!("other {n}")));
    let mut others: Vec<_> = others.collect();
    assert_eq!(others.len(), 14);
    let (class, attribute) = thing(&owner);
    let instances = (0..INSTANCES).map(|_| {
        let federate = owner.federate_mut();
        federate.register_object_instance(class, None).unwrap()
    });
    let instances: Vec<_> = instances.collect();
    owner.send_all();
    owner.frames_so_far();
    came_to(&mut others, usize::MAX);

    // Who is there, and who wants what, all are told; what there is, the newcomer alone.
    let mut newcomer = Client::member(&server, "F", "newcomer");
    one_each(&mut others, "FederateJoined");
    newcomer
        .federate_mut()
        .subscribe_object_class_attributes(class, &[attribute], true, "")
        .unwrap();
    newcomer.send_all();
    for _ in &instances {
        let discovered = newcomer.next_callback();
        assert!(matches!(
            discovered,
            Callback::DiscoverObjectInstance { .. }
        ));
    }
    one_each(&mut others, "ObjectSubscription");

    // By class, and by instance: the owner is asked, and the newcomer is answered.
    owner.frames_so_far();
    let federate = newcomer.federate_mut();
    federate
        .request_class_attribute_value_update(class, &[attribute], b"all")
        .unwrap();
    newcomer.send_all();
    let mut asked = |count: usize, newcomer: &mut Client| {
        for _ in 0..count {
            let Callback::ProvideAttributeValueUpdate { instance, .. } = owner.next_callback()
            else {
                panic!("something else");
            };
            update(&mut owner, instance, attribute);
            let reflected = newcomer.next_callback();
            assert!(matches!(reflected, Callback::ReflectAttributeValues { .. }));
        }
    };
    asked(INSTANCES, &mut newcomer);
    for instance in &instances[..10] {
        newcomer
            .federate_mut()
            .request_instance_attribute_value_update(*instance, &[attribute], b"one")
            .unwrap();
    }
    newcomer.send_all();
    asked(10, &mut newcomer);
    let nothing: Vec<Vec<String>> = vec![Vec::new(); 14];
    // One request for all of them, and ten; updates make no watermark.
    assert_eq!(came_to(&mut others, 11), nothing);
}
