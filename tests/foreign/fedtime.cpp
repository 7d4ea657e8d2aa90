// Times by the names that federates of CERTI use.
#include <RTI/RTI1516fedTime.h>
#include <RTI/certiRTI1516.h>

static int failures = 0;

static void expect(bool good) {
    ++failures;
    failures -= good;
}

/// As in a callback or a service.
static double timeOf(rti1516e::LogicalTime const &time) {
    return RTI1516fedTime(time).getFedTime();
}
static double lengthOf(rti1516e::LogicalTimeInterval const &interval) {
    return RTI1516fedTimeInterval(interval).getInterval();
}

int main() {
    RTI1516fedTime time(1.5);
    RTI1516fedTimeInterval step(0.25);
    expect(time.getFedTime() == 1.5);
    expect(step.getInterval() == 0.25);
    time += step;
    expect(timeOf(time) == 1.75);
    expect(lengthOf(step) == 0.25);
    expect(timeOf(rti1516e::HLAfloat64Time(3.0)) == 3.0);
    RTI1516fedTime other = time;
    other = 4.0;
    expect(other > time && other.getFedTime() == 4.0);
    other = time;
    expect(other == time);
    rti1516e::LogicalTime const &base = time;
    other = base;
    step = 2.0;
    expect(lengthOf(step) == 2.0);
    // The RTI takes it for what createFederationExecution calls HLAfloat64Time.
    expect(time.implementationName() == L"HLAfloat64Time");
    expect(step.implementationName() == L"HLAfloat64Time");
    rti1516e::HLAfloat64TimeFactory factory;
    expect(timeOf(*factory.decodeLogicalTime(time.encode())) == 1.75);
    return failures != 0;
}
