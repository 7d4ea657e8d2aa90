//! The HLA data types of the MIM (1516.2-2010, 4.12), as far as its attributes and parameters need
//! them. All of them have an octet boundary of 4 or less: whatever begins with a count or is an
//! HLAinteger32BE is aligned to 4 bytes.

use crate::{LogicalTime, LogicalTimeInterval, TimeType};

/// A value in the making.
#[derive(Default)]
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    /// The value as made by `make`.
    pub(crate) fn of(make: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        let mut encoder = Encoder::default();
        make(&mut encoder);
        encoder.done()
    }

    /// The value.
    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }

    /// HLAinteger32BE.
    pub(crate) fn number(&mut self, n: u32) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.0.extend_from_slice(&n.to_be_bytes());
    }

    /// HLAcount, HLAmsec, HLAindex: what is too large for it is its largest value.
    pub(crate) fn count(&mut self, n: u64) {
        let n = i32::try_from(n).unwrap_or(i32::MAX);
        self.number(n as u32);
    }

    /// HLAboolean and HLAswitch.
    pub(crate) fn boolean(&mut self, on: bool) {
        self.number(on.into());
    }

    /// HLAvariableArray of HLAbyte.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// HLAunicodeString.
    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.encode_utf16().count() as u64);
        for unit in text.encode_utf16() {
            self.0.extend_from_slice(&unit.to_be_bytes());
        }
    }

    /// HLAhandle of what is encoded in 4 bytes: federates, classes, attributes, parameters.
    pub(crate) fn handle(&mut self, handle: u32) {
        self.bytes(&handle.to_be_bytes());
    }

    /// HLAhandle of an object instance.
    pub(crate) fn instance(&mut self, handle: u64) {
        self.bytes(&handle.to_be_bytes());
    }

    /// HLAvariableArray.
    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut put: impl FnMut(&mut Encoder, T),
    ) {
        let items = items.into_iter();
        self.count(items.len() as u64);
        items.for_each(|item| put(self, item));
    }

    /// HLAlogicalTime; empty where it is not defined.
    pub(crate) fn time(&mut self, time: Option<LogicalTime>) {
        match time {
            Some(time) => self.bytes(&time.to_bits().to_be_bytes()),
            None => self.bytes(&[]),
        }
    }

    /// HLAtimeInterval; empty where it is not defined.
    pub(crate) fn interval(&mut self, interval: Option<LogicalTimeInterval>) {
        match interval {
            Some(interval) => self.bytes(&interval.to_bits().to_be_bytes()),
            None => self.bytes(&[]),
        }
    }
}

/// A value that came, and how far it has been read. Every reading gives none where the bytes are
/// not of the type.
pub(crate) struct Decoder<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    /// Reads a value to its end.
    pub(crate) fn whole<T>(
        bytes: &'a [u8],
        read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
    ) -> Option<T> {
        let mut decoder = Decoder { all: bytes, at: 0 };
        let value = read(&mut decoder)?;
        (decoder.at == bytes.len()).then_some(value)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(bytes)?;
        let taken = self.all.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// HLAinteger32BE.
    pub(crate) fn number(&mut self) -> Option<u32> {
        self.at = self.at.next_multiple_of(4);
        Some(u32::from_be_bytes(*self.take(4)?.first_chunk()?))
    }

    /// HLAboolean and HLAswitch.
    pub(crate) fn boolean(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// HLAvariableArray of HLAbyte.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// HLAunicodeString.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let bytes = self.take(length.checked_mul(2)?)?;
        let units = bytes
            .chunks_exact(2)
            .map(|c| u16::from_be_bytes([c[0], c[1]]));
        char::decode_utf16(units).collect::<Result<_, _>>().ok()
    }

    /// HLAhandle of what is encoded in 4 bytes.
    pub(crate) fn handle(&mut self) -> Option<u32> {
        let bytes = self.bytes()?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// HLAhandle of an object instance.
    pub(crate) fn instance(&mut self) -> Option<u64> {
        let bytes = self.bytes()?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// HLAvariableArray.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = self.number()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(read(self)?);
        }
        Some(list)
    }

    /// HLAlogicalTime that is defined.
    pub(crate) fn time(&mut self, of: TimeType) -> Option<LogicalTime> {
        self.time_if_defined(of)?
    }

    /// HLAlogicalTime; an empty array is one that is not defined.
    pub(crate) fn time_if_defined(&mut self, of: TimeType) -> Option<Option<LogicalTime>> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Some(None);
        }
        let bits = u64::from_be_bytes(bytes.try_into().ok()?);
        LogicalTime::from_bits(of, bits).map(Some)
    }

    /// HLAtimeInterval that is defined.
    pub(crate) fn interval(&mut self, of: TimeType) -> Option<LogicalTimeInterval> {
        let bytes = self.bytes()?;
        LogicalTimeInterval::from_bits(of, u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

/// What the MIM says that a value of a parameter to the RTI is, for who has sent another.
pub(super) fn data_type(parameter: &str) -> &'static str {
    match parameter {
        "HLAfederate" | "HLAobjectClass" | "HLAinteractionClass" | "HLAattribute" => {
            "an HLAhandle, the count of its bytes (4) in 4, then these"
        }
        "HLAobjectInstance" => "an HLAhandle, the count of its bytes (8) in 4, then these",
        "HLAattributeList" => {
            "an HLAhandleList, the count of its handles in 4 bytes, then of each the count of its bytes (4) in 4, and these"
        }
        "HLAtimeStamp" | "HLAlookahead" => {
            "an HLAlogicalTime or HLAtimeInterval, the count of its bytes (8 for HLAinteger64Time and HLAfloat64Time) in 4, then these"
        }
        "HLAreportingState" | "HLAsuccessIndicator" | "HLAactive" => {
            "an HLAboolean, 0 (HLAfalse) or 1 (HLAtrue) in 4 bytes"
        }
        "HLAautoProvide" | "HLAconveyRegionDesignatorSets" | "HLAconveyProducingFederate" => {
            "an HLAswitch, 0 (Disabled) or 1 (Enabled) in 4 bytes"
        }
        "HLAattributeState" => "an HLAownership, 0 (Unowned) or 1 (Owned) in 4 bytes",
        "HLAresignAction" => "an HLAresignAction, 1 (DivestOwnership) to 6 (NoAction) in 4 bytes",
        "HLAsendOrder" => "an HLAorderType, 0 (Receive) or 1 (TimeStamp) in 4 bytes",
        "HLAtransportation" => {
            "an HLAtransportationName, the HLAunicodeString HLAreliable or HLAbestEffort"
        }
        "HLAreportPeriod" | "HLAFOMmoduleIndicator" => "an HLAinteger32BE, 4 bytes",
        "HLAtag" => "an HLAopaqueData, the count of its bytes in 4, then these",
        _ => "an HLAunicodeString, the count of its characters in 4 bytes, then 2 for each",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_aligned_and_nothing_is_padded_at_the_end() {
        let list = Encoder::of(|e| e.list(["a", "bc"], Encoder::text));
        let a = [0, 0, 0, 1, 0, b'a', 0, 0];
        let bc = [0, 0, 0, 2, 0, b'b', 0, b'c'];
        assert_eq!(list, [&[0, 0, 0, 2][..], &a, &bc].concat());
        let one = Encoder::of(|e| e.list(["a"], Encoder::text));
        assert_eq!(one, [0, 0, 0, 1, 0, 0, 0, 1, 0, b'a']);
        let read = Decoder::whole(&list, |d| d.list(Decoder::text));
        assert_eq!(read, Some(vec!["a".to_owned(), "bc".to_owned()]));
    }

    #[test]
    fn what_is_not_of_the_type_is_none() {
        assert_eq!(Decoder::whole(&[0, 0, 0, 2], Decoder::boolean), None);
        assert_eq!(Decoder::whole(&[0, 0, 0, 1, 0], Decoder::boolean), None);
        assert_eq!(
            Decoder::whole(&[0, 0, 0, 4, 0, 0, 1], Decoder::handle),
            None
        );
        let endless = [0xff; 8];
        assert_eq!(Decoder::whole(&endless, |d| d.list(Decoder::number)), None);
        // Half of a surrogate pair.
        let half = [0, 0, 0, 1, 0xd8, 0];
        assert_eq!(Decoder::whole(&half, Decoder::text), None);
    }

    proptest::proptest! {
        #[test]
        fn texts_come_back_and_no_bytes_make_it_panic(text: String, bytes: Vec<u8>) {
            let encoded = Encoder::of(|e| e.text(&text));
            assert_eq!(Decoder::whole(&encoded, Decoder::text), Some(text));
            let _ = Decoder::whole(&bytes, |d| d.list(|d| d.list(Decoder::text)));
            let _ = Decoder::whole(&bytes, |d| d.list(Decoder::instance));
        }
    }
}
