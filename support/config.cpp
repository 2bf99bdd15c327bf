#include "support/config.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "support/config_parse.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

extern char** environ;

namespace lazy::config {
namespace detail {
constinit Values values;
constinit std::atomic<bool> ready{false};
}  // namespace detail

namespace {

/// Holds a parsed value: text for strings, a number (false/true, the enumerator, bytes, packed levels) for
/// all others.
struct Parsed {
  uint64_t number = 0;
  std::string text;
};

struct Row {
  const char* name;
  Kind kind;
  uint64_t initial;
  uint64_t low, high;  // of integers (read as int64_t) and sizes
  const char* enumerators;
  const char* doc;
  void (*store)(const Parsed&);
};

/// Returns the one copy of a string that was ever a value; copies live as long as the process.
const std::string* interned(const std::string& s);

// clang-format off
#define LAZY_STORE(field, value) [](const Parsed& p) { detail::values.field.store(value); }
const Row kRows[] = {
#define LAZY_BOOL(field, name, initial, doc) \
  {#name, Kind::boolean, initial, 0, 1, "", doc, LAZY_STORE(field, p.number != 0)},
#define LAZY_INT(field, name, initial, low, high, doc) \
  {#name, Kind::integer, uint64_t(int64_t{initial}), uint64_t(int64_t{low}), uint64_t(int64_t{high}), "", doc, \
   LAZY_STORE(field, static_cast<int>(p.number))},
#define LAZY_SIZE(field, name, initial, low, high, doc) \
  {#name, Kind::size, initial, low, high, "", doc, LAZY_STORE(field, p.number)},
#define LAZY_ENUM(field, name, type, initial, doc, ...) \
  {#name, Kind::choice, static_cast<uint64_t>(type::initial), 0, 0, #__VA_ARGS__, doc, \
   LAZY_STORE(field, static_cast<type>(p.number))},
#define LAZY_STRING(field, name, doc) {#name, Kind::text, 0, 0, 0, "", doc, LAZY_STORE(field, interned(p.text))},
#define LAZY_CHANNELS(field, name, doc) {#name, Kind::channels, 0, 0, 0, "", doc, LAZY_STORE(field, p.number)},
#include "support/config.def"
};
#undef LAZY_STORE
// clang-format on
constexpr size_t kCount = std::size(kRows);

enum class Index {  // the rows' places, by field
#define LAZY_BOOL(field, ...) field,
#define LAZY_INT(field, ...) field,
#define LAZY_SIZE(field, ...) field,
#define LAZY_ENUM(field, ...) field,
#define LAZY_STRING(field, ...) field,
#define LAZY_CHANNELS(field, ...) field,
#include "support/config.def"
};

struct Registry {
  std::array<std::optional<Parsed>, kCount> environment, code;
  std::array<std::string, kCount> code_text;
  std::array<Site, kCount> code_site;  // the lines that set them
  std::set<std::string> strings;

  Parsed effective(size_t i) const {
    if (code[i]) return *code[i];
    if (environment[i]) return *environment[i];
    return {kRows[i].initial, {}};
  }
  Origin origin(size_t i) const {
    return code[i] ? Origin::code : environment[i] ? Origin::environment : Origin::default_;
  }
  void apply(size_t i) const { kRows[i].store(effective(i)); }
  uint64_t number(Index i) const { return effective(static_cast<size_t>(i)).number; }
};

constinit Mutex mutex;  // guards the registry

/// Returns the registry, which is never destroyed: destructors of other static objects may still read it.
Registry& registry() {
  static constinit Once<Registry> r;
  return r.get([] { return Registry(); });
}

const std::string* interned(const std::string& s) { return &*registry().strings.insert(s).first; }

std::string accepts(const Row& row) {
  switch (row.kind) {
    case Kind::boolean: return "0|1|on|off|true|false";
    case Kind::integer:
      return "an integer from " + std::to_string(static_cast<int64_t>(row.low)) + " to " +
             std::to_string(static_cast<int64_t>(row.high));
    case Kind::size: {
      std::string s = "a size such as 4096, 512MiB or 2G";
      if (row.low) s += ", at least " + text::exact_size(row.low);
      return s;
    }
    case Kind::choice: return choices(row.enumerators);
    case Kind::text: return "any text";
    case Kind::channels: return "none, all, or a list of " + all_channels(",") + ", each with an optional +";
  }
  return {};
}

std::string format(const Row& row, const Parsed& p) {
  switch (row.kind) {
    case Kind::boolean: return p.number ? "on" : "off";
    case Kind::integer: return std::to_string(static_cast<int64_t>(p.number));
    case Kind::size: return text::exact_size(p.number);
    case Kind::choice: return choice_name(p.number, row.enumerators);
    case Kind::text: return p.text;
    case Kind::channels: return channels_text(p.number);
  }
  return {};
}

std::optional<Parsed> parse(const Row& row, std::string_view raw) {
  const auto wrapped = [](auto v) -> std::optional<Parsed> {
    if (!v) return {};
    return Parsed{static_cast<uint64_t>(*v), {}};
  };
  const std::string_view s = text::trimmed(raw);
  switch (row.kind) {
    case Kind::boolean: return wrapped(parse_bool(s));
    case Kind::integer: {
      const auto v = parse_integer(s);
      return v && *v >= static_cast<int64_t>(row.low) && *v <= static_cast<int64_t>(row.high) ? wrapped(v)
                                                                                              : std::nullopt;
    }
    case Kind::size: {
      const auto v = parse_size(s);
      return v && *v >= row.low && *v <= row.high ? wrapped(v) : std::nullopt;
    }
    case Kind::choice: return wrapped(parse_choice(s, row.enumerators));
    case Kind::text: return Parsed{0, std::string(raw)};
    case Kind::channels: return wrapped(parse_channels(s));
  }
  return {};
}

const Row* find(std::string_view name) {
  for (const Row& row : kRows)
    if (name == row.name) return &row;
  return nullptr;
}

constexpr std::string_view kPrefix = "LAZY_";

/// Returns text such as "unknown variable LAZY_LGO (did you mean LAZY_LOG?)".
std::string unknown(std::string_view name) {
  const auto stem = [](std::string_view s) { return s.starts_with(kPrefix) ? s.substr(kPrefix.size()) : s; };
  const std::string_view given = stem(name);
  const Row* best = nullptr;
  int best_distance = 0;
  for (const Row& row : kRows) {
    const std::string_view known = stem(row.name);
    int d = text::edit_distance(given, known);
    // THREADS for NUM_THREADS is many edits away, yet it is clear which one was meant.
    const bool part = given.size() >= 4 && known.size() >= 4 &&
                      (known.find(given) != known.npos || given.find(known) != given.npos);
    const int most = std::max(1, static_cast<int>(std::max(given.size(), known.size())) / 3);
    if (d > most && !part) continue;
    if (!best || d < best_distance) best = &row, best_distance = d;
  }
  const std::string what = "unknown variable " + text::one_line(name);
  return best ? what + " (did you mean " + best->name + "?)"
              : what + " (LAZY_CONFIG=help lists all that there are)";
}

std::string bad_value(const Row& row, std::string_view value) {
  return std::string(row.name) + "=" + text::quoted(value) + " is not accepted: expected " + accepts(row);
}

/// True for names that tests and benchmarks use for themselves.
bool reserved(std::string_view name) {
  return name.starts_with("LAZY_TEST_") || name.starts_with("LAZY_BENCH_");
}

/// Fills r.environment; returns one line for each thing that is wrong.
std::vector<std::string> read_environment(Registry& r) {
  std::vector<std::string> problems;
  r.environment = {};
  if (files::privileged()) return problems;  // the environment is of a caller with fewer rights
  for (char** e = environ; e && *e; ++e) {
    const std::string_view entry = *e;
    const size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    if (!name.starts_with(kPrefix) || reserved(name) || equals == entry.npos) continue;
    const std::string_view value = entry.substr(equals + 1);
    const Row* row = find(name);
    if (!row) {
      problems.push_back(unknown(name));
      continue;
    }
    if (text::trimmed(value).empty()) continue;
    const auto parsed = parse(*row, value);
    if (parsed) r.environment[static_cast<size_t>(row - kRows)] = parsed;
    else
      problems.push_back(bad_value(*row, value) + "; using the default, " + format(*row, {row->initial, {}}));
  }
  std::sort(problems.begin(), problems.end());  // the environment has no order of its own
  return problems;
}

/// Reads and applies the environment; the caller holds the lock. Under LAZY_STRICT it throws, and then
/// changes no value.
std::vector<std::string> load(Registry& r) {
  const auto before = r.environment;
  auto problems = read_environment(r);
  if (!problems.empty() && r.number(Index::strict)) {
    r.environment = before;
    throw ConfigError(text::join(problems, "\n"));
  }
  for (size_t i = 0; i < kCount; ++i) r.apply(i);
  detail::ready.store(true, std::memory_order_release);
  return problems;
}

void warn(const std::vector<std::string>& problems) {
  for (const std::string& p : problems) logging::warning(p);
}

/// Sets row i from text and returns its earlier setting from code; the caller holds the lock.
std::string set_locked(Registry& r, const Row& row, std::string_view value, const Site& s) {
  const auto i = static_cast<size_t>(&row - kRows);
  std::optional<Parsed> parsed;
  if (!text::trimmed(value).empty()) {
    parsed = parse(row, value);
    if (!parsed) throw ConfigError(bad_value(row, value), s);
  }
  r.code[i] = std::move(parsed);
  r.code_site[i] = r.code[i] ? s : Site();
  const bool taken_back = !r.code[i];
  std::string before = std::exchange(r.code_text[i], taken_back ? std::string() : std::string(value));
  if (detail::ready.load(std::memory_order_relaxed)) r.apply(i);
  return before;
}

std::string set_from_code(std::string_view name, std::string_view value, const Site& s) {
  const Row* row = find(name);
  if (!row) throw ConfigError(unknown(name), s);
  Registry& r = registry();
  const std::lock_guard lock(mutex);
  return set_locked(r, *row, value, s);
}

std::string padded(std::string s, size_t width) {
  s.resize(std::max(width, s.size()), ' ');
  return s;
}

}  // namespace

void detail::initialise() {
  Registry& r = registry();
  std::vector<std::string> problems;
  Report report;
  {
    const std::lock_guard lock(mutex);
    if (ready.load(std::memory_order_relaxed)) return;
    problems = load(r);
    report = static_cast<Report>(r.number(Index::report));
  }
  warn(problems);  // printed by the one thread that came first, outside the lock
  if (report == Report::help) logging::write_raw(help());
  if (report == Report::dump) logging::write_raw(dump());
}

void reload_environment() {
  if (!detail::ready.load(std::memory_order_acquire)) return detail::initialise();
  Registry& r = registry();
  std::vector<std::string> problems;
  {
    const std::lock_guard lock(mutex);
    problems = load(r);
  }
  warn(problems);
}

void set(std::string_view name, std::string_view value, Site s) { set_from_code(name, value, s); }

Override::Override(std::string_view name, std::string_view value, Site s)
    : name_(name), before_(set_from_code(name, value, s)) {}
Override::~Override() { set_from_code(name_, before_, Site()); }

const char* name_of(Origin o) {
  constexpr const char* names[] = {"default", "environment", "code"};
  return names[static_cast<int>(o)];
}

Site set_at(std::string_view name) {
  const Row* const row = find(name);
  if (!row) return {};
  Registry& r = registry();
  const std::lock_guard lock(mutex);
  return r.code_site[static_cast<size_t>(row - kRows)];
}

std::vector<Entry> entries() {
  get();
  Registry& r = registry();
  const std::lock_guard lock(mutex);
  std::vector<Entry> all;
  for (size_t i = 0; i < kCount; ++i) {
    const Row& row = kRows[i];
    all.push_back({row.name, accepts(row), format(row, r.effective(i)), format(row, {row.initial, {}}),
                   row.doc, r.origin(i), r.code_site[i]});
  }
  return all;
}

std::string dump() {
  size_t name_width = 0, value_width = 0;
  const auto all = entries();
  const auto shown = [](const std::string& v) {
    return v.empty() ? std::string("(none)") : text::one_line(v, 200);
  };
  for (const Entry& e : all) {
    name_width = std::max(name_width, e.name.size());
    value_width = std::max(value_width, std::min<size_t>(shown(e.value).size(), 40));
  }
  std::string out;
  for (const Entry& e : all)
    out += padded(e.name, name_width) + "  " + padded(shown(e.value), value_width) + "  " +
           name_of(e.origin) + (e.set_at.line() ? " at " + lazy::to_string(e.set_at) : std::string()) + "\n";
  return out;
}

std::string help() {
  std::string out =
      "lazy: environment variables (code goes before the environment, the environment before the default)\n";
  for (const Row& row : kRows) {
    const std::string initial = format(row, {row.initial, {}});
    out += std::string("  ") + row.name + "  (" + accepts(row) + "; default " +
           (initial.empty() ? "none" : initial) + ")\n      " + row.doc + "\n";
  }
  out += "  Sizes count in powers of 1024: 1K = 1KB = 1KiB = 1024 bytes. An empty value counts as unset.\n";
  return out;
}

std::string markdown() {
  const auto escaped = [](std::string s) {
    for (size_t at = 0; (at = s.find('|', at)) != s.npos; at += 2) s.insert(at, 1, '\\');
    return s;
  };
  std::string out = "| Variable | Accepts | Default | Meaning |\n|---|---|---|---|\n";
  for (const Row& row : kRows) {
    const std::string initial = format(row, {row.initial, {}});
    out += std::string("| `") + row.name + "` | " + escaped(accepts(row)) + " | " +
           (initial.empty() ? "none" : "`" + initial + "`") + " | " + escaped(row.doc) + " |\n";
  }
  return out;
}

}  // namespace lazy::config
