//! A federate's whole life without I/O: connected, joining, joined, resigning, lost.
//!
//! Invariants:
//! - every service enters through one door, [`Lrc::require`], which checks what the standard asks of
//!   many services alike, in one order; what a service itself asks for comes after;
//! - what is sent goes to the [`Outbox`] in the order in which it is to travel;
//! - once it resigns nothing more of the federation execution is delivered, and its services are
//!   those of one that has not joined;
//! - once it is lost what was queued before is delivered, then Connection Lost, then nothing; until then
//!   services that only look something up are answered, so that those callbacks can be understood, and
//!   all others throw NotConnected.

mod door;
mod federation;
mod member;
mod reports;
mod services;

pub use door::Preconditions;
pub use federation::require_designators;
pub use reports::RESTS_FOR;

use member::Member;
use services::ToOutbox;

use crate::callback::Callback;
use crate::federation::save::Stages;
use crate::held::Held;
use crate::message::{
    Data, FederationInformation, FromExecutive, PlainData, RequestNumber, Restored, TimedData,
    ToExecutive,
};
use crate::mom::arguments::{Said, Saying};
use crate::{
    Batch, Conflated, Counters, DataOut, DataPath, Exception, ExceptionKind, Federate,
    FederateHandle, Given, Grouped, Output, PlainCallback, PlainOut, ProtocolError, Service,
    Services,
};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// The arguments of a service, to be shown if it is reported.
macro_rules! said {
    ($($argument:expr),*) => {
        |_to| {$($argument.say(_to);)*}
    };
}
use said;

/// Where an LRC puts what it sends. It only takes; what it can't send it keeps or drops.
pub trait Outbox {
    /// A message to the executive.
    fn to_executive(&mut self, message: ToExecutive);
    /// A data frame.
    fn data(&mut self, frame: DataOut<'_>);
    /// An update or interaction as most are.
    fn plain_data<T: Given>(&mut self, frame: &PlainOut<'_, T>) {
        frame.hand_to(|frame| self.data(frame));
    }
    /// A fence, on the receiver's own link. Comes only where data travels on such links.
    fn fence(&mut self, to: FederateHandle, fence: &Data<'_>);
}

/// What the executive answered to a service that waits for its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Created, destroyed, or resigned.
    Done,
    /// Joined, as this federate.
    Joined(FederateHandle),
}

/// A federate's connection to the executive, and the joined federate while it is one. Not
/// thread-safe; its owner locks it.
pub struct Lrc<O> {
    out: O,
    life: Life,
    /// What is not given now of what services may ask for.
    unmet: Preconditions,
    path: DataPath,
    frame_bytes_max: usize,
    withheld_bytes_max: usize,
    conflated: Conflated,
    grouped: Grouped,
    /// Whether its federates count data by class and sender.
    measures: bool,
    /// Where the executive is, for messages.
    executive: String,
    /// Callbacks that are not the joined federate's.
    own: VecDeque<Callback>,
    /// What they take in memory, about.
    own_bytes: usize,
    awaited: Option<Awaited>,
    /// Requests to divest whose outcome is waited for.
    divesting: BTreeSet<RequestNumber>,
    answer: Option<Result<Answer, Exception>>,
    /// What became of data until the connection was lost.
    last: Option<Counters>,
    /// The federate wants callbacks now.
    enabled: bool,
    /// What the executive was told last of what became of data, of what the federate does, and whether it has stopped to
    /// evoke.
    told: (Counters, Calls, bool),
    calls: Calls,
    /// The MOM had it resign; then what is to be said of that to whoever runs it.
    resigned_by_mom: bool,
    note: Option<&'static str>,
    evoked: Evoked,
    /// What it did at a time by its own clock, see [`Lrc::did_at`].
    did: (Calls, Duration),
    /// How far it has come with a save and a restore, by its calls and what its callbacks have told it.
    stages: Stages,
}

/// Why a federate that has not resigned is joined no more.
const RESIGNED_BY_MOM: &str = "the federate was resigned by another, which sent HLAresignFederationExecution \
     (1516.1-2010, 11.4.4); rtiexec's log names that one";

/// What the federate calls and is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    count: u64,
    service: Option<Service>,
    callback: Option<&'static str>,
}

impl Calls {
    /// Whether it evoked callbacks last, and is in none.
    fn evoke(self) -> bool {
        let evoking = [Service::EvokeCallback, Service::EvokeMultipleCallbacks].map(Some);
        evoking.contains(&self.service) && self.callback.is_none()
    }
}

/// How a federate evokes callbacks.
#[derive(Clone, Copy, Debug, Default)]
struct Evoked {
    /// How often it has begun to.
    times: u64,
    /// As often when that was looked at last.
    seen: u64,
    /// When it was seen to, by its own clock.
    seen_at: Duration,
}

/// What a service waits for.
#[derive(Clone, Copy, PartialEq)]
enum Awaited {
    /// The executive's answer.
    Answer,
    /// The end of the membership.
    Resignation,
    /// GALT and LITS.
    Bounds,
}

/// Why a connection has ended that was ended from this side.
const DISCONNECTED: &str = "disconnected";

enum Life {
    Connected,
    Joining,
    Joined(Member),
    /// Its resignation is not in the log yet.
    Resigning(Member),
    /// The connection has ended for this reason, and callbacks wait that came before.
    Losing(Member, String),
    Lost(String),
}

impl<O: Outbox> Lrc<O> {
    /// Over a connection on which hands were shaken. `path`: how its data travels.
    pub fn new(out: O, path: DataPath) -> Self {
        Lrc {
            out,
            life: Life::Connected,
            unmet: Preconditions::JOINED,
            path,
            frame_bytes_max: usize::MAX,
            withheld_bytes_max: usize::MAX,
            conflated: Conflated::default(),
            grouped: Grouped::default(),
            measures: false,
            executive: "rtiexec".to_owned(),
            own: VecDeque::new(),
            own_bytes: 0,
            awaited: None,
            divesting: BTreeSet::new(),
            answer: None,
            last: None,
            enabled: true,
            told: Default::default(),
            calls: Calls::default(),
            evoked: Evoked::default(),
            resigned_by_mom: false,
            note: None,
            did: (Calls::default(), Duration::ZERO),
            stages: Stages::default(),
        }
    }

    /// Sets the largest frame that the executive takes, in bytes; before this is called, any.
    pub fn set_frame_bytes_max(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
        if let Some(federate) = self.member() {
            federate.set_frame_bytes_max(bytes);
        }
    }

    /// Sets how many bytes of messages time management may withhold from a federate that does not
    /// advance: beyond that it is cut off. Before this is called, any.
    pub fn set_withheld_bytes_max(&mut self, bytes: usize) {
        self.withheld_bytes_max = bytes;
        if let Some(federate) = self.member() {
            federate.set_withheld_bytes_max(bytes);
        }
    }

    /// Sets which reflections are conflated of what comes; before this is called, none.
    pub fn set_conflated(&mut self, conflated: Conflated) {
        self.conflated = conflated.clone();
        if let Some(federate) = self.member() {
            federate.set_conflated(conflated);
        }
    }

    /// Sets by which classes best-effort data is sent apart ([`DataOut::group`]); before this is called, by none.
    pub fn set_grouped(&mut self, grouped: Grouped) {
        self.grouped = grouped.clone();
        if let Some(federate) = self.member() {
            federate.set_grouped(grouped);
        }
    }

    /// Counts data by class and sender from the next joining on, for [`Federate::traffic`]; before this is
    /// called, not.
    pub fn measure_traffic(&mut self) {
        self.measures = true;
    }

    /// Says where the executive is (`rtiexec at host:port`), for messages.
    pub fn set_executive(&mut self, place: String) {
        self.executive = place;
    }

    /// A service is about to be called, from within a callback or not.
    #[inline]
    pub fn enter(&mut self, service: Service, within: bool) {
        self.unmet.set(Preconditions::OUTSIDE_CALLBACK, within);
        self.calls.count += 1;
        self.calls.service = Some(service);
    }

    /// The federate begins to evoke callbacks, by this service.
    #[inline]
    pub fn evoke(&mut self, service: Service) {
        self.calls.service = Some(service);
        self.evoked.times += 1;
    }

    /// The federate has just begun what it does, at this time by a clock of its own. Whoever does not say so, since to
    /// look at a clock would take too long, is told of without an age.
    #[inline]
    pub fn did_at(&mut self, now: Duration) {
        self.did = (self.calls, now);
    }

    /// No callback runs any more.
    #[inline]
    pub fn leave_callback(&mut self) {
        self.calls.callback = None;
    }

    /// What it sends into.
    #[inline(always)]
    pub fn outbox(&mut self) -> &mut O {
        &mut self.out
    }

    /// The joined federate, to look at.
    pub fn federate(&self) -> Option<&Federate> {
        match &self.life {
            Life::Joined(federate) => Some(federate),
            _ => None,
        }
    }

    /// What became of the data of a member, also while it resigns, and until it has been told that the connection
    /// is lost.
    pub fn counters(&self) -> Option<Counters> {
        match &self.life {
            Life::Joined(federate) | Life::Resigning(federate) | Life::Losing(federate, _) => {
                Some(federate.counters())
            }
            Life::Lost(_) => self.last,
            _ => None,
        }
    }

    /// Whether it is a member of a federation execution, also while it resigns.
    pub fn is_member(&self) -> bool {
        matches!(self.life, Life::Joined(_) | Life::Resigning(_))
    }

    /// Why the connection has ended, if it has.
    pub fn lost(&self) -> Option<&str> {
        match &self.life {
            Life::Losing(_, why) | Life::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// What a service throws that waits for an answer when the connection ends: NotConnected if this side
    /// has ended it.
    pub fn kind_of_end(&self) -> ExceptionKind {
        match self.lost() {
            Some(why) if why != DISCONNECTED => ExceptionKind::RTIinternalError,
            _ => ExceptionKind::NotConnected,
        }
    }

    /// Throws what a service throws here and now before it looks at its arguments.
    #[inline(always)]
    pub fn require(&self, service: Service) -> Result<(), Exception> {
        let unmet = self.unmet & service.preconditions();
        if unmet.is_empty() {
            Ok(())
        } else {
            self.refuse(service, unmet)
        }
    }

    #[cold]
    fn refuse(&self, service: Service, unmet: Preconditions) -> Result<(), Exception> {
        if matches!(self.life, Life::Losing(..)) && service.is_look_up() {
            return Ok(());
        }
        let mut refusal = unmet.refusal(self.lost().unwrap_or_default());
        if self.resigned_by_mom && refusal.kind == ExceptionKind::FederateNotExecutionMember {
            refusal.message = RESIGNED_BY_MOM.to_owned();
        }
        Err(refusal.in_service(service))
    }

    // Services of the joined federate.

    /// The one way of a service to the joined federate. `said`: its arguments, for a report.
    #[inline(always)]
    fn serve<T: Said>(
        &mut self,
        service: Service,
        bytes: usize,
        said: impl FnOnce(&mut Saying<'_>),
        work: impl FnOnce(&mut Federate, &mut O) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        if self.is_reported() {
            self.serve_reported(service, bytes, said, work)
        } else {
            self.serve_unreported(service, bytes, work)
        }
    }

    // Data comes this way; left to itself the compiler inlines it or not as the code around it grows.
    #[inline(always)]
    fn serve_unreported<T>(
        &mut self,
        service: Service,
        bytes: usize,
        work: impl FnOnce(&mut Federate, &mut O) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        self.require(service)?;
        let (Life::Joined(federate) | Life::Losing(federate, _)) = &mut self.life else {
            return Err(Preconditions::JOINED.refusal("").in_service(service));
        };
        let result =
            require_fits(bytes, self.frame_bytes_max).and_then(|()| work(federate, &mut self.out));
        // An update has none.
        if federate.has_output() {
            put_outputs(federate, &mut self.out);
            if self.stages != federate.stages() {
                self.look_at_progress();
            }
        }
        result.map_err(|e| e.in_service(service))
    }

    /// Who serves a service that sends values as most do, and into what. None: it goes by [`Lrc::serve`], by which it is
    /// known what is otherwise, or wrong. No closure is given the two: the compiler would choose where that is called.
    #[inline(always)]
    fn plainly(&mut self, service: Service) -> Option<(&mut Member, ToOutbox<'_, O>)> {
        let met = (self.unmet & service.preconditions()).is_empty();
        match &mut self.life {
            Life::Joined(member) if met => Some((member, ToOutbox(&mut self.out))),
            _ => None,
        }
    }

    /// Whether services want to know the time: then call [`Lrc::set_time_us`] before each.
    #[inline]
    pub fn wants_time(&self) -> bool {
        self.federate().is_some_and(Federate::wants_time)
    }

    /// Data to another member takes this path from now on, as [`Federate::set_data_path`] says. The
    /// path must be there: for [`DataPath::Direct`] a link to that member.
    pub fn set_data_path(&mut self, peer: FederateHandle, path: DataPath) {
        if let Life::Joined(federate) = &mut self.life {
            federate.set_data_path(peer, path);
            put_outputs(federate, &mut self.out);
        }
    }

    /// The time for update rates, in microseconds since whenever.
    pub fn set_time_us(&mut self, now: u64) {
        if let Some(federate) = self.member() {
            federate.set_time_us(now);
        }
    }

    /// What the last service has to say to whoever runs the federate, once.
    #[inline(always)]
    pub fn take_note(&mut self) -> Option<String> {
        match &mut self.life {
            Life::Joined(federate) if !federate.has_note() => None,
            Life::Joined(federate) => federate.take_note(),
            _ => self.note.take().map(str::to_owned),
        }
    }

    // What comes in.

    /// A message of the executive's.
    ///
    /// # Errors
    /// It was not due, or makes no sense; the connection must end.
    pub fn receive(&mut self, message: FromExecutive) -> Result<(), ProtocolError> {
        // What still was on its way to one that has gone brings nothing back.
        if self.lost().is_some() {
            return Ok(());
        }
        match message {
            FromExecutive::Done(done) => {
                self.answered(false)?;
                self.answer = Some(done.map(|()| Answer::Done));
            }
            FromExecutive::JoinRefused(why) => {
                self.answered(true)?;
                self.answer = Some(Err(why));
                self.live(Life::Connected);
            }
            FromExecutive::Joined(snapshot) => {
                self.answered(true)?;
                let handle = snapshot.handle;
                let mut federate = Federate::new(*snapshot, self.path)?;
                federate.doubt_conflated(&self.conflated);
                federate.doubt_grouped(&self.grouped);
                let member = self.begun(federate);
                self.live(Life::Joined(member));
                self.resigned_by_mom = false;
                self.answer = Some(Ok(Answer::Joined(handle)));
            }
            FromExecutive::Restored(restored) => self.restored(*restored)?,
            FromExecutive::Federations(list) => self.list(list),
            FromExecutive::Removed(why) => self.lose(&format!("it says: {why}")),
            FromExecutive::Status(_) | FromExecutive::Why(_) | FromExecutive::Statistics(_) => {}
            log @ (FromExecutive::Entry(_)
            | FromExecutive::Watermark(_)
            | FromExecutive::Time(_)) => {
                // Of one that has resigned, what was on its way is nothing any more.
                if let Some(federate) = self.member() {
                    federate.receive(log)?;
                    self.have_applied();
                }
            }
        }
        Ok(())
    }

    /// A data frame, by this path: from the executive's stream or a peer's link. What is kept of one that stands
    /// in `batch` need not be copied.
    ///
    /// # Errors
    /// As of [`Lrc::receive`].
    #[inline]
    pub fn receive_data(
        &mut self,
        data: &Data<'_>,
        path: DataPath,
        batch: Option<&Batch>,
    ) -> Result<(), ProtocolError> {
        match &mut self.life {
            Life::Joined(federate) => {
                federate.receive_data(data, path, batch)?;
                // It may have been what a grant, or an entry of the log behind a fence, waited for.
                if federate.has_output() || federate.has_acts() {
                    self.have_applied();
                }
                Ok(())
            }
            Life::Resigning(federate) => {
                federate.receive_data(data, path, batch)?;
                // A fence may have released the entry of its own resignation.
                self.end_of_membership();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes a data frame of this batch as most are. False, and nothing is done: it is another, for
    /// [`Lrc::receive_data`].
    #[inline(always)]
    pub fn receive_plainly(&mut self, data: PlainData<'_>, path: DataPath, batch: &Batch) -> bool {
        match &mut self.life {
            Life::Joined(federate) => federate.receive_plainly(data, path, batch),
            _ => false,
        }
    }

    /// The same of one in time-stamp order.
    #[inline(always)]
    pub fn receive_timed(&mut self, data: TimedData<'_>, batch: &Batch) -> bool {
        match &mut self.life {
            Life::Joined(federate) => federate.receive_timed(data, batch),
            _ => false,
        }
    }

    /// So many messages of best-effort data that were sent to this federate did not come.
    pub fn count_lost(&mut self, messages: u64) {
        if let Some(federate) = self.member() {
            federate.count_lost(messages);
        }
    }

    /// A peer's own link has ended and all that it carried has been received. The end of one that was
    /// lost behind a restore comes behind [`FromExecutive::Restored`]: before that nobody can say whose
    /// handle it is.
    ///
    /// # Errors
    /// As of [`Lrc::receive`].
    pub fn link_ended(&mut self, peer: FederateHandle) -> Result<(), ProtocolError> {
        if let Some(federate) = self.member() {
            federate.link_ended(peer)?;
            self.have_applied();
        }
        Ok(())
    }

    /// The connection has ended: Connection Lost, §4.4, behind what was queued before.
    pub fn lose(&mut self, why: &str) {
        if self.lost().is_some() {
            return;
        }
        let why = self.farewell(why);
        match std::mem::replace(&mut self.life, Life::Connected) {
            Life::Joined(federate) => self.live(Life::Losing(federate, why)),
            _ => self.end_of_losing(why),
        }
    }

    /// All that came before is delivered.
    fn end_of_losing(&mut self, why: String) {
        self.live(Life::Lost(why.clone()));
        self.tell(Callback::ConnectionLost { fault: why });
    }

    /// Who has lost the connection to whom and why, and what to do.
    fn farewell(&self, why: &str) -> String {
        let who = match &self.life {
            Life::Joined(f) | Life::Resigning(f) | Life::Losing(f, _) => {
                format!("federate '{}' of '{}'", f.name(), f.federation())
            }
            _ => "this program, not joined,".to_owned(),
        };
        let whom = &self.executive;
        format!(
            "{who} has lost the connection to {whom}: {why}; do: see what rtiexec's log says of it \
             (docs/rtiexec.md), then connect and join again"
        )
    }

    /// As [`Lrc::lose`], when something in here has gone wrong half-way: nothing of it is used any
    /// more.
    pub fn break_down(&mut self, why: &str) {
        if matches!(self.life, Life::Lost(_)) {
            return;
        }
        let fault = self.farewell(why);
        self.live(Life::Lost(fault.clone()));
        self.forget_own();
        self.tell(Callback::ConnectionLost { fault });
    }

    /// The connection is ended from this side: nothing more is delivered.
    pub fn close(&mut self) {
        self.live(Life::Lost(DISCONNECTED.into()));
        self.forget_own();
    }

    fn tell(&mut self, callback: Callback) {
        self.own_bytes += size_of::<Callback>() + callback.held();
        self.own.push_back(callback);
    }

    fn forget_own(&mut self) {
        self.own.clear();
        self.own_bytes = 0;
    }

    fn list(&mut self, list: Vec<FederationInformation>) {
        self.tell(Callback::ReportFederationExecutions(list));
    }

    fn answered(&mut self, join: bool) -> Result<(), ProtocolError> {
        // Create and destroy are for members, too.
        let of_join = matches!(self.life, Life::Joining);
        if self.awaited != Some(Awaited::Answer) || join != of_join {
            return Err(ProtocolError("an answer that was not due".into()));
        }
        self.awaited = None;
        Ok(())
    }

    /// Whether calls of the joined federate are reported.
    #[inline]
    fn is_reported(&self) -> bool {
        self.federate().is_some_and(Federate::is_reported)
    }

    /// The joined federate, for what is done on its behalf.
    pub(crate) fn joined(&mut self) -> Option<&mut Federate> {
        match &mut self.life {
            Life::Joined(federate) => Some(federate),
            _ => None,
        }
    }

    /// Calls services that the federate does not call itself, whatever it is doing.
    pub(crate) fn outside_callback<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let within = Preconditions::OUTSIDE_CALLBACK;
        let was = self.unmet.has(within);
        self.unmet.set(within, false);
        let result = work(self);
        self.unmet.set(within, was);
        result
    }

    /// Calls a service that is open while a save or a restore is in progress, whatever others of its name are.
    pub(super) fn in_save<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.unmet.set(Preconditions::MEANWHILE, false);
        let result = work(self);
        self.unmet.set_stages(self.stages);
        result
    }

    /// A federate that has joined, or begins again, with all that this LRC was set to.
    fn begun(&mut self, mut federate: Federate) -> Member {
        federate.set_frame_bytes_max(self.frame_bytes_max);
        federate.set_withheld_bytes_max(self.withheld_bytes_max);
        federate.set_conflated(self.conflated.clone());
        federate.set_grouped(self.grouped.clone());
        if self.measures {
            federate.measure_traffic();
        }
        // The executive counts anew, too.
        self.told = Default::default();
        Member::new(federate)
    }

    /// The federation execution was restored: the federate begins again.
    fn restored(&mut self, restored: Restored) -> Result<(), ProtocolError> {
        let (before, resigning) = match &mut self.life {
            Life::Joined(federate) => (federate, false),
            Life::Resigning(federate) => (federate, true),
            _ => return Err(ProtocolError("a restore of one that has not joined".into())),
        };
        let federate = before.begin_again(restored, self.path)?;
        // What had been answered before is gone with the federate that it was about.
        self.awaited = self.awaited.filter(|a| *a != Awaited::Bounds);
        self.divesting.clear();
        let member = self.begun(federate);
        let life = if resigning {
            Life::Resigning(member)
        } else {
            Life::Joined(member)
        };
        self.live(life);
        Ok(())
    }

    /// Puts out what the federate answers to the RTI by itself. Behind its resignation it is no
    /// member any more, and says nothing.
    pub(crate) fn put_answers(&mut self) {
        match &mut self.life {
            Life::Joined(federate) if federate.has_output() => put_outputs(federate, &mut self.out),
            Life::Resigning(federate) => while federate.poll_output().is_some() {},
            _ => {}
        }
    }

    /// What entries of the log bring about, wherever they were applied: what came may have been what they waited for.
    fn have_applied(&mut self) {
        self.put_answers();
        self.act_for_others();
        self.end_of_membership();
    }

    fn end_of_membership(&mut self) {
        if self.member().is_some_and(|f| f.is_resigned()) {
            self.live(Life::Connected);
            if self.awaited == Some(Awaited::Resignation) {
                self.awaited = None;
                self.answer = Some(Ok(Answer::Done));
            }
        }
    }

    fn member(&mut self) -> Option<&mut Federate> {
        match &mut self.life {
            Life::Joined(federate) | Life::Resigning(federate) => Some(federate),
            _ => None,
        }
    }

    fn live(&mut self, life: Life) {
        let (connected, joined) = match &life {
            Life::Joined(_) => (true, true),
            Life::Connected | Life::Joining | Life::Resigning(_) => (true, false),
            Life::Losing(..) | Life::Lost(_) => (false, false),
        };
        self.unmet.set(Preconditions::CONNECTED, !connected);
        self.unmet.set(Preconditions::JOINED, !joined);
        let services = match &life {
            Life::Joined(federate) => federate.services(),
            _ => Services::default(),
        };
        self.unmet.set(Preconditions::TIME, !services.time);
        self.unmet.set(Preconditions::DDM, !services.ddm);
        self.life = life;
        self.look_at_progress();
    }

    // Callbacks.

    /// Enable Callbacks, §10.43, and Disable Callbacks, §10.44.
    pub fn enable_callbacks(&mut self, enabled: bool) -> Result<(), Exception> {
        self.require(if enabled {
            Service::EnableCallbacks
        } else {
            Service::DisableCallbacks
        })?;
        self.enabled = enabled;
        Ok(())
    }

    /// Whether a call of [`Lrc::next_callback`] may have something to deliver.
    #[inline]
    pub fn has_callbacks(&self) -> bool {
        let more = || match &self.life {
            Life::Joined(federate) => federate.has_callbacks(),
            // Connection Lost at least.
            Life::Losing(..) => true,
            _ => false,
        };
        self.enabled && (!self.own.is_empty() || more())
    }

    /// How many callbacks may be there to deliver now.
    pub fn callbacks(&self) -> usize {
        if !self.enabled {
            return 0;
        }
        let more = match &self.life {
            Life::Joined(federate) => federate.callbacks(),
            Life::Losing(federate, _) => federate.callbacks() + 1,
            _ => 0,
        };
        self.own.len() + more
    }

    /// What waits for the federate, in bytes, about.
    pub fn waiting_bytes(&self) -> usize {
        let of_federate = match &self.life {
            Life::Joined(federate) | Life::Losing(federate, _) => federate.queued_bytes(),
            _ => 0,
        };
        self.own_bytes + of_federate
    }

    /// Whether all that comes is delivered as it comes, and nothing is to be done but that.
    #[inline(always)]
    pub fn is_straight(&self) -> bool {
        match &self.life {
            Life::Joined(member) => self.delivers() && member.is_straight(self.stages),
            _ => false,
        }
    }

    /// Whether the federate wants callbacks, and none comes before those of the joined federate.
    #[inline(always)]
    fn delivers(&self) -> bool {
        self.enabled && self.own.is_empty()
    }

    /// Whether something waits that came before.
    #[inline(always)]
    pub fn has_queue(&self) -> bool {
        match &self.life {
            Life::Joined(federate) => federate.has_queue(),
            _ => true,
        }
    }

    /// Makes of `kept` the callback of an update or interaction as most are, of this batch, that has come behind all others
    /// and is delivered at once. False, and nothing is done: it is another, for [`Lrc::receive_data`].
    #[inline(always)]
    pub fn pass_plainly(
        &mut self,
        data: PlainData<'_>,
        by: (&Batch, DataPath),
        kept: &mut Option<PlainCallback>,
    ) -> bool {
        let delivers = self.delivers();
        let Life::Joined(member) = &mut self.life else {
            return false;
        };
        let passed = delivers && member.pass_plainly(data, by, kept, self.stages);
        if passed {
            self.calls.callback = kept.as_ref().map(PlainCallback::name);
        }
        passed
    }

    /// Makes of `kept` the next callback, now delivered, if it is one as most are; else ask [`Lrc::next_callback`]. Who has
    /// the one before gives that: it is mostly alike.
    #[inline(always)]
    pub fn next_plain(&mut self, kept: &mut Option<PlainCallback>) -> bool {
        let delivers = self.delivers();
        let Life::Joined(member) = &mut self.life else {
            return false;
        };
        let is_next = delivers && member.next_plain(kept, self.stages);
        if is_next {
            self.calls.callback = kept.as_ref().map(PlainCallback::name);
        }
        is_next
    }

    /// The next callback, now delivered.
    #[inline(always)]
    pub fn next_callback(&mut self) -> Option<Callback> {
        let next = self.take_callback();
        self.calls.callback = next.as_ref().map(Callback::name);
        next
    }

    #[inline(always)]
    fn take_callback(&mut self) -> Option<Callback> {
        if !self.enabled {
            return None;
        }
        if let Some(own) = self.take_own() {
            return Some(own);
        }
        let federate = match &mut self.life {
            Life::Joined(federate) => federate,
            Life::Losing(..) => return self.take_last(),
            _ => return None,
        };
        let next = federate.next_callback();
        if self.stages != federate.stages() || federate.has_output() {
            self.look_at_progress();
        }
        if self.is_reported()
            && let Some(callback) = &next
        {
            self.report_callback(callback);
        }
        next
    }

    fn take_own(&mut self) -> Option<Callback> {
        let own = self.own.pop_front()?;
        self.own_bytes -= size_of::<Callback>() + own.held();
        Some(own)
    }

    /// Of one that has lost the connection: what came before, then Connection Lost.
    #[cold]
    fn take_last(&mut self) -> Option<Callback> {
        let Life::Losing(federate, why) = &mut self.life else {
            return None;
        };
        let callback = federate.next_callback();
        // There is nobody to hear what it says.
        while federate.poll_output().is_some() {}
        if callback.is_some() {
            return callback;
        }
        let mut why = std::mem::take(why);
        let dropped = federate.drop_withheld();
        if dropped > 0 {
            let (messages, are, them) = match dropped {
                1 => ("message", "is", "it"),
                _ => ("messages", "are", "them"),
            };
            why += &format!(
                "; {dropped} {messages} that had come {are} not delivered, since time management or a save withheld {them}"
            );
        }
        self.last = Some(federate.counters());
        self.end_of_losing(why);
        self.take_own()
    }

    /// A save or a restore has come further.
    #[cold]
    fn look_at_progress(&mut self) {
        self.stages = self.federate().map(Federate::stages).unwrap_or_default();
        self.unmet.set_stages(self.stages);
        self.put_answers();
    }
}

/// Puts out what a service has left to send: requests, and fences before them.
fn put_outputs(federate: &mut Federate, out: &mut impl Outbox) {
    while let Some(output) = federate.poll_output() {
        match output {
            Output::Request(request) => out.to_executive(ToExecutive::Request(request)),
            Output::Time(request) => out.to_executive(ToExecutive::Time(request)),
            Output::Part(part) => out.to_executive(ToExecutive::Part(part)),
            Output::Fence { to, fence } => out.fence(to, &fence),
        }
    }
}

fn restored_meanwhile() -> Exception {
    let why = "the federation execution was restored before the answer was read";
    Exception::new(ExceptionKind::RestoreInProgress, why)
}

fn ceased() -> Exception {
    let why = "the federate has ceased to be a member meanwhile";
    Exception::new(ExceptionKind::FederateNotExecutionMember, why)
}

/// Whether arguments of so many bytes fit into one message.
#[inline]
fn require_fits(bytes: usize, most: usize) -> Result<(), Exception> {
    /// What else stands in a message takes no more.
    const HEAD_BYTES: usize = 256;
    if bytes == 0 || bytes.saturating_add(HEAD_BYTES) <= most {
        Ok(())
    } else {
        Err(too_large(bytes, most))
    }
}

#[cold]
fn too_large(bytes: usize, most: usize) -> Exception {
    let why = format!(
        "{bytes} bytes of arguments are more than one message may hold: {most} bytes \
         (limits.frame_bytes of rtiexec); nothing was sent"
    );
    Exception::new(ExceptionKind::RTIinternalError, why)
}
