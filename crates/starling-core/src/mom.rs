//! The management object model, 1516.1-2010 chapter 11.
//!
//! Absent here: nobody publishes its object instances, sends its reports or serves its requests.
//! Its classes are in every FDD, so the calls that turn to them succeed and then nothing comes:
//! whoever makes one is told so, once.

use crate::message::{RequestBody, Subscription};
use starling_fom::ObjectModel;

/// What to tell whoever makes this request, if it turns to the MOM.
pub(crate) fn note(request: &RequestBody, model: &ObjectModel) -> Option<String> {
    let (object, interaction) = match request {
        RequestBody::PublishObjectClass { class, attributes } if !attributes.is_empty() => {
            (Some(*class), None)
        }
        RequestBody::SubscribeObjectClass { class, attributes } if !attributes.is_empty() => {
            (Some(*class), None)
        }
        RequestBody::SubscribeObjectClassWithRegions { class, .. }
        | RequestBody::RequestClassUpdate { class, .. } => (Some(*class), None),
        RequestBody::PublishInteraction {
            class,
            published: true,
        }
        | RequestBody::SubscribeInteractionWithRegions { class, .. } => (None, Some(*class)),
        RequestBody::SubscribeInteraction {
            class,
            subscription: Subscription::Active | Subscription::Passive,
        } => (None, Some(*class)),
        _ => return None,
    };
    let object = object.and_then(|c| Some(&model.object_class(c)?.name));
    let interaction = interaction.and_then(|c| Some(&model.interaction_class(c)?.name));
    let name = object.or(interaction)?;
    let mut parts = name.split('.').skip(1);
    (parts.next() == Some("HLAmanager")).then(|| {
        format!(
            "'{name}' was published, subscribed to or asked for values of, but this version has no management object model yet (1516.1-2010, 11): nothing comes of it"
        )
    })
}
