#include "support/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "support/files.hpp"
#include "support/forks.hpp"
#include "support/lock.hpp"
#include "support/log_fields.hpp"
#include "support/log_folding.hpp"
#include "support/log_sink.hpp"
#include "support/text.hpp"

namespace lazy::logging {
namespace {

/// Holds an open log file. It is never closed: another thread may be writing to it, and paths are few.
struct File {
  const std::string* path;
  int fd;
};

struct State {
  std::map<const std::string*, File> files;  // by the address of the interned path
  std::shared_ptr<const Sink> sink;
  std::vector<std::string> hints;
};
constexpr size_t kMostHints = 500;

constinit Mutex mutex;
constinit State* the_state = nullptr;  // outlives every static object that logs in its destructor
State& state(const Hold<Mutex>& hold) {
  if (!the_state || !hold.intact()) the_state = new State;
  return *the_state;
}

constinit std::atomic<const File*> current_file{nullptr};
constinit std::atomic<bool> has_sink{false};
constinit thread_local bool in_sink = false;

void write_all(int fd, std::string_view s) noexcept {
  const int saved = errno;
  files::write(fd, s.data(), s.size());
  errno = saved;
}

int open_file(const std::string& path) {
  std::string problem;
  int fd = 2;
  {
    const Hold hold(mutex);
    State& s = state(hold);
    const auto known = s.files.find(&path);
    if (known != s.files.end()) {
      current_file.store(&known->second, std::memory_order_release);
      return known->second.fd;
    }
    fd = files::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0) {
      problem = "cannot open LAZY_LOG_FILE=" + text::quoted(path) + " (" + std::strerror(errno) +
                "); logging to standard error";
      fd = 2;
    }
    current_file.store(&s.files.emplace(&path, File{&path, fd}).first->second, std::memory_order_release);
  }
  if (!problem.empty()) warning(problem);
  return fd;
}

int destination() {
  const std::string* path = nullptr;
  try {
    path = &config::get().log_file.get();
  } catch (...) {  // a bad environment under LAZY_STRICT: the error is reported where a value is needed
    return 2;
  }
  if (path->empty()) return 2;
  const File* f = current_file.load(std::memory_order_acquire);
  return f && f->path == path ? f->fd : open_file(*path);
}

bool give_to_sink(Channel c, std::string_view text) {
  if (in_sink || !has_sink.load(std::memory_order_acquire)) return false;
  std::shared_ptr<const Sink> sink;
  {
    const Hold hold(mutex);
    sink = state(hold).sink;
  }
  if (!sink) return false;
  in_sink = true;
  try {
    (*sink)(c, text);
  } catch (...) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warning("the log sink threw an exception, which is ignored (said once)");
  }
  in_sink = false;
  return true;
}

}  // namespace

bool detail::enabled_slowly(Channel c, int level) noexcept {
  try {
    return static_cast<int>(config::get().log.get() >> (kLevelBits * static_cast<int>(c)) & 0xf) >= level;
  } catch (...) { return false; }
}

void set_sink(Sink sink) {
  std::shared_ptr<const Sink> next = sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr;
  {
    const Hold hold(mutex);
    has_sink.store(next != nullptr, std::memory_order_release);
    state(hold).sink.swap(next);
  }
  // The old sink is destroyed here, outside the lock: its captures are the user's objects.
}

bool is_json() noexcept {
  try {
    return config::get().log_format.get() == config::LogFormat::json;
  } catch (...) { return false; }
}

namespace {

/// Holds what is folded, by the file that it goes to.
struct Folded {
  std::map<int, Folding> files;
  uint32_t generation = forks::generation();
  bool ended = false;  // nothing is folded any more: the program is ending
};
constinit Mutex fold_mutex;
constinit Folded* the_folded = nullptr;  // outlives every static object that logs in its destructor
Folded& folded(const Hold<Mutex>& hold) {
  // What the parent counted the parent tells of.
  if (!the_folded || !hold.intact() || the_folded->generation != forks::generation()) the_folded = new Folded;
  return *the_folded;
}

void write_rest_at_exit() {
  static constinit std::atomic<bool> once{false};
  if (once.exchange(true)) return;
  std::atexit([] {
    try {
      const Hold hold(fold_mutex);
      Folded& f = folded(hold);
      f.ended = true;
      for (auto& [fd, folding] : f.files) write_all(fd, folding.rest());
    } catch (...) {}
  });
}

}  // namespace

void write(Channel c, std::string_view text) { write(c, text, Fields()); }

void write(Channel c, std::string_view text, const Fields& fields) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (give_to_sink(c, text)) return;
  const int fd = destination();
  if (is_json()) return write_all(fd, fields.line(name_of(c), text));
  const std::string safe = text::printable(text), prefix = std::string("lazy[") + name_of(c) + "] ";
  if (detail::enabled_slowly(c, kDetail)) return write_all(fd, with_prefix(prefix, safe));
  const Hold hold(fold_mutex);
  Folded& f = folded(hold);
  if (f.ended) return write_all(fd, with_prefix(prefix, safe));
  Folding& folding = f.files[fd];
  write_all(fd, folding.add(prefix, safe));
  if (folding.counts()) write_rest_at_exit();
}

void print(Channel c, const char* format, ...) {
  char small[512];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int n = std::vsnprintf(small, sizeof small, format, args);
  va_end(args);
  if (n < 0 || static_cast<size_t>(n) < sizeof small) {
    write(c, n < 0 ? std::string_view(format) : std::string_view(small, static_cast<size_t>(n)));
  } else {
    std::string large(static_cast<size_t>(n), '\0');
    std::vsnprintf(large.data(), large.size() + 1, format, again);
    write(c, large);
  }
  va_end(again);
}

namespace {

// Values come from the environment, names from source files: none may steer a terminal or flood it.
void write_to_people(const char* kind, std::string_view text, const Fields& fields) {
  constexpr size_t kMost = 8000;
  const std::string safe = text::printable(text, kMost);
  write_raw(is_json() ? fields.line(kind, safe) : "lazy: " + safe + "\n");
}

}  // namespace

void warning(std::string_view text) { write_to_people("warning", text, Fields()); }

void hint(std::string_view text) { hint(text, Fields()); }

void hint(std::string_view text, const Fields& fields) {
  try {
    if (config::get().hints == config::Hints::off) return;
  } catch (...) {  // a bad environment under LAZY_STRICT: the error is reported where a value is needed
  }
  write_to_people("hint", text, fields);
  const Hold hold(mutex);
  std::vector<std::string>& given = state(hold).hints;
  if (given.size() < kMostHints) given.emplace_back(text);
}

std::vector<std::string> hints() {
  const Hold hold(mutex);
  return state(hold).hints;
}

void write_raw(std::string_view text) noexcept { write_all(2, text); }

}  // namespace lazy::logging
