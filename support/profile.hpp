// Implements LAZY_PROFILE: records events with their times as a trace that Perfetto and chrome://tracing
// open.
//
// Each thread appends events of fixed layouts to a buffer of its own: a pointer to the event's kind, two time
// stamps, and a word for each of the kind's fields. Names are interned. Everything is formatted at the end,
// so an event costs some ten nanoseconds while recording, and one relaxed load while not.
//
//   static constexpr profile::Kind kPack{"pack", "cpu", {{"bytes", profile::Type::integer}}};
//   const profile::Ticks start = profile::on() ? profile::now() : 0;   ...
//   if (start) profile::put(kPack, start, profile::now(), bytes);
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "support/site.hpp"

namespace lazy::profile {

/// Starts a recording that stop(), or the end of the program, writes to `path` ("%p" in it becomes the
/// process's number). LAZY_PROFILE does so when the library is first used. A recording under way is written
/// first. Programs compiled before appear without their graphs.
void start(std::string_view path);
/// Ends the recording and writes the trace; does nothing if there is none. Throws IoError if it can't be
/// written.
void stop();

/// Counts processor cycles at a constant rate, or nanoseconds where there is no such counter.
using Ticks = uint64_t;
inline Ticks now() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<Ticks>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Counts those who want to be told of events as they happen, beside or without a recording
/// (LAZY_LOG=summary, jit/observe/summary.hpp): while there are any, on() is true.
void watch() noexcept;
void unwatch() noexcept;

namespace detail {
enum class State : uint8_t { unknown, off, on };
extern constinit std::atomic<State> state;
bool begin() noexcept;
}  // namespace detail

/// True if events are wanted.
inline bool on() noexcept {
  const auto s = detail::state.load(std::memory_order_relaxed);
  if (s == detail::State::off) [[likely]]
    return false;
  return s == detail::State::on || detail::begin();
}
/// True while a recording is under way and not full; meant for where on() is true.
bool recording() noexcept;
/// Returns the time if events are wanted, else 0.
inline Ticks start_time() noexcept { return on() ? now() : 0; }

/// Returns the same address for the same text each time; the text is never freed.
const char* intern(std::string_view);

enum class Type : uint8_t {
  integer,  // int64_t
  real,     // double
  boolean,
  text,  // const char* that stays; null: dropped
  json,  // likewise, inserted as it is
  site,  // Site, as "main.cpp:14"; one without a line is dropped
};
struct Field {
  const char* name = nullptr;
  Type type{};
};

enum class Form : uint8_t {
  span,     // from start to end on the thread; spans of one thread nest
  instant,  // at `start`
  counter,  // at `start`: each field is a series
  range,    // from start to end, beside the thread's spans: these need not nest
};

class Writer;
struct Event;

/// Describes what events have in common. Objects of this type must never be destroyed.
struct Kind {
  static constexpr size_t kFields = 16;
  const char* name;  // null: the event's first field, a text, is its name
  const char* category;
  std::array<Field, kFields> fields{};
  Form form = Form::span;
  void (*expand)(const Event&, Writer&) = nullptr;  // writes the event in place of the usual form

  constexpr size_t words() const {
    size_t n = 0;
    while (n < kFields && fields[n].name) ++n;
    return n;
  }
};
/// The category of work that a thread does on another's behalf. A thread that has no other events is a
/// worker.
inline constexpr const char* kPart = "part";

/// Holds an event while it is being written.
struct Event {
  const Kind* kind;
  Ticks start, end;
  const uint64_t* words;
  int thread;
  template <class T>
  T as(size_t i) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(words[i]);
    else return std::bit_cast<T>(words[i]);
  }
};

/// Receives the events that an `expand` writes.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Writes an event in the form of its kind, whose fields are the first of its words.
  virtual void event(const Event&) = 0;
};

namespace detail {
inline constexpr size_t kHead = 3;  // kind, start, end

struct Chunk {
  std::atomic<Chunk*> next{nullptr};
  std::atomic<size_t> used{0};  // words; published by the owner
  size_t size = 0;              // words there is room for
  size_t bytes = 0;             // in all, this header included
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
};
struct Buffer {
  Chunk* last = nullptr;
  uint32_t round = 0;  // number of the recording that its events belong to
};
inline constinit thread_local Buffer* buffer = nullptr;
extern constinit std::atomic<uint32_t> round;
/// Returns a place for one event's words in a new chunk, or null when the recording is full.
uint64_t* reserve_slowly() noexcept;

template <class T>
uint64_t word_of(const T& v) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return static_cast<uint64_t>(v);
  else return std::bit_cast<uint64_t>(v);
}
}  // namespace detail

/// Records an event; the values are those of all the kind's fields, as their types say.
template <class... Values>
void put(const Kind& kind, Ticks start, Ticks end, const Values&... values) noexcept {
  constexpr size_t n = detail::kHead + sizeof...(Values);
  static_assert(sizeof...(Values) <= Kind::kFields);  // and so less than a chunk
  detail::Buffer* const b = detail::buffer;
  detail::Chunk* c = nullptr;
  uint64_t* to = nullptr;
  if (b && b->round == detail::round.load(std::memory_order_relaxed)) [[likely]] {
    c = b->last;
    const size_t used = c->used.load(std::memory_order_relaxed);
    if (used + n <= c->size) [[likely]]
      to = c->words() + used;
  }
  if (!to) [[unlikely]] {
    to = detail::reserve_slowly();
    if (!to) return;
    c = detail::buffer->last;
  }
  *to++ = reinterpret_cast<uint64_t>(&kind);
  *to++ = start;
  *to++ = end;
  ((*to++ = detail::word_of(values)), ...);
  c->used.store(c->used.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

/// Returns the number of the latest recording, from 1.
inline uint32_t round() noexcept { return detail::round.load(std::memory_order_relaxed); }

/// Describes what the calling thread runs: the name under which other threads' parts of it are recorded, and
/// how many parts there were.
struct Activity {
  const char* name = nullptr;
  uint32_t parts = 0;
  bool own_parts = true;  // the calling thread's parts are recorded too
};
inline constinit thread_local Activity activity;

/// Records a span from its construction to the end of the scope.
template <class... Values>
class Span {
 public:
  explicit Span(const Kind& kind, const Values&... values)
      : kind_(kind), start_(start_time()), values_(values...) {}
  Span(const Span&) = delete;
  ~Span() {
    if (start_) std::apply([&](const auto&... v) { put(kind_, start_, now(), v...); }, values_);
  }

 private:
  const Kind& kind_;
  const Ticks start_;
  std::tuple<Values...> values_;
};

/// Registers a function that is called when a recording begins, and at once if one is under way: for events
/// that belong into each trace.
void at_start(void (*)());

}  // namespace lazy::profile
