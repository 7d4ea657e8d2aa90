// The generic pre-conditions of every service, from the table of the API: not connected, not
// joined, called within a callback, while a save or a restore is in progress.
#include "scenario.hpp"

#include <sstream>

namespace conformance {

namespace {

std::vector<std::string> columns(std::string const &line, char separator) {
    std::vector<std::string> out;
    std::istringstream in(line);
    for (std::string column; std::getline(in, column, separator);)
        out.push_back(column);
    return out;
}

struct Row {
    std::string call; // service and sample arguments
    std::vector<std::string> exceptions;

    bool lists(std::string const &exception) const {
        for (std::string const &e : exceptions)
            if (e == exception)
                return true;
        return false;
    }
};

/// The services of the table, each overload with a call of it; all must be known to the player.
std::vector<Row> rows(std::string const &table) {
    std::ifstream in(table);
    if (!in)
        throw SyntaxError(table + ": cannot be opened");
    std::vector<Known> const known = knownServices();
    size_t next = 0;
    std::vector<Row> result;
    for (std::string line; std::getline(in, line);) {
        std::vector<std::string> const row = columns(line, '\t');
        if (row.size() < 6 || row[1] != "rti1516e::RTIambassador" || row[2] != "method pure")
            continue;
        if (next == known.size() || known[next].name != row[4])
            throw SyntaxError(table + ": the player does not know, in this place: " + row[5]);
        std::string const &sample = known[next++].sample;
        result.push_back({row[4] + (sample.empty() ? "" : " " + sample),
                          row.size() > 6 ? columns(row[6], ' ') : std::vector<std::string>()});
    }
    if (next != known.size())
        throw SyntaxError(table + ": lacks what the player knows: " + known[next].name);
    return result;
}

}

std::vector<Scenario> sweep(std::string const &table) {
    std::ostringstream text;
    std::vector<Row> const all = rows(table);
    text << "fom fleet/Fleet.xml\n";
    text << "scenario every service before connect\nunconnected X\n";
    for (Row const &row : all)
        if (row.lists("NotConnected"))
            text << "X " << row.call << " !! NotConnected\n";
    text << "scenario every service before join\nconnected X\n";
    for (Row const &row : all)
        if (row.lists("FederateNotExecutionMember"))
            text << "X " << row.call << " !! FederateNotExecutionMember\n";
    text << "scenario every service after resign\nfederates X\n"
         << "X resignFederationExecution NO_ACTION\n";
    for (Row const &row : all)
        if (row.lists("FederateNotExecutionMember"))
            text << "X " << row.call << " !! FederateNotExecutionMember\n";
    text << "scenario services that a callback must not call\nfederates X\n";
    for (Row const &row : all)
        if (row.lists("CallNotAllowedFromWithinCallback"))
            text << "X within reportFederationExecutions " << row.call
                 << " !! CallNotAllowedFromWithinCallback\n"
                 << "X listFederationExecutions\nX <- reportFederationExecutions *\n";
    // Joining is tried by a federate that has not joined, in tests/federation.
    auto const inProgress = [&](std::string const &exception) {
        for (Row const &row : all)
            if (row.lists(exception) && row.call.compare(0, 4, "join") != 0)
                text << "X " << row.call << " !! " << exception << "\n";
    };
    text << "scenario every service while a save is in progress\nfederates X\n"
         << "X requestFederationSave \"S\"\nX <- initiateFederateSave \"S\"\n";
    inProgress("SaveInProgress");
    text << "X abortFederationSave\nX <- federationNotSaved SAVE_ABORTED\n";
    text << "scenario every service while a restore is in progress\nfederates X\n"
         << "X requestFederationSave \"S\"\nX <- initiateFederateSave \"S\"\n"
         << "X federateSaveBegun\nX federateSaveComplete\nX <- federationSaved\n"
         << "X requestFederationRestore \"S\"\nX <- requestFederationRestoreSucceeded \"S\"\n"
         << "X <- federationRestoreBegun\nX <- initiateFederateRestore \"S\" * *\n";
    inProgress("RestoreInProgress");
    text << "X abortFederationRestore\nX <- federationNotRestored RESTORE_ABORTED\n";
    std::istringstream in(text.str());
    std::vector<Scenario> scenarios = readScenarios("sweep of " + table, in);
    for (Scenario &scenario : scenarios) {
        scenario.room = "conformance";
        scenario.topic = "sweep";
    }
    return scenarios;
}

}
