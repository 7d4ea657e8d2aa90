//! Best-effort data to peers by datagrams, where they hear them: who gets it by which group, or alone, and what is said of
//! that on their links.
//!
//! A peer gets data of one class by one way at a time. When that changes, all ways by which it got such data before end,
//! on its link, before the other begins: what was sent before can't come behind what is sent from then on.

use crate::datagrams::TRY;
use crate::direct::{Direct, Peer, Way, cut};
use crate::group::{self, Ear, Group, Groups, Hearing, ways};
use starling_core::Run;
use starling_net::Stream;
use starling_wire::{DataFrame, OnLink, put_on_link};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// So much is told of why a peer takes no part in a group.
const WHY_BYTES: usize = 200;

impl Direct {
    /// Best-effort data goes by datagrams to those who hear them.
    pub(crate) fn send_by(&mut self, groups: Groups) {
        self.groups = Some(Box::new(groups));
    }

    /// There is a link to a peer, which hears nothing yet.
    pub(crate) fn begin_ears(&mut self, mark: u64) {
        let count = self.groups.as_ref().map_or(0, |groups| groups.count());
        let Some(peer) = self.peers.iter_mut().find(|p| p.mark == mark) else {
            return;
        };
        peer.ears.clear();
        peer.ears.resize_with(count, Ear::default);
        peer.single = None;
        peer.ways = (String::new(), true);
        if let (Some(groups), Some(stream)) = (&mut self.groups, &peer.stream)
            && let Err(error) = groups.meet(stream)
        {
            starling_net::remark(format_args!(
                "starling: warning: best-effort data goes to no group: {error}"
            ));
        }
    }

    /// What is sent to a group from now on comes behind what stands on the links of those who hear it.
    pub(crate) fn next_turn(&mut self, place: usize) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let group = groups.at(place);
        group.next_turn();
        let said = group.announce(true);
        for peer in &mut self.peers {
            if peer.stream.is_some() && peer.ears[place].hearing == Hearing::Hears {
                peer.window.put(|out| put_on_link(out, &said));
                if !peer.blocked {
                    self.pending = self.pending.max(peer.window.pending());
                }
            }
        }
    }

    /// A message of so many bytes is sent. If that takes the links of those who hear this group, nothing that was sent there
    /// before comes behind it.
    #[inline]
    pub(crate) fn end_turn_before(&mut self, place: usize, bytes: usize) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let group = groups.at(place);
        if !group.takes(bytes) && group.is_news() {
            self.next_turn(place);
        }
    }

    /// A fence was put on links: what their readers get by datagrams from now on comes behind it.
    pub(crate) fn follow_fence(&mut self) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let mut begin = vec![false; groups.count()];
        for at in self.last.1.clone() {
            let peer = &mut self.peers[at];
            if peer.stream.is_none() {
                continue;
            }
            for (place, ear) in peer.ears.iter().enumerate() {
                // One of those before may have begun one, behind which nothing was sent.
                begin[place] |= ear.hearing == Hearing::Hears && groups.at(place).is_news();
            }
            let single = peer.single.as_deref();
            if single.is_some_and(|(single, _)| single.is_news()) {
                peer.next_turn_alone();
            }
        }
        for place in (0..begin.len()).filter(|place| begin[*place]) {
            self.next_turn(place);
        }
    }

    /// A peer takes part in a group, or says why not.
    pub(crate) fn joined(&mut self, mark: u64, number: u32, port: u32, why: String) {
        let (Some(groups), Some(peer)) = (
            &mut self.groups,
            self.peers.iter_mut().find(|p| p.mark == mark),
        ) else {
            return;
        };
        let refused = |ear: &mut Ear, why: String| {
            (ear.hearing, ear.why) = (Hearing::Refused, why);
        };
        let at = peer
            .stream
            .as_ref()
            .and_then(|stream| single_at(stream, port));
        let ear = peer.ear(number);
        let Some(ear) = ear.filter(|ear| ear.hearing == Hearing::Asked) else {
            return;
        };
        if !ear.change() {
            return;
        }
        ear.takes_part();
        groups.tried = Instant::now();
        if !why.is_empty() {
            refused(ear, cut(why, WHY_BYTES));
        } else if number > 0 {
            groups.at(number as usize - 1).send();
        } else if let Some((single, ear)) = peer.single.as_deref_mut() {
            match at.map(|at| groups.direct_to(single, at)) {
                Some(Ok(())) => single.send(),
                Some(Err(error)) => refused(ear, format!("no socket: {error}")),
                None => refused(ear, "it has said no port".into()),
            }
        }
        peer.ways.1 = true;
        self.unsettled = true;
    }

    /// A peer says whether it hears a group.
    pub(crate) fn hears(&mut self, mark: u64, number: u32, hears: bool) {
        let Some(at) = self.peers.iter().position(|p| p.mark == mark) else {
            return;
        };
        let peer = &mut self.peers[at];
        let Some(ear) = peer.ear(number) else {
            return;
        };
        ear.put_off = None;
        match (hears, ear.hearing) {
            // Each change is told to all who hear.
            (true, Hearing::Asked) | (false, Hearing::Hears) if !ear.change() => {
                ear.put_off = Some(hears);
                return;
            }
            (true, Hearing::Asked) => {
                ear.hearing = Hearing::Hears;
                // What came alone is over before.
                peer.next_turn_alone();
                if number > 0 {
                    self.next_turn(number as usize - 1);
                }
            }
            (false, Hearing::Hears) => {
                self.stop(at, number, Hearing::Asked);
                if number > 0 {
                    self.peers[at].next_turn_alone();
                }
            }
            _ => return,
        }
        let peer = &mut self.peers[at];
        peer.ways.1 = true;
        self.pending = self.pending.max(peer.window.pending());
        self.unsettled = true;
    }

    /// Tells those who hear groups what was sent there, and sends something for those who don't, if that is due; when
    /// it is next, and whether something was said.
    pub(crate) fn keep_time(
        &mut self,
        now: Instant,
        heartbeat: Duration,
    ) -> (Option<Instant>, bool) {
        if !self.waits_for_beat() {
            return (None, false);
        }
        let Some(groups) = &mut self.groups else {
            return (None, false);
        };
        let is_beat = now >= groups.beat + heartbeat;
        if is_beat {
            groups.beat = now;
        }
        let beat = groups.beat + heartbeat;
        if is_beat {
            self.beat();
        }
        let again = self.try_again(now);
        let due = self.waits_for_beat().then_some(beat);
        (due.into_iter().chain(again).min(), is_beat)
    }

    /// Sends something for those who were asked lately whether they hear it, if that is due; when it is next.
    fn try_again(&mut self, now: Instant) -> Option<Instant> {
        let groups = self.groups.as_deref_mut()?;
        let mut peers = self.peers.iter_mut().filter(|p| p.stream.is_some());
        if now < groups.tried + TRY {
            let is_tried = |p: &mut Peer| {
                let single = p.single.as_deref();
                single.is_some_and(|(_, ear)| ear.is_tried()) || p.ears.iter().any(Ear::is_tried)
            };
            return peers.any(is_tried).then(|| groups.tried + TRY);
        }
        groups.tried = now;
        let mut asked = vec![false; groups.count()];
        let mut waits = false;
        for peer in peers {
            for (ear, asked) in peer.ears.iter_mut().zip(&mut asked) {
                *asked |= ear.try_again();
                waits |= ear.is_tried();
            }
            if let Some((single, ear)) = peer.single.as_deref_mut() {
                if ear.try_again() {
                    single.send();
                }
                waits |= ear.is_tried();
            }
        }
        for place in (0..asked.len()).filter(|place| asked[*place]) {
            groups.at(place).send();
        }
        waits.then(|| now + TRY)
    }

    fn beat(&mut self) {
        let count = self.groups.as_ref().map_or(0, |groups| groups.count());
        for place in 0..count {
            self.beat_of(place);
        }
        for peer in &mut self.peers {
            if peer.stream.is_none() {
                continue;
            }
            let deaf = peer.ears.iter().any(|ear| ear.hearing == Hearing::Asked);
            let Some((single, ear)) = peer.single.as_deref_mut() else {
                peer.ways.1 |= deaf;
                continue;
            };
            let (news, asked) = (single.is_news(), ear.hearing == Hearing::Asked);
            let needless = count > 0 && !peer.ears.iter().any(Ear::is_deaf);
            if ear.beat(false) || asked && needless {
                // It costs nobody anything once it is heard, but what is not is asked for again and again.
                peer.single = None;
                put_on_link_of(peer, &OnLink::Ends { number: 0 });
            } else if asked {
                if !ear.is_tried() {
                    single.send();
                }
            } else if news {
                peer.next_turn_alone();
            }
            if !peer.blocked {
                self.pending = self.pending.max(peer.window.pending());
            }
            peer.ways.1 |= deaf || asked;
        }
        if let Some(groups) = &mut self.groups {
            groups.close_unused();
        }
        self.take_put_off();
        self.unsettled = true;
    }

    /// What peers said last of what they hear, if that was once too often for one heartbeat.
    fn take_put_off(&mut self) {
        for at in 0..self.peers.len() {
            let mark = self.peers[at].mark;
            for number in 0..=self.peers[at].ears.len() as u32 {
                let ear = self.peers[at].ear(number);
                if let Some(hears) = ear.and_then(|ear| ear.put_off.take()) {
                    self.hears(mark, number, hears);
                }
            }
        }
    }

    /// Whether something is to be told with the next heartbeat.
    fn waits_for_beat(&mut self) -> bool {
        let Some(groups) = &mut self.groups else {
            return false;
        };
        let mut peers = self.peers.iter().filter(|p| p.stream.is_some());
        let is_asked = |ear: &Ear| ear.hearing == Hearing::Asked;
        let waits = |p: &Peer| {
            let single = p.single.as_deref();
            let single = single.is_some_and(|(group, ear)| group.is_news() || is_asked(ear));
            single || p.ears.iter().any(is_asked)
        };
        groups.all().iter().any(|group| group.is_news()) || peers.any(waits)
    }

    /// A heartbeat of one group.
    fn beat_of(&mut self, place: usize) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let (number, news) = (place as u32 + 1, groups.at(place).is_news());
        let mut asked = false;
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            if peer.stream.is_none() {
                continue;
            }
            if peer.ears[place].beat(news) {
                self.stop(at, number, Hearing::Unasked);
                let peer = &mut self.peers[at];
                put_on_link_of(peer, &OnLink::Ends { number });
                // What goes to it alone from now on comes behind what it got there.
                peer.next_turn_alone();
                peer.ways.1 = true;
                self.pending = self.pending.max(peer.window.pending());
            }
            let ear = &self.peers[at].ears[place];
            asked |= ear.hearing == Hearing::Asked && !ear.is_tried();
        }
        // One may have begun because somebody has left.
        let news = |groups: &mut Box<Groups>| groups.at(place).is_news();
        if self.groups.as_mut().is_some_and(news) {
            self.next_turn(place);
        }
        if asked && let Some(groups) = &mut self.groups {
            groups.at(place).send();
        }
    }

    /// A peer gets nothing more by a group. What is sent there from now on is of a turn of which it knows that.
    fn stop(&mut self, at: usize, number: u32, then: Hearing) {
        let Some(ear) = self.peers[at].ear(number) else {
            return;
        };
        let heard = ear.hearing == Hearing::Hears;
        match then {
            Hearing::Asked => ear.lose(),
            _ => ear.forget(),
        }
        if !heard {
            return;
        }
        let said = if let Some(place) = (number as usize).checked_sub(1) {
            self.next_turn(place);
            let groups = self.groups.as_mut();
            groups.map(|groups| groups.at(place).announce(false))
        } else {
            let single = self.peers[at].single.as_deref_mut();
            single.map(|(single, _)| single.announce(false))
        };
        if let Some(said) = said {
            put_on_link_of(&mut self.peers[at], &said);
        }
    }

    /// The link of a peer is over: what it was sent by datagrams is to be known to it, and no more is for it.
    pub(crate) fn close_ears(&mut self, at: usize) {
        for number in 0..=self.peers[at].ears.len() as u32 {
            self.stop(at, number, Hearing::Unasked);
        }
        let peer = &mut self.peers[at];
        peer.single = None;
        peer.ways = Default::default();
        if let Some(groups) = &mut self.groups {
            groups.close_unused();
        }
    }

    /// Sends what waits for datagrams to be full, and datagrams that wait for more.
    pub(crate) fn flush_groups(&mut self) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let singles = self
            .peers
            .iter_mut()
            .filter_map(|p| p.single.as_deref_mut());
        let all = groups
            .all()
            .iter_mut()
            .chain(singles.map(|(single, _)| single));
        let mut all: Vec<_> = all.filter(|group| group.pending() > 0).collect();
        group::flush(&mut all);
    }

    /// To how many others best-effort data goes by groups, and by datagrams of their own.
    #[cfg(test)]
    pub(crate) fn heard(&self) -> (usize, usize) {
        let hears = |ear: &Ear| ear.hearing == Hearing::Hears;
        let peers = || self.peers.iter().filter(|p| p.stream.is_some());
        let grouped = peers().filter(|p| p.ears.iter().any(hears)).count();
        let single = peers().filter_map(|p| p.single.as_deref());
        (grouped, single.filter(|(_, ear)| hears(ear)).count())
    }
}

impl Peer {
    /// How it hears the group of this number.
    fn ear(&mut self, number: u32) -> Option<&mut Ear> {
        match (number as usize).checked_sub(1) {
            Some(place) => self.ears.get_mut(place),
            None => self.single.as_deref_mut().map(|(_, ear)| ear),
        }
    }

    /// How best-effort data of so many bytes goes to it, which is sent now. Who may hear datagrams and was not asked is
    /// told of them.
    #[inline]
    pub(crate) fn way(&mut self, groups: &mut Groups, group: Option<usize>, bytes: usize) -> Way {
        if let Some(place) = group {
            let ear = &mut self.ears[place];
            ear.used = true;
            if ear.hearing == Hearing::Unasked {
                ear.ask();
                let offer = groups.at(place).offer();
                put_on_link_of(self, &offer);
            }
        }
        if self.is_alone(groups, group) {
            match self.single.as_deref_mut() {
                Some((_, ear)) => ear.used = true,
                None => self.ask_alone(groups),
            }
        }
        self.way_now(groups, group, bytes)
    }

    /// Whether best-effort data goes to it by datagrams of its own, if it hears them.
    fn is_alone(&self, groups: &Groups, group: Option<usize>) -> bool {
        group.is_none_or(|place| self.ears[place].is_deaf()) && groups.takes_single(self.elsewhere)
    }

    /// How best-effort data of so many bytes goes to it, as far as it was asked.
    #[inline]
    pub(crate) fn way_now(&self, groups: &Groups, group: Option<usize>, bytes: usize) -> Way {
        if let Some(place) = group
            && self.ears[place].hearing == Hearing::Hears
        {
            return if groups.takes(place, bytes) {
                Way::Group
            } else {
                Way::BehindGroup
            };
        }
        let hears =
            |(single, ear): &(Group, Ear)| ear.hearing == Hearing::Hears && single.takes(bytes);
        match self.single.as_deref() {
            Some(single) if self.is_alone(groups, group) && hears(single) => Way::Single,
            _ => Way::Link,
        }
    }

    #[cold]
    fn ask_alone(&mut self, groups: &Groups) {
        // Without a secret it is tried again with the next message.
        if let Ok(single) = groups.single() {
            let mut ear = Ear::default();
            ear.ask();
            ear.used = true;
            let offer = single.offer();
            self.single = Some(Box::new((single, ear)));
            put_on_link_of(self, &offer);
        }
    }

    /// Best-effort data is about to be put on its link: nothing that it was sent alone by datagrams before comes behind that.
    #[inline]
    pub(crate) fn end_turn_alone(&mut self) {
        let single = self.single.as_deref();
        if single.is_some_and(|(single, _)| single.is_news()) {
            self.next_turn_alone();
        }
    }

    /// Best-effort data was put on its link, which what it gets alone by datagrams next is not to overtake.
    #[inline]
    pub(crate) fn follow_link(&mut self) {
        if let Some((_, ear)) = self.single.as_deref_mut() {
            ear.behind = true;
        }
    }

    /// Sends a frame to it alone, by datagram; how many bytes wait.
    #[inline]
    pub(crate) fn put_alone<V: Run>(&mut self, frame: &DataFrame<'_, V>) -> usize {
        if self.single.as_deref().is_some_and(|(_, ear)| ear.behind) {
            self.next_turn_alone();
        }
        let Some((single, _)) = self.single.as_deref_mut() else {
            return 0;
        };
        single.put(frame);
        single.pending().max(self.window.pending())
    }

    /// What is sent to it alone from now on comes behind what stands on its link.
    fn next_turn_alone(&mut self) {
        if let Some((single, ear)) = self.single.as_deref_mut()
            && ear.hearing == Hearing::Hears
        {
            ear.behind = false;
            single.next_turn();
            let said = single.announce(true);
            put_on_link_of(self, &said);
        }
    }

    /// By which ways best-effort data goes to it, if that has changed.
    pub(crate) fn next_ways(&mut self, groups: Option<&Groups>) -> Option<String> {
        if !std::mem::take(&mut self.ways.1) {
            return None;
        }
        let single = self.single.as_deref().map(|(_, ear)| ear);
        let by = match groups {
            None => "the way of reliable data (transport.best_effort = stream)".into(),
            Some(groups) => ways(groups, &self.ears, single, self.elsewhere)?,
        };
        if by == self.ways.0 {
            return None;
        }
        self.ways.0.clone_from(&by);
        Some(by)
    }
}

fn put_on_link_of(peer: &mut Peer, said: &OnLink) {
    peer.window.put(|out| put_on_link(out, said));
}

/// From where what is for a peer alone is to come, and where it takes it.
fn single_at(stream: &Stream, port: u32) -> Option<(SocketAddr, SocketAddr)> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    let mut at = stream.remote_address().ok()?;
    at.set_port(port);
    Some((stream.local_address().ok()?, at))
}
