#include "summary.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace report {
namespace {

/// Returns the least milliseconds of a kernel's mean launch: its arithmetic at peak, or its bytes at the
/// bandwidth of the smallest cache that holds them, on as many threads as it used; 0 without the machine's
/// figures.
double least_ms(const Trace& t, const Kernel& k) {
  if (t.machine.is_null() || k.launches == 0) return 0;
  const auto figure = [&](const char* name) { return t.machine.value(name, 0.0); };
  const double bytes = k.bytes / static_cast<double>(k.launches),
               flops = k.flops / static_cast<double>(k.launches);
  const double threads = std::max(1.0, std::min(static_cast<double>(k.parts), figure("threads")));
  const double gbs = bytes <= figure("l1_bytes")   ? figure("l1_gbs")
                     : bytes <= figure("l2_bytes") ? figure("l2_gbs")
                     : bytes <= figure("l3_bytes") ? figure("l3_gbs")
                                                   : figure("memory_gbs");
  const double peak = figure("peak_gflops");
  if (gbs <= 0 || peak <= 0) return 0;
  return std::max(flops / peak, bytes / gbs) / threads / 1e6;
}

/// Adds the time from each flush to its thread's next one.
void add_gaps(const Trace& t, const std::vector<lazy::SummaryRow*>& row_of) {
  std::vector<size_t> order(t.flushes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(t.flushes[a].thread, t.flushes[a].start) <
           std::pair(t.flushes[b].thread, t.flushes[b].start);
  });
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const Flush &now = t.flushes[order[i]], &next = t.flushes[order[i + 1]];
    if (now.thread == next.thread)
      row_of[order[i]]->after_ms += std::max(0.0, next.start - now.start - now.duration) / 1000;
  }
}

}  // namespace

lazy::Summary summary_of(const Trace& t) {
  std::map<std::pair<int, int>, lazy::SummaryRow> rows;  // by line and cause
  std::vector<lazy::SummaryRow*> row_of;                 // by flush
  for (const Flush& f : t.flushes) {
    const auto [at, fresh] = rows.try_emplace({f.at, f.cause});
    lazy::SummaryRow& r = at->second;
    if (fresh) {
      r.at = t.strings.all()[static_cast<size_t>(f.at)],
      r.cause = t.strings.all()[static_cast<size_t>(f.cause)];
      if (r.at.empty()) r.at = "an unknown line";
      r.fewest_ops = static_cast<uint64_t>(f.ops);
    }
    row_of.push_back(&r);
    ++r.flushes;
    if (f.loading > 0) ++r.loaded;
    else if (f.hit) ++r.hits;
    else ++r.compiled;
    if (f.miss >= 0) r.miss = t.strings.all()[static_cast<size_t>(f.miss)];
    r.flush_ms += f.duration / 1000;
    r.compile_ms += (f.compiling + f.loading) / 1000;
    r.fewest_ops = std::min(r.fewest_ops, static_cast<uint64_t>(f.ops));
    r.most_ops = std::max(r.most_ops, static_cast<uint64_t>(f.ops));
  }
  std::map<std::pair<lazy::SummaryRow*, int>, lazy::SummaryKernel> kernels;  // by row and name
  for (const Span& s : t.spans) {
    if (s.flush < 0) continue;
    const Kernel& k = t.kernels[static_cast<size_t>(s.row)];
    lazy::SummaryKernel& sum = kernels[{row_of[static_cast<size_t>(s.flush)], k.name}];
    sum.name = t.strings.all()[static_cast<size_t>(k.name)];
    ++sum.launches;
    sum.ms += s.duration / 1000;
    sum.bytes += k.bytes / static_cast<double>(k.launches);
    sum.flops += k.flops / static_cast<double>(k.launches);
    sum.least_ms += least_ms(t, k);
  }
  for (auto& [of, kernel] : kernels) of.first->kernels.push_back(std::move(kernel));
  add_gaps(t, row_of);
  lazy::Summary s;
  s.wall_ms = t.duration / 1000;
  for (auto& [where, row] : rows) s.rows.push_back(std::move(row));
  sort(s);
  return s;
}

}  // namespace report
