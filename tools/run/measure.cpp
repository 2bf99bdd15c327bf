#include "tools/run/measure.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
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

/// Holds a temporary file, which goes with it.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(none);  // TMPDIR, else /tmp
    path_ = ((none ? "/tmp" : folder) / "lazy-run-XXXXXX").string();
    const int fd = ::mkstemp(path_.data());
    if (fd < 0) throw Error("lazy-run: cannot make a file in " + folder.string());
    ::close(fd);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Adds up times of what has a name.
class Shares {
 public:
  void add(const std::string& name, double microseconds) {
    Sum& s = sums_[name];
    s.microseconds += microseconds, s.runs += 1;
    all_ += microseconds;
  }
  /// Returns the largest shares, `most` at most.
  Json largest(const char* key, int most) const {
    std::vector<std::pair<std::string, Sum>> order(sums_.begin(), sums_.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.microseconds > b.second.microseconds;
    });
    Json shares = Json::array();
    for (size_t i = 0; i < order.size() && i < static_cast<size_t>(most); ++i)
      shares.push_back({{key, order[i].first},
                        {"share", all_ > 0 ? order[i].second.microseconds / all_ : 0},
                        {"runs", order[i].second.runs}});
    return shares;
  }

 private:
  struct Sum {
    double microseconds = 0;
    int64_t runs = 0;
  };
  std::map<std::string, Sum> sums_;
  double all_ = 0;
};

/// Returns what a kernel computes, and the node of the model that it is named by, or the line of the model's
/// source.
std::string kernel_name(const Json& event) {
  std::string name = without_line(event.value("name", ""));
  if (event.contains("args") && event["args"].contains("purpose"))
    name += ", " + event["args"]["purpose"].get<std::string>();
  return name;
}

/// Returns the name of a kernel without the line that it is named by: "contract_multiply".
std::string operation(const std::string& name) {
  const size_t ending = std::min(name.rfind(".cpp_"), name.rfind(".hpp_"));
  if (ending == name.npos) return name;
  // Names of ops and files have underscores of their own: files of this tool and of models are known.
  for (const char* const file :
       {"_measure.cpp_", "_replay.hpp_", "_onnx_model.cpp_", "_pretrained_model.cpp_"})
    if (const size_t at = name.find(file); at != name.npos) return name.substr(0, at);
  return name.substr(0, name.rfind('_', ending));
}

/// Adds to `m` in which kernels, and which kinds of them, the time of calls goes, by a recording. The calls
/// are new ones: what they record is named while a recording is wanted.
void add_shares(const std::function<std::function<void()>()>& make_call, int most, Json& m) {
  const TemporaryFile file;
  profile::start(file.path());
  const std::function<void()> call = make_call();
  for (int i = 0; i < 3; ++i) call();
  profile::start(file.path());  // what was before is no part of it
  const auto begin = Clock::now();
  for (int i = 0; i < 20 && (i < 3 || ms_since(begin) < 500); ++i) call();
  profile::stop();
  std::ifstream in(file.path());
  const Json trace = Json::parse(in, nullptr, false);
  if (!trace.is_object() || !trace.contains("traceEvents"))
    throw Error("lazy-run: the recording can't be read");
  Shares kernels, operations;
  for (const Json& e : trace["traceEvents"]) {
    const std::string name = e.value("name", "");
    if (e.value("ph", "") != "X" || e.value("cat", "") != "kernel") continue;
    if (name.starts_with("tile_group")) continue;  // its kernels are there by themselves
    kernels.add(kernel_name(e), e.value("dur", 0.0));
    operations.add(operation(name), e.value("dur", 0.0));
  }
  m["operations"] = operations.largest("operation", most);
  m["kernels"] = kernels.largest("kernel", most);
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
  const bool in_session = m["session"].is_boolean();
  const auto new_call = [&] {
    const Calls again = model.calls(inputs, o.threads);
    return in_session ? again.of_session : again.plain;
  };
  if (o.kernels > 0) add_shares(new_call, o.kernels, m);
  return m;
}

namespace {

void print_shares(const Json& m, const char* title, const char* key) {
  if (!m.contains(title)) return;
  std::cout << title << '\n';
  for (const Json& k : m[title]) {
    std::cout << "  " << text::formatted("%5.1f", 100 * k["share"].get<double>()) << "%  "
              << text::printable(k[key].get<std::string>()) << '\n';
  }
}

}  // namespace

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
  print_shares(m, "operations", "operation");
  print_shares(m, "kernels", "kernel");
}

}  // namespace lazy::tool
