//! The short way of an update or interaction in time-stamp order that is else as most are: it is kept where it came until its
//! time is released, and then delivered as [`super::plain`] does. What may be asked back, as what a flush or the end of
//! constraint hands over early, goes the long way.

use super::plain::{Reflected, call_back, received_plainly};
use crate::callback::{PlainCallback, PlainPart};
use crate::content::{Piece, Place};
use crate::delivery::Timed;
use crate::message::{After, PlainData, Stamp, TimedData};
use crate::{Batch, Federate, MessageTime, Order};

impl Federate {
    /// Takes an update or interaction in time-stamp order, of this batch. False, and nothing is done: it is not received so, or
    /// something is wrong with it.
    #[inline(always)]
    pub fn receive_timed(&mut self, data: TimedData<'_>, batch: &Batch) -> bool {
        let TimedData {
            plain,
            time,
            retraction,
        } = data;
        let now = self.time.keeps(time) && self.log.is_next_in_time_order(plain.after);
        let may_wait = batch.is_small() && !self.delivery.has_ended();
        if !now || !may_wait || !self.is_of_known(&plain) {
            return false;
        }
        let Some(place) = Place::of(batch, plain.values, plain.tag) else {
            return false;
        };
        let bytes = Timed::bytes_at(place);
        if !self.has_room_for(bytes) {
            return false;
        }
        self.counters.queued += 1;
        self.delivery.push_timed(time, bytes, || Timed {
            piece: Piece::at(batch, place),
            what: plain.what,
            sender_applied: plain.after.index,
            retraction,
            bits: time.to_bits(),
            of: time.time_type(),
            order: Order::TimeStamp,
            transportation: plain.transportation,
            is_update: plain.is_update,
        });
        true
    }

    /// The next callback, if it is of such data: as [`Federate::next_plain`].
    #[inline(always)]
    pub(super) fn next_timed(
        &mut self,
        kept: &mut Option<PlainCallback>,
        last: &mut Reflected,
    ) -> bool {
        let Some(timed) = self.delivery.first_timed() else {
            return false;
        };
        let time = MessageTime {
            time: timed.time(),
            sent: Order::TimeStamp,
            received: timed.order,
            retraction: timed.retraction,
        };
        let stamp = Stamp {
            time: time.time,
            retraction: Some(timed.retraction.number()),
        };
        if self.may_be_retracted(Some(&stamp), timed.order).is_some() {
            return false;
        }
        let data = PlainData {
            sender: timed.sender(),
            after: After {
                requests: Default::default(),
                index: self.judged_from(timed.sender_applied, timed.order),
            },
            is_update: timed.is_update,
            what: timed.what,
            transportation: timed.transportation,
            tag: &[],
            values: timed.piece.values(),
        };
        let received = match last.received(&data) {
            Some(received) => received,
            None => {
                let found = received_plainly(&self.objects, &self.declarations, &data);
                let Some(received) = found else {
                    return false;
                };
                last.note(&received);
                received
            }
        };
        let part = PlainPart {
            batch: &timed.piece.batch,
            place: timed.piece.place,
            transportation: data.transportation,
            producer: self.conveyed(data.sender),
            time: Some(time),
        };
        let by = (&mut self.mom.tally, &mut self.traffic);
        call_back(kept, received, part, (by, data.sender));
        self.delivery.drop_timed();
        true
    }
}
