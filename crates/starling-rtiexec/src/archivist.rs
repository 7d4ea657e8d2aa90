//! Saves are written and read beside the loop, one after another, so that nobody waits for the disk
//! but who saves or restores: a federation execution waits for those of the others, too.

use crate::saves::SaveStore;
use crate::server::Server;
use starling_core::{Archive, Archived};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use tracing::{info, warn};

/// So many tasks wait at most. A federation execution has one at a time, but one that is gone may
/// have left one behind.
const TASKS_MAX: usize = 64;

/// What has come of a task.
struct Done {
    execution: u64,
    number: u64,
    what: String,
    result: Result<Archived, String>,
}

/// The thread, and the way to and from it. It ends with this, when it has done what it has begun.
pub(crate) struct Archivist {
    tasks: Sender<Archive>,
    done: Receiver<Done>,
    in_work: usize,
}

impl Archivist {
    /// Starts the thread; `waker` ends the loop's wait when it has done something.
    pub fn new(store: SaveStore, waker: &Arc<mio::Waker>) -> io::Result<Self> {
        let (tasks, waiting) = channel::<Archive>();
        let (report, done) = channel();
        let waker = Arc::clone(waker);
        let thread = std::thread::Builder::new().name("saves".into());
        thread.spawn(move || {
            for task in waiting {
                let (execution, number) = (task.execution, task.number);
                let verb = match task.write {
                    Some(_) => "saving",
                    None => "reading the save of",
                };
                let what = format!("{verb} '{}' as '{}'", task.federation, task.label);
                let done = catch_unwind(AssertUnwindSafe(|| perform(&store, task)));
                let result = done
                    .unwrap_or_else(|_| Err("an internal error of the RTI; see its log".into()));
                let done = Done {
                    execution,
                    number,
                    what,
                    result,
                };
                if report.send(done).is_err() || waker.wake().is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            tasks,
            done,
            in_work: 0,
        })
    }

    /// Whether some task has not come back.
    pub fn is_busy(&self) -> bool {
        self.in_work > 0
    }
}

fn perform(store: &SaveStore, task: Archive) -> Result<Archived, String> {
    match task.write {
        Some(saved) => {
            // The former one of its label goes with it, so it must be one that can be restored.
            let whole = saved.require_whole();
            whole.map_err(|why| format!("what is to be saved can't be restored: {why}"))?;
            store.write(&saved).map(|()| Archived::Written)
        }
        None => {
            let saved = store.read(&task.federation, &task.label)?;
            Ok(Archived::Read(Box::new(saved)))
        }
    }
}

impl Server {
    /// Hands tasks with saves to the thread.
    pub(crate) fn give_archive_tasks(&mut self) {
        while let Some(task) = self.executive.poll_archive() {
            let (execution, number) = (task.execution, task.number);
            let why = if self.archivist.in_work >= TASKS_MAX {
                format!("{TASKS_MAX} saves are being written or read already")
            } else if self.archivist.tasks.send(task).is_ok() {
                self.archivist.in_work += 1;
                continue;
            } else {
                "the thread for saves has ended".into()
            };
            self.executive.archived(execution, number, Err(why));
        }
    }

    /// Tells the executive what has been done since.
    pub(crate) fn take_archived(&mut self) {
        while let Ok(done) = self.archivist.done.try_recv() {
            self.archivist.in_work -= 1;
            let Done {
                execution,
                number,
                what,
                result,
            } = done;
            match &result {
                Ok(_) => info!("{what}: done"),
                Err(why) => warn!("{what}: {why}"),
            }
            self.executive.archived(execution, number, result);
        }
        // While who asked is connected.
        self.log_notes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_core::message::{ModuleSource, PeerInfo, ToExecutive};
    use starling_core::{Executive, PeerId, SavedFederation};

    /// One without federates.
    fn saved() -> SavedFederation {
        let mut executive = Executive::new();
        let info = PeerInfo {
            pid: 1,
            host: "host".into(),
            program: "test".into(),
            version: "1".into(),
            path: "unix".into(),
        };
        executive.connected(PeerId(1), info);
        let text = "<objectModel><objects><objectClass><name>HLAobjectRoot</name></objectClass></objects></objectModel>";
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules: vec![ModuleSource {
                designator: "m.xml".into(),
                text: text.as_bytes().into(),
            }],
            mim: None,
            time_implementation: String::new(),
        };
        executive.receive(PeerId(1), create).unwrap();
        SavedFederation {
            federation: "F".into(),
            label: "L".into(),
            time: None,
            execution: executive.save("F").unwrap(),
            federates: Vec::new(),
        }
    }

    #[test]
    fn what_can_t_be_restored_takes_no_other_s_place() {
        let directory = tempfile::tempdir().unwrap();
        let store = SaveStore::new(directory.path().join("saves"), 1 << 20, 0);
        let write = |saved: SavedFederation| {
            let task = Archive {
                execution: 1,
                number: 1,
                federation: saved.federation.clone(),
                label: saved.label.clone(),
                write: Some(Box::new(saved)),
            };
            perform(&store, task).map(|_| ())
        };
        write(saved()).unwrap();
        let mut broken = saved();
        broken.execution.log.index.0 = u64::MAX;
        let refused = write(broken).unwrap_err();
        assert!(
            refused.contains("can't be restored: the last index of its log"),
            "{refused}"
        );
        assert_eq!(store.read("F", "L"), Ok(saved()));
    }
}
