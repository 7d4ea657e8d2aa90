// bench-meet ADDRESS: where members of plain sockets and memory find each other. It tells who joins
// a session the members before, and carries nothing else. "unix:PATH" or "HOST:PORT" (port 0: any);
// says "ready ADDRESS" when it listens.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "socket.hpp"

namespace {

using Json = nlohmann::json;

std::size_t const kLineMax = 4096;
std::size_t const kGuestsMax = 4096;

struct Guest {
    int socket;
    std::string in;
    std::string session, name, address;  // empty before it has joined
};

// What a member says: {"session":, "name":, "address":}. The answer: {"members": [[name, address]]}
// or {"refused": why}.
Json answer(Json const& said, Guest& guest, std::vector<Guest> const& guests) {
    if (!said.is_object() || !guest.session.empty()) return {{"refused", "a member joins once"}};
    for (char const* key : {"session", "name", "address"}) {
        auto const value = said.find(key);
        if (value == said.end() || !value->is_string() || value->get<std::string>().empty()) {
            return {{"refused", std::string("no ") + key}};
        }
    }
    std::string const session = said["session"], name = said["name"];
    Json members = Json::array();
    for (auto const& other : guests) {
        if (other.session != session) continue;
        if (other.name == name) return {{"refused", "there is a member '" + name + "'"}};
        members.push_back({other.name, other.address});
    }
    guest.session = session;
    guest.name = name;
    guest.address = said["address"];
    return {{"members", members}};
}

// False: it has gone, or says what nobody understands.
bool hear(Guest& guest, std::vector<Guest> const& guests) {
    char buffer[kLineMax];
    ssize_t const n = ::recv(guest.socket, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    guest.in.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end; (end = guest.in.find('\n')) != std::string::npos;
         guest.in.erase(0, end + 1)) {
        Json const said = Json::parse(guest.in.substr(0, end), nullptr, false);
        std::string const line =
            answer(said, guest, guests).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        // Who does not read holds up nobody else.
        if (::send(guest.socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            static_cast<ssize_t>(line.size())) {
            return false;
        }
    }
    return guest.in.size() < kLineMax;
}

}  // namespace

int main(int argc, char** argv) {
    int listener = -1;
    try {
        if (argc != 2) throw bench::UsageError("usage: bench-meet unix:PATH|HOST:PORT");
        listener = bench::listenAt(argv[1]);
    } catch (bench::UsageError const& e) {
        std::fprintf(stderr, "bench-meet: %s\n", e.what());
        return 2;
    }
    if (listener < 0) {
        std::fprintf(stderr, "bench-meet: can't listen at %s: %s\n", argv[1], std::strerror(errno));
        return 1;
    }
    std::string const at = bench::ownAddress(listener);
    std::printf("ready %s\n", at.empty() ? argv[1] : at.c_str());
    std::fflush(stdout);
    std::vector<Guest> guests;
    bool full = false;  // of open files: whoever leaves makes room
    for (;;) {
        std::vector<pollfd> watch = {{full ? -1 : listener, POLLIN, 0}};
        for (auto const& guest : guests) watch.push_back({guest.socket, POLLIN, 0});
        if (::poll(watch.data(), watch.size(), -1) < 0) continue;
        for (std::size_t g = guests.size(); g > 0; --g) {
            if (watch[g].revents == 0 || hear(guests[g - 1], guests)) continue;
            ::close(guests[g - 1].socket);
            guests.erase(guests.begin() + static_cast<std::ptrdiff_t>(g - 1));
            full = false;
        }
        if (watch[0].revents == 0) continue;
        int const guest = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (guest >= 0 && guests.size() < kGuestsMax) guests.push_back({guest, "", "", "", ""});
        else if (guest >= 0) ::close(guest);
        else full = errno == EMFILE || errno == ENFILE;
    }
}
