// bench-recorder: samples of a recorder, for its tests. Value n of a sample is n; says how many of
// each sample were dropped, as JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "recorder.hpp"

int main(int argc, char** argv) {
    std::string file;
    std::uint64_t room = 0;
    std::vector<std::uint32_t> samples;
    CLI::App app("Records samples of so many values.");
    app.add_option("--file", file)->required();
    app.add_option("--room", room)->required();
    app.add_option("--samples", samples)->required();
    CLI11_PARSE(app, argc, argv);
    try {
        bench::Recorder recorder(room);
        nlohmann::json dropped = nlohmann::json::array();
        for (std::uint32_t s = 0; s < samples.size(); ++s) {
            recorder.begin(file, s == 0, s + 1);
            for (std::uint32_t n = 0; n < samples[s]; ++n) recorder.put(static_cast<float>(n));
            std::printf("put\n");
            std::fflush(stdout);
            dropped.push_back(recorder.end());
        }
        std::printf("%s\n", dropped.dump().c_str());
    } catch (std::exception const& e) {
        std::fprintf(stderr, "bench-recorder: %s\n", e.what());
        return 1;
    }
}
