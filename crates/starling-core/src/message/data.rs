//! What a data frame says, and what it comes after.

use super::{LogIndex, RequestNumber, Stamp};
use crate::ProtocolError;
use crate::callback::MessageTime;
use crate::content::{Batch, Content};
use crate::{
    Address, AddressBuf, FederateHandle, Given, InteractionClassHandle, Listed, LogicalTime,
    MessageRetractionHandle, ObjectInstanceHandle, Transportation, Values, ValuesBuf, ValuesOut,
};

/// What a data frame comes after: a receiver holds it until both are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// Requests its sender had made.
    pub requests: RequestNumber,
    /// Log index its sender had applied.
    pub index: LogIndex,
}

/// A data frame, borrowed from the sender's arguments or the receiver's buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data<'a, V = Values<'a>> {
    /// Who sent it.
    pub sender: FederateHandle,
    /// What it comes after.
    pub after: After,
    /// What it says.
    pub body: DataBody<'a, V>,
}

/// An update or interaction as most are: without time, and to whoever subscribes. Flat, so that it need not stand
/// in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainData<'a, V = Values<'a>> {
    /// Who sent it.
    pub sender: FederateHandle,
    /// What it comes after.
    pub after: After,
    /// An update, or an interaction.
    pub is_update: bool,
    /// The number of the instance's handle, or of the sent class's.
    pub what: u64,
    /// How it is to travel.
    pub transportation: Transportation,
    /// User-supplied tag.
    pub tag: &'a [u8],
    /// The values, each with its slot.
    pub values: V,
}

/// The same on its way out, with its time if it was given one.
#[derive(Clone, Copy, Debug)]
pub struct PlainSent<'a, V> {
    /// All but its time.
    pub plain: PlainData<'a, V>,
    /// Its time.
    pub stamp: Option<Stamp>,
}

impl<V> PlainSent<'_, V> {
    /// As [`Data::is_in_time_order`].
    #[inline(always)]
    pub fn is_in_time_order(&self) -> bool {
        self.stamp.is_some_and(|stamp| stamp.retraction.is_some())
    }
}

impl<T: Given> PlainSent<'_, Listed<'_, T>> {
    /// The same as a frame of any kind.
    pub fn to_sent(&self) -> DataSent<'_> {
        let PlainSent { plain, stamp } = self;
        let payload = Payload {
            transportation: plain.transportation,
            values: ValuesOut::Given(&plain.values),
            tag: plain.tag,
            address: None,
            stamp: *stamp,
        };
        let body = if plain.is_update {
            DataBody::Update {
                instance: ObjectInstanceHandle(plain.what),
                payload,
            }
        } else {
            DataBody::Interaction {
                class: InteractionClassHandle::from_raw(plain.what as u32),
                payload,
            }
        };
        Data {
            sender: plain.sender,
            after: plain.after,
            body,
        }
    }
}

impl<'a> PlainData<'a> {
    /// If this is such a one but for its time, which comes with it.
    fn of(data: &Data<'a>) -> Option<(Self, Option<Stamp>)> {
        let (is_update, what, payload) = match &data.body {
            DataBody::Update { instance, payload } => (true, instance.0, payload),
            DataBody::Interaction { class, payload } => (false, class.raw().into(), payload),
            DataBody::Fence { .. } => return None,
        };
        if payload.address.is_some() {
            return None;
        }
        let plain = PlainData {
            sender: data.sender,
            after: data.after,
            is_update,
            what,
            transportation: payload.transportation,
            tag: payload.tag,
            values: payload.values,
        };
        Some((plain, payload.stamp))
    }
}

/// An update or interaction in time-stamp order that is else as most are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedData<'a> {
    /// All but its time.
    pub plain: PlainData<'a>,
    /// Its time stamp.
    pub time: LogicalTime,
    /// What it may be retracted by.
    pub retraction: MessageRetractionHandle,
}

impl<'a> TimedData<'a> {
    /// Of what was sent with this stamp, if that is in time-stamp order. None, too, where its sender and number are
    /// none of a retraction.
    #[inline(always)]
    pub fn new(plain: PlainData<'a>, stamp: Stamp) -> Option<Self> {
        let (sender, number) = (plain.sender, stamp.retraction?);
        let retraction = MessageRetractionHandle::new(sender, number);
        let there = (retraction.sender(), retraction.number()) == (sender, number);
        there.then_some(TimedData {
            plain,
            time: stamp.time,
            retraction,
        })
    }
}

/// A data frame on its way out: its values need not be a run of bytes before it is written.
pub type DataSent<'a> = Data<'a, ValuesOut<'a>>;

/// What a data frame says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataBody<'a, V = Values<'a>> {
    /// Update Attribute Values, §6.10.
    Update {
        /// The instance updated.
        instance: ObjectInstanceHandle,
        /// Values by slot of the registered class.
        payload: Payload<'a, V>,
    },
    /// Send Interaction, §6.12.
    Interaction {
        /// The sent class.
        class: InteractionClassHandle,
        /// Values by slot of the sent class.
        payload: Payload<'a, V>,
    },
    /// All that this link carried before the sender's request of this number has come.
    Fence {
        /// The request's number.
        request: RequestNumber,
    },
}

// It is made where it is used, but larger ones are moved by calls of memcpy.
const _: () = assert!(size_of::<Data<'_>>() <= 136);

impl<'a, V> DataBody<'a, V> {
    /// What is sent; a fence sends nothing.
    #[inline]
    pub fn payload(&self) -> Option<&Payload<'a, V>> {
        match self {
            DataBody::Update { payload, .. } | DataBody::Interaction { payload, .. } => {
                Some(payload)
            }
            DataBody::Fence { .. } => None,
        }
    }

    #[inline]
    pub(crate) fn is_in_time_order(&self) -> bool {
        let stamp = self.payload().and_then(|payload| payload.stamp.as_ref());
        stamp.is_some_and(|s| s.retraction.is_some())
    }
}

/// What updates and interactions have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload<'a, V = Values<'a>> {
    /// How it is to travel.
    pub transportation: Transportation,
    /// The values, each with its slot.
    pub values: V,
    /// User-supplied tag.
    pub tag: &'a [u8],
    /// Where the sender says who is to get it; none: whoever subscribes, with the default region.
    pub address: Option<Address<'a>>,
    /// Its time, if it was given one.
    pub stamp: Option<Stamp>,
}

/// A payload kept for later, but for how it travels: what keeps it has room for that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PayloadBuf {
    pub(crate) content: Content,
    /// These two in boxes: most have none.
    address: Option<Box<AddressBuf>>,
    /// As its callback will have it, but for what is known only then.
    pub(crate) time: Option<Box<MessageTime>>,
}

impl Payload<'_> {
    /// A copy that may be kept.
    #[inline]
    pub(crate) fn keep(&self) -> PayloadBuf {
        self.kept_as(Content::new(self.values, self.tag))
    }

    /// The same, where it is of this batch without a copy.
    #[inline]
    pub(crate) fn keep_within(&self, batch: &Batch) -> PayloadBuf {
        self.kept_as(Content::within(batch, self.values, self.tag))
    }

    #[inline]
    fn kept_as(&self, content: Content) -> PayloadBuf {
        PayloadBuf {
            content,
            address: self.address.map(|address| Box::new(address.to_buf())),
            time: self.stamp.map(|stamp| Box::new(stamp.into())),
        }
    }

    /// Whether there is memory for a copy. A large one that finds none ends the connection, with a
    /// reason; that it ended the process is no federate's wish.
    #[inline]
    pub(crate) fn require_memory(&self) -> Result<(), ProtocolError> {
        const LARGE_BYTES: usize = 1 << 16;
        match self.bytes() {
            ..=LARGE_BYTES => Ok(()),
            large => Self::require_memory_for(large),
        }
    }

    #[cold]
    fn require_memory_for(bytes: usize) -> Result<(), ProtocolError> {
        let mut probe: Vec<u8> = Vec::new();
        let reserved = probe.try_reserve_exact(bytes);
        // Unused memory could be left out by the compiler.
        std::hint::black_box(&probe);
        reserved.map_err(|_| ProtocolError(format!("no memory for {bytes} bytes of values")))
    }

    /// Bytes of values, tag and address.
    #[inline]
    fn bytes(&self) -> usize {
        let address = self.address.as_ref().map_or(0, |a| a.as_bytes().len());
        self.values.as_bytes().len() + self.tag.len() + address
    }
}

impl PayloadBuf {
    /// Without address and time.
    #[inline]
    pub(crate) fn plain(content: Content) -> Self {
        PayloadBuf {
            content,
            address: None,
            time: None,
        }
    }

    /// Without address.
    pub(crate) fn timed(content: Content, stamp: Stamp) -> Self {
        PayloadBuf {
            content,
            address: None,
            time: Some(Box::new(stamp.into())),
        }
    }

    /// Bytes of values, tag and address.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        let in_box = |a: &AddressBuf| size_of::<AddressBuf>() + a.borrow().as_bytes().len();
        let address = self.address.as_deref().map_or(0, in_box);
        let time = self.time.as_deref().map_or(0, size_of_val);
        self.content.bytes() + address + time
    }

    /// To whom it was sent, and with which regions, if its sender said so.
    #[inline]
    pub(crate) fn address(&self) -> Option<Address<'_>> {
        self.address.as_deref().map(AddressBuf::borrow)
    }

    /// Its time, if it was given one.
    #[inline]
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.time.as_deref().map(|time| (*time).into())
    }

    fn borrow(&self, transportation: Transportation) -> Payload<'_> {
        Payload {
            transportation,
            values: self.content.values(),
            tag: self.content.tag(),
            address: self.address(),
            stamp: self.stamp(),
        }
    }
}

/// A data frame kept for later.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedData {
    pub(crate) sender: FederateHandle,
    pub(crate) after: After,
    pub(crate) body: OwnedBody,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OwnedBody {
    Update(ObjectInstanceHandle, Transportation, PayloadBuf),
    Interaction(InteractionClassHandle, Transportation, PayloadBuf),
    Fence(RequestNumber),
}

impl<V> Data<'_, V> {
    /// Whether it was sent in time-stamp order. It travels by the executive, whatever path other
    /// data takes, and is in place there among its receivers' entries.
    #[inline]
    pub fn is_in_time_order(&self) -> bool {
        self.body.is_in_time_order()
    }

    /// Whether it may be lost: declared best effort, and not in time-stamp order.
    #[inline]
    pub fn is_best_effort(&self) -> bool {
        let payload = self.body.payload();
        payload.is_some_and(|p| p.transportation == Transportation::BestEffort)
            && !self.is_in_time_order()
    }
}

impl Data<'_> {
    /// What the frame takes in memory when it is kept, about.
    pub(crate) fn bytes(&self) -> usize {
        let said = match &self.body {
            DataBody::Update { payload, .. } | DataBody::Interaction { payload, .. } => {
                payload.bytes()
            }
            DataBody::Fence { .. } => 0,
        };
        size_of::<OwnedData>() + said
    }

    /// This, if it is as most are.
    pub fn as_plain(&self) -> Option<PlainData<'_>> {
        let (plain, stamp) = PlainData::of(self)?;
        stamp.is_none().then_some(plain)
    }

    /// This, if it is in time-stamp order and else as most are.
    pub fn as_timed(&self) -> Option<TimedData<'_>> {
        let (plain, stamp) = PlainData::of(self)?;
        TimedData::new(plain, stamp?)
    }

    /// Whether it is a fence.
    pub(crate) fn is_fence(&self) -> bool {
        matches!(self.body, DataBody::Fence { .. })
    }

    /// A copy that may be kept.
    pub fn to_owned(&self) -> OwnedData {
        let body = match &self.body {
            DataBody::Update { instance, payload } => {
                OwnedBody::Update(*instance, payload.transportation, payload.keep())
            }
            DataBody::Interaction { class, payload } => {
                OwnedBody::Interaction(*class, payload.transportation, payload.keep())
            }
            DataBody::Fence { request } => OwnedBody::Fence(*request),
        };
        OwnedData {
            sender: self.sender,
            after: self.after,
            body,
        }
    }
}

impl DataSent<'_> {
    /// A copy that may be kept.
    pub fn to_owned(&self) -> OwnedData {
        let keep = |payload: &Payload<'_, ValuesOut<'_>>| {
            let values = ValuesBuf::of(payload.values);
            let payload = Payload {
                transportation: payload.transportation,
                values: values.values(),
                tag: payload.tag,
                address: payload.address,
                stamp: payload.stamp,
            };
            payload.keep()
        };
        let body = match &self.body {
            DataBody::Update { instance, payload } => {
                OwnedBody::Update(*instance, payload.transportation, keep(payload))
            }
            DataBody::Interaction { class, payload } => {
                OwnedBody::Interaction(*class, payload.transportation, keep(payload))
            }
            DataBody::Fence { request } => OwnedBody::Fence(*request),
        };
        OwnedData {
            sender: self.sender,
            after: self.after,
            body,
        }
    }
}

impl OwnedData {
    /// The frame again.
    pub fn borrow(&self) -> Data<'_> {
        let body = match &self.body {
            OwnedBody::Update(instance, transportation, payload) => DataBody::Update {
                instance: *instance,
                payload: payload.borrow(*transportation),
            },
            OwnedBody::Interaction(class, transportation, payload) => DataBody::Interaction {
                class: *class,
                payload: payload.borrow(*transportation),
            },
            OwnedBody::Fence(request) => DataBody::Fence { request: *request },
        };
        Data {
            sender: self.sender,
            after: self.after,
            body,
        }
    }
}
