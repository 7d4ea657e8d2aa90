//! What counting for the management object model costs, run under callgrind by `make instructions`:
//! `mom_cost send|reflect on|off UPDATES`.
//!
//! `send`: a federate updates one attribute of 100 bytes so many times, and what it sends is dropped. `reflect`: one
//! such frame comes to another federate so many times, and each is reflected. All in one thread, without links, so
//! that two runs that differ in `on` and `off` alone differ by exactly what it costs.

use starling_bed::{Bed, Link, Message};
use starling_core::message::ModuleSource;
use starling_core::{DataPath, Exception, Executive, Lrc, PeerId, Services};
use std::error::Error;

const FOM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name><attribute><name>x</name></attribute></objectClass>
</objectClass></objects></objectModel>"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [what, mom, updates] = &arguments[..] else {
        return Err("usage: mom_cost send|reflect on|off UPDATES".into());
    };
    let updates: usize = updates.parse()?;
    let mut executive = Executive::new();
    executive.set_services(Services {
        mom: mom == "on",
        ..Services::default()
    });
    let mut bed = Bed::new(executive, DataPath::Executive, std::convert::identity);
    let [sender, receiver] = [bed.connect(), bed.connect()];
    let fom = ModuleSource {
        designator: "fom.xml".into(),
        text: FOM.as_bytes().into(),
    };
    call(&mut bed, sender, |f| {
        f.create_federation_execution("F", vec![fom], None, "")
    })?;
    for peer in [sender, receiver] {
        call(&mut bed, peer, |f| {
            f.join_federation_execution(None, "test", "F", vec![])
        })?;
    }
    let class = bed.member(sender).object_class_handle("A")?;
    let x = bed.member(sender).attribute_handle(class, "x")?;
    call(&mut bed, receiver, |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })?;
    call(&mut bed, sender, |f| {
        f.publish_object_class_attributes(class, &[x])
    })?;
    let car = call(&mut bed, sender, |f| {
        f.register_object_instance(class, None)
    })?;
    while bed.member(receiver).next_callback().is_some() {}

    let value = [7; 100];
    let values = [(x, &value[..])];
    let update = |f: &mut Lrc<_>| f.update_attribute_values(car, &values, b"");
    // The first reflection decides how later ones are made.
    call(&mut bed, sender, update)?;
    while bed.member(receiver).next_callback().is_some() {}
    update(bed.member(sender))?;
    bed.collect(sender);
    let Some(Message::Data(frame)) = bed.take(Link::Up(sender)) else {
        return Err("the update is no data frame".into());
    };
    let mut done = 0;
    for _ in 0..updates {
        if what == "send" {
            let sender = bed.member(sender);
            update(sender)?;
            done += sender.outbox().take().len();
        } else {
            let receiver = bed.member(receiver);
            receiver.receive_data(&frame.borrow(), DataPath::Executive, None)?;
            done += usize::from(receiver.next_callback().is_some());
        }
    }
    if done == updates {
        Ok(())
    } else {
        Err(format!("{done} of {updates} came").into())
    }
}

/// A service call; what comes of it arrives everywhere.
fn call<T>(
    bed: &mut Bed,
    peer: PeerId,
    service: impl FnOnce(&mut Lrc<starling_bed::Sent>) -> Result<T, Exception>,
) -> Result<T, Box<dyn Error>> {
    let result = service(bed.member(peer))?;
    for _ in 0..3 {
        for peer in bed.members.keys().copied().collect::<Vec<_>>() {
            bed.collect(peer);
            while let Some(message) = bed.take(Link::Up(peer)) {
                bed.reach_executive(peer, message)?;
            }
        }
        bed.executive.settle();
        bed.collect_from_executive();
        for peer in bed.members.keys().copied().collect::<Vec<_>>() {
            while let Some(message) = bed.take(Link::Down(peer)) {
                bed.reach_member(peer, message)?;
            }
        }
    }
    bed.member(peer).answer().transpose()?;
    Ok(result)
}
