// What values cost a federate that makes them anew for each update.
#include <RTI/RTI1516.h>

#include <atomic>
#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> calls(0), blocks(0);

}

// Those of the C library are counted on their way; others' have no such names.
extern "C" void *__libc_malloc(std::size_t);
extern "C" void __libc_free(void *);
extern "C" void *malloc(std::size_t size) {
    ++calls;
    ++blocks;
    return __libc_malloc(size);
}
extern "C" void free(void *block) {
    if (block != nullptr)
        --blocks;
    __libc_free(block);
}

namespace {

using namespace rti1516e;

// Is destroyed after the main thread has let its blocks go.
VariableLengthData const late("late", 4);

long callsOf(std::size_t bytes) {
    std::string const value(bytes, 'x');
    long const before = calls;
    {
        AttributeHandleValueMap values;
        values[AttributeHandle()] = VariableLengthData(value.data(), value.size());
    }
    return calls - before;
}

TEST(Values, AMapThatIsMadeAnewTakesMemoryForItsNodesOnly) {
    for (std::size_t bytes : {0, 1, 12, 32, 33, 100, 128}) {
        callsOf(bytes);
        EXPECT_EQ(callsOf(bytes), 1) << bytes << " bytes";
    }
    // Large ones are not kept.
    EXPECT_GT(callsOf(129), 1);
}

std::string textOf(VariableLengthData const &value) {
    return std::string(static_cast<char const *>(value.data()), value.size());
}

TEST(Values, CopiesTakeNoMemoryAndStayAsTheyAreWhenOneChanges) {
    VariableLengthData first("abc", 3), other("other", 5);
    long const before = calls;
    VariableLengthData second(first), third;
    third = second;
    third = third;
    EXPECT_EQ(calls, before);
    first.setData("x", 1);
    EXPECT_EQ(textOf(first) + textOf(second) + textOf(third), "xabcabc");
    char given[] = "given";
    second.setDataPointer(given, 5);
    EXPECT_EQ(textOf(first) + textOf(second) + textOf(third), "xgivenabc");
    // Bytes that were given may change; a copy of them does not.
    VariableLengthData fourth(second);
    given[0] = 'G';
    EXPECT_EQ(textOf(second) + textOf(fourth), "Givengiven");
    // A part of its own bytes, which others have, too.
    second = third;
    third.setData(static_cast<char const *>(third.data()) + 1, 2);
    EXPECT_EQ(textOf(second) + textOf(third), "abcbc");
    third = second;
    second.takeDataPointer(new char[2]{'n', 'w'}, 2);
    third = other;
    other.setData(nullptr, 0);
    EXPECT_EQ(textOf(second) + textOf(third) + textOf(other), "nwother");
}

TEST(Values, CopiesInSeveralThreadsAreEachOnesOwn) {
    VariableLengthData const value("abc", 3);
    std::atomic<int> wrong(0);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < 10000; ++i) {
                VariableLengthData mine(value), another;
                another = mine;
                mine.setData("x", 1);
                wrong += textOf(another) != "abc" || textOf(mine) != "x";
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(textOf(value), "abc");
}

TEST(Values, AThreadKeepsFewBlocksAndLetsThemGo) {
    auto const many = [] {
        std::vector<VariableLengthData> values(5000);
        for (VariableLengthData &value : values)
            value.setData("x", 1);
    };
    many();
    long const before = blocks;
    many();
    EXPECT_LT(blocks - before, 100);
    for (int i = 0; i < 100; ++i)
        std::thread(many).join();
    EXPECT_LT(blocks - before, 1000);
}

TEST(Values, WhatAnotherThreadHasMadeIsDestroyedAnywhere) {
    std::vector<VariableLengthData> made;
    std::thread([&] { made.assign(200, VariableLengthData("abc", 3)); }).join();
    EXPECT_EQ(std::string(static_cast<char const *>(made.back().data()), made.back().size()),
              "abc");
    std::thread([&] { made.clear(); }).join();
}

}
