// Small classes: ranges, supplemental information, and times of no type.
#include <RTI/LogicalTime.h>
#include <RTI/LogicalTimeFactory.h>
#include <RTI/LogicalTimeInterval.h>
#include <RTI/RTI1516.h>

#include <ostream>

namespace rti1516e {

RangeBounds::RangeBounds() : _lowerBound(0), _upperBound(0) {}
RangeBounds::RangeBounds(unsigned long lowerBound, unsigned long upperBound)
    : _lowerBound(lowerBound), _upperBound(upperBound) {}
RangeBounds::~RangeBounds() RTI_NOEXCEPT {}
RangeBounds::RangeBounds(RangeBounds const &rhs)
    : _lowerBound(rhs._lowerBound), _upperBound(rhs._upperBound) {}
RangeBounds &RangeBounds::operator=(RangeBounds const &rhs) {
    _lowerBound = rhs._lowerBound;
    _upperBound = rhs._upperBound;
    return *this;
}
unsigned long RangeBounds::getLowerBound() const { return _lowerBound; }
unsigned long RangeBounds::getUpperBound() const { return _upperBound; }
void RangeBounds::setLowerBound(unsigned long lowerBound) { _lowerBound = lowerBound; }
void RangeBounds::setUpperBound(unsigned long upperBound) { _upperBound = upperBound; }

FederateRestoreStatus::FederateRestoreStatus(FederateHandle const &thePreHandle,
                                             FederateHandle const &thePostHandle,
                                             RestoreStatus theStatus)
    : preRestoreHandle(thePreHandle), postRestoreHandle(thePostHandle), status(theStatus) {}

FederationExecutionInformation::FederationExecutionInformation(
    std::wstring const &theFederationExecutionName,
    std::wstring const &theLogicalTimeImplementationName)
    : federationExecutionName(theFederationExecutionName),
      logicalTimeImplementationName(theLogicalTimeImplementationName) {}

#define STARLING_SUPPLEMENT(Kind)                                                                  \
    Kind::Kind() : hasProducingFederate(false), hasSentRegions(false) {}                           \
    Kind::Kind(FederateHandle const &theFederateHandle)                                            \
        : hasProducingFederate(true), hasSentRegions(false),                                       \
          producingFederate(theFederateHandle) {}                                                  \
    Kind::Kind(RegionHandleSet const &theRegionHandleSet)                                          \
        : hasProducingFederate(false), hasSentRegions(true), sentRegions(theRegionHandleSet) {}    \
    Kind::Kind(FederateHandle const &theFederateHandle, RegionHandleSet const &theRegionHandleSet) \
        : hasProducingFederate(true), hasSentRegions(true), producingFederate(theFederateHandle),  \
          sentRegions(theRegionHandleSet) {}

STARLING_SUPPLEMENT(SupplementalReflectInfo)
STARLING_SUPPLEMENT(SupplementalReceiveInfo)

SupplementalRemoveInfo::SupplementalRemoveInfo() : hasProducingFederate(false) {}
SupplementalRemoveInfo::SupplementalRemoveInfo(FederateHandle const &theFederateHandle)
    : hasProducingFederate(true), producingFederate(theFederateHandle) {}

LogicalTime::~LogicalTime() RTI_NOEXCEPT {}
LogicalTimeInterval::~LogicalTimeInterval() RTI_NOEXCEPT {}
LogicalTimeFactory::~LogicalTimeFactory() RTI_NOEXCEPT {}

std::wostream &operator<<(std::wostream &out, LogicalTime const &time) {
    return out << time.toString();
}
std::wostream &operator<<(std::wostream &out, LogicalTimeInterval const &interval) {
    return out << interval.toString();
}

std::wstring rtiName() { return L"Starling"; }
std::wstring rtiVersion() { return L"0.1.0"; }

}
