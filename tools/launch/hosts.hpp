// Starts a launch on the machines of a hosts file.
#pragma once
#include <string>
#include <vector>

#include "tools/launch/ranks.hpp"

namespace lazy::tool {

struct Host {
  std::string name;
  int slots = 0;  // ranks on it, from 1 on; 0: not said
};

/// Reads lines of a host's name and, where wanted, "slots=N"; # begins a comment. std::runtime_error, with
/// the line, for other words, names that a remote shell takes for options, and files of more than 1 MiB or of
/// no host.
std::vector<Host> read_hosts(const std::string& path);

/// Returns what `rsh` is called with for each host, for a launch whose `host` is empty where the first host
/// is to be it. Paths and words are those of this machine. std::runtime_error where hosts differ in their
/// slots.
std::vector<std::vector<std::string>> commands_of(const std::vector<Host>& hosts, const std::string& rsh,
                                                  const Launch& l);

/// Returns what starts the ranks of a launch on one host: `rsh` is called with it and a line for a shell;
/// localhost has a shell here.
std::vector<std::string> command_on(const std::string& host, const std::string& rsh, const Launch& l);

/// Returns a word as a POSIX shell reads it.
std::string quoted(const std::string& word);

}  // namespace lazy::tool
