//! The RTI ambassador: connecting, callbacks, and the way of every service to the LRC.

use crate::background::Background;
use crate::delivery::{Evocation, FederateAmbassador, ThisThread};
use crate::handshake::OpenError;
use crate::link::Link;
use crate::links::Links;
use crate::statistics::Calls;
use parking_lot::Mutex;
use starling_core::{
    BY_FORWARDER, Exception, ExceptionKind, Lrc, MessageRetractionHandle, Preconditions, Service,
};
use starling_net::{Waiter, process_stamp, reach};
use starling_rid::{CALLBACKS_IO, Settings, Sources};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How callbacks come, 1516.1-2010 §4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackModel {
    /// On the RTI's thread, as soon as they are there.
    Immediate,
    /// Inside `evoke_callback` and `evoke_multiple_callbacks`.
    Evoked,
}

struct Connected {
    links: Arc<Links>,
    delivery: Arc<Evocation>,
    model: CallbackModel,
    end: Arc<End>,
}

/// What ends a connection, for however many threads at once.
struct End {
    links: Arc<Links>,
    delivery: Arc<Evocation>,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The connection at a service's call.
pub(crate) struct Now {
    pub(crate) links: Arc<Links>,
    /// The service is called within a callback, and that matters to it.
    within: bool,
}

/// An RTI ambassador. All its methods may be called from any thread, also from callbacks where
/// the standard allows it.
#[derive(Default)]
pub struct RtiAmbassador {
    /// Locked for a moment only: every service looks here.
    connected: Mutex<Option<Connected>>,
    /// One thread at a time connects, which takes as long as an rtiexec takes to answer.
    connecting: Mutex<()>,
    /// The process that has connected, by `process_stamp`; 0: none. A forked child has no part in
    /// its parent's connection, and must not even lock it.
    process: AtomicU64,
    /// One service at a time waits for the executive's word.
    pub(crate) asking: Mutex<()>,
}

impl RtiAmbassador {
    /// An ambassador that is not connected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connect, 1516.1-2010 §4.2. `settings` is the local settings designator, see
    /// `docs/settings.md`; with no address anywhere an rtiexec of this host is used, and started
    /// if there is none.
    pub fn connect(
        &self,
        federate: Box<dyn FederateAmbassador>,
        model: CallbackModel,
        settings: &str,
    ) -> Result<(), Exception> {
        let throw = |kind, why: String| Exception::new(kind, why).in_service(Service::Connect);
        self.leave_to_parent();
        let Some(_connecting) = self.connecting.try_lock() else {
            let why = "another thread is connecting this ambassador".to_owned();
            return Err(throw(ExceptionKind::AlreadyConnected, why));
        };
        let former = {
            let mut connected = self.connected.lock();
            if let Some(former) = &*connected {
                if former.delivery.is_inside() {
                    let why = "called within a callback".to_owned();
                    return Err(throw(ExceptionKind::CallNotAllowedFromWithinCallback, why));
                }
                if former.links.lock().lrc.lost().is_none() {
                    let why = "this ambassador is connected already".to_owned();
                    return Err(throw(ExceptionKind::AlreadyConnected, why));
                }
            }
            connected.take()
        };
        if let Some(former) = former {
            former.end.end();
        }
        let settings = Sources::of_process()
            .designator(settings)
            .read()
            .map_err(|e| throw(ExceptionKind::InvalidLocalSettingsDesignator, e.to_string()))?;
        crate::notes::show(&settings);
        let failed = |why: String| throw(ExceptionKind::ConnectionFailed, why);
        let alone =
            settings.get(CALLBACKS_IO) == "single-threaded" && model == CallbackModel::Evoked;
        let opened = match open(&settings, alone) {
            // What was reached has just gone: now there is none, or another.
            Err(OpenError::Ended(_)) => open(&settings, alone),
            opened => opened,
        };
        let (links, waiter) = opened.map_err(|error| match error {
            OpenError::Ended(why) | OpenError::Refused(why) => failed(why),
        })?;
        let links = Arc::new(links);
        let delivery = Arc::new(Evocation::new(federate));
        let stop = Arc::new(AtomicBool::new(false));
        let background = Background {
            links: links.clone(),
            waiter,
            stop: stop.clone(),
            delivery: (model == CallbackModel::Immediate).then(|| delivery.clone()),
            delivered: std::cell::Cell::new(0),
        };
        let thread = if alone {
            None
        } else {
            let builder = std::thread::Builder::new().name("starling".into());
            let thread = builder.spawn(move || background.run());
            Some(thread.map_err(|e| failed(format!("no thread: {e}")))?)
        };
        self.process.store(process_stamp(), Ordering::Relaxed);
        let end = Arc::new(End {
            links: links.clone(),
            delivery: delivery.clone(),
            stop,
            thread: Mutex::new(thread),
        });
        *self.connected.lock() = Some(Connected {
            links,
            delivery,
            model,
            end,
        });
        Ok(())
    }

    /// Disconnect, §4.3. Disconnecting what is not connected is allowed; so it is in a forked
    /// child, where it leaves the connection to the parent.
    pub fn disconnect(&self) -> Result<(), Exception> {
        self.leave_to_parent();
        let service = Service::Disconnect;
        let Ok(now) = self.past_resignation(service) else {
            return Ok(());
        };
        now.serve(service, Lrc::disconnect)?;
        // Another thread may have ended it meanwhile, and made a new one, which is not meant.
        let is_meant = |c: &Connected| Arc::ptr_eq(&c.links, &now.links);
        let connected = self.connected.lock();
        let end = connected.as_ref().filter(|c| is_meant(c));
        let Some(end) = end.map(|c| c.end.clone()) else {
            return Ok(());
        };
        drop(connected);
        // It is there until its last callback has returned: who connects meanwhile waits for that, too.
        end.end();
        self.connected.lock().take_if(|c| is_meant(c));
        Ok(())
    }

    /// Whether the ambassador is connected (a lost connection is none).
    pub fn is_connected(&self) -> bool {
        let parts = self.parts();
        parts.is_some_and(|(links, ..)| links.lock().lrc.lost().is_none())
    }

    /// Whether it has no connection, or one that a thread is about to end.
    #[cfg(test)]
    pub(crate) fn is_ending(&self) -> bool {
        let connected = self.connected.lock();
        let ends = |c: &Connected| c.end.stop.load(Ordering::Relaxed);
        connected.as_ref().is_none_or(ends)
    }

    /// Bytes of callbacks, with all that they hold, that wait for the federate to evoke.
    pub fn waiting_bytes(&self) -> usize {
        self.parts()
            .map_or(0, |(links, ..)| links.lock().waiting_bytes())
    }

    /// The one way of every service to the LRC: `work` runs it there, what it sends is on its way
    /// afterwards.
    #[inline]
    pub(crate) fn serve<T>(
        &self,
        service: Service,
        work: impl FnOnce(&mut Lrc<Link>) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        self.now(service)?.serve(service, work)
    }

    /// The way of a service that sends values as most do. None, and nothing is done: it goes by
    /// [`RtiAmbassador::serve`].
    #[inline(always)]
    pub(crate) fn serve_plainly(
        &self,
        service: Service,
        work: impl FnOnce(&mut Lrc<Link>) -> Option<MessageRetractionHandle>,
    ) -> Option<MessageRetractionHandle> {
        if !self.is_here() {
            return None;
        }
        // Held until the state is free again, which costs less than to count who uses the connection. Nobody who has the
        // state waits for this.
        let connected = self.connected.lock();
        let links = connected.as_ref().map(|c| &c.links)?;
        let begun = Calls::begin(links.calls());
        let mut state = links.lock();
        if !state.lrc.outbox().has_room() {
            return None;
        }
        let sent = work(&mut state.lrc)?;
        state.lrc.enter(service, false);
        fault!(state, "service");
        let goes_on = links.goes_on(&mut state);
        drop(state);
        if goes_on {
            begun.end(links.calls(), service);
        } else {
            let links = links.clone();
            drop(connected);
            links.sent(links.lock());
            begun.end(links.calls(), service);
        }
        Some(sent)
    }

    /// The connection that a service works on, from its first to its last step: another thread may
    /// disconnect and connect meanwhile.
    #[inline(always)]
    pub(crate) fn now(&self, service: Service) -> Result<Now, Exception> {
        // The data plane comes this way: one look at who is connected, one lock of the state.
        if !self.is_here() {
            return Err(self.not_here(service));
        }
        match &*self.connected.lock() {
            Some(connected) => {
                let preconditions = service.preconditions();
                let matters = preconditions.has(Preconditions::OUTSIDE_CALLBACK);
                let within = matters && connected.delivery.is_inside();
                let links = connected.links.clone();
                Ok(Now { links, within })
            }
            None => Err(not_connected(service)),
        }
    }

    /// Evoke Callback, §10.41: delivers one callback, waiting up to `min_s` seconds for it.
    /// True if there are more.
    pub fn evoke_callback(&self, min_s: f64) -> Result<bool, Exception> {
        let Some((links, delivery)) = self.evoking(Service::EvokeCallback)? else {
            return Ok(false);
        };
        begin_to_evoke(&links, Service::EvokeCallback, None);
        let me = ThisThread::here();
        if !delivery.one(&links, me) {
            let now = Instant::now();
            links.lock().note_time(now);
            let end = after(now, min_s);
            let there = links.pump(Some(end), |state| state.has_callbacks());
            if there {
                delivery.one(&links, me);
            }
        }
        let mut state = links.lock();
        state.lrc.leave_callback();
        links.flush(&mut state);
        Ok(state.has_callbacks())
    }

    /// Evoke Multiple Callbacks, §10.42: delivers callbacks for at least `min_s` seconds, and on
    /// while there are any up to `max_s` (or `min_s`, if that is more). With 0 and 0: delivers
    /// what is there at the call. True if there are more.
    pub fn evoke_multiple_callbacks(&self, min_s: f64, max_s: f64) -> Result<bool, Exception> {
        let service = Service::EvokeMultipleCallbacks;
        let Some((links, delivery)) = self.evoking(service)? else {
            return Ok(false);
        };
        let start = Instant::now();
        let (min, max) = (after(start, min_s), after(start, max_s.max(min_s)));
        begin_to_evoke(&links, service, Some(start));
        links.pump(Some(start), |state| state.has_callbacks());
        if max == start {
            // Callbacks that come meanwhile must not keep it here.
            let there = links.lock().callbacks();
            for _ in 0..there {
                if !delivery.one(&links, ThisThread::here()) {
                    break;
                }
            }
        } else {
            loop {
                deliver_until(max, &links, &delivery);
                links.flush(&mut links.lock());
                if Instant::now() >= min || !links.pump(Some(min), |s| s.has_callbacks()) {
                    break;
                }
            }
        }
        let mut state = links.lock();
        state.lrc.leave_callback();
        links.flush(&mut state);
        Ok(state.has_callbacks())
    }

    /// Enable Callbacks, §10.43.
    pub fn enable_callbacks(&self) -> Result<(), Exception> {
        self.set_enabled(true)
    }

    /// Disable Callbacks, §10.44.
    pub fn disable_callbacks(&self) -> Result<(), Exception> {
        self.set_enabled(false)
    }

    fn set_enabled(&self, enabled: bool) -> Result<(), Exception> {
        if let Some((links, ..)) = self.parts() {
            let mut state = links.lock();
            state.settle();
            state.lrc.enable_callbacks(enabled)?;
            drop(state);
            links.news();
        }
        Ok(())
    }

    /// In HLA_IMMEDIATE nothing is left for evoking; the RTI's thread delivers.
    fn evoking(&self, service: Service) -> Result<Option<Evoking>, Exception> {
        let Some((links, delivery, model)) = self.parts() else {
            return Ok(None);
        };
        if delivery.is_inside() {
            let refusal = Preconditions::OUTSIDE_CALLBACK.refusal("");
            return Err(refusal.in_service(service));
        }
        Ok((model == CallbackModel::Evoked).then_some((links, delivery)))
    }

    fn parts(&self) -> Option<(Arc<Links>, Arc<Evocation>, CallbackModel)> {
        if !self.is_here() {
            return None;
        }
        let connected = self.connected.lock();
        let c = connected.as_ref()?;
        Some((c.links.clone(), c.delivery.clone(), c.model))
    }

    /// Whether this process has connected.
    #[inline]
    fn is_here(&self) -> bool {
        self.process.load(Ordering::Relaxed) == process_stamp()
    }

    #[cold]
    fn not_here(&self, service: Service) -> Exception {
        if self.process.load(Ordering::Relaxed) == 0 || self.is_here() {
            return not_connected(service);
        }
        let why = "this process was forked from the one that has connected, and is not connected";
        Exception::new(ExceptionKind::NotConnected, why).in_service(service)
    }

    /// In a forked child: forgets the connection, of which only the parent has the threads.
    fn leave_to_parent(&self) {
        if self.process.load(Ordering::Relaxed) == 0 || self.is_here() {
            return;
        }
        // If a thread of the parent's held the lock it stays held here.
        if let Some(mut connected) = self.connected.try_lock()
            && let Some(former) = connected.take()
        {
            former.leave_to_parent();
        }
        self.process.store(0, Ordering::Relaxed);
    }
}

impl Drop for RtiAmbassador {
    fn drop(&mut self) {
        let here = self.is_here();
        match self.connected.get_mut().take() {
            Some(former) if here => former.end.end(),
            Some(former) => former.leave_to_parent(),
            None => {}
        }
    }
}

impl Connected {
    /// In a forked child. The parent's thread does not run here, and its share of the connection
    /// is never given up; nothing may be locked, told or waited for.
    fn leave_to_parent(self) {
        self.links.leave_to_parent();
        std::mem::forget(self);
    }
}

impl End {
    /// Ends the connection. After it no callback runs, except one that this is called from. No
    /// lock is held while it waits: callbacks may call services until they return.
    fn end(&self) {
        self.stop.store(true, Ordering::Release);
        self.links.close();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread catches what federates throw; it has nothing to tell.
            let _ = thread.join();
        }
        self.delivery.wait_until_idle();
    }
}

impl Now {
    /// See [`RtiAmbassador::serve`].
    #[inline]
    pub(crate) fn serve<T>(
        &self,
        service: Service,
        work: impl FnOnce(&mut Lrc<Link>) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        let begun = Calls::begin(self.links.calls());
        let result = self.serve_unmeasured(service, work);
        begun.end(self.links.calls(), service);
        result
    }

    /// The same for a part of a service, whose time counts as a whole.
    #[inline(always)]
    pub(crate) fn serve_unmeasured<T>(
        &self,
        service: Service,
        work: impl FnOnce(&mut Lrc<Link>) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        let mut state = self.links.lock();
        // Who resigns reads on, but keeps nothing; a look-up needs no room.
        if service != Service::ResignFederationExecution && !service.is_look_up() {
            let room = self.links.require_room(&mut state);
            room.map_err(|e| e.in_service(service))?;
        }
        state.settle();
        let pending = service.is_look_up().then(|| state.lrc.outbox().pending());
        state.lrc.enter(service, self.within);
        let seldom = is_seldom(service).then(Instant::now);
        if let Some(now) = seldom {
            state.note_time(now);
        }
        state.tell_time();
        let had_callbacks = may_release(service) && state.lrc.has_callbacks();
        let result = work(&mut state.lrc);
        let released = may_release(service) && !had_callbacks && state.lrc.has_callbacks();
        if let Some(now) = seldom {
            state.tell(now);
        }
        state.show_note();
        fault!(state, "service");
        // Unless the MOM is told of it: what others are to take first is no reason for it to wait.
        if pending == Some(state.lrc.outbox().pending()) {
            return result;
        }
        self.links.sent(state);
        if released {
            self.links.news();
        }
        result
    }
}

/// Whether to look at the clock takes no part worth mentioning of a service.
#[inline]
fn is_seldom(service: Service) -> bool {
    !service.is_look_up()
        && !matches!(
            service,
            Service::UpdateAttributeValues | Service::SendInteraction
        )
}

/// Whether a service may end the withholding of callbacks that are here already: nothing that comes
/// wakes the thread that is to deliver them.
#[inline]
fn may_release(service: Service) -> bool {
    matches!(
        service,
        Service::TimeAdvanceRequest
            | Service::TimeAdvanceRequestAvailable
            | Service::NextMessageRequest
            | Service::NextMessageRequestAvailable
            | Service::FlushQueueRequest
            | Service::EnableAsynchronousDelivery
            | Service::DisableTimeConstrained
    )
}

/// Reaches an rtiexec and shakes hands.
fn open(settings: &Settings, alone: bool) -> Result<(Links, Waiter), OpenError> {
    let reached = reach(settings).map_err(|e| OpenError::Refused(e.to_string()))?;
    let waiter = Waiter::with_alarm().map_err(|e| OpenError::Refused(e.to_string()));
    let (waiter, alarm) = waiter?;
    let whom = reached.whom();
    let marked = starling_net::Quality::of(settings).mark(&reached.stream);
    marked.map_err(|e| {
        OpenError::Refused(format!(
            "the system takes no net.dscp_reliable or net.buffer_bytes: {e}"
        ))
    })?;
    let link = starling_net::Link::new(reached.stream);
    let challenge = reached.challenge.as_ref();
    let links = Links::open(link, challenge, settings, (waiter.waker(), alarm), alone);
    let (links, path) = links.map_err(|e| e.with(&whom))?;
    let who = if path.contains(BY_FORWARDER) {
        "the forwarder"
    } else {
        "rtiexec"
    };
    links.lock().lrc.set_executive(format!("{who} at {whom}"));
    Ok((links, waiter))
}

/// What an evoking thread works on.
type Evoking = (Arc<Links>, Arc<Evocation>);

/// Delivers what there is, until then.
fn deliver_until(max: Instant, links: &Links, delivery: &Evocation) {
    /// To read the clock takes as long as a third of a callback: not for each of so many that take less together.
    const SHORT: Duration = Duration::from_millis(1);
    const TOGETHER: u32 = 16;
    let (me, mut before, mut together) = (ThisThread::here(), Instant::now(), 1);
    loop {
        if delivery.some(links, me, together) < together {
            return;
        }
        let now = Instant::now();
        if now >= max {
            return;
        }
        together = match now - before {
            took if took < SHORT => (2 * together).min(TOGETHER),
            _ => 1,
        };
        before = now;
    }
}

/// `now`: if somebody has looked at a clock.
fn begin_to_evoke(links: &Links, service: Service, now: Option<Instant>) {
    let mut state = links.lock();
    state.lrc.evoke(service);
    if let Some(now) = now {
        state.note_time(now);
    }
    links.flush(&mut state);
}

#[cold]
fn not_connected(service: Service) -> Exception {
    let why = "connect has not been called";
    Exception::new(ExceptionKind::NotConnected, why).in_service(service)
}

/// Three years are for ever; what is no number is no time.
fn after(start: Instant, seconds: f64) -> Instant {
    let seconds = if seconds.is_nan() { 0.0 } else { seconds };
    start + Duration::from_secs_f64(seconds.clamp(0.0, 1e8))
}
