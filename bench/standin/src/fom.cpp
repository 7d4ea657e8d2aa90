#include "fom.hpp"

#include <algorithm>
#include <stdexcept>

namespace standin {

namespace {

struct Element {
    std::string tag, text, name, transportation;
    std::size_t number = 0;  // of the class that it is
};

std::string trimmed(std::string const& text) {
    auto const from = text.find_first_not_of(" \t\r\n");
    if (from == std::string::npos) return "";
    return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}
bool isClass(std::string const& tag) { return tag == "objectClass" || tag == "interactionClass"; }
std::string key(bool object, std::string const& name) { return (object ? "o " : "i ") + name; }

}  // namespace

Fom::Fom(std::string const& xml) {
    std::vector<Element> open;
    for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
        if (xml.compare(at, 4, "<!--") == 0) {
            at = xml.find("-->", at);
            continue;
        }
        std::size_t const end = xml.find('>', at);
        if (end == std::string::npos) throw std::runtime_error("a tag does not end");
        bool const closes = xml[at + 1] == '/', empty = xml[end - 1] == '/';
        if (xml[at + 1] == '?' || xml[at + 1] == '!' || empty) {
            at = end;
            continue;
        }
        if (!closes) {
            Element e;
            e.tag = xml.substr(at + 1, xml.find_first_of(" \t\r\n>", at) - at - 1);
            std::size_t const next = xml.find('<', end);
            if (next != std::string::npos) e.text = trimmed(xml.substr(end + 1, next - end - 1));
            open.push_back(e);
            at = end;
            continue;
        }
        at = end;
        if (open.empty()) throw std::runtime_error("a tag closes what is not open");
        Element const e = open.back();
        open.pop_back();
        if (open.empty()) break;
        Element& parent = open.back();
        if (e.tag == "name") parent.name = e.text;
        if (e.tag == "transportation") parent.transportation = e.text;
        if (e.tag == "name" && isClass(parent.tag)) {
            ClassOfFom c;
            c.object = parent.tag == "objectClass";
            for (auto const& outer : open) {
                if (isClass(outer.tag)) c.name += (c.name.empty() ? "" : ".") + outer.name;
            }
            classes_.push_back(c);
            parent.number = classes_.size();
            byName_[key(c.object, c.name)] = parent.number;
        }
        if (e.tag == "attribute" || e.tag == "parameter") {
            if (parent.number == 0) throw std::runtime_error("a member of no class");
            classes_[parent.number - 1].members.push_back(e.name);
        }
        bool const best = e.text == "HLAbestEffort" || e.transportation == "HLAbestEffort";
        if (parent.number != 0 && best) classes_[parent.number - 1].bestEffort = true;
    }
    if (!open.empty() && open.front().tag != "objectModel") throw std::runtime_error("no FOM");
}

std::size_t Fom::find(bool object, std::string const& name) const {
    auto const found = byName_.find(key(object, name));
    return found == byName_.end() ? 0 : found->second;
}

std::size_t Fom::member(std::size_t number, std::string const& name) const {
    auto const& members = at(number).members;
    auto const found = std::find(members.begin(), members.end(), name);
    return found == members.end() ? 0 : static_cast<std::size_t>(found - members.begin()) + 1;
}

}  // namespace standin
