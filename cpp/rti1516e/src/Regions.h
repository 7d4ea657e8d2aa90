// Arguments with regions as the C ABI takes them.
#pragma once

#include "HandleImplementation.h"
#include <starling.h>

#include <RTI/Typedefs.h>
#include <deque>
#include <vector>

namespace starling {

using namespace rti1516e;

/// Handles of regions.
class Regions {
public:
    explicit Regions(RegionHandleSet const &set) {
        numbers_.reserve(set.size());
        for (RegionHandle const &region : set)
            numbers_.push_back(RegionHandleFriend::number(region));
    }
    uint64_t const *data() const { return numbers_.data(); }
    size_t size() const { return numbers_.size(); }

private:
    std::vector<uint64_t> numbers_;
};

/// Sets of attributes with sets of regions; points into itself, so it stays where it is.
class AttributeRegions {
public:
    explicit AttributeRegions(AttributeHandleSetRegionHandleSetPairVector const &pairs) {
        list_.reserve(pairs.size());
        for (auto const &pair : pairs) {
            attributes_.emplace_back();
            for (AttributeHandle const &attribute : pair.first)
                attributes_.back().push_back(
                    static_cast<uint32_t>(AttributeHandleFriend::number(attribute)));
            regions_.emplace_back(pair.second);
            list_.push_back({attributes_.back().data(), attributes_.back().size(),
                             regions_.back().data(), regions_.back().size()});
        }
    }
    AttributeRegions(AttributeRegions const &) = delete;
    StarlingAttributeRegions const *data() const { return list_.data(); }
    size_t size() const { return list_.size(); }

private:
    std::deque<std::vector<uint32_t>> attributes_;
    std::deque<Regions> regions_;
    std::vector<StarlingAttributeRegions> list_;
};

}
