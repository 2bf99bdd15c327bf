// Computes rows again in double or long double and prints the largest error of what a side computed:
//    bench_reference WORKLOAD/SIZE FOLDER      (FOLDER as serve.hpp's Arrays writes it)
// prints error,MAX_ULP,MAX_ABS, or `none` for a row without a reference. A unit in the last place is that of
// the exact result in the dtype of the results. Where results are sums that may cancel (products,
// convolutions, attention, norms) it is that of their root mean square: the smallest of them would say
// nothing. Of large results some are compared: at least 64 rows, a million elements.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference.hpp"

namespace bench {
namespace {

std::vector<double> elements(const std::string& path, bool wide, size_t n) {
  std::ifstream file(path, std::ios::binary);
  std::vector<double> v(n);
  if (wide) {
    file.read(reinterpret_cast<char*>(v.data()), static_cast<std::streamsize>(n * 8));
  } else {
    std::vector<float> narrow(n);
    file.read(reinterpret_cast<char*>(narrow.data()), static_cast<std::streamsize>(n * 4));
    std::copy(narrow.begin(), narrow.end(), v.begin());
  }
  if (!file) throw std::runtime_error(path + " is too short");
  return v;
}

Case read(const std::string& folder) {
  Case c;
  std::ifstream list(folder + "/arrays");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string name, width;
    Values a;
    words >> name >> a.dtype >> width;
    size_t n = 1;
    for (size_t d; words >> d;) a.shape.push_back(d), n *= d;
    a.v = elements(folder + "/" + name, width == "double", n);
    (name.starts_with("in") ? c.in : c.out).push_back(std::move(a));
  }
  if (c.out.empty()) throw std::runtime_error(folder + " holds no results");
  return c;
}

/// Returns the distance of neighbours of the dtype at x.
double ulp(const std::string& dtype, double x) {
  struct Format {
    int digits, least;
  };
  static const std::map<std::string, Format> formats{
      {"float64", {53, -1022}}, {"float32", {24, -126}}, {"bfloat16", {8, -126}}, {"float16", {11, -14}}};
  const auto f = formats.find(dtype);
  if (f == formats.end()) return 1;  // integers, bool
  const int exponent = x == 0 ? f->second.least : std::max(std::ilogb(x), f->second.least);
  return std::ldexp(1.0, exponent - (f->second.digits - 1));
}

int run(const std::string& row, const std::string& folder) {
  std::string workload = row.substr(0, row.find('/'));
  for (const char* suffix : {"_f64", "_bf16", "_f16", "_int8", "_int32", "_int64", "_fp32", "_nchw", "_nhwc"})
    if (workload.ends_with(suffix) && workload != "linear_int8")
      workload.resize(workload.size() - std::string(suffix).size());
  Case c = read(folder);
  c.workload = workload;
  c.size = row.substr(row.find('/') + 1);
  const std::vector<Expected> want = expected(c);
  if (want.empty()) return std::puts("none"), 0;
  double squares = 0, ulps = 0, absolute = 0;
  for (const Expected& e : want) squares += static_cast<double>(e.value * e.value);
  const double typical = std::sqrt(squares / static_cast<double>(want.size()));
  for (const Expected& e : want) {
    const Values& out = c.out.at(e.output);
    if (e.index >= out.v.size()) throw std::runtime_error("the result has too few elements");
    const double d = static_cast<double>(std::abs(static_cast<Exact>(out.v[e.index]) - e.value));
    const double unit = ulp(out.dtype, cancels(workload) ? typical : static_cast<double>(e.value));
    if (!(d <= absolute)) absolute = d;  // a NaN stays
    if (!(d / unit <= ulps)) ulps = d / unit;
  }
  return std::printf("error,%.4g,%.4g\n", ulps, absolute), 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("bench_reference WORKLOAD/SIZE FOLDER\n", stderr), 2;
  try {
    return bench::run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "bench_reference: %s: %s\n", argv[1], e.what()), 1;
  }
}
