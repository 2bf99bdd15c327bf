#include "sums.hpp"

#include <map>

#include "memory.hpp"

namespace report {
namespace {

struct OfLine {
  int64_t flushes = 0, compiled = 0, launches = 0;
  double in_flushes = 0, compiling = 0, in_kernels = 0;
};

}  // namespace

nlohmann::json sums_of(const Trace& t, const std::string& title) {
  std::map<std::string, OfLine> lines;
  const auto line = [&](int at) -> OfLine& {
    const std::string name = at >= 0 ? t.strings.all()[static_cast<size_t>(at)] : std::string();
    return lines[name.empty() ? "an unknown line" : name];
  };
  OfLine all;
  for (const Flush& f : t.flushes)
    for (OfLine* const l : {&all, &line(f.at)}) {
      ++l->flushes;
      l->compiled += !f.hit && !f.failed;
      l->in_flushes += f.duration;
      l->compiling += f.compiling;
    }
  for (const Kernel& k : t.kernels)
    for (OfLine* const l : {&all, &line(k.at)}) {
      l->launches += k.launches;
      l->in_kernels += k.total;
    }
  const auto json_of = [](const OfLine& l) {
    return nlohmann::json{{"flushes", l.flushes},     {"compiled", l.compiled},
                          {"launches", l.launches},   {"in_flushes", l.in_flushes},
                          {"compiling", l.compiling}, {"in_kernels", l.in_kernels}};
  };
  nlohmann::json by_line = nlohmann::json::object();
  for (const auto& [at, l] : lines) by_line[at] = json_of(l);
  return {{"title", title},
          {"duration", t.duration},
          {"peak", peak_of(t.memory.total)},
          {"all", json_of(all)},
          {"lines", by_line}};
}

}  // namespace report
