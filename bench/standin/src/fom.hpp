// What the stand-in RTI reads of a FOM: classes, their attributes or parameters, transportation.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace standin {

struct ClassOfFom {
    std::string name;  // full
    bool object = false;
    bool bestEffort = false;
    std::vector<std::string> members;
};

// Numbers are places in the file, from 1, so they are the same in every federate.
class Fom {
public:
    // Throws std::runtime_error when the text is no FOM.
    explicit Fom(std::string const& xml);
    Fom() = default;
    // 0: there is none.
    std::size_t find(bool object, std::string const& name) const;
    std::size_t member(std::size_t number, std::string const& name) const;
    ClassOfFom const& at(std::size_t number) const { return classes_.at(number - 1); }

private:
    std::vector<ClassOfFom> classes_;
    std::map<std::string, std::size_t> byName_;
};

}  // namespace standin
