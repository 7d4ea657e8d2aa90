//! How much data a federate sends and gets, by class and by sender: counted only where it is asked for
//! (`statistics.enabled`). The management object model counts by itself ([`crate::mom`]), as the standard says.

use crate::message::statistics::{ClassTraffic, SenderTraffic, Statistics, Volume};
use crate::{Federate, FederateHandle, InteractionClassHandle, ObjectClassHandle, Transportation};
use std::collections::BTreeMap;

/// Sent and received.
type Both = [Volume; 2];

/// What was counted.
#[derive(Default)]
pub(crate) struct Traffic {
    objects: BTreeMap<(ObjectClassHandle, Transportation), Both>,
    interactions: BTreeMap<(InteractionClassHandle, Transportation), Both>,
    senders: BTreeMap<(FederateHandle, Transportation), Volume>,
}

/// Counts where it is asked for. Data comes by here.
#[inline(always)]
pub(crate) fn note(traffic: &mut Option<Box<Traffic>>, what: impl FnOnce(&mut Traffic)) {
    if let Some(traffic) = traffic {
        what(traffic);
    }
}

impl Traffic {
    /// A passel of an instance registered as this class was sent.
    #[cold]
    pub(crate) fn updated(&mut self, class: ObjectClassHandle, how: Transportation, bytes: usize) {
        self.objects.entry((class, how)).or_default()[0].add(bytes);
    }

    /// An interaction was sent.
    #[cold]
    pub(crate) fn sent(
        &mut self,
        class: InteractionClassHandle,
        how: Transportation,
        bytes: usize,
    ) {
        self.interactions.entry((class, how)).or_default()[0].add(bytes);
    }

    /// A reflection is delivered of an instance registered as this class.
    #[cold]
    pub(crate) fn reflected(
        &mut self,
        class: ObjectClassHandle,
        sender: FederateHandle,
        how: Transportation,
        bytes: usize,
    ) {
        self.objects.entry((class, how)).or_default()[1].add(bytes);
        self.senders.entry((sender, how)).or_default().add(bytes);
    }

    /// An interaction is delivered that was sent as this class.
    #[cold]
    pub(crate) fn received(
        &mut self,
        class: InteractionClassHandle,
        sender: FederateHandle,
        how: Transportation,
        bytes: usize,
    ) {
        self.interactions.entry((class, how)).or_default()[1].add(bytes);
        self.senders.entry((sender, how)).or_default().add(bytes);
    }
}

impl Federate {
    /// Counts data by class and sender from now on.
    pub fn measure_traffic(&mut self) {
        self.traffic = Some(Box::default());
        self.mom.tally.turn_on();
    }

    /// What was counted, but for ways and calls, which are not this layer's; none if nothing is counted.
    /// Of very many classes and senders the first, so that they stay within [`Statistics::BYTES_MAX`].
    pub fn traffic(&self) -> Option<Statistics> {
        let traffic = self.traffic.as_ref()?;
        let row = |class: &str, is_interaction, transportation, both: &Both| ClassTraffic {
            class: class.to_owned(),
            is_interaction,
            transportation,
            sent: both[0],
            received: both[1],
        };
        let objects = traffic.objects.iter().filter_map(|((class, how), both)| {
            let class = self.model.object_class(*class)?;
            Some(row(&class.name, false, *how, both))
        });
        let interactions = traffic
            .interactions
            .iter()
            .filter_map(|((class, how), both)| {
                let class = self.model.interaction_class(*class)?;
                Some(row(&class.name, true, *how, both))
            });
        let senders = traffic.senders.iter();
        let senders = senders.map(|((sender, transportation), received)| SenderTraffic {
            sender: *sender,
            transportation: *transportation,
            received: *received,
        });
        let mut told = Statistics::default();
        // Half for these, a quarter for those behind: calls need the least.
        let most = Statistics::BYTES_MAX / 2;
        let mut bytes = 0;
        told.classes
            .extend(objects.chain(interactions).take_while(|c| {
                bytes += Statistics::ROW_BYTES + c.class.len();
                bytes <= most
            }));
        told.senders
            .extend(senders.take(most / 2 / Statistics::ROW_BYTES));
        Some(told)
    }
}
