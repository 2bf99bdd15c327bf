#include "jit/trace/report.hpp"

#include <algorithm>

#include "jit/trace/frame.hpp"

namespace lazy::jit {
namespace {

thread_local FlushListener* listener = nullptr;

std::string microseconds(uint64_t ns) {
  const uint64_t tenths = (ns + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}
const char* plural(uint64_t n) { return n == 1 ? "" : "s"; }

}  // namespace

FlushListener::FlushListener() : outer_(listener) { listener = this; }
FlushListener::~FlushListener() { listener = outer_; }
FlushListener* FlushListener::current() { return listener; }

std::string to_string(const FlushReport& r) {
  std::string s = std::string("flush by ") + name_of(r.cause) + " at " + lazy::to_string(r.site) + ": " +
                  std::to_string(r.ops) + " op" + plural(r.ops) + " -> " + std::to_string(r.kernels) +
                  " kernel" + plural(r.kernels) +
                  (r.bands ? " in " + std::to_string(r.bands) + " band" + plural(r.bands) : "") + ", " +
                  std::to_string(r.outputs) + " value" + plural(r.outputs) + " kept, " +
                  (r.hit ? "hit" : "compiled (" + r.variant + ") in " + microseconds(r.compile_ns)) + ", " +
                  microseconds(r.total_ns) + " in all";
  if (!r.miss.empty()) s += "\n  miss: " + r.miss;
  for (const std::string& k : r.kernel_texts) s += "\n  " + k;
  return s;
}

std::vector<std::string> describe_key(const uint32_t* words, size_t count) {
  std::vector<std::string> lines;
  for (size_t i = 1; i < count;) {  // word 0: settings
    const uint32_t a = words[i], b = words[i + 1];
    const auto op = static_cast<Op>(a & 0xff);
    std::string s = "v" + std::to_string(lines.size()) + " = " + name_of(op) + " " +
                    name_of(static_cast<DType>(a >> 8 & 0xff)) + " [";
    for (uint32_t d = 0, rank = a >> 16 & 0xff; d < rank; ++d)
      s += (d ? ", " : "") + std::string(a >> 24 >> d & 1 ? "1" : "n");
    s += "]";
    const uint32_t arity = b >> 1 & 7, axes = b >> 4 & 15;
    if (axes && op != Op::reshape) {
      s += op == Op::slice ? " whole=" : " axes=";
      for (uint32_t k = axes; k-- > 0;) s += std::to_string(b >> 8 >> (3 * k) & 7) + (k ? "," : "");
    }
    for (uint32_t k = 0; k < arity; ++k) s += (k ? ", v" : " v") + std::to_string(words[i + 2 + k]);
    if (b & 1) s += " (kept)";
    lines.push_back(std::move(s));
    i += 2 + arity;
  }
  return lines;
}

std::string explain_difference(const Frame& f, const std::vector<std::vector<uint32_t>>& keys) {
  if (keys.empty()) return "first program of this process";
  const auto ours = describe_key(f.key.data(), f.key.size());
  // Nearest: most leading values in common, then the nearest length.
  size_t best_common = 0, best_gap = ~size_t{0};
  std::vector<std::string> nearest;
  for (const auto& key : keys) {
    const auto theirs = describe_key(key.data(), key.size());
    const size_t common = static_cast<size_t>(
        std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end()).first - ours.begin());
    const size_t gap =
        theirs.size() > ours.size() ? theirs.size() - ours.size() : ours.size() - theirs.size();
    if (nearest.empty() || common > best_common || (common == best_common && gap < best_gap)) {
      best_common = common;
      best_gap = gap;
      nearest = theirs;
    }
  }
  const auto line_of = [&](size_t v) {
    return f.pending[v] ? " at " + lazy::to_string(f.values[v]->site) : std::string();
  };
  if (best_common == ours.size() && best_common == nearest.size()) return "same graph under other settings";
  if (best_common == 0) return "no program begins like this one (" + ours[0] + ")";
  if (best_common == ours.size())
    return "the nearest program goes on with " + nearest[best_common] + "; this graph ends before";
  if (best_common == nearest.size())
    return "the nearest program ends before " + ours[best_common] + line_of(best_common);
  return "the nearest program has " + nearest[best_common] + "; here it is " + ours[best_common] +
         line_of(best_common);
}

}  // namespace lazy::jit
