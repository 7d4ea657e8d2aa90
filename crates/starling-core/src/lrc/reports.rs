//! What the executive is told of what the federate does: counts and calls for those who ask about it, and
//! service reports of the management object model, 1516.1-2010 §11.4.3.

use super::*;
use crate::message::Doing;
use crate::message::mom::Invocation;

/// Whoever was not seen to evoke for so long has stopped to; before that the executive is told of a shorter time.
pub const RESTS_FOR: Duration = Duration::from_secs(1);

impl<O: Outbox> Lrc<O> {
    /// Tells the executive what became of data and what the federate does, for `starling ps`,
    /// `starling why` and its log, if that has changed since it was told last. Call once in a while, with the time by
    /// the clock of [`Lrc::did_at`], and whether the federate waits in a call. Whether there was something to tell.
    pub fn report(&mut self, now: Duration, waits: bool) -> bool {
        let rests = self.rests(now, waits);
        let counters = self.federate().map(Federate::counters);
        let told = counters.map(|counters| (counters, self.calls, rests.is_some()));
        let Some(told) = told.filter(|told| *told != self.told) else {
            return false;
        };
        self.told = told;
        let (counters, calls, _) = told;
        let (did, since) = self.did;
        let since = now.saturating_sub(since);
        let age = match rests {
            Some(rests) => rests,
            None if did != calls => Duration::ZERO,
            None if calls.evoke() => since.min(RESTS_FOR - Duration::from_millis(1)),
            None => since,
        };
        self.out.to_executive(ToExecutive::Counted {
            counters: Box::new(counters),
            doing: Doing {
                calls: calls.count,
                service: calls.service.map_or("", Service::name).to_owned(),
                callback: calls.callback.unwrap_or_default().to_owned(),
            },
            for_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
            withheld_bytes_max: self.withheld_bytes_max as u64,
        });
        true
    }

    /// For how long it has not been seen to evoke, if that is what it did last and it has stopped to.
    fn rests(&mut self, now: Duration, waits: bool) -> Option<Duration> {
        let evoked = &mut self.evoked;
        if waits || evoked.times != evoked.seen {
            (evoked.seen, evoked.seen_at) = (evoked.times, now);
        }
        let rests = now.saturating_sub(evoked.seen_at);
        (self.calls.evoke() && rests >= RESTS_FOR).then_some(rests)
    }

    /// The arguments are told with the names that are known before the call: of what it deletes, too.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_reported<T: Said>(
        &mut self,
        service: Service,
        bytes: usize,
        said: impl FnOnce(&mut Saying<'_>),
        work: impl FnOnce(&mut Federate, &mut O) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        let supplied = self.said(said);
        let result = self.serve_unreported(service, bytes, work);
        self.report_call(service, supplied, &result);
        result
    }

    /// What is said with the joined federate's names.
    pub(super) fn said(&self, say: impl FnOnce(&mut Saying<'_>)) -> Vec<String> {
        let Some(federate) = self.federate() else {
            return Vec::new();
        };
        let mut saying = Saying::new(federate);
        say(&mut saying);
        saying.texts()
    }

    /// Has a service reported that was called. One that has resigned says nothing more.
    #[cold]
    pub(super) fn report_call<T: Said>(
        &mut self,
        service: Service,
        supplied: Vec<String>,
        result: &Result<T, Exception>,
    ) {
        if service == Service::ResignFederationExecution && result.is_ok() {
            return;
        }
        let chapter = service.clause().split('.').next();
        let returned = match result {
            Ok(value) => self.said(|to| value.say(to)),
            Err(_) => Vec::new(),
        };
        self.put_report(Invocation {
            service: service.name().to_owned(),
            chapter: chapter.and_then(|c| c.parse().ok()).unwrap_or_default(),
            supplied,
            returned,
            exception: result
                .as_ref()
                .err()
                .map_or_else(String::new, Exception::to_string),
        });
    }

    /// Has a callback reported that is delivered.
    #[cold]
    pub(super) fn report_callback(&mut self, callback: &Callback) {
        self.put_report(Invocation {
            service: callback.name().to_owned(),
            chapter: callback.chapter(),
            supplied: self.said(|to| callback.say(to)),
            ..Invocation::default()
        });
    }

    pub(super) fn put_report(&mut self, invocation: Invocation) {
        if let Life::Joined(federate) = &mut self.life {
            federate.report_invocation(invocation);
        }
        self.put_answers();
    }
}
