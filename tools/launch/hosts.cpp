#include "tools/launch/hosts.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lazy::tool {
namespace {

int slots_of(const std::string& word, const std::string& where) {
  int n = 0;
  const std::string prefix = "slots=";
  const char* const begin = word.data() + prefix.size();
  const char* const end = word.data() + word.size();
  if (word.rfind(prefix, 0) != 0 || std::from_chars(begin, end, n).ptr != end || n < 1 || n > 1024)
    throw std::runtime_error(where + ": slots=N, N from 1 to 1024, was expected, not " + word.substr(0, 60));
  return n;
}

/// Returns the words, NAME=VALUE, of this environment that ranks on other hosts have to find, too: a remote
/// shell passes none on.
std::vector<std::string> passed_on() {
  std::vector<std::string> words;
  for (char** v = environ; *v; ++v) {
    const std::string word = *v;
    for (const char* const prefix : {"LAZY_", "NCCL_", "LD_LIBRARY_PATH="})
      if (word.rfind(prefix, 0) == 0) words.push_back(word);
  }
  return words;
}

}  // namespace

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "_-./=:,+@%") == std::string::npos)
    return word;
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::vector<Host> read_hosts(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw std::runtime_error(path + ": " + error.message());
  if (size > 1 << 20) throw std::runtime_error(path + ": more than 1 MiB of hosts");
  std::ifstream in(path);
  std::vector<Host> hosts;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = path + ":" + std::to_string(++number);
    std::istringstream words(line.substr(0, line.find('#')));
    Host h;
    if (!(words >> h.name)) continue;
    if (h.name[0] == '-')
      throw std::runtime_error(where + ": " + h.name.substr(0, 60) + " is no host's name");
    for (std::string word; words >> word;) h.slots = slots_of(word, where);
    hosts.push_back(h);
  }
  if (hosts.empty()) throw std::runtime_error(path + ": a line for each host was expected; there is none");
  return hosts;
}

std::vector<std::string> command_on(const std::string& host, const std::string& rsh, const Launch& l) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                    "run",
                                    "--watch-stdin",
                                    "--nproc",
                                    std::to_string(l.processes),
                                    "--host",
                                    l.host,
                                    "--port",
                                    std::to_string(l.port)};
  if (l.first >= 0)
    words.insert(words.end(), {"--first-rank", std::to_string(l.first), "--world", std::to_string(l.world)});
  else
    words.insert(words.end(),
                 {"--machines", std::to_string(l.machines), "--machine", std::to_string(l.machine)});
  if (l.threads) words.insert(words.end(), {"--threads", std::to_string(l.threads)});
  if (l.heartbeat > 0) words.insert(words.end(), {"--heartbeat", std::to_string(l.heartbeat)});
  if (l.progress > 0) words.insert(words.end(), {"--progress-timeout", std::to_string(l.progress)});
  if (l.beat) words.push_back("--beat");
  if (!l.bind) words.push_back("--no-bind");
  if (!l.prefix) words.push_back("--no-prefix");
  if (!l.profile.empty()) words.insert(words.end(), {"--profile", l.profile});
  words.insert(words.end(), l.command.begin(), l.command.end());
  std::string text = "cd " + quoted(std::filesystem::current_path().string()) + " && exec env";
  for (const std::string& word : passed_on()) text += " " + quoted(word);
  for (const auto& [name, value] : l.variables) text += " " + quoted(name + "=" + value);
  for (const std::string& w : words) text += " " + quoted(w);
  if (host == "localhost") return {"/bin/sh", "-c", text};
  std::vector<std::string> command;
  std::istringstream parts(rsh);
  for (std::string part; parts >> part;) command.push_back(part);
  command.insert(command.end(), {host, text});
  return command;
}

std::vector<std::vector<std::string>> commands_of(const std::vector<Host>& hosts, const std::string& rsh,
                                                  const Launch& launch) {
  for (const Host& h : hosts)
    if (h.slots != hosts[0].slots)
      throw std::runtime_error("hosts have as many ranks each: " + hosts[0].name + " has " +
                               std::to_string(hosts[0].slots) + " slots, " + h.name + " has " +
                               std::to_string(h.slots));
  Launch l = launch;
  if (hosts[0].slots) l.processes = hosts[0].slots;
  l.machines = static_cast<int>(hosts.size());
  if (l.host.empty()) l.host = hosts[0].name;
  if (!l.port) l.port = 29500;
  std::vector<std::vector<std::string>> commands;
  for (size_t i = 0; i < hosts.size(); ++i) {
    l.machine = static_cast<int>(i);
    commands.push_back(command_on(hosts[i].name, rsh, l));
  }
  return commands;
}

}  // namespace lazy::tool
