//! One joined federate as its LRC knows it.
//!
//! Two views: routing follows the applied log (`subscriptions`, `routes`, an instance's
//! `removed`); pre-conditions follow the federate's own calls and the callbacks delivered to it
//! (`mine`, `published`, an instance's `discovered`). A callback is delivered when
//! [`Federate::next_callback`] returns it.
//!
//! Services are checked here and cost no round trip; their requests and data frames must be put
//! on the link in the order in which they come out: take [`Federate::poll_output`] empty after
//! each service call that takes no `send`, and before each one that does.

use crate::callback::Callback;
use crate::conflation::{Conflated, Conflation};
use crate::counters::Counters;
use crate::ddm::address::AddressBuf;
use crate::ddm::federate::FederateRegions;
use crate::ddm::receive::RegionsGone;
use crate::declaration::{Declarations, QueuedAdvisory, Subscribed};
use crate::delivery::{Delivery, Queued};
use crate::exception::throw;
use crate::federation::members::Membership;
use crate::federation::modules;
use crate::grouping::{Grouped, Grouping, SentClass, group_of};
use crate::log::federate::{DataPath, Now, Ordered, Output, Place, Replica};
use crate::message::{
    Data, DataBody, DataSent, Entry, EntryBody, FromExecutive, ModuleSource, PlainSent, Snapshot,
};
use crate::mom::federate::FederateMom;
use crate::object::known::{FederateObjects, Instance};
use crate::object::receive::{QueuedObject, Reflected};
use crate::object::send::Scratch;
use crate::ownership::federate::Ownership;
use crate::saved;
use crate::time::federate::FederateTime;
use crate::time::value::TimeType;
use crate::traffic::Traffic;
use crate::{
    Batch, Exception, FederateHandle, Given, Listed, ObjectInstanceHandle, ParameterHandle,
    ProtocolError, Services, ValuesOut,
};
use starling_fom::{FomError, ObjectModel};
use std::sync::Arc;

/// A data frame on its way out.
#[derive(Clone, Copy, Debug)]
pub struct DataOut<'a> {
    /// Who is to get it by this path, as far as this federate has applied the log. The executive
    /// knows better.
    pub to: &'a [FederateHandle],
    /// How it travels.
    pub path: DataPath,
    /// Of best-effort data: which of the classes that [`Grouped`] names it is of, from 1; 0: none.
    pub group: u32,
    /// The frame.
    pub data: &'a DataSent<'a>,
}

/// An update or interaction as most are on its way out: as [`DataOut`].
pub struct PlainOut<'a, T: Given> {
    /// Who is to get it by this path, as far as this federate has applied the log. The executive
    /// knows better.
    pub to: &'a [FederateHandle],
    /// How it travels.
    pub path: DataPath,
    /// The frame.
    pub data: PlainSent<'a, Listed<'a, T>>,
}

impl<T: Given> Clone for PlainOut<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Given> Copy for PlainOut<'_, T> {}

impl<T: Given> PlainOut<'_, T> {
    /// Hands it to who takes frames of all kinds.
    #[inline]
    pub fn hand_to(&self, take: impl FnOnce(DataOut<'_>)) {
        take(DataOut {
            to: self.to,
            path: self.path,
            group: 0,
            data: &self.data.to_sent(),
        });
    }
}

/// Where a federate's data frames go.
pub trait Sink {
    /// Takes one.
    fn put(&mut self, frame: DataOut<'_>);

    /// Takes one as most are.
    #[inline(always)]
    fn put_plain<T: Given>(&mut self, frame: &PlainOut<'_, T>) {
        frame.hand_to(|frame| self.put(frame));
    }
}

impl<F: FnMut(DataOut<'_>) + ?Sized> Sink for F {
    #[inline(always)]
    fn put(&mut self, frame: DataOut<'_>) {
        self(frame);
    }
}

/// Who joins first mostly is who has created the federation execution, and can mend its modules.
const FIRST: FederateHandle = FederateHandle(1);

/// What is doubtful of the FDD, for whoever runs the federate.
fn doubtful(doubts: &[FomError]) -> Option<String> {
    let first = doubts.first()?;
    let others = match doubts.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!(
        "{first}{others}; `starling fom check` with the FOM modules shows all, and fom.check=strict of rtiexec \
         would refuse them"
    ))
}

/// A joined federate. Not thread-safe; its owner locks it.
pub struct Federate {
    pub(crate) me: FederateHandle,
    pub(crate) model: ObjectModel,
    pub(crate) log: Replica,
    pub(crate) federation: Membership,
    pub(crate) declarations: Declarations,
    pub(crate) regions: FederateRegions,
    pub(crate) objects: FederateObjects,
    pub(crate) ownership: Ownership,
    pub(crate) time: FederateTime,
    pub(crate) delivery: Delivery,
    pub(crate) counters: Counters,
    pub(crate) mom: FederateMom,
    /// None: not counted.
    pub(crate) traffic: Option<Box<Traffic>>,
    /// By which classes best-effort data is sent apart, if by any.
    pub(crate) grouping: Option<Box<Grouping>>,
    pub(crate) services: Services,
    /// For whoever runs the federate.
    note: Option<String>,
    /// None while it is in use.
    pub(crate) scratch: Option<Box<Scratch>>,
    /// Slots of the values that are sent now; its memory is used again.
    pub(crate) slots: Vec<(ParameterHandle, u32)>,
    /// The largest frame that the executive takes.
    pub(crate) frame_bytes_max: usize,
}

impl Federate {
    /// A federate that has just joined.
    pub fn new(snapshot: Snapshot, path: DataPath) -> Result<Self, ProtocolError> {
        let (model, doubts) = modules::rebuild_doubting(&snapshot.modules)
            .map_err(|e| ProtocolError(format!("the executive's FDD can't be read here: {e}")))?;
        let is_first = snapshot.handle == FIRST;
        let mut new = Federate::of(snapshot, path, model)?;
        new.note = is_first.then(|| doubtful(&doubts)).flatten();
        Ok(new)
    }

    /// The same, with the object model that the snapshot's modules make.
    pub(crate) fn of(
        snapshot: Snapshot,
        path: DataPath,
        model: ObjectModel,
    ) -> Result<Self, ProtocolError> {
        let switches = model.switches().clone();
        let mom = FederateMom::new(&model, snapshot.services.mom);
        let time = TimeType::by_name(&snapshot.time_implementation).ok_or_else(|| {
            let name = &snapshot.time_implementation;
            ProtocolError(format!(
                "there is no logical time implementation '{name}' here"
            ))
        })?;
        let senders = snapshot.federates.iter().map(|(f, r)| (f.handle, *r));
        let log = Replica::new(snapshot.handle, path, snapshot.index, senders);
        let subscribed = Subscribed::restore(Arc::unwrap_or_clone(snapshot.declarations));
        let declarations = Declarations::new(snapshot.handle, subscribed, &switches);
        Ok(Federate {
            me: snapshot.handle,
            federation: Membership::new(
                snapshot.name,
                snapshot.federation,
                snapshot.federates.into_iter().map(|(f, _)| f),
                &model,
            ),
            model,
            log,
            declarations,
            regions: FederateRegions::default(),
            objects: FederateObjects::new(&switches),
            ownership: Ownership::default(),
            time: FederateTime::new(time),
            delivery: Delivery::default(),
            counters: Counters::default(),
            mom,
            traffic: None,
            grouping: None,
            services: snapshot.services,
            note: None,
            scratch: None,
            slots: Vec::new(),
            frame_bytes_max: usize::MAX,
        })
    }

    /// All that it knows, for a save. What is on its way out is no part of it.
    pub fn save(&self) -> saved::Federate {
        saved::Federate {
            federation: self.federation.save(self.me),
            declaration: self.declarations.save(),
            object: self.objects.save(),
            ownership: self.ownership.save(),
            ddm: self.regions.save(),
            time: self.time.save(),
            mom: self.mom.save(),
            log: self.log.save(),
            delivery: {
                let mut waiting = self.delivery.save();
                let away = self.time.away.all();
                waiting
                    .queue
                    .splice(0..0, away.filter_map(|queued| queued.save()));
                waiting
            },
        }
    }

    /// A federate that was saved, in a federation execution with these modules and services. An error
    /// if what was saved is no federate's of such a one.
    pub fn restored(
        saved: saved::Federate,
        modules: &[ModuleSource],
        services: Services,
        path: DataPath,
    ) -> Result<Self, ProtocolError> {
        let snapshot = Snapshot {
            handle: saved.federation.handle,
            name: saved.federation.name.clone(),
            federation: saved.federation.federation.clone(),
            time_implementation: saved.time.time_type.name().to_owned(),
            services,
            index: saved.log.applied,
            modules: modules.to_vec(),
            federates: Vec::new(),
            declarations: Arc::new(saved.declaration.subscriptions.clone()),
        };
        let mut federate = Federate::new(snapshot, path)?;
        let log = saved.log.clone();
        federate.restore(saved)?;
        federate.log.restore(federate.me, log);
        Ok(federate)
    }

    /// Becomes what was saved, but for the log. The object model stays, and the limits.
    pub(crate) fn restore(&mut self, saved: saved::Federate) -> Result<(), ProtocolError> {
        // It was told when it joined.
        self.note = None;
        self.me = saved.federation.handle;
        self.federation.restore(saved.federation);
        self.declarations = Declarations::restore(self.me, saved.declaration);
        self.objects = FederateObjects::restore(saved.object, &self.model)?;
        self.ownership = Ownership::restore(saved.ownership);
        self.regions = FederateRegions::restore(saved.ddm);
        self.time.restore(saved.time, &self.model)?;
        self.mom.restore(saved.mom, &self.model)?;
        let waiting = saved.delivery;
        self.delivery.begin_again(waiting.withholding);
        for queued in waiting.queue {
            self.put_back(queued)?;
        }
        for (time, message) in waiting.in_time_order {
            let message = QueuedObject::restore(message)?;
            self.delivery.push_in_time_order(time, message);
        }
        if waiting.ended {
            self.delivery.end();
        }
        Ok(())
    }

    /// Puts what waited for delivery behind all that waits.
    fn put_back(&mut self, queued: saved::delivery::Queued) -> Result<(), ProtocolError> {
        use saved::delivery::Queued;
        match queued {
            Queued::Federation(entry) => return self.put_back_federation(entry),
            Queued::Object(entry) => return self.put_back_object(entry),
            Queued::Ownership {
                entry,
                index,
                as_of,
            } => return self.put_back_ownership(entry, index, as_of),
            Queued::Registration(class, wanted) => self
                .delivery
                .push(QueuedAdvisory::Registration(class, wanted)),
            Queued::Interactions(class, wanted) => self
                .delivery
                .push(QueuedAdvisory::Interactions(class, wanted)),
            Queued::RegionsGone { first, last } => self.delivery.push(RegionsGone { first, last }),
            Queued::Time(queued) => self.delivery.push(queued),
            message => self.delivery.push(QueuedObject::restore(message)?),
        }
        Ok(())
    }

    /// What of the standard its federation execution has.
    pub fn services(&self) -> Services {
        self.services
    }

    /// This federate's handle.
    pub fn handle(&self) -> FederateHandle {
        self.me
    }

    /// This federate's name.
    pub fn name(&self) -> &str {
        self.federation.name()
    }

    /// Whether a federate is a member, as of the applied log.
    pub fn is_member(&self, federate: FederateHandle) -> bool {
        self.federation.members().contains_key(&federate)
    }

    /// The federation execution's name.
    pub fn federation(&self) -> &str {
        self.federation.federation()
    }

    /// The name of the federation execution's logical time implementation.
    pub fn logical_time_implementation(&self) -> &str {
        self.time.time_type().name()
    }

    /// The FDD as of the applied log.
    pub fn model(&self) -> &ObjectModel {
        &self.model
    }

    /// Whether the federate's resignation has been applied: it is no longer a member.
    pub fn is_resigned(&self) -> bool {
        self.federation.is_resigned()
    }

    /// Sets the largest frame that the executive takes, in bytes; before this is called, any.
    pub fn set_frame_bytes_max(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
    }

    /// Sets which reflections are conflated; before this is called, none. What waits already is not.
    pub fn set_conflated(&mut self, conflated: Conflated) {
        let conflation = (!conflated.is_empty()).then(|| Box::new(Conflation::new(conflated)));
        self.delivery.set_conflation(conflation);
    }

    /// Sets by which classes best-effort data is sent apart; before this is called, by none.
    pub fn set_grouped(&mut self, grouped: Grouped) {
        self.grouping = (!grouped.is_empty()).then(|| Box::new(Grouping::new(grouped)));
    }

    /// Leaves a note of classes by which data is to be sent apart and that the FDD does not have, as
    /// [`Self::doubt_conflated`] does.
    pub(crate) fn doubt_grouped(&mut self, grouped: &Grouped) {
        let unknown: Vec<_> = grouped.unknown(&self.model).collect();
        if !unknown.is_empty() {
            self.add_note(&format!(
                "{} names classes that the FDD does not have: {}",
                grouped.setting,
                unknown.join(", ")
            ));
        }
    }

    /// Leaves a note of classes that are to be conflated and that the FDD does not have: a federate that joins later may
    /// yet bring them.
    pub(crate) fn doubt_conflated(&mut self, conflated: &Conflated) {
        let unknown: Vec<_> = conflated.unknown(&self.model).collect();
        if unknown.is_empty() {
            return;
        }
        self.add_note(&format!(
            "conflate.best_effort or conflate.reliable names object classes that the FDD does not have: {}",
            unknown.join(", ")
        ));
    }

    fn add_note(&mut self, more: &str) {
        let before = self.note.take().map(|note| note + "; ");
        self.set_note(before.unwrap_or_default() + more);
    }

    /// What became of data so far, and what waits.
    pub fn counters(&self) -> Counters {
        Counters {
            outdated: self.counters.outdated + self.log.outdated(),
            held: self.log.held() as u64,
            withheld: self.delivery.withheld() as u64,
            withheld_bytes: self.withheld_bytes() as u64,
            waiting: self.delivery.len() as u64,
            dropped: self.counters.dropped + self.delivery.dropped(),
            ..self.counters
        }
    }

    /// The connection is lost and all has been delivered that could be: what time management or a save withholds
    /// is dropped. How many messages that were.
    pub(crate) fn drop_withheld(&mut self) -> u64 {
        let before = self.delivery.dropped();
        self.delivery.end();
        self.delivery.dropped() - before
    }

    /// Goes on counting where a federate stopped that was restored as this one: what waited there is dropped,
    /// and what waits here has come, at the save.
    pub(crate) fn count_on(&mut self, before: &mut Federate) {
        before.drop_withheld();
        let counted = before.counters();
        self.counters = Counters {
            queued: counted.queued + self.delivery.data(),
            ..counted
        };
    }

    /// Whether something is to be put on a link; data frames are not among it.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.log.has_output()
    }

    /// The next thing to put on a link.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.log.poll_output()
    }

    /// Whether there is something for whoever runs the federate.
    #[inline]
    pub(crate) fn has_note(&self) -> bool {
        self.note.is_some()
    }

    /// Something that whoever runs the federate should know, if there is. Look after outputs.
    pub fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    pub(crate) fn set_note(&mut self, note: String) {
        self.note = Some(note);
    }

    /// A message of the executive's stream. Answers to calls made before joining are not for here.
    pub fn receive(&mut self, message: FromExecutive) -> Result<(), ProtocolError> {
        self.log.receive(message)?;
        self.apply_ready()
    }

    /// Bytes of a sender's data that wait for what they come after, which is still on its way.
    pub fn held_bytes(&self, sender: FederateHandle) -> usize {
        self.log.held_bytes(sender)
    }

    /// Whether the log, as far as it has come, waits for the fence that this sender has put on a link of its own.
    pub fn awaits_fence_of(&self, sender: FederateHandle) -> bool {
        self.log.awaits_fence_of(sender)
    }

    /// Whether what a data frame comes after is applied.
    pub fn is_ready(&self, data: &Data<'_>) -> bool {
        self.log.is_ready(data)
    }

    /// A data frame, from the executive's stream or a peer's link. What is kept of one that stands in
    /// `batch` need not be copied.
    pub fn receive_data(
        &mut self,
        data: &Data<'_>,
        path: DataPath,
        batch: Option<&Batch>,
    ) -> Result<(), ProtocolError> {
        if let Some(batch) = batch
            && self.receive_shortly(data, path, batch)
        {
            return Ok(());
        }
        let stamp = data.body.payload().and_then(|p| p.stamp);
        if let Some(stamp) = stamp
            && stamp.time.time_type() != self.time.time_type()
        {
            return Err(ProtocolError(format!(
                "{} sent the time stamp {}, which is of the other type",
                data.sender, stamp.time
            )));
        }
        match self.log.receive_data(data, path)? {
            Now::Handle => self.apply_data(data, path, batch),
            Now::Wait => self.apply_ready(),
            Now::Late => {
                self.count_lost(1);
                Ok(())
            }
            Now::Refuse => {
                self.counters.from_removed += u64::from(!data.is_fence());
                Ok(())
            }
        }
    }

    /// Takes a frame by the short way that is for it, if there is one.
    fn receive_shortly(&mut self, data: &Data<'_>, path: DataPath, batch: &Batch) -> bool {
        if let Some(plain) = data.as_plain() {
            return self.receive_plainly(plain, path, batch);
        }
        let timed = data.as_timed();
        timed.is_some_and(|timed| self.receive_timed(timed, batch))
    }

    /// So many messages of best-effort data did not come.
    pub fn count_lost(&mut self, messages: u64) {
        self.counters.lost = self.counters.lost.saturating_add(messages);
    }

    /// A peer's own link has ended and all that it carried has been received.
    pub fn link_ended(&mut self, peer: FederateHandle) -> Result<(), ProtocolError> {
        self.log.link_ended(peer);
        self.apply_ready()
    }

    /// The next callback, now delivered.
    pub fn next_callback(&mut self) -> Option<Callback> {
        let mut plain = None;
        if self.next_plain(&mut plain, &mut Reflected::default()) {
            return plain.map(Into::into);
        }
        while let Some(queued) = self.delivery.next() {
            let callback = self.deliver(queued);
            if callback.is_some() {
                return callback;
            }
        }
        None
    }

    /// What is queued as a callback, if it still is one.
    #[inline(always)]
    fn deliver(&mut self, queued: Queued) -> Option<Callback> {
        match queued {
            Queued::Object(queued) => self.deliver_object(queued),
            Queued::Plain(plain) => self.deliver_object(plain.into()),
            Queued::Timed(timed) => self.deliver_object(timed.into()),
            Queued::Federation(callback) => Some(self.deliver_federation(*callback)),
            Queued::Declaration(queued) => Some(self.deliver_advisory(queued)),
            Queued::Ownership(queued) => self.deliver_ownership(queued),
            Queued::Time(queued) => Some(self.deliver_time(queued)),
            Queued::Save(queued) => Some(self.deliver_save(queued)),
            Queued::Ddm(gone) => {
                self.deliver_regions_gone(&gone);
                None
            }
        }
    }

    /// Whether a call of `next_callback` may have something to deliver.
    pub fn has_callbacks(&self) -> bool {
        self.delivery.has_next()
    }

    /// How many callbacks may wait for delivery.
    pub fn callbacks(&self) -> usize {
        self.delivery.len()
    }

    /// What waits for delivery, in bytes, about.
    pub fn queued_bytes(&self) -> usize {
        self.delivery.bytes()
    }

    fn apply_ready(&mut self) -> Result<(), ProtocolError> {
        while let Some(ordered) = self.log.next() {
            match ordered {
                Ordered::Entry(entry) => self.apply(Arc::unwrap_or_clone(entry))?,
                Ordered::Data(data, path) => self.apply_data(&data.borrow(), path, None)?,
                Ordered::Time(notice) => self.apply_time(notice)?,
            }
        }
        Ok(())
    }

    /// Takes an entry to its room.
    fn apply(&mut self, entry: Entry) -> Result<(), ProtocolError> {
        let place = Place {
            index: entry.index,
            cause: entry.cause,
        };
        match entry.body {
            EntryBody::Fenced | EntryBody::EpochBegan => Ok(()),
            EntryBody::Federation(entry) => self.apply_federation(entry),
            EntryBody::Declaration(entry) => self.apply_declaration(entry, place),
            EntryBody::Object(entry) => self.apply_object(entry),
            EntryBody::Ownership(entry) => {
                self.apply_ownership(entry, place);
                self.require_withheld()
            }
            EntryBody::Ddm(entry) => self.apply_ddm(entry, place),
            EntryBody::Mom(entry) => self.apply_mom(entry, place),
        }
    }

    pub(crate) fn grow(
        &mut self,
        sources: &[crate::message::ModuleSource],
    ) -> Result<(), ProtocolError> {
        modules::extend(&mut self.model, sources)
            .map_err(|e| ProtocolError(format!("the executive's FDD can't be merged here: {e}")))?;
        self.declarations.model_changed();
        if let Some(grouping) = &mut self.grouping {
            grouping.look_again();
        }
        self.mom.model_changed(&self.model);
        Ok(())
    }

    /// Whether values, tag and regions of so many bytes fit into one frame.
    #[inline]
    pub(crate) fn require_fits(&self, bytes: usize) -> Result<(), Exception> {
        if self.room().is_some_and(|room| bytes <= room) {
            Ok(())
        } else {
            self.refuse_too_large(bytes)
        }
    }

    /// How many bytes values, tag and regions may take in one frame; none: it has no room for what else stands there.
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<usize> {
        /// That takes no more, but for the receivers that it names.
        const HEAD_BYTES: usize = 64;
        const RECEIVER_BYTES: usize = 5;
        let members = self.federation.members().len();
        let most = self.frame_bytes_max;
        most.checked_sub(HEAD_BYTES + RECEIVER_BYTES * members)
    }

    #[cold]
    fn refuse_too_large(&self, bytes: usize) -> Result<(), Exception> {
        throw!(
            RTIinternalError,
            "{bytes} bytes of values, tag and regions are more than one message may hold: \
             {} bytes (limits.frame_bytes of rtiexec); nothing was sent",
            self.frame_bytes_max
        );
    }

    /// As [`hand_out`].
    pub(crate) fn send_data(
        &mut self,
        (to, class): (&[FederateHandle], Option<SentClass>),
        body: DataBody<'_, ValuesOut<'_>>,
        send: &mut dyn FnMut(DataOut<'_>),
    ) -> bool {
        let anyway = self.delays_subscription_evaluation();
        let of = class.zip(body.payload().map(|payload| payload.transportation));
        let group = of.map_or(0, |of| group_of(&mut self.grouping, &self.model, of));
        hand_out(
            (&mut self.log, &mut self.counters),
            (to, anyway),
            body,
            &mut |frame: DataOut<'_>| send(DataOut { group, ..frame }),
        )
    }

    /// Data to another member takes this path from now on. Nothing is lost, doubled or overtaken by
    /// that; a link that is no longer used stays until its federate resigns.
    pub fn set_data_path(&mut self, peer: FederateHandle, path: DataPath) {
        if peer != self.me && self.is_member(peer) {
            self.log.set_path(peer, path);
        }
    }

    /// The instance, if the federate has registered or discovered it.
    pub(crate) fn known(&self, instance: ObjectInstanceHandle) -> Result<&Instance, Exception> {
        match self.objects.get(instance) {
            Some(known) if known.is_discovered() => Ok(known),
            _ => throw!(
                ObjectInstanceNotKnown,
                "{instance} is not known to this federate: not registered or discovered by it, or deleted"
            ),
        }
    }
}

/// Sends a data frame by the paths to its receivers, or counts it where nobody wants it. `anyway`:
/// receivers judge what is in time-stamp order when it is delivered, so somebody may want it then.
/// Returns whether it was sent.
#[inline(always)]
pub(crate) fn hand_out<S: Sink + ?Sized>(
    (log, counters): (&mut Replica, &mut Counters),
    (to, anyway): (&[FederateHandle], bool),
    body: DataBody<'_, ValuesOut<'_>>,
    send: &mut S,
) -> bool {
    if to.is_empty() && !(anyway && body.is_in_time_order()) {
        counters.unwanted += 1;
        return false;
    }
    counters.sent += 1;
    let data = log.frame(body);
    let path = if data.is_in_time_order() {
        DataPath::Executive
    } else if let Some(path) = log.path_to_all(to) {
        path
    } else {
        send_apart(log, to, data, &mut |frame: DataOut<'_>| send.put(frame));
        return true;
    };
    send.put(DataOut {
        to,
        path,
        group: 0,
        data: &data,
    });
    true
}

/// The same for an update or interaction as most are. `path`: that to all of them in receive order, if there is one.
#[inline(always)]
pub(crate) fn hand_out_plainly<'a, S: Sink + ?Sized, T: Given>(
    (log, counters): (&mut Replica, &mut Counters),
    (to, path, anyway): (&'a [FederateHandle], &mut Option<DataPath>, bool),
    data: PlainSent<'a, Listed<'a, T>>,
    send: &mut S,
) {
    let in_time_order = data.is_in_time_order();
    if to.is_empty() && !(anyway && in_time_order) {
        counters.unwanted += 1;
        return;
    }
    counters.sent += 1;
    let path = match *path {
        _ if in_time_order => DataPath::Executive,
        Some(path) => path,
        None => {
            let send = &mut |frame: DataOut<'_>| send.put(frame);
            // A copy: what is pointed to has to stand in memory.
            let apart = data;
            send_apart(log, to, apart.to_sent(), send);
            // By which ways they go is known since.
            *path = log.path_to_all(to);
            return;
        }
    };
    send.put_plain(&PlainOut { to, path, data });
}

/// Some of the receivers have links of their own: to the others the executive forwards it.
#[inline(never)]
fn send_apart(
    log: &mut Replica,
    to: &[FederateHandle],
    data: DataSent<'_>,
    send: &mut dyn FnMut(DataOut<'_>),
) {
    let split = log.split(to);
    if !split.direct().is_empty() {
        send(DataOut {
            to: split.direct(),
            path: DataPath::Direct,
            group: 0,
            data: &data,
        });
    }
    if split.forwarded().is_empty() {
        return;
    }
    // The executive would forward it to all who subscribe: the frame says to whom.
    let address;
    let mut data = data;
    if let DataBody::Update { payload, .. } | DataBody::Interaction { payload, .. } = &mut data.body
        && !split.direct().is_empty()
    {
        payload.address = Some(match payload.address {
            None => split.address(),
            with => {
                address = AddressBuf::to_some(split.forwarded(), with);
                address.borrow()
            }
        });
    }
    send(DataOut {
        to: split.forwarded(),
        path: DataPath::Executive,
        group: 0,
        data: &data,
    });
}
