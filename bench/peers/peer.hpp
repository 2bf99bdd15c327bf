// What the C++ peers share: inputs and results of a row as float arrays, and the call made of them.
#pragma once
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../inputs.hpp"
#include "../serve.hpp"

namespace bench {

using Shape = std::vector<int64_t>;

inline int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

/// Holds float32 inputs, the same numbers as the library's row has, and results.
struct Data {
  std::vector<std::vector<float>> in, out;
  std::vector<Shape> in_shapes, out_shapes;
  std::vector<std::string> in_dtypes, out_dtypes;

  float* input(const Shape& shape, float low = -1, float high = 1, const char* dtype = "float32") {
    in.push_back(uniform(count(shape), low, high, in.size() + 1));
    if (std::string(dtype).starts_with("int"))
      for (float& x : in.back()) x = std::trunc(x);
    in_shapes.push_back(shape), in_dtypes.emplace_back(dtype);
    return in.back().data();
  }
  float* output(const Shape& shape, const char* dtype = "float32") {
    out.emplace_back(static_cast<size_t>(count(shape)));
    out_shapes.push_back(shape), out_dtypes.emplace_back(dtype);
    return out.back().data();
  }
};

/// Makes the call: `run` computes; `fetch` writes the results into data->out where they are not there
/// already.
inline Call call_of(
    std::shared_ptr<Data> data, std::function<void()> run, std::function<void()> fetch = [] {},
    std::string runs_on = "") {
  Call c;
  c.run = run;
  c.arrays = [data, run, fetch](Arrays& to) {
    run();
    fetch();
    for (size_t i = 0; i < data->in.size(); ++i)
      to.in(data->in_dtypes[i].c_str(), data->in_shapes[i], data->in[i].data());
    for (size_t i = 0; i < data->out.size(); ++i)
      to.out(data->out_dtypes[i].c_str(), data->out_shapes[i], data->out[i].data());
  };
  c.runs_on = std::move(runs_on);
  return c;
}

}  // namespace bench
