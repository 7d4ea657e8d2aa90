// Ownership management by the standard API: every service and every callback that needs no MOM,
// also from within callbacks and with HLA_IMMEDIATE. What each does in detail, the core tests.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>

using namespace rti1516e;

namespace {

std::wstring fom() { return L"" STARLING_FOM; }

VariableLengthData text(char const *bytes) { return VariableLengthData(bytes, strlen(bytes)); }

std::wstring wide(VariableLengthData const &data) {
    auto const *bytes = static_cast<char const *>(data.data());
    return std::wstring(bytes, bytes + data.size());
}

/// A federate of class Soda, with what it has heard.
class Federate : NullFederateAmbassador {
public:
    Federate(std::wstring const &name, CallbackModel model) : model_(model) {
        rti->connect(*this, model);
        try {
            rti->createFederationExecution(L"Test", fom());
        } catch (FederationExecutionAlreadyExists const &) {
        }
        handle = rti->joinFederationExecution(name, L"tester", L"Test");
        soda = rti->getObjectClassHandle(L"Food.Drink.Soda");
        cups = rti->getAttributeHandle(soda, L"NumberCups");
        flavor = rti->getAttributeHandle(soda, L"Flavor");
        rti->publishObjectClassAttributes(soda, set({cups, flavor}));
        rti->subscribeObjectClassAttributes(soda, set({cups, flavor}));
    }
    ~Federate() override {
        rti->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST);
        try {
            rti->destroyFederationExecution(L"Test");
        } catch (FederatesCurrentlyJoined const &) {
        }
        rti->disconnect();
    }

    static AttributeHandleSet set(std::initializer_list<AttributeHandle> list) {
        return AttributeHandleSet(list);
    }

    /// The next callback.
    std::wstring next() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (heard_.empty()) {
            if (model_ == HLA_IMMEDIATE) {
                more_.wait(lock);
            } else {
                lock.unlock();
                rti->evokeCallback(10);
                lock.lock();
            }
        }
        std::wstring first = heard_.front();
        heard_.pop_front();
        return first;
    }

    void know(ObjectInstanceHandle object) {
        std::lock_guard<std::mutex> lock(mutex_);
        cola = object;
    }

    bool owns(AttributeHandle attribute) {
        return rti->isAttributeOwnedByFederate(cola, attribute);
    }

    std::unique_ptr<RTIambassador> rti{RTIambassadorFactory().createRTIambassador()};
    FederateHandle handle;
    ObjectClassHandle soda;
    ObjectInstanceHandle cola;
    AttributeHandle cups, flavor;

    /// What is done within Request Attribute Ownership Release from now on.
    void onRelease(std::function<void()> what) {
        std::lock_guard<std::mutex> lock(mutex_);
        onRelease_ = std::move(what);
    }

private:
    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle,
                                std::wstring const &) override {
        know(object);
        hear(L"discover");
    }
    void requestAttributeOwnershipAssumption(ObjectInstanceHandle object,
                                             AttributeHandleSet const &offered,
                                             VariableLengthData const &tag) override {
        hear(L"assume " + about(object, offered) + L" tag " + wide(tag));
    }
    void requestDivestitureConfirmation(ObjectInstanceHandle object,
                                        AttributeHandleSet const &released) override {
        hear(L"confirm " + about(object, released));
    }
    void attributeOwnershipAcquisitionNotification(ObjectInstanceHandle object,
                                                   AttributeHandleSet const &secured,
                                                   VariableLengthData const &tag) override {
        hear(L"acquired " + about(object, secured) + L" tag " + wide(tag));
    }
    void attributeOwnershipUnavailable(ObjectInstanceHandle object,
                                       AttributeHandleSet const &attributes) override {
        hear(L"unavailable " + about(object, attributes));
    }
    void requestAttributeOwnershipRelease(ObjectInstanceHandle object,
                                          AttributeHandleSet const &candidates,
                                          VariableLengthData const &tag) override {
        std::function<void()> onRelease;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            onRelease = onRelease_;
        }
        if (onRelease)
            onRelease();
        hear(L"release " + about(object, candidates) + L" tag " + wide(tag));
    }
    void confirmAttributeOwnershipAcquisitionCancellation(ObjectInstanceHandle object,
                                                          AttributeHandleSet const &set) override {
        hear(L"cancelled " + about(object, set));
    }
    void informAttributeOwnership(ObjectInstanceHandle object, AttributeHandle attribute,
                                  FederateHandle owner) override {
        hear(about(object, set({attribute})) + L" is of " + owner.toString());
    }
    void attributeIsNotOwned(ObjectInstanceHandle object, AttributeHandle attribute) override {
        hear(about(object, set({attribute})) + L" is nobody's");
    }

    std::wstring about(ObjectInstanceHandle object, AttributeHandleSet const &list) {
        std::unique_lock<std::mutex> lock(mutex_);
        std::wstring names = object == cola ? L"" : L"of something else:";
        lock.unlock();
        for (AttributeHandle const &a : list)
            names += rti->getAttributeName(soda, a) + L",";
        return names;
    }

    void hear(std::wstring const &what) {
        std::lock_guard<std::mutex> lock(mutex_);
        heard_.push_back(what);
        more_.notify_all();
    }

    CallbackModel model_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::wstring> heard_;
    std::function<void()> onRelease_;
};

class Ownership : public testing::TestWithParam<CallbackModel> {
protected:
    void SetUp() override {
        a.reset(new Federate(L"A", GetParam()));
        b.reset(new Federate(L"B", GetParam()));
        a->know(a->rti->registerObjectInstance(a->soda));
        EXPECT_EQ(b->next(), L"discover");
        cups = Federate::set({a->cups});
        both = Federate::set({a->cups, a->flavor});
    }
    void TearDown() override {
        b.reset();
        a.reset();
    }

    std::unique_ptr<Federate> a, b;
    AttributeHandleSet cups, both;
};

TEST_P(Ownership, NegotiatedDivestiture) {
    EXPECT_TRUE(a->owns(a->cups));
    a->rti->negotiatedAttributeOwnershipDivestiture(a->cola, both, text("have it"));
    EXPECT_THROW(a->rti->negotiatedAttributeOwnershipDivestiture(a->cola, both, text("")),
                 AttributeAlreadyBeingDivested);
    EXPECT_EQ(b->next(), L"assume NumberCups,Flavor, tag have it");
    EXPECT_THROW(a->rti->confirmDivestiture(a->cola, cups, text("")), NoAcquisitionPending);
    b->rti->attributeOwnershipAcquisitionIfAvailable(b->cola, cups);
    EXPECT_THROW(b->rti->attributeOwnershipAcquisitionIfAvailable(b->cola, cups),
                 AttributeAlreadyBeingAcquired);
    EXPECT_EQ(a->next(), L"confirm NumberCups,");
    a->rti->confirmDivestiture(a->cola, cups, text("yours"));
    EXPECT_FALSE(a->owns(a->cups));
    EXPECT_EQ(b->next(), L"acquired NumberCups, tag yours");
    EXPECT_TRUE(b->owns(b->cups));
    a->rti->cancelNegotiatedAttributeOwnershipDivestiture(a->cola, Federate::set({a->flavor}));
    EXPECT_THROW(
        a->rti->cancelNegotiatedAttributeOwnershipDivestiture(a->cola, Federate::set({a->flavor})),
        AttributeDivestitureWasNotRequested);
    AttributeHandleValueMap values;
    values[a->cups] = text("1");
    EXPECT_THROW(a->rti->updateAttributeValues(a->cola, values, text("")), AttributeNotOwned);
    b->rti->updateAttributeValues(b->cola, values, text(""));
}

TEST_P(Ownership, UnconditionalDivestitureAndQueries) {
    a->rti->unconditionalAttributeOwnershipDivestiture(a->cola, cups);
    EXPECT_EQ(b->next(), L"assume NumberCups, tag ");
    b->rti->queryAttributeOwnership(b->cola, b->cups);
    EXPECT_EQ(b->next(), L"NumberCups, is nobody's");
    b->rti->queryAttributeOwnership(b->cola, b->flavor);
    EXPECT_EQ(b->next(), L"Flavor, is of " + a->handle.toString());
    b->rti->attributeOwnershipAcquisitionIfAvailable(b->cola, both);
    EXPECT_EQ(b->next(), L"acquired NumberCups, tag ");
    EXPECT_EQ(b->next(), L"unavailable Flavor,");
}

TEST_P(Ownership, ReleaseDeniedCancelledAndDivested) {
    b->rti->attributeOwnershipAcquisition(b->cola, both, text("please"));
    EXPECT_EQ(a->next(), L"release NumberCups,Flavor, tag please");
    a->rti->attributeOwnershipReleaseDenied(a->cola, cups);
    EXPECT_EQ(b->next(), L"unavailable NumberCups,");
    EXPECT_THROW(b->rti->cancelAttributeOwnershipAcquisition(b->cola, both),
                 AttributeAcquisitionWasNotRequested);
    EXPECT_THROW(b->rti->unpublishObjectClass(b->soda), OwnershipAcquisitionPending);
    b->rti->cancelAttributeOwnershipAcquisition(b->cola, Federate::set({b->flavor}));
    EXPECT_EQ(b->next(), L"cancelled Flavor,");
    // The federation's word is asked for within a callback, as federates do.
    AttributeHandleSet divested;
    a->onRelease([&] { a->rti->attributeOwnershipDivestitureIfWanted(a->cola, both, divested); });
    b->rti->attributeOwnershipAcquisition(b->cola, cups, text("again"));
    EXPECT_EQ(a->next(), L"release NumberCups, tag again");
    EXPECT_EQ(divested, cups);
    EXPECT_EQ(b->next(), L"acquired NumberCups, tag ");
    EXPECT_THROW(b->rti->cancelAttributeOwnershipAcquisition(b->cola, cups), AttributeAlreadyOwned);
    EXPECT_THROW(b->rti->attributeOwnershipAcquisition(b->cola, cups, text("")),
                 FederateOwnsAttributes);
    a->onRelease(nullptr);
}

TEST_P(Ownership, MessagesSayWhatIsWrong) {
    try {
        b->rti->unconditionalAttributeOwnershipDivestiture(b->cola, cups);
        FAIL();
    } catch (AttributeNotOwned const &e) {
        EXPECT_EQ(e.what(), L"AttributeNotOwned: unconditionalAttributeOwnershipDivestiture: "
                            L"attribute 'NumberCups' of '" +
                                b->rti->getObjectInstanceName(b->cola) +
                                L"' is not owned by this federate (1516.1-2010, 7.2)");
    }
    EXPECT_THROW(b->rti->resignFederationExecution(static_cast<ResignAction>(9)),
                 InvalidResignAction);
    EXPECT_THROW(a->rti->resignFederationExecution(NO_ACTION), FederateOwnsAttributes);
    EXPECT_THROW(a->rti->localDeleteObjectInstance(a->cola), FederateOwnsAttributes);
}

INSTANTIATE_TEST_SUITE_P(Models, Ownership, testing::Values(HLA_EVOKED, HLA_IMMEDIATE));

}
