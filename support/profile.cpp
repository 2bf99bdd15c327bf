#include "support/profile.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "support/config.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/per_thread.hpp"
#include "support/text.hpp"

namespace lazy::profile {
namespace detail {
constinit std::atomic<State> state{State::unknown};
constinit std::atomic<uint32_t> round{0};
}  // namespace detail

namespace {

using detail::Chunk;
using detail::State;

constexpr size_t kShownPath = 200;  // characters of a path that messages show
constexpr size_t kFirstChunk = size_t{4} << 10, kLastChunk = size_t{2} << 20;  // bytes

constinit std::atomic<bool> taking{false};  // a recording is under way, and not full
constinit std::atomic<int> watchers{0};

/// Says whether events are wanted, once that is known.
void settle() noexcept {
  const bool wanted = taking.load(std::memory_order_relaxed) || watchers.load(std::memory_order_relaxed) > 0;
  detail::state.store(wanted ? State::on : State::off, std::memory_order_release);
}

/// Allocates a chunk. Large ones lie on huge pages where the system grants them: page faults would cost as
/// much as the events.
Chunk* new_chunk(size_t bytes) {
  void* const memory = ::operator new (bytes, std::align_val_t{bytes});
  if (bytes == kLastChunk) ::madvise(memory, bytes, MADV_HUGEPAGE);
  auto* c = new (memory) Chunk;
  c->size = (bytes - sizeof(Chunk)) / sizeof(uint64_t);
  c->bytes = bytes;
  return c;
}

/// Holds a thread's events. It outlives the thread, until the next recording.
struct Track : detail::Buffer {
  Chunk* first = nullptr;
  int thread = 0;
  bool ended = false;
};

int64_t clock_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Recorder {
  Mutex mutex;
  std::vector<Track*> tracks;
  std::vector<void (*)()> hooks;
  std::string path;
  std::optional<files::Output> file;  // open while a recording is under way
  pid_t process = 0;
  uint64_t bytes = 0;  // of this recording's chunks
  bool full = false;
  Ticks start = 0;
  int64_t start_ns = 0;
  std::terminate_handler terminate = nullptr;
  bool registered = false;
};

/// Returns the recorder, which is never destroyed: events may come while static objects are destroyed.
Recorder& recorder() {
  static constinit Once<Recorder> r;
  return r.get([] { return Recorder(); });
}

/// Writes the trace as JSON: one event a line, in Chrome's format.
class JsonWriter final : public Writer {
 public:
  /// `began`: nanoseconds since 1970 at `start`, by which traces of several processes come to one clock.
  JsonWriter(files::Output& file, Ticks start, int64_t began, double ns_per_tick, int process)
      : file_(file), start_(start), ns_per_tick_(ns_per_tick), process_(process) {
    out_ =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"lazy\",\"format\":1,\"began_unix_ns\":" +
        std::to_string(began) + "},\"traceEvents\":[";
  }
  void event(const Event& e) override {
    const Kind& k = *e.kind;
    const size_t first = k.name ? 0 : 1;
    const char* const name = k.name ? k.name : e.as<const char*>(0);
    switch (k.form) {
      case Form::span: head('X', name, k.category, e.thread, e.start), duration(e.end - e.start); break;
      case Form::instant: head('i', name, k.category, e.thread, e.start), out_ += ",\"s\":\"t\""; break;
      case Form::counter: head('C', name, k.category, e.thread, e.start); break;
      case Form::range: head('b', name, k.category, e.thread, e.start), id(++ranges_); break;
    }
    arguments(e, first);
    out_ += '}';
    if (k.form == Form::range) {
      head('e', name, k.category, e.thread, e.end), id(ranges_);
      out_ += '}';
    }
    if (out_.size() > 1 << 16) flush();
  }
  void name_of(const char* what, int thread, const std::string& name) {
    next();
    out_ += "{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\",\"pid\":" + std::to_string(process_) +
            ",\"tid\":" + std::to_string(thread) + ",\"args\":{\"name\":";
    json::quote(out_, name);
    out_ += "}}";
  }
  void finish() {
    out_ += "\n]}\n";
    flush();
  }

 private:
  void next() {
    if (std::exchange(some_, true)) out_ += ',';
    out_ += '\n';
  }
  void number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", std::isfinite(v) ? v : 0);
    out_ += text;
  }
  /// Writes microseconds with three decimals.
  void microseconds(Ticks t) {
    const auto ns = static_cast<uint64_t>(static_cast<double>(t) * ns_per_tick_ + 0.5);
    out_ += std::to_string(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    out_ += '.';
    for (const int digit : {rest / 100, rest / 10 % 10, rest % 10}) out_ += static_cast<char>('0' + digit);
  }
  void head(char phase, const char* name, const char* category, int thread, Ticks at) {
    next();
    out_ += "{\"ph\":\"";
    out_ += phase;
    out_ += "\",\"name\":";
    json::quote(out_, name ? name : "");
    out_ += ",\"cat\":\"";
    out_ += category;
    out_ += "\",\"pid\":" + std::to_string(process_) + ",\"tid\":" + std::to_string(thread) + ",\"ts\":";
    microseconds(at > start_ ? at - start_ : 0);
  }
  void duration(Ticks t) {
    out_ += ",\"dur\":";
    microseconds(t);
  }
  void id(uint64_t n) { out_ += ",\"id\":" + std::to_string(n); }
  void arguments(const Event& e, size_t first) {
    bool any = false;
    for (size_t i = first; i < Kind::kFields && e.kind->fields[i].name; ++i) {
      const Field& f = e.kind->fields[i];
      if ((f.type == Type::text || f.type == Type::json) && !e.as<const char*>(i)) continue;
      if (f.type == Type::site && e.as<Site>(i).line() == 0) continue;
      out_ += std::exchange(any, true) ? "," : ",\"args\":{";
      json::quote(out_, f.name);
      out_ += ':';
      switch (f.type) {
        case Type::integer: out_ += std::to_string(e.as<int64_t>(i)); break;
        case Type::real: number(e.as<double>(i)); break;
        case Type::boolean: out_ += e.words[i] ? "true" : "false"; break;
        case Type::text: json::quote(out_, e.as<const char*>(i)); break;
        case Type::json: out_ += e.as<const char*>(i); break;
        case Type::site: json::quote(out_, lazy::to_string(e.as<Site>(i))); break;
      }
    }
    if (any) out_ += '}';
  }
  void flush() {
    file_.put(out_);
    out_.clear();
  }

  files::Output& file_;
  std::string out_;
  const Ticks start_;
  const double ns_per_tick_;
  const int process_;
  uint64_t ranges_ = 0;
  bool some_ = false;
};

template <class F>
void for_each_event(const Track& t, F&& f) {
  for (Chunk* c = t.first; c; c = c->next.load(std::memory_order_acquire)) {
    const uint64_t* w = c->words();
    const uint64_t* const end = w + c->used.load(std::memory_order_acquire);
    while (w < end) {
      const auto* kind = reinterpret_cast<const Kind*>(w[0]);
      f(Event{kind, w[1], w[2], w + detail::kHead, t.thread});
      w += detail::kHead + kind->words();
    }
  }
}

/// Returns nanoseconds per tick, measured since the recording began.
double pace(const Recorder& r) {
  constexpr int64_t kLongEnough = 1000000;  // nanoseconds; against the jitter of reading two clocks
  int64_t ns;
  Ticks ticks;
  do {
    ns = clock_ns() - r.start_ns;
    ticks = now() - r.start;
  } while (ns < kLongEnough);
  return static_cast<double>(ns) / static_cast<double>(ticks);
}

/// Closes the file; the caller holds the lock. False if something could not be written.
bool write(Recorder& r) {
  const int64_t unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
  JsonWriter out(*r.file, r.start, unix_ns - (clock_ns() - r.start_ns), pace(r), r.process);
  out.name_of("process_name", r.process, "lazy");
  int workers = 0, others = 0;
  for (const Track* t : r.tracks) {
    if (t->round != detail::round.load(std::memory_order_relaxed)) continue;
    bool only_parts = true;
    for_each_event(*t, [&](const Event& e) {
      only_parts &= std::strcmp(e.kind->category, kPart) == 0;
      if (e.kind->expand) e.kind->expand(e, out);
      else out.event(e);
    });
    out.name_of("thread_name", t->thread,
                t->thread == r.process ? "main"
                : only_parts           ? "worker " + std::to_string(++workers)
                                       : "thread " + std::to_string(++others));
  }
  out.finish();
  const bool good = r.file->close();
  r.file.reset();
  return good;
}

/// Ends a recording; true if there was one. Only the process that began it writes it, not a child of a fork.
bool end(bool& good) {
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  if (!r.file) return false;
  taking.store(false, std::memory_order_relaxed);
  settle();
  if (r.process == ::getpid()) good = write(r);
  else r.file.reset();
  return true;
}

std::string path_of_last() {
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  return text::one_line(r.path, kShownPath);
}

void at_exit() noexcept {
  try {
    bool good = true;
    if (end(good) && !good) logging::warning("LAZY_PROFILE: cannot write " + path_of_last());
  } catch (...) {}
}

/// Ends the recording in a forked child: it belongs to the process that began it.
void end_in_child() {
  taking.store(false, std::memory_order_relaxed);
  if (detail::state.load(std::memory_order_relaxed) != State::unknown) settle();
}

[[noreturn]] void at_terminate() {
  at_exit();
  if (const auto before = recorder().terminate) before();
  std::abort();
}

void clear(Track& t) {
  for (Chunk* c = t.first; c;) {
    Chunk* const next = c->next.load(std::memory_order_relaxed);
    ::operator delete (c, std::align_val_t{c->bytes});
    c = next;
  }
  t.first = t.last = nullptr;
}

/// Marks the thread's track as ended when the thread ends. Only then may another thread free the track.
struct Owner {
  Track* track = nullptr;
  ~Owner() {
    detail::buffer = nullptr;
    if (!track) return;
    const Hold lock(recorder().mutex);
    track->ended = true;
  }
};

void forget_ended(Recorder& r) {
  std::erase_if(r.tracks, [](Track* t) {
    if (!t->ended) return false;
    clear(*t);
    delete t;
    return true;
  });
}

}  // namespace

uint64_t* detail::reserve_slowly() noexcept {
  try {
    bool say = false;
    Recorder& r = recorder();
    {
      const std::lock_guard lock(r.mutex);
      if (!taking.load(std::memory_order_relaxed)) return nullptr;
      if (!buffer) {
        Owner& owner = PerThread<Owner>::get();
        auto mine = std::make_unique<Track>();
        mine->thread = static_cast<int>(::syscall(SYS_gettid));
        r.tracks.push_back(mine.get());
        buffer = owner.track = mine.release();
      }
      auto& t = static_cast<Track&>(*buffer);
      if (t.round != round.load(std::memory_order_relaxed)) clear(t);
      const size_t bytes = t.last ? std::min(t.last->bytes * 8, kLastChunk) : kFirstChunk;
      if (r.bytes + bytes > config::get().profile_size) {
        say = !std::exchange(r.full, true);
        taking.store(false, std::memory_order_relaxed);  // it is written when it is stopped
        settle();
      } else {
        Chunk* const c = new_chunk(bytes);
        r.bytes += bytes;
        if (t.last) t.last->next.store(c, std::memory_order_release);
        else t.first = c;
        t.last = c;
        t.round = round.load(std::memory_order_relaxed);  // from now on events go there unchecked
        return c->words();
      }
    }
    if (say)
      logging::warning("LAZY_PROFILE: " + text::human_size(config::get().profile_size) +
                       " of events are recorded (LAZY_PROFILE_SIZE); later ones are dropped");
  } catch (...) {}
  return nullptr;
}

void start(std::string_view wanted) {
  stop();
  std::string path(wanted);
  if (const size_t at = path.find("%p"); at != path.npos) path.replace(at, 2, std::to_string(::getpid()));
  files::Output file(path);
  if (!file.is_open())
    throw IoError("cannot write the profile " + text::one_line(path, kShownPath) + ": " +
                  std::strerror(errno));
  Recorder& r = recorder();
  std::vector<void (*)()> hooks;
  {
    const std::lock_guard lock(r.mutex);
    if (r.file) return;  // another thread began one meanwhile
    r.path = path;
    r.file.emplace(std::move(file));
    r.process = ::getpid();
    r.full = false;
    r.bytes = 0;
    forget_ended(r);
    r.start_ns = clock_ns();
    r.start = now();
    if (!std::exchange(r.registered, true)) {
      forks::in_child(end_in_child);
      std::atexit(at_exit);
      r.terminate = std::set_terminate(at_terminate);
    }
    detail::round.fetch_add(1, std::memory_order_relaxed);
    taking.store(true, std::memory_order_relaxed);
    settle();
    hooks = r.hooks;
  }
  for (const auto hook : hooks) hook();
}

void stop() {
  bool good = true;
  if (end(good) && !good) throw IoError("cannot write the profile " + path_of_last());
}

bool detail::begin() noexcept {
  try {
    const std::string& path = config::get().profile.get();
    static constinit Mutex mutex;
    static constinit bool begun = false;
    const Hold hold(mutex);
    if (!std::exchange(begun, true)) {
      if (logging::enabled(logging::Channel::summary)) watch();
      try {
        if (path.empty()) settle();
        else start(path);
      } catch (const IoError& e) {
        logging::warning(std::string("LAZY_PROFILE: ") + e.what());
        settle();
      }
    }
  } catch (...) {  // a bad environment under LAZY_STRICT: the error is reported where a value is needed
  }
  return state.load(std::memory_order_relaxed) == State::on;
}

bool recording() noexcept { return taking.load(std::memory_order_relaxed); }

void watch() noexcept {
  watchers.fetch_add(1, std::memory_order_relaxed);
  settle();
}
void unwatch() noexcept {
  watchers.fetch_sub(1, std::memory_order_relaxed);
  settle();
}

void at_start(void (*hook)()) {
  {
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.hooks.push_back(hook);
  }
  if (on()) hook();
}

const char* intern(std::string_view s) {
  using Texts = std::set<std::string, std::less<>>;
  static constinit Mutex mutex;
  static constinit Texts* texts = nullptr;
  const Hold hold(mutex);
  if (!texts || !hold.intact()) texts = new Texts;
  auto at = texts->find(s);
  if (at == texts->end()) at = texts->emplace(s).first;
  return at->c_str();
}

}  // namespace lazy::profile
