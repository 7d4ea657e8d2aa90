//! Data to federates that come by the same forwarder: it passes it on there, and rtiexec does not see it.
//!
//! To the core that is a link to each of them, first in first out: it goes on this federate's stream, which the
//! forwarder reads in order, and comes on theirs. It ends with the federate, behind all that came by it, or with the
//! whole connection.

use starling_core::FederateHandle;
use starling_net::LinkWriter;
use starling_wire::{DataFrame, Framed, put_pass};

/// Those who come by the same forwarder.
#[derive(Default)]
pub(crate) struct Site {
    /// By their handles, in whose order a frame names its receivers.
    peers: Vec<Peer>,
    /// Some of them the core is still to know of.
    unsettled: bool,
    /// The receivers of the frame before, and who of them is here.
    last: (Vec<FederateHandle>, Vec<FederateHandle>),
}

struct Peer {
    federate: FederateHandle,
    /// The core has this path for it.
    direct: bool,
    /// Nothing of it is taken any more, because it has passed what it must not.
    broken: bool,
}

impl Site {
    /// A federate is here.
    pub(crate) fn join(&mut self, federate: FederateHandle) {
        self.remove(federate);
        let at = self.peers.partition_point(|p| p.federate < federate);
        let peer = Peer {
            federate,
            direct: false,
            broken: false,
        };
        self.peers.insert(at, peer);
        self.unsettled = true;
    }

    /// It is gone.
    pub(crate) fn remove(&mut self, federate: FederateHandle) {
        self.peers.retain(|p| p.federate != federate);
        self.last.0.clear();
    }

    /// All that are here.
    pub(crate) fn peers(&self) -> impl Iterator<Item = FederateHandle> {
        self.peers.iter().map(|p| p.federate)
    }

    /// Nothing of it is taken any more.
    pub(crate) fn break_off(&mut self, federate: FederateHandle) {
        let mut peers = self.peers.iter_mut();
        if let Some(peer) = peers.find(|p| p.federate == federate) {
            peer.broken = true;
        }
    }

    pub(crate) fn is_broken(&self, federate: FederateHandle) -> bool {
        let mut peers = self.peers.iter();
        peers.any(|p| p.federate == federate && p.broken)
    }

    /// Sends a frame to those of these that are here.
    pub(crate) fn send<'a>(
        &mut self,
        to: &[FederateHandle],
        stream: &mut LinkWriter,
        data: &impl Framed<'a>,
    ) {
        if self.last.0 != to {
            self.last.0.clear();
            self.last.0.extend_from_slice(to);
            self.last.1.clear();
            let here = self.peers.iter().map(|p| p.federate);
            self.last.1.extend(here.filter(|f| to.contains(f)));
        }
        if !self.last.1.is_empty() {
            let frame = DataFrame::new(data);
            put_pass(stream.out(), &self.last.1, frame.bytes(), |out| {
                frame.put_into(out);
            });
        }
    }

    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// A federate to which data takes this way from now on; `is_member`: the core knows it.
    pub(crate) fn next_change(
        &mut self,
        is_member: impl Fn(FederateHandle) -> bool,
    ) -> Option<FederateHandle> {
        let mut unsettled = false;
        for peer in self.peers.iter_mut().filter(|p| !p.direct) {
            if is_member(peer.federate) {
                peer.direct = true;
                return Some(peer.federate);
            }
            unsettled = true;
        }
        self.unsettled = unsettled;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_core::message::{After, Data, DataBody, RequestNumber};
    use starling_net::{Link, Stream};
    use starling_wire::{read_pass, split_frame};

    #[test]
    fn receivers_are_named_in_ascending_order_whenever_they_came() {
        let mut site = Site::default();
        for federate in [5, 2, 9, 300, 2, 7] {
            site.join(FederateHandle(federate));
        }
        site.remove(FederateHandle(9));
        let mut stream = Link::new(Stream::pair().unwrap().0).split().1;
        let request = RequestNumber(1);
        let data: Data<'_> = Data {
            sender: FederateHandle(1),
            after: After::default(),
            body: DataBody::Fence { request },
        };
        site.send(&[300, 9, 7, 2].map(FederateHandle), &mut stream, &data);
        let (frame, _) = split_frame(stream.out()).unwrap().unwrap();
        let mut to = Vec::new();
        assert!(read_pass(frame, &mut to).unwrap().is_ok());
        assert_eq!(to, [2, 7, 300].map(FederateHandle));
    }
}
