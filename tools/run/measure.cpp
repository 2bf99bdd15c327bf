#include "tools/run/measure.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "lazy/lazy.hpp"
#include "support/text.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

/// Returns the least of sorted times that so many of them don't exceed.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

/// Returns the name of the processor, as the system says it.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return std::string(text::trimmed(line.substr(line.find(':') + 1)));
  return "unknown";
}

/// Returns a kernel's name without the line of the source, which is this tool's or the session's.
std::string without_line(const std::string& name) {
  for (const char* const file : {"_measure.cpp_", "_replay.hpp_"})
    if (const size_t at = name.find(file); at != name.npos) return name.substr(0, at);
  return name;
}

/// Says in what kernels the time of calls goes, by a recording of them.
Json kernel_shares(const std::function<void()>& call, int most) {
  char path[] = "/tmp/lazy-run-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) throw Error("lazy-run: cannot make a file in /tmp");
  ::close(fd);
  profile::start(path);
  const auto begin = Clock::now();
  for (int i = 0; i < 20 && (i < 3 || ms_since(begin) < 500); ++i) call();
  profile::stop();
  std::ifstream in(path);
  const Json trace = Json::parse(in, nullptr, false);
  ::unlink(path);
  struct Sum {
    double microseconds = 0;
    int64_t runs = 0;
  };
  std::map<std::string, Sum> sums;
  double all = 0;
  if (!trace.is_object() || !trace.contains("traceEvents"))
    throw Error("lazy-run: the recording can't be read");
  for (const Json& e : trace["traceEvents"]) {
    if (e.value("ph", "") != "X" || e.value("cat", "") != "kernel") continue;
    std::string name = without_line(e.value("name", ""));
    if (name.starts_with("tile_group")) continue;  // its kernels are there by themselves
    if (e.contains("args") && e["args"].contains("purpose"))
      name += " (" + e["args"]["purpose"].get<std::string>() + ")";
    Sum& s = sums[name];
    s.microseconds += e.value("dur", 0.0);
    s.runs += 1;
    all += e.value("dur", 0.0);
  }
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.microseconds > b.second.microseconds;
  });
  Json shares = Json::array();
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(most); ++i)
    shares.push_back({{"kernel", order[i].first},
                      {"share", all > 0 ? order[i].second.microseconds / all : 0},
                      {"runs", order[i].second.runs}});
  return shares;
}

}  // namespace

std::string plain_text(const Error& e) {
  std::string what = e.what();
  if (!e.where().line()) return what;
  const std::string place = " (" + to_string(e.where()) + ")";
  if (what.ends_with(place)) what.resize(what.size() - place.size());
  return what;
}

uint64_t status_bytes(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == line + ":") {
      uint64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes << 10;
    }
  return 0;
}

Json measure(Model& model, const NamedTensors& inputs, const MeasureOptions& o) {
  const Calls calls_of = model.calls(inputs, o.threads);
  std::function<void()> call = calls_of.of_session;
  Json m;
  m["processor"] = processor();
  m["threads"] = o.threads > 0 ? o.threads : static_cast<int>(std::thread::hardware_concurrency());
  const Metrics before = metrics();
  auto begin = Clock::now();
  try {
    call();
    m["session"] = true;
  } catch (const Error& e) {
    // Values that are read while ops are recorded keep a model out of sessions; its calls are measured then.
    m["session"] = plain_text(e);
    call = calls_of.plain;
    begin = Clock::now();
    call();
  }
  m["first_call_ms"] = ms_since(begin);
  const Metrics compiled = metrics();
  for (int i = 0; i < 2; ++i) call();  // what is computed of weights alone is there then
  const Metrics warm = metrics();
  std::vector<double> times;
  begin = Clock::now();
  while (o.calls > 0 ? static_cast<int>(times.size()) < o.calls
                     : times.size() < 10 || (ms_since(begin) < 2000 && times.size() < 100000)) {
    const auto start = Clock::now();
    call();
    times.push_back(ms_since(start));
  }
  const double total = ms_since(begin);
  const Metrics after = metrics();
  const auto calls = static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  m["calls"] = times.size();
  m["latency_ms"] = {{"min", times.front()},
                     {"p50", percentile(times, 0.5)},
                     {"p90", percentile(times, 0.9)},
                     {"p99", percentile(times, 0.99)},
                     {"max", times.back()}};
  m["calls_per_second"] = calls / total * 1e3;
  m["programs"] = cache::stats().entries;
  m["kernels_compiled"] = compiled.kernels_compiled - before.kernels_compiled;
  m["kernels_from_disk"] = compiled.kernels_loaded - before.kernels_loaded;
  m["compile_ms"] = static_cast<double>(compiled.compile_ns - before.compile_ns) / 1e6;
  m["kernels_per_call"] = static_cast<double>(after.launches - warm.launches) / calls;
  m["flushes_per_call"] = static_cast<double>(after.flushes - warm.flushes) / calls;
  m["peak_memory_bytes"] = status_bytes("VmHWM");
  if (o.kernels > 0) m["kernels"] = kernel_shares(call, o.kernels);
  return m;
}

void print_measurement(const Json& m) {
  const auto number = [&](const Json& v, const char* format = "%.3f") {
    return text::formatted(format, v.get<double>());
  };
  const Json& l = m["latency_ms"];
  std::cout << "latency     p50 " << number(l["p50"]) << " ms, p90 " << number(l["p90"]) << " ms, p99 "
            << number(l["p99"]) << " ms, min " << number(l["min"]) << " ms, max " << number(l["max"])
            << " ms, of " << m["calls"] << " calls\n"
            << "throughput  " << number(m["calls_per_second"], "%.1f") << " calls a second\n"
            << "first call  " << number(m["first_call_ms"], "%.1f") << " ms, of which "
            << number(m["compile_ms"], "%.1f") << " ms compiled " << m["kernels_compiled"] << " kernels; "
            << m["kernels_from_disk"] << " were on disk\n";
  if (m.contains("load_ms")) std::cout << "load        " << number(m["load_ms"], "%.1f") << " ms\n";
  std::cout << "a call      " << number(m["kernels_per_call"], "%.0f") << " kernels; " << m["programs"]
            << " programs in memory\n"
            << "memory      " << text::human_size(m["peak_memory_bytes"].get<uint64_t>()) << " at most\n"
            << "on          " << m["processor"].get<std::string>() << ", " << m["threads"] << " threads\n";
  if (m["session"].is_string())
    std::cout << "without a session: " << text::printable(m["session"].get<std::string>()) << '\n';
  if (!m.contains("kernels")) return;
  std::cout << "kernels\n";
  for (const Json& k : m["kernels"])
    std::cout << "  " << number(Json(100 * k["share"].get<double>()), "%5.1f") << "%  "
              << k["kernel"].get<std::string>() << '\n';
}

}  // namespace lazy::tool
