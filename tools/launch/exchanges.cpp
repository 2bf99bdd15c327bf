#include "tools/launch/exchanges.hpp"

#include <algorithm>
#include <cstdio>

namespace lazy::tool {

using nlohmann::json;

void Exchanges::add(const json& e, int rank) {
  const auto at = e.find("ts"), took = e.find("dur");
  if (at == e.end() || took == e.end()) return;
  const double begin = at->get<double>(), end = begin + took->get<double>();
  const auto r = static_cast<size_t>(rank);
  if (spans_.size() <= r) spans_.resize(r + 1);
  Span& s = spans_[r];
  s = s.some ? Span{std::min(s.first, begin), std::max(s.last, end), true} : Span{begin, end, true};
  if (e.value("cat", "") != "comm" || !e.contains("args")) return;
  parts_[e["args"].value("exchange", int64_t{0})].push_back({rank, e.value("tid", int64_t{0}), begin, end});
}

std::vector<json> Exchanges::arrows() const {
  std::vector<json> all;
  for (const auto& [exchange, parts] : parts_) {
    for (const ExchangePart& p : parts) {
      const ExchangePart& last = awaited_by(p, parts);
      if (p.rank == last.rank) continue;
      const std::string id = std::to_string(exchange) + "." + std::to_string(p.rank);
      json from{{"name", "exchange"}, {"cat", "comm"}, {"ph", "s"}, {"id", id}};
      json to = from;
      from["pid"] = last.rank, from["tid"] = last.thread, from["ts"] = last.begin;
      to["ph"] = "f", to["bp"] = "e", to["pid"] = p.rank, to["tid"] = p.thread, to["ts"] = p.end;
      all.push_back(std::move(from));
      all.push_back(std::move(to));
    }
  }
  return all;
}

std::string Exchanges::summary() const {
  constexpr double kLate = 1000;  // microseconds
  if (parts_.empty()) return {};
  struct Sums {
    double in = 0, waited = 0, made_wait = 0;
    int64_t last = 0;
  };
  std::vector<Sums> sums(spans_.size());
  for (const auto& [exchange, parts] : parts_) {
    const ExchangePart& last = last_of(parts);
    bool late = false;
    for (const ExchangePart& p : parts) {
      const ExchangePart& awaited = awaited_by(p, parts);
      Sums& s = sums[static_cast<size_t>(p.rank)];
      const double waited = awaited.begin - p.begin;
      s.in += p.end - p.begin;
      s.waited += waited;
      sums[static_cast<size_t>(awaited.rank)].made_wait += waited;
      late = late || (awaited.rank == last.rank && waited >= kLate);
    }
    if (late) ++sums[static_cast<size_t>(last.rank)].last;
  }
  std::string text;
  char line[160];
  for (size_t r = 0; r < sums.size(); ++r) {
    if (!spans_[r].some) continue;
    const double all = std::max(spans_[r].last - spans_[r].first, 1e-3);
    std::snprintf(
        line, sizeof line,
        "rank %zu: %.1f%% of its time in exchanges, %.1f%% waiting for others; last to %lld of %zu\n", r,
        100 * sums[r].in / all, 100 * sums[r].waited / all, static_cast<long long>(sums[r].last),
        parts_.size());
    text += line;
  }
  const auto slowest = std::max_element(
      sums.begin(), sums.end(), [](const Sums& a, const Sums& b) { return a.made_wait < b.made_wait; });
  if (sums.size() > 1 && slowest->made_wait >= kLate) {
    std::snprintf(line, sizeof line, "most was waited for rank %zd: %.1f ms\n", slowest - sums.begin(),
                  slowest->made_wait / 1000);
    text += line;
  }
  return text;
}

}  // namespace lazy::tool
