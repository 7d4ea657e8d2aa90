//! One federation execution as the executive knows it: its log, and the state of each room.
//!
//! What each request does stands in the rooms (`federation/execution.rs` and so on).

use crate::ddm::execution::ExecutionRegions;
use crate::declaration::{Publications, Subscribed};
use crate::federation::members::Federation;
use crate::log::executive::Log;
use crate::message::{Cause, ModuleSource, PeerInfo, Request, RequestBody, federation};
use crate::mom::execution::ExecutionMom;
use crate::object::registered::ExecutionObjects;
use crate::ownership::execution::ExecutionOwnership;
use crate::saved;
use crate::time::execution::ExecutionTime;
use crate::{FederateHandle, PeerId, ProtocolError, Services, TimeType};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A federation execution.
pub(crate) struct Execution {
    pub(crate) federation: Federation,
    pub(crate) model: Arc<ObjectModel>,
    pub(crate) log: Log,
    pub(crate) subscriptions: Subscribed,
    pub(crate) publications: Publications,
    pub(crate) regions: ExecutionRegions,
    pub(crate) objects: ExecutionObjects,
    pub(crate) time: ExecutionTime,
    pub(crate) ownership: ExecutionOwnership,
    pub(crate) mom: ExecutionMom,
    /// What of the standard it has, from before anybody joins.
    pub(crate) services: Services,
    /// Bytes, about, that are kept of what one member has made, of each kind.
    pub(crate) kept_bytes_max: usize,
    /// Where the receivers of a data frame are put together.
    pub(crate) receivers: Vec<FederateHandle>,
    /// For the log of the executive's process.
    pub(crate) notes: Vec<(Option<PeerId>, String)>,
}

impl Execution {
    /// Whether there is something for its executive to take.
    #[inline]
    pub(crate) fn has_outputs(&self) -> bool {
        self.log.has_news() || !self.notes.is_empty() || self.federation.has_archive_tasks()
    }

    pub(crate) fn new(
        name: String,
        time: TimeType,
        modules: Vec<ModuleSource>,
        model: Arc<ObjectModel>,
    ) -> Self {
        Execution {
            federation: Federation::new(name, modules),
            model,
            log: Log::default(),
            subscriptions: Subscribed::default(),
            publications: Publications::default(),
            regions: ExecutionRegions::default(),
            objects: ExecutionObjects::default(),
            time: ExecutionTime::new(time),
            ownership: ExecutionOwnership::default(),
            mom: ExecutionMom::default(),
            services: Services::default(),
            kept_bytes_max: usize::MAX,
            receivers: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// All that it knows, for a save. What is on its way out is no part of it.
    pub(crate) fn save(&self) -> saved::Execution {
        saved::Execution {
            federation: self.federation.save(),
            declaration: saved::declaration::Execution {
                subscriptions: self.subscriptions.save(),
                publications: self.publications.save(),
            },
            object: self.objects.save(),
            ownership: self.ownership.save(),
            ddm: self.regions.save(),
            time: self.time.save(),
            mom: self.mom.save(self.federation.modules()),
            services: self.services,
            log: self.log.save(),
        }
    }

    /// Becomes what was saved, but for the log. The object model stays; `processes` are those of the
    /// members from now on. On an error it is as before.
    pub(crate) fn restore(
        &mut self,
        saved: saved::Execution,
        processes: BTreeMap<FederateHandle, PeerInfo>,
    ) -> Result<(), ProtocolError> {
        saved.mom.require_sensible()?;
        self.objects = ExecutionObjects::restore(saved.object, &self.model)?;
        self.federation
            .restore(saved.federation, processes, self.mom.now);
        self.subscriptions = Subscribed::restore(saved.declaration.subscriptions);
        self.publications = Publications::restore(saved.declaration.publications);
        self.ownership = ExecutionOwnership::restore(saved.ownership);
        self.regions = ExecutionRegions::restore(saved.ddm);
        self.time.restore(saved.time, self.mom.now);
        let times = self.time.times();
        self.mom
            .restore(saved.mom, self.federation.modules(), times);
        Ok(())
    }

    /// A member's request: takes a log index and goes to its room.
    pub(crate) fn request(
        &mut self,
        federate: FederateHandle,
        mut request: Request,
    ) -> Result<(), ProtocolError> {
        request.require_sets()?;
        let Request {
            applied,
            fenced,
            body,
        } = request;
        let Some(cause) = self.log.request(federate, applied, &fenced)? else {
            // Whoever resigns waits for it, whatever has been restored meanwhile.
            if let RequestBody::Federation(federation::Request::Resign(action)) = body {
                self.log.advance();
                self.resign(None, federate, action, None);
            }
            return Ok(());
        };
        self.serve(cause, body)?;
        self.advise(cause);
        Ok(())
    }

    /// Takes a request to its room.
    fn serve(&mut self, cause: Cause, body: RequestBody) -> Result<(), ProtocolError> {
        match body {
            RequestBody::PathChanged => Ok(()),
            RequestBody::Federation(request) => self.serve_federation(cause, request),
            RequestBody::Declaration(request) => self.serve_declaration(cause, request),
            RequestBody::Object(request) => self.serve_object(cause, request),
            RequestBody::Ownership(request) => {
                self.serve_ownership(cause, request);
                Ok(())
            }
            RequestBody::Ddm(request) => {
                Services::require(self.services.ddm, "services.ddm")?;
                self.serve_ddm(cause, request)
            }
            RequestBody::Mom(request) => self.serve_mom(cause, request),
        }
    }
}
