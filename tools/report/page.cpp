#include "page.hpp"

#include <algorithm>

#include "exchanges.hpp"
#include "format.hpp"
#include "memory.hpp"
#include "page_files.hpp"  // made from page/ by embed.cmake
#include "sums.hpp"

namespace report {
namespace {

using nlohmann::json;

/// Writes a table by columns, which is less text than by rows.
template <class Rows, class... Columns>
json columns(const Rows& rows, const Columns&... columns) {
  json out = json::object();
  const auto add = [&](const auto& column) {
    json values = json::array();
    for (const auto& row : rows) values.push_back(column.second(row));
    out[column.first] = std::move(values);
  };
  (add(columns), ...);
  return out;
}
template <class F>
std::pair<const char*, F> column(const char* name, F value) {
  return {name, value};
}

template <class T>
std::vector<T> longest(const std::vector<T>& spans, size_t most) {
  if (spans.size() <= most) return spans;
  std::vector<double> lengths;
  for (const T& s : spans) lengths.push_back(s.duration);
  const auto nth = lengths.begin() + static_cast<std::ptrdiff_t>(spans.size() - most);
  std::nth_element(lengths.begin(), nth, lengths.end());
  std::vector<T> kept;
  for (const T& s : spans)
    if (s.duration >= *nth && kept.size() < most) kept.push_back(s);
  return kept;
}

json spans_json(const std::vector<Span>& spans) {
  return columns(spans, column("start", [](const Span& s) { return rounded(s.start); }),
                 column("length", [](const Span& s) { return rounded(s.duration); }),
                 column("thread", [](const Span& s) { return s.thread; }),
                 column("depth", [](const Span& s) { return s.depth; }),
                 column("name", [](const Span& s) { return s.name; }),
                 column("category", [](const Span& s) { return s.category; }),
                 column("row", [](const Span& s) { return s.row; }));
}

json flushes_json(const std::vector<Flush>& flushes) {
  return columns(flushes, column("start", [](const Flush& f) { return rounded(f.start); }),
                 column("length", [](const Flush& f) { return rounded(f.duration); }),
                 column("compiling", [](const Flush& f) { return rounded(f.compiling); }),
                 column("in_kernels", [](const Flush& f) { return rounded(f.in_kernels); }),
                 column("thread", [](const Flush& f) { return f.thread; }),
                 column("cause", [](const Flush& f) { return f.cause; }),
                 column("at", [](const Flush& f) { return f.at; }),
                 column("program", [](const Flush& f) { return f.program; }),
                 column("ops", [](const Flush& f) { return f.ops; }),
                 column("kernels", [](const Flush& f) { return f.kernels; }),
                 column("outputs", [](const Flush& f) { return f.outputs; }),
                 column("hit", [](const Flush& f) { return f.hit ? 1 : 0; }),
                 column("failed", [](const Flush& f) { return f.failed ? 1 : 0; }),
                 column("miss", [](const Flush& f) { return f.miss; }));
}

json kernels_json(const std::vector<Kernel>& kernels) {
  return columns(kernels, column("name", [](const Kernel& k) { return k.name; }),
                 column("at", [](const Kernel& k) { return k.at; }),
                 column("purpose", [](const Kernel& k) { return k.purpose; }),
                 column("ops", [](const Kernel& k) { return k.ops; }),
                 column("launches", [](const Kernel& k) { return k.launches; }),
                 column("parts", [](const Kernel& k) { return k.parts; }),
                 column("total", [](const Kernel& k) { return rounded(k.total); }),
                 column("longest", [](const Kernel& k) { return rounded(k.longest); }),
                 column("bytes", [](const Kernel& k) { return k.bytes; }),
                 column("flops", [](const Kernel& k) { return k.flops; }),
                 column("in_tile_group", [](const Kernel& k) { return k.in_tile_group ? 1 : 0; }));
}

json exchanges_json(const std::vector<Exchange>& exchanges) {
  return columns(exchanges, column("start", [](const Exchange& x) { return rounded(x.start); }),
                 column("length", [](const Exchange& x) { return rounded(x.duration); }),
                 column("waited", [](const Exchange& x) { return rounded(x.waited); }),
                 column("awaited", [](const Exchange& x) { return x.awaited; }),
                 column("rank", [](const Exchange& x) { return x.rank; }),
                 column("name", [](const Exchange& x) { return x.kind; }),
                 column("at", [](const Exchange& x) { return x.at; }),
                 column("number", [](const Exchange& x) { return x.number; }),
                 column("elements", [](const Exchange& x) { return x.elements; }),
                 column("bytes", [](const Exchange& x) { return x.bytes; }));
}

/// Returns for each thread its rank's index in Trace::ranks, -1 where that is of no rank with exchanges.
json ranks_of_threads(const Trace& t) {
  std::map<int64_t, int> of_process;
  std::vector<int> ranks(t.threads.size(), -1);
  for (const Exchange& x : t.exchanges) {
    const auto thread = static_cast<size_t>(x.thread);
    ranks[thread] = of_process[t.processes[thread]] = x.rank;
  }
  for (size_t i = 0; i < ranks.size(); ++i)
    if (const auto at = of_process.find(t.processes[i]); ranks[i] < 0 && at != of_process.end())
      ranks[i] = at->second;
  return ranks;
}

/// Replaces every `mark`; there must be one.
void replace(std::string& text, std::string_view mark, std::string_view by) {
  size_t at = text.find(mark);
  if (at == text.npos) throw std::logic_error("the page has no " + std::string(mark));
  for (; at != text.npos; at = text.find(mark, at + by.size())) text.replace(at, mark.size(), by);
}

/// Escapes "</script>" and "<!--", which may not be in a script element.
std::string for_script(std::string s) {
  for (size_t at = 0; (at = s.find('<', at)) != s.npos; at += 6) s.replace(at, 1, "\\u003c");
  return s;
}

}  // namespace

std::string make_page(const Trace& t, const std::string& title, size_t most_spans, const Against* against) {
  const std::vector<Span> shown = longest(t.spans, most_spans);
  const std::vector<Exchange> exchanges = longest(t.exchanges, most_spans);
  json data = {
      {"title", title},
      {"duration", t.duration},
      {"events", t.events},
      {"left_out", t.spans.size() - shown.size() + t.exchanges.size() - exchanges.size()},
      {"machine", t.machine},
      {"threads", t.threads},
      {"spans", spans_json(shown)},
      {"waits", spans_json(longest(t.waits, most_spans))},
      {"exchanges", exchanges_json(exchanges)},
      {"exchange_rows", json(exchanges_json(t, 1, ""))},
      {"of_ranks", t.of_ranks},
      {"ranks", t.ranks},
      {"ranks_of_threads", ranks_of_threads(t)},
      {"flushes", flushes_json(t.flushes)},
      {"kernels", kernels_json(t.kernels)},
      {"guards", columns(t.guards, column("at", [](const GuardFailure& g) { return rounded(g.at); }),
                         column("kind", [](const GuardFailure& g) { return g.kind; }),
                         column("text", [](const GuardFailure& g) { return g.text; }),
                         column("was", [](const GuardFailure& g) { return g.was; }),
                         column("now", [](const GuardFailure& g) { return g.now; }),
                         column("program", [](const GuardFailure& g) { return g.program; }))},
      {"memory", memory_json(t)},
      {"programs", t.programs},
      {"phases", json::object()},
      {"strings", t.strings.all()},
  };
  for (const auto& [name, of] : t.phases)
    data["phases"][name] = {{"times", of.first}, {"total", rounded(of.second)}};

  if (against) data["sums"] = {sums_of(t, title), sums_of(against->trace, against->title)};

  std::string page = files::kPageHtml;
  replace(page, "@TITLE@", escaped(title));
  replace(page, "@STYLE@", files::kStyleCss);
  const std::string script = std::string(files::kBaseJs) + files::kTimelineJs + files::kExchangesJs +
                             files::kTablesJs + files::kChartsJs + files::kAgainstJs + files::kModulesJs +
                             files::kGraphJs + files::kSelftestJs + files::kMainJs;
  replace(page, "@SCRIPT@", script);
  replace(page, "@DATA@", for_script(data.dump(-1, ' ', false, json::error_handler_t::replace)));
  return page;
}

}  // namespace report
