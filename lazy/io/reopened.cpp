#include "lazy/io/reopened.hpp"

#include <chrono>
#include <map>
#include <string_view>
#include <tuple>

#include "lazy/core/advice.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"
#include "support/text.hpp"

namespace lazy::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLeastBytes = 1 << 20;    // of a file that is worth a word
constexpr uint64_t kMuch = 64 << 20;         // bytes that were read again
constexpr uint32_t kOften = 8;               // times that it was opened
constexpr std::chrono::seconds kShortly{1};  // from once to the next time, on average
constexpr size_t kFiles = 1024;              // that are watched at most

struct Opened {
  int64_t changed = 0;
  uint32_t times = 0;
  Clock::time_point first;
};
using Files = std::map<std::tuple<std::string, std::string_view, uint32_t>, Opened>;  // by path and line
constinit Mutex mutex;
constinit Files* all_files = nullptr;  // never destroyed: files may be read while static objects are
Files& files(const Hold<Mutex>& hold) {
  if (!all_files || !hold.intact()) all_files = new Files;
  return *all_files;
}

/// Counts it. True if it is time to say so.
bool is_due(const std::string& path, uint64_t bytes, int64_t changed, const Site& s) {
  const Clock::time_point now = Clock::now();
  const Hold hold(mutex);
  Files& all = files(hold);
  if (all.size() >= kFiles) return false;
  Opened& file = all[{path, s.file_name(), s.line()}];
  if (file.times == 0 || file.changed != changed) file = {changed, 0, now};
  ++file.times;
  return file.times >= kOften && file.times * bytes >= kMuch &&
         now - file.first < kShortly * static_cast<int>(file.times - 1);
}

}  // namespace

void note_opened(const char* op, const std::string& path, uint64_t bytes, int64_t changed,
                 const Site& s) noexcept {
  try {
    if (bytes < kLeastBytes || s.line() == 0 || config::get().hints == config::Hints::off) return;
    if (!is_due(path, bytes, changed, s) || !is_first_time("file", s)) return;
    constexpr size_t kShown = 80;  // characters of a path
    advise(op, s,
           "reads the same file again and again, " + text::one_line(path, kShown) + " of " +
               text::human_size(bytes) + ": read it once, before the loop, and keep the tensors");
  } catch (...) {}  // no memory for advice
}

}  // namespace lazy::detail
