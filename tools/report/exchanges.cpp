#include "exchanges.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "support/text.hpp"
#include "tools/launch/exchange_part.hpp"

namespace report {
namespace {

using lazy::tool::ExchangePart;
using nlohmann::ordered_json;

std::string milliseconds(double us) {
  char s[40];
  std::snprintf(s, sizeof s, us >= 100'000 ? "%.0f ms" : us >= 10'000 ? "%.1f ms" : "%.2f ms", us / 1000);
  return s;
}

/// Finds the ranks of the trace's exchanges: its processes; of one process threads, where these meet each
/// other, else the process. Returns false of one rank.
bool name_ranks(Trace& t) {
  std::unordered_set<int64_t> numbers;
  for (const Exchange& x : t.exchanges) numbers.insert(x.number);
  const bool of_threads = !t.of_ranks && numbers.size() < t.exchanges.size();
  const auto key = [&](const Exchange& x) -> int64_t {
    return t.of_ranks ? t.processes[static_cast<size_t>(x.thread)] : of_threads ? x.thread : 0;
  };
  std::map<int64_t, int> ranks;
  for (const Exchange& x : t.exchanges) ranks.try_emplace(key(x));
  for (auto& [own, rank] : ranks) {
    rank = static_cast<int>(t.ranks.size());
    t.ranks.push_back(t.of_ranks   ? "rank " + std::to_string(own)
                      : of_threads ? t.threads[static_cast<size_t>(own)]
                                   : std::string());
  }
  for (Exchange& x : t.exchanges) x.rank = ranks[key(x)];
  return t.of_ranks || of_threads;
}

void add(ExchangeSums& s, const Exchange& x, size_t ranks) {
  s.waited_for.resize(ranks);
  ++s.parts;
  s.total += x.duration;
  s.waited += x.waited;
  if (x.awaited >= 0) s.waited_for[static_cast<size_t>(x.awaited)] += x.waited;
}

/// Returns the ranks that were waited for, the longest first.
std::vector<size_t> awaited_ranks(const ExchangeSums& s) {
  std::vector<size_t> order(s.waited_for.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t r) { return s.waited_for[r] <= 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return s.waited_for[a] > s.waited_for[b]; });
  return order;
}

std::string sums_text(const Trace& t, const ExchangeSums& s) {
  std::string text = milliseconds(s.total);
  if (!waits_are_known(t)) return text;
  const std::vector<size_t> order = awaited_ranks(s);
  if (order.empty()) return text + ", none of it waiting";
  text += ", " + milliseconds(s.waited) + " of it waiting";
  if (order.size() == 1) return text + " for " + t.ranks[order[0]];
  return text + ", mostly for " + t.ranks[order[0]] + " (" + milliseconds(s.waited_for[order[0]]) + ")";
}

}  // namespace

void join_exchanges(Trace& t) {
  const bool known = name_ranks(t);
  std::stable_sort(t.exchanges.begin(), t.exchanges.end(), [](const Exchange& a, const Exchange& b) {
    return std::tie(a.rank, a.start) < std::tie(b.rank, b.start);
  });
  if (!known) return;
  std::unordered_map<int64_t, std::vector<ExchangePart>> parts;
  for (const Exchange& x : t.exchanges)
    parts[x.number].push_back({x.rank, x.thread, x.start, x.start + x.duration});
  for (Exchange& x : t.exchanges) {
    const std::vector<ExchangePart>& all = parts[x.number];
    const auto own =
        std::find_if(all.begin(), all.end(), [&](const ExchangePart& p) { return p.rank == x.rank; });
    const ExchangePart& awaited = awaited_by(*own, all);
    x.awaited = awaited.rank;
    x.waited = awaited.begin - own->begin;
  }
}

bool waits_are_known(const Trace& t) { return !t.exchanges.empty() && t.exchanges[0].awaited >= 0; }

std::vector<ExchangeRow> exchange_rows(const Trace& t) {
  std::map<std::pair<int, int>, ExchangeRow> rows;  // by kind and line
  std::map<std::pair<int, int>, std::unordered_set<int64_t>> numbers;
  for (const Exchange& x : t.exchanges) {
    ExchangeRow& r = rows[{x.kind, x.at}];
    r.kind = x.kind, r.at = x.at;
    r.elements += static_cast<double>(x.elements);
    r.bytes += static_cast<double>(x.bytes);
    r.ranks.resize(t.ranks.size());
    add(r.all, x, t.ranks.size());
    add(r.ranks[static_cast<size_t>(x.rank)], x, t.ranks.size());
    numbers[{x.kind, x.at}].insert(x.number);
  }
  std::vector<ExchangeRow> all;
  for (auto& [of, r] : rows) {
    r.exchanges = static_cast<int64_t>(numbers[of].size());
    r.elements /= static_cast<double>(r.all.parts);
    r.bytes /= static_cast<double>(r.all.parts);
    all.push_back(std::move(r));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ExchangeRow& a, const ExchangeRow& b) { return a.all.total > b.all.total; });
  return all;
}

std::string exchanges_text(const Trace& t) {
  std::string text;
  const auto& name = t.strings.all();
  for (const ExchangeRow& r : exchange_rows(t)) {
    char elements[40];
    std::snprintf(elements, sizeof elements, " of %.6g element%s", r.elements, r.elements == 1 ? "" : "s");
    text += name[static_cast<size_t>(r.at)] + " " + name[static_cast<size_t>(r.kind)] + ": " +
            lazy::text::counted(static_cast<uint64_t>(r.exchanges), "exchange") +
            (r.elements > 0 ? elements : "") +
            (r.bytes > 0 ? " (" + lazy::text::human_size(static_cast<uint64_t>(r.bytes)) + ")" : "") + ", " +
            sums_text(t, r.all) + "\n";
    for (size_t i = 0; t.ranks.size() > 1 && i < r.ranks.size(); ++i)
      if (r.ranks[i].parts) text += "  " + t.ranks[i] + ": " + sums_text(t, r.ranks[i]) + "\n";
  }
  if (!text.empty() && !waits_are_known(t))
    text += "who was waited for is not known: the trace is of one rank\n";
  return text;
}

ordered_json exchanges_json(const Trace& t, double scale, const std::string& unit) {
  const auto& name = t.strings.all();
  const bool known = waits_are_known(t);
  const auto sums = [&](const ExchangeSums& s) {
    ordered_json out{{"time" + unit, s.total * scale}, {"waited" + unit, nullptr}};
    if (!known) return out;
    out["waited" + unit] = s.waited * scale;
    ordered_json for_whom = ordered_json::array();
    for (const size_t r : awaited_ranks(s))
      for_whom.push_back({{"rank", t.ranks[r]}, {"waited" + unit, s.waited_for[r] * scale}});
    out["for"] = std::move(for_whom);
    return out;
  };
  ordered_json rows = ordered_json::array();
  for (const ExchangeRow& r : exchange_rows(t)) {
    ordered_json row{{"kind", name[static_cast<size_t>(r.kind)]},
                     {"at", name[static_cast<size_t>(r.at)]},
                     {"exchanges", r.exchanges},
                     {"elements", r.elements},
                     {"bytes", r.bytes}};
    row.update(sums(r.all));
    ordered_json ranks = ordered_json::array();
    for (size_t i = 0; known && i < r.ranks.size(); ++i) {
      if (!r.ranks[i].parts) continue;
      ordered_json of{{"rank", t.ranks[i]}, {"exchanges", r.ranks[i].parts}};
      of.update(sums(r.ranks[i]));
      ranks.push_back(std::move(of));
    }
    row["ranks"] = std::move(ranks);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace report
