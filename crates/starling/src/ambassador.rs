//! The RTI ambassador: connecting, callbacks, and the way of every service to the core.

use crate::background::Background;
use crate::connection::{Connection, OpenError};
use parking_lot::Mutex;
use starling_core::{Callback, DataOut, Exception, ExceptionKind, Federate, Service};
use starling_net::{Link, Waiter, process_stamp, reach};
use starling_rid::{CALLBACKS_IO, Settings, Sources};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
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

/// The federate's side.
pub trait FederateAmbassador: Send {
    /// A callback. The error is the text of a FederateInternalError; it is reported, and the next
    /// callback comes all the same.
    fn deliver(&mut self, callback: Callback) -> Result<(), String>;
}

/// Where callbacks go. Callbacks of one ambassador never overlap.
pub(crate) struct Delivery {
    federate: Mutex<Box<dyn FederateAmbassador>>,
    /// The thread that is inside a callback now, by `this_thread`; 0: none.
    inside: AtomicUsize,
}

struct Connected {
    connection: Arc<Connection>,
    delivery: Arc<Delivery>,
    model: CallbackModel,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An RTI ambassador. All its methods may be called from any thread, also from callbacks where
/// the standard allows it.
#[derive(Default)]
pub struct RtiAmbassador {
    connected: Mutex<Option<Connected>>,
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
        let already = || {
            let why = "this ambassador is connected already".to_owned();
            throw(ExceptionKind::AlreadyConnected, why)
        };
        self.leave_to_parent();
        let former = {
            let mut connected = self.connected.lock();
            if let Some(former) = &*connected {
                if former.delivery.is_inside() {
                    let why = "called within a callback".to_owned();
                    return Err(throw(ExceptionKind::CallNotAllowedFromWithinCallback, why));
                }
                if former.connection.state.lock().lost.is_none() {
                    return Err(already());
                }
            }
            connected.take()
        };
        if let Some(former) = former {
            former.end();
        }
        let mut connected = self.connected.lock();
        if connected.is_some() {
            return Err(already()); // By another thread, in the meantime.
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
        let (connection, waiter) = opened.map_err(|error| match error {
            OpenError::Ended(why) | OpenError::Refused(why) => failed(why),
        })?;
        let connection = Arc::new(connection);
        let delivery = Arc::new(Delivery {
            federate: Mutex::new(federate),
            inside: AtomicUsize::new(0),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let background = Background {
            connection: connection.clone(),
            waiter,
            stop: stop.clone(),
            delivery: (model == CallbackModel::Immediate).then(|| delivery.clone()),
        };
        let thread = match alone {
            true => None,
            false => {
                let builder = std::thread::Builder::new().name("starling".into());
                let thread = builder.spawn(move || background.run());
                Some(thread.map_err(|e| failed(format!("no thread: {e}")))?)
            }
        };
        self.process.store(process_stamp(), Ordering::Relaxed);
        *connected = Some(Connected {
            connection,
            delivery,
            model,
            stop,
            thread,
        });
        Ok(())
    }

    /// Disconnect, §4.3. Disconnecting what is not connected is allowed; so it is in a forked
    /// child, where it leaves the connection to the parent.
    pub fn disconnect(&self) -> Result<(), Exception> {
        self.leave_to_parent();
        let service = Service::Disconnect;
        let Some((connection, delivery, _)) = self.parts() else {
            return Ok(());
        };
        not_within_callback(&delivery, service)?;
        if connection.state.lock().federate.is_some() {
            let why = "the federate is still joined; resign first";
            let kind = ExceptionKind::FederateIsExecutionMember;
            return Err(Exception::new(kind, why).in_service(service));
        }
        let former = self.connected.lock().take();
        if let Some(former) = former {
            former.end();
        }
        Ok(())
    }

    /// Whether the ambassador is connected (a lost connection is none).
    pub fn is_connected(&self) -> bool {
        let parts = self.parts();
        parts.is_some_and(|(connection, ..)| connection.state.lock().lost.is_none())
    }

    /// Bytes of values and tags that wait for the federate to evoke; 0 if it is not joined.
    pub fn waiting_bytes(&self) -> usize {
        self.parts().map_or(0, |(connection, ..)| {
            connection.state.lock().waiting_bytes()
        })
    }

    /// Runs a service of the joined federate: everything that needs no answer of the executive.
    /// `work` gets the core's federate and where to put data frames.
    pub fn call<T>(
        &self,
        service: Service,
        work: impl FnOnce(&mut Federate, &mut dyn FnMut(DataOut<'_>)) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        // The data plane comes this way: one look at who is connected, one lock of the state.
        if !self.is_here() {
            return Err(self.not_here(service));
        }
        let connection = match &*self.connected.lock() {
            Some(connected) => connected.connection.clone(),
            None => return Err(not_connected(None, service)),
        };
        let mut state = connection.state.lock();
        if let Some(why) = &state.lost {
            return Err(not_connected(Some(why), service));
        }
        // Who resigns reads on, but keeps nothing.
        if service != Service::ResignFederationExecution {
            let room = connection.require_room(&mut state);
            room.map_err(|e| e.in_service(service))?;
        }
        let result = match state.serve(work) {
            Some(result) => result,
            None => {
                let why = "the federate has not joined a federation execution";
                let kind = ExceptionKind::FederateNotExecutionMember;
                return Err(Exception::new(kind, why).in_service(service));
            }
        };
        connection.sent(state);
        result.map_err(|e| e.in_service(service))
    }

    /// Evoke Callback, §10.41: delivers one callback, waiting up to `min_s` seconds for it.
    /// True if there are more.
    pub fn evoke_callback(&self, min_s: f64) -> Result<bool, Exception> {
        let Some((connection, delivery)) = self.evoking(Service::EvokeCallback)? else {
            return Ok(false);
        };
        let end = after(Instant::now(), min_s);
        connection.state.lock().flush();
        if !deliver_one(&connection, &delivery) {
            let there = connection.pump(Some(end), |state| state.has_callbacks());
            if there {
                deliver_one(&connection, &delivery);
            }
        }
        let state = &mut *connection.state.lock();
        state.flush();
        Ok(state.has_callbacks())
    }

    /// Evoke Multiple Callbacks, §10.42: delivers callbacks for at least `min_s` seconds, and on
    /// while there are any up to `max_s` (or `min_s`, if that is more). With 0 and 0: delivers
    /// what is there at the call. True if there are more.
    pub fn evoke_multiple_callbacks(&self, min_s: f64, max_s: f64) -> Result<bool, Exception> {
        let service = Service::EvokeMultipleCallbacks;
        let Some((connection, delivery)) = self.evoking(service)? else {
            return Ok(false);
        };
        let start = Instant::now();
        let (min, max) = (after(start, min_s), after(start, max_s.max(min_s)));
        connection.state.lock().flush();
        connection.pump(Some(start), |state| state.has_callbacks());
        if max == start {
            // Callbacks that come meanwhile must not keep it here.
            let there = connection.state.lock().callbacks();
            for _ in 0..there {
                if !deliver_one(&connection, &delivery) {
                    break;
                }
            }
        } else {
            loop {
                while deliver_one(&connection, &delivery) && Instant::now() < max {}
                connection.state.lock().flush();
                if Instant::now() >= min || !connection.pump(Some(min), |s| s.has_callbacks()) {
                    break;
                }
            }
        }
        connection.state.lock().flush();
        let more = connection.state.lock().has_callbacks();
        Ok(more)
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
        if let Some((connection, ..)) = self.parts() {
            connection.state.lock().enabled = enabled;
            connection.waker.wake();
        }
        Ok(())
    }

    /// In HLA_IMMEDIATE nothing is left for evoking; the RTI's thread delivers.
    fn evoking(&self, service: Service) -> Result<Option<Evoking>, Exception> {
        let Some((connection, delivery, model)) = self.parts() else {
            return Ok(None);
        };
        not_within_callback(&delivery, service)?;
        Ok((model == CallbackModel::Evoked).then_some((connection, delivery)))
    }

    fn parts(&self) -> Option<(Arc<Connection>, Arc<Delivery>, CallbackModel)> {
        if !self.is_here() {
            return None;
        }
        let connected = self.connected.lock();
        let c = connected.as_ref()?;
        Some((c.connection.clone(), c.delivery.clone(), c.model))
    }

    /// The connection, or NotConnected.
    pub(crate) fn connection(&self, service: Service) -> Result<Arc<Connection>, Exception> {
        let Some((connection, ..)) = self.parts() else {
            return Err(self.not_here(service));
        };
        let lost = connection.state.lock().lost.clone();
        match lost {
            None => Ok(connection),
            Some(why) => Err(not_connected(Some(&why), service)),
        }
    }

    /// Whether this process has connected.
    fn is_here(&self) -> bool {
        self.process.load(Ordering::Relaxed) == process_stamp()
    }

    fn not_here(&self, service: Service) -> Exception {
        let why = "this process was forked from the one that has connected, and is not connected";
        let forked = self.process.load(Ordering::Relaxed) != 0 && !self.is_here();
        match forked {
            true => Exception::new(ExceptionKind::NotConnected, why).in_service(service),
            false => not_connected(None, service),
        }
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

    /// CallNotAllowedFromWithinCallback, if so.
    pub(crate) fn not_within_callback(&self, service: Service) -> Result<(), Exception> {
        match self.parts() {
            Some((_, delivery, _)) => not_within_callback(&delivery, service),
            None => Ok(()),
        }
    }
}

impl Drop for RtiAmbassador {
    fn drop(&mut self) {
        let here = self.is_here();
        match self.connected.get_mut().take() {
            Some(former) if here => former.end(),
            Some(former) => former.leave_to_parent(),
            None => {}
        }
    }
}

impl Connected {
    /// In a forked child. The parent's thread does not run here, and its share of the connection
    /// is never given up; nothing may be locked, told or waited for.
    fn leave_to_parent(self) {
        self.connection.leave_to_parent();
        std::mem::forget(self);
    }

    /// Ends the connection. After it no callback runs, except one that this is called from. No
    /// lock is held while it waits: callbacks may call services until they return.
    fn end(mut self) {
        self.stop.store(true, Ordering::Release);
        self.connection.close();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread catches what federates throw; it has nothing to tell.
            let _ = thread.join();
        }
        if !self.delivery.is_inside() {
            drop(self.delivery.federate.lock());
        }
    }
}

/// Until it is dropped, its thread is inside a callback.
struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Delivery {
    fn enter(&self) -> Inside<'_> {
        self.inside.store(this_thread(), Ordering::Relaxed);
        Inside(&self.inside)
    }

    fn is_inside(&self) -> bool {
        // Only this thread writes its own number.
        self.inside.load(Ordering::Relaxed) == this_thread()
    }
}

/// A number that no other living thread has, and not 0.
fn this_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// NotConnected; `lost`: why the connection has ended.
fn not_connected(lost: Option<&str>, service: Service) -> Exception {
    let why = match lost {
        Some(why) => format!("the connection has ended: {why}"),
        None => "connect has not been called".to_owned(),
    };
    Exception::new(ExceptionKind::NotConnected, why).in_service(service)
}

/// Reaches an rtiexec and shakes hands.
fn open(settings: &Settings, alone: bool) -> Result<(Connection, Waiter), OpenError> {
    let reached = reach(settings).map_err(|e| OpenError::Refused(e.to_string()))?;
    let waiter = Waiter::with_alarm().map_err(|e| OpenError::Refused(e.to_string()));
    let (waiter, alarm) = waiter?;
    let whom = reached.whom();
    let link = Link::new(reached.stream);
    let challenge = reached.challenge.as_ref();
    let connection = Connection::open(link, challenge, settings, (waiter.waker(), alarm), alone);
    Ok((connection.map_err(|e| e.with(&whom))?, waiter))
}

/// What an evoking thread works on.
type Evoking = (Arc<Connection>, Arc<Delivery>);

fn not_within_callback(delivery: &Delivery, service: Service) -> Result<(), Exception> {
    if delivery.is_inside() {
        let kind = ExceptionKind::CallNotAllowedFromWithinCallback;
        let why = "called within a callback of the same ambassador";
        return Err(Exception::new(kind, why).in_service(service));
    }
    Ok(())
}

/// Delivers one callback, if there is one. Whoever holds `federate` takes the next, so the order
/// is kept among several evoking threads.
fn deliver_one(connection: &Connection, delivery: &Delivery) -> bool {
    let mut federate = delivery.federate.lock();
    let Some(callback) = connection.state.lock().next_callback() else {
        return false;
    };
    let _inside = delivery.enter();
    if let Err(why) = federate.deliver(callback) {
        starling_net::say(format_args!(
            "starling: the federate threw from a callback: {why}"
        ));
    }
    true
}

pub(crate) fn deliver_all(connection: &Connection, delivery: &Delivery) {
    while deliver_one(connection, delivery) {}
}

fn after(start: Instant, seconds: f64) -> Instant {
    let seconds = if seconds.is_finite() {
        seconds.clamp(0.0, 1e8)
    } else {
        1e8
    };
    start + Duration::from_secs_f64(seconds)
}
