#include "memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "format.hpp"
#include "support/text.hpp"

namespace report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kSamples = 4000;  // of all memory, in the page
constexpr size_t kMoments = 1000;  // of what lines held, in the page
constexpr size_t kBands = 6;       // lines that the page draws on their own

/// Calls f(time, what each holder has, all of it) at each moment at which that changes.
template <class F>
void for_each_moment(const Trace& t, F&& f) {
  struct Change {
    double at;
    size_t holder;
    double bytes;
  };
  std::vector<Change> changes;
  size_t holder = 0;
  for (const auto& [name, samples] : t.memory.held) {
    for (const Sample& s : samples) changes.push_back({s.at, holder, s.value});
    ++holder;
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<double> bytes(holder);
  double all = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    all += changes[i].bytes - bytes[changes[i].holder];
    bytes[changes[i].holder] = changes[i].bytes;
    if (i + 1 == changes.size() || changes[i + 1].at > changes[i].at) f(changes[i].at, bytes, all);
  }
}

/// Returns of `n` moments those that are shown, by whose size: of each stretch the highest and the last.
template <class Size>
std::vector<size_t> shown(size_t n, size_t most, const Size& size) {
  const size_t stretch = std::max<size_t>(1, 2 * n / most);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < n; i += stretch) {
    const size_t end = std::min(i + stretch, n);
    size_t top = i;
    for (size_t k = i; k < end; ++k)
      if (size(k) > size(top)) top = k;
    chosen.push_back(top);
    if (top != end - 1) chosen.push_back(end - 1);
  }
  return chosen;
}

struct Moment {
  double at, all;
  std::vector<double> bands;  // of the largest holders, then of all others together
};

json bands_json(const Trace& t, const std::vector<Holder>& all) {
  std::map<int, size_t> band_of;
  json names = json::array();
  for (size_t i = 0; i < std::min(kBands, all.size()); ++i) {
    band_of[all[i].name] = i;
    names.push_back(all[i].name);
  }
  const size_t others = band_of.size();
  std::vector<size_t> band;
  for (const auto& [name, samples] : t.memory.held) {
    const auto at = band_of.find(name);
    band.push_back(at == band_of.end() ? others : at->second);
  }
  std::vector<Moment> moments;
  for_each_moment(t, [&](double at, const std::vector<double>& bytes, double sum) {
    Moment m{at, sum, std::vector<double>(others + 1)};
    for (size_t h = 0; h < bytes.size(); ++h) m.bands[band[h]] += bytes[h];
    moments.push_back(std::move(m));
  });
  json times = json::array(), values = json::array();
  for (size_t b = 0; b <= others; ++b) values.push_back(json::array());
  for (const size_t i : shown(moments.size(), kMoments, [&](size_t k) { return moments[k].all; })) {
    times.push_back(rounded(moments[i].at));
    for (size_t b = 0; b <= others; ++b) values[b].push_back(moments[i].bands[b]);
  }
  return {{"names", names}, {"at", times}, {"bytes", values}};
}

/// Adds to the samples of all memory, which are of the ends of launches, those of moments at which holders
/// had more together.
void add_held(Trace& t) {
  std::vector<Sample>& total = t.memory.total;
  std::vector<Sample> more;
  size_t next = 0;
  for_each_moment(t, [&](double at, const std::vector<double>&, double all) {
    while (next < total.size() && total[next].at <= at) ++next;
    if (next == 0 || total[next - 1].value < all) more.push_back({at, all});
  });
  const auto middle = static_cast<std::ptrdiff_t>(total.size());
  total.insert(total.end(), more.begin(), more.end());
  std::inplace_merge(total.begin(), total.begin() + middle, total.end(),
                     [](const Sample& a, const Sample& b) { return a.at < b.at; });
}

/// Returns what all held together at the peak.
double held_at_peak(const std::vector<Holder>& all) {
  double held = 0;
  for (const Holder& h : all) held += h.at_peak;
  return held;
}

}  // namespace

double peak_of(const std::vector<Sample>& samples) {
  double most = 0;
  for (const Sample& s : samples) most = std::max(most, s.value);
  return most;
}

void sort_memory(Trace& t) {
  const auto sort = [](std::vector<Sample>& samples) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.at < b.at; });
  };
  double most = -1;
  Memory* largest = nullptr;
  for (auto& [process, memory] : t.memories) {
    sort(memory.total);
    for (auto& [name, samples] : memory.held) sort(samples);
    const double peak = peak_of(memory.total);
    if (t.of_ranks) t.memory_peaks.emplace_back(process, peak);
    if (peak <= most) continue;
    most = peak;
    largest = &memory;
    t.memory_of = t.of_ranks ? "rank " + std::to_string(process) : std::string();
  }
  if (largest) t.memory = std::move(*largest);
  t.memories.clear();
  add_held(t);
}

double peak_time(const Trace& t) {
  double most = 0, when = 0;
  for_each_moment(t, [&](double at, const std::vector<double>&, double all) {
    if (all > most) most = all, when = at;
  });
  return when;
}

std::vector<Holder> holders(const Trace& t) {
  std::vector<Holder> all;
  for (const auto& [name, samples] : t.memory.held) all.push_back({name, 0, peak_of(samples), 0});
  double most = 0;
  for_each_moment(t, [&](double, const std::vector<double>& bytes, double sum) {
    for (size_t h = 0; h < all.size(); ++h) {
      if (sum > most) all[h].at_peak = bytes[h];
      all[h].at_end = bytes[h];
    }
    most = std::max(most, sum);
  });
  std::stable_sort(all.begin(), all.end(), [](const Holder& a, const Holder& b) {
    return std::pair(a.at_peak, a.most) > std::pair(b.at_peak, b.most);
  });
  return all;
}

json memory_json(const Trace& t) {
  const std::vector<Sample>& total = t.memory.total;
  json at = json::array(), bytes = json::array();
  for (const size_t i : shown(total.size(), kSamples, [&](size_t k) { return total[k].value; })) {
    at.push_back(rounded(total[i].at));
    bytes.push_back(total[i].value);
  }
  const std::vector<Holder> all = holders(t);
  json rows = json::array(), peaks = json::array();
  for (const Holder& h : all)
    rows.push_back({{"name", h.name}, {"at_peak", h.at_peak}, {"most", h.most}, {"at_end", h.at_end}});
  for (const auto& [rank, peak] : t.memory_peaks) peaks.push_back({{"rank", rank}, {"bytes", peak}});
  return {{"at", at},
          {"bytes", bytes},
          {"of", t.memory_of},
          {"peaks", peaks},
          {"peak_at", rounded(peak_time(t))},
          {"bands", bands_json(t, all)},
          {"holders", rows}};
}

std::string memory_text(const Trace& t) {
  constexpr size_t kShown = 5;
  std::vector<Holder> all = holders(t);
  std::erase_if(all, [](const Holder& h) { return h.at_peak <= 0; });
  if (all.empty()) return {};
  const double held = held_at_peak(all);
  const auto size = [](double bytes) { return lazy::text::human_size(static_cast<uint64_t>(bytes)); };
  char time[40];
  std::snprintf(time, sizeof time, "%.4g ms", peak_time(t) / 1000);
  std::string text = (t.memory_of.empty() ? "" : t.memory_of + ": ") + std::string("memory: ") + size(held) +
                     " at most, " + time + " after the start, held by\n";
  for (size_t i = 0; i < std::min(kShown, all.size()); ++i)
    text += "  " + t.strings.all()[static_cast<size_t>(all[i].name)] + ": " + size(all[i].at_peak) + " (" +
            std::to_string(std::lround(100 * all[i].at_peak / held)) + "%)\n";
  if (all.size() > kShown) text += "  and " + lazy::text::counted(all.size() - kShown, "other") + "\n";
  return text;
}

ordered_json memory_summary(const Trace& t) {
  const std::vector<Holder> all = holders(t);
  if (all.empty()) return nullptr;
  ordered_json rows = ordered_json::array();
  for (const Holder& h : all)
    rows.push_back({{"holder", t.strings.all()[static_cast<size_t>(h.name)]},
                    {"bytes_at_peak", h.at_peak},
                    {"most_bytes", h.most},
                    {"bytes_at_end", h.at_end}});
  return {{"peak_bytes", held_at_peak(all)}, {"peak_at_ms", peak_time(t) / 1000}, {"holders", rows}};
}

}  // namespace report
