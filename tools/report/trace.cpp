#include "trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <unordered_map>

#include "exchanges.hpp"
#include "memory.hpp"

namespace report {
namespace {

using nlohmann::json;

double number(const json& o, const char* key) {
  const auto at = o.find(key);
  return at != o.end() && at->is_number() ? at->get<double>() : 0;
}
int64_t integer(const json& o, const char* key) { return static_cast<int64_t>(number(o, key)); }
std::string text(const json& o, const char* key) {
  const auto at = o.find(key);
  return at != o.end() && at->is_string() ? at->get<std::string>() : std::string();
}
bool truth(const json& o, const char* key) {
  const auto at = o.find(key);
  return at != o.end() && at->is_boolean() && at->get<bool>();
}

/// Reads the events one by one.
class Reader {
 public:
  explicit Reader(Trace& t) : t_(t) {}

  void event(const json& e) {
    ++t_.events;
    const std::string phase = text(e, "ph");
    if (phase.empty()) throw BadTrace("an event has no \"ph\"");
    const auto found = e.find("args");
    static const json none = json::object();
    const json& args = found != e.end() && found->is_object() ? *found : none;
    switch (phase[0]) {
      case 'M': metadata(e, args); break;
      case 'X': span(e, args); break;
      case 'C': counter(e, args); break;
      case 'i': instant(e, args); break;
      case 'b': wait(e, args); break;
      default: break;  // the end of a range comes right after its beginning
    }
    if (phase[0] == 'e' && !t_.waits.empty())
      t_.waits.back().duration = number(e, "ts") - t_.waits.back().start;
    t_.duration = std::max(t_.duration, number(e, "ts") + number(e, "dur"));
  }

  void finish() {
    nest();
    join_exchanges(t_);
    sort_memory(t_);
  }

 private:
  int thread(const json& e) {
    const int64_t id = integer(e, "tid");
    const auto [at, fresh] = threads_.try_emplace(id, static_cast<int>(t_.threads.size()));
    if (fresh) {
      t_.threads.push_back("thread " + std::to_string(id));
      t_.processes.push_back(integer(e, "pid"));
    }
    return at->second;
  }
  Span place(const json& e) {
    Span s;
    s.start = number(e, "ts");
    s.duration = number(e, "dur");
    s.thread = thread(e);
    s.name = t_.strings.of(text(e, "name"));
    s.category = t_.strings.of(text(e, "cat"));
    return s;
  }

  void metadata(const json& e, const json& args) {
    if (text(e, "name") == "thread_name") t_.threads[static_cast<size_t>(thread(e))] = text(args, "name");
  }
  void span(const json& e, const json& args) {
    Span s = place(e);
    const std::string category = text(e, "cat"), name = text(e, "name");
    if (category == "comm") return exchange(s, args);
    if (category == "flush" && (name == "flush" || name == "flush failed")) {
      s.row = flush(s, args, name == "flush failed");
    } else if (category == "flush" || category == "compile") {
      auto& [times, time] = t_.phases[name];
      ++times;
      time += s.duration;
    } else if (category == "kernel" && name != "tile_group") {
      s.row = kernel(s, args);
    }
    t_.spans.push_back(s);
  }
  void exchange(const Span& s, const json& args) {
    Exchange x;
    x.start = s.start;
    x.duration = s.duration;
    x.thread = s.thread;
    x.kind = s.name;
    x.at = t_.strings.of(text(args, "at"));
    x.number = integer(args, "exchange");
    x.elements = integer(args, "elements");
    x.bytes = integer(args, "bytes");
    t_.exchanges.push_back(x);
  }
  int flush(const Span& s, const json& args, bool failed) {
    Flush f;
    f.start = s.start;
    f.duration = s.duration;
    f.thread = s.thread;
    f.cause = t_.strings.of(text(args, "cause"));
    f.at = t_.strings.of(text(args, "at"));
    f.program = integer(args, "program");
    f.ops = integer(args, "ops");
    f.kernels = integer(args, "kernels");
    f.outputs = integer(args, "outputs");
    f.hit = truth(args, "hit");
    f.failed = failed;
    if (const std::string why = text(args, failed ? "error" : "miss"); !why.empty())
      f.miss = t_.strings.of(why);
    t_.flushes.push_back(f);
    return static_cast<int>(t_.flushes.size()) - 1;
  }
  int kernel(const Span& s, const json& args) {
    const int at = t_.strings.of(text(args, "at"));
    const int64_t ops = integer(args, "ops");
    const std::string why = text(args, "purpose");
    const int purpose = why.empty() ? -1 : t_.strings.of(why);
    const auto [known, fresh] =
        kernels_.try_emplace(std::tuple(s.name, at, purpose, ops), static_cast<int>(t_.kernels.size()));
    if (fresh) t_.kernels.emplace_back();
    Kernel& k = t_.kernels[static_cast<size_t>(known->second)];
    k.name = s.name;
    k.at = at;
    k.purpose = purpose;
    k.ops = ops;
    ++k.launches;
    k.parts = std::max({k.parts, integer(args, "parts"), int64_t{1}});
    k.total += s.duration;
    k.longest = std::max(k.longest, s.duration);
    k.bytes += number(args, "bytes");
    k.flops += number(args, "flops");
    k.in_tile_group |= truth(args, "in_tile_group");
    return known->second;
  }
  void counter(const json& e, const json& args) {
    const std::string category = text(e, "cat");
    if (category != "memory" && category != "held") return;
    Memory& m = t_.memories[integer(e, "pid")];
    auto& samples = category == "memory" ? m.total : m.held[t_.strings.of(text(e, "name"))];
    samples.push_back({number(e, "ts"), number(args, "bytes")});
  }
  void instant(const json& e, const json& args) {
    const std::string name = text(e, "name");
    if (name == "machine") t_.machine = args;
    if (name == "program" && args.contains("graph")) t_.programs.push_back(args.at("graph"));
    if (name == "guard failed")
      t_.guards.push_back({number(e, "ts"), t_.strings.of(text(args, "kind")),
                           t_.strings.of(text(args, "text")), integer(args, "was"), integer(args, "now"),
                           integer(args, "program")});
  }
  void wait(const json& e, const json& args) {
    Span s = place(e);
    s.name = t_.strings.of(text(args, "at"));
    t_.waits.push_back(s);
  }

  // Computes depths, and the share of a flush that went into compiling and kernels.
  void nest() {
    std::sort(t_.spans.begin(), t_.spans.end(), [](const Span& a, const Span& b) {
      return std::tie(a.thread, a.start, b.duration) < std::tie(b.thread, b.start, a.duration);
    });
    const int flushes = t_.strings.of("flush"), kernels = t_.strings.of("kernel"),
              compile = t_.strings.of("compile"), load = t_.strings.of("load");
    constexpr double kRounding = 0.0015;  // times are written in nanoseconds
    std::vector<const Span*> open;
    for (Span& s : t_.spans) {
      while (!open.empty() && (open.back()->thread != s.thread ||
                               s.start + s.duration > open.back()->start + open.back()->duration + kRounding))
        open.pop_back();
      s.depth = static_cast<int>(open.size());
      const auto around = std::find_if(open.rbegin(), open.rend(),
                                       [&](const Span* o) { return o->category == flushes && o->row >= 0; });
      if (around != open.rend()) {
        Flush& f = t_.flushes[static_cast<size_t>((*around)->row)];
        if (s.category == compile && s.name == compile) f.compiling += s.duration;
        if (s.category == compile && s.name == load) f.loading += s.duration;
        if (s.category == kernels && s.row >= 0) {
          f.in_kernels += s.duration;
          s.flush = (*around)->row;
        }
      }
      open.push_back(&s);
    }
  }

  Trace& t_;
  std::unordered_map<int64_t, int> threads_;
  std::map<std::tuple<int, int, int, int64_t>, int> kernels_;
};

}  // namespace

Trace read_trace(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
  if (std::filesystem::is_directory(path))
    throw std::runtime_error("cannot read " + path + ": it is a directory");
  Trace t;
  Reader reader(t);
  bool events = false;
  // Events are dropped once they are read, so that a large trace need not fit the memory as a tree.
  constexpr int kDeepest = 64;  // several times what is written; trees are walked recursively
  const auto take = [&](int depth, json::parse_event_t what, json& value) {
    if (depth > kDeepest) throw BadTrace("nested more than " + std::to_string(kDeepest) + " levels deep");
    if (depth == 1 && what == json::parse_event_t::key) events = value == "traceEvents";
    if (depth == 2 && what == json::parse_event_t::object_end && events) {
      reader.event(value);
      return false;
    }
    return true;
  };
  json rest;
  try {
    rest = json::parse(in, take);
  } catch (const json::exception& e) { throw BadTrace(path + ": " + e.what()); } catch (const BadTrace& e) {
    throw BadTrace(path + ": " + e.what());
  }
  if (!rest.is_object() || !rest.contains("traceEvents")) throw BadTrace(path + ": no \"traceEvents\"");
  const auto other = rest.find("otherData");
  if (other == rest.end() || !other->is_object() || text(*other, "producer") != "lazy")
    throw BadTrace(path + ": not written by LAZY_PROFILE");
  t.of_ranks = other->contains("ranks");
  reader.finish();
  return t;
}

}  // namespace report
