// Finds out on which hosts ranks may run, and leaves those alone that have failed.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tools/launch/hosts.hpp"
#include "tools/launch/processes.hpp"

namespace lazy::tool {

/// Says where slots are said to be; with neither there is this machine alone.
struct SlotSource {
  std::string hostfile = {};  // as read_hosts() reads it; read again when it changes
  std::string script = {};    // for a shell: prints HOST:SLOTS lines; run again and again
  int slots = 1;              // of hosts of which nothing is said
  double every = 1;           // seconds from one look to the next
  double cooldown =
      0;  // seconds that a host which failed once is left alone, then twice as many, ...; 0: never
};

/// Reads what a script has printed. std::runtime_error, with the line, for what is no HOST or HOST:SLOTS.
std::vector<Host> hosts_of(const std::string& text);

class Slots {
 public:
  explicit Slots(const SlotSource& source) : source_(source) {}
  Slots(const Slots&) = delete;
  ~Slots();
  /// Looks again if it is time. What can't be read now is said, once, and changes nothing.
  void look();
  /// Returns for each host that may be used how many ranks it gets, at most `most` together.
  std::vector<Host> plan(int most) const;
  /// Leaves a host alone for a while.
  void failed(const std::string& host);
  /// Returns the number of hosts that are left alone now.
  int left_alone() const;

 private:
  struct Script {
    pid_t pid = -1;
    int out = -1;
    std::string text;
    Clock::time_point begun{};
  };
  struct Failures {
    int count = 0;
    Clock::time_point until{};
  };
  void begin_script();
  void hear_script();
  void end_script();
  void say(const std::string& what);
  bool is_left_alone(const std::string& host) const;

  const SlotSource source_;
  std::vector<Host> hosts_;
  std::map<std::string, Failures> failures_;
  Script script_;
  Clock::time_point next_{};
  std::string said_;  // the last complaint
};

}  // namespace lazy::tool
