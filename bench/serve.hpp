// Answers questions about rows, a line each, on standard input: bench/run asks all sides about one row before
// the next.
//   list                          row,WORKLOAD,SIZE or row,WORKLOAD,SIZE,fresh (needs a process that ran
//   nothing else) about                         about,TEXT: versions, instruction sets time WORKLOAD/SIZE
//   SECONDS    time,MEDIAN_US,RUNS_ON (RUNS_ON: what did the work, if the row knows) arrays WORKLOAD/SIZE
//   FOLDER   writes inputs and results for bench_reference
// An answer ends with the line `done`; one that fails has a line error,TEXT.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

/// Writes arrays into a folder: the elements of each as float or double in a file, and a line
/// "in0 bfloat16 float 4 5" each in the file `arrays`: name, dtype, what is in the file, shape.
class Arrays {
 public:
  explicit Arrays(std::string folder) : folder_(std::move(folder)), list_(folder_ + "/arrays") {}
  template <class E>
  void in(const char* dtype, const std::vector<int64_t>& shape, const E* data) {
    write("in" + std::to_string(ins_++), dtype, shape, data);
  }
  template <class E>
  void out(const char* dtype, const std::vector<int64_t>& shape, const E* data) {
    write("out" + std::to_string(outs_++), dtype, shape, data);
  }

 private:
  template <class E>
  void write(const std::string& name, const char* dtype, const std::vector<int64_t>& shape, const E* data) {
    static_assert(std::is_same_v<E, float> || std::is_same_v<E, double>);
    int64_t bytes = sizeof(E);
    list_ << name << ' ' << dtype << (sizeof(E) == 4 ? " float" : " double");
    for (const int64_t n : shape) list_ << ' ' << n, bytes *= n;
    list_ << '\n' << std::flush;
    std::ofstream(folder_ + "/" + name, std::ios::binary).write(reinterpret_cast<const char*>(data), bytes);
  }
  std::string folder_;
  std::ofstream list_;
  int ins_ = 0, outs_ = 0;
};

/// Holds one workload with its inputs.
struct Call {
  std::function<void()> run = {};            // timed
  std::function<double()> measured = {};     // instead of `run`: returns the microseconds of a call
  std::function<void(Arrays&)> arrays = {};  // computes once and writes inputs and results; may be empty
  std::string runs_on = {};                  // names the kernel, if that is known; no commas
};

struct Row {
  std::string workload, size;
  std::function<Call()> make;
  bool fresh = false;  // to be measured in a process that ran nothing else
};

/// Returns the median of samples in microseconds; a sample is long enough to be timed. `once` takes a single
/// one of what times itself.
inline double median_us(const Call& call, double seconds, bool once = false) {
  if (once && call.measured) return call.measured();
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  std::vector<double> samples;
  const auto begin = Clock::now();
  const size_t least = 5;
  if (call.measured) {
    while (samples.size() < least || since(begin) < seconds) samples.push_back(call.measured());
  } else {
    call.run(), call.run();
    const auto single = Clock::now();
    call.run();
    const int inner = std::max(1, static_cast<int>(100e-6 / std::max(since(single), 1e-8)));
    const auto first = Clock::now();
    while (samples.size() < least || since(first) < seconds) {
      const auto start = Clock::now();
      for (int i = 0; i < inner; ++i) call.run();
      samples.push_back(since(start) / inner * 1e6);
    }
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2),
                   samples.end());
  return samples[samples.size() / 2];
}

/// Answers until its input ends. Only one row's inputs are in memory at a time.
inline int serve(const std::vector<Row>& rows, const std::string& about) {
  std::string made, line;
  Call call;
  bool fresh = false;
  const auto row = [&](const std::string& name) -> const Call& {
    if (made == name) return call;
    for (const Row& r : rows)
      if (r.workload + "/" + r.size == name) {
        call = {}, made.clear();
        call = r.make(), made = name, fresh = r.fresh;
        return call;
      }
    throw std::runtime_error("no row " + name);
  };
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, name, more;
    words >> verb >> name >> more;
    try {
      if (verb == "list")
        for (const Row& r : rows)
          std::printf("row,%s,%s%s\n", r.workload.c_str(), r.size.c_str(), r.fresh ? ",fresh" : "");
      else if (verb == "about") std::printf("about,%s\n", about.c_str());
      else if (verb == "time") {
        const double us = median_us(row(name), std::stod(more), fresh);
        std::printf("time,%.5g,%s\n", us, call.runs_on.c_str());
      } else if (verb == "arrays") {
        if (row(name).arrays) {
          Arrays to(more);
          call.arrays(to);
        }
      } else std::printf("error,no question '%s'\n", verb.c_str());
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::printf("error,%s\n", text.c_str());
    }
    std::printf("done\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace bench
