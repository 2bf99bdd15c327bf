// Adds rows of shapes and chains that nothing was tuned on. bench/run --draw takes them from a seed and names
// them in BENCH_DRAWN, as WORKLOAD/SIZE with spaces between; measuring/drawn.py says what a size is.
#include "drawn.hpp"

#include <cstdlib>
#include <map>
#include <sstream>

#include "rows.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using Sizes = std::vector<int64_t>;

Sizes sizes_of(const std::string& text) {
  Sizes sizes;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one, 'x');) sizes.push_back(std::stoll(one));
  return sizes;
}

Tensor unary(char name, const Tensor& x) {
  switch (name) {
    case 'g': return gelu(x);
    case 's': return sigmoid(x);
    case 'r': return relu(x);
    case 'q': return sqrt(abs(x));
    case 'e': return exp(-abs(x));
    default: throw std::invalid_argument(std::string("no op '") + name + "' in a chain");
  }
}

Timed chain(const std::string& size) {
  const size_t at = size.rfind('x');
  const int64_t n = std::stoll(size.substr(at + 1));
  std::vector<Tensor> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(random_tensor({n}));
  return [text = size.substr(0, at), inputs] { return chain_of(text, inputs, unary).eval(); };
}

const std::map<std::string, Timed (*)(const Sizes&)> kWorkloads{
    {"matmul",
     [](const Sizes& s) -> Timed {
       return
           [a = random_tensor({s[0], s[1]}), b = random_tensor({s[1], s[2]})] { return matmul(a, b).eval(); };
     }},
    {"batched_matmul",
     [](const Sizes& s) -> Timed {
       return [a = random_tensor({s[0], s[1], s[2]}), b = random_tensor({s[0], s[2], s[3]})] {
         return matmul(a, b).eval();
       };
     }},
    {"linear_gelu",
     [](const Sizes& s) -> Timed {
       return [x = random_tensor({s[0], s[1]}), w = random_tensor({s[2], s[1]}), b = random_tensor({s[2]})] {
         return gelu(linear(x, w, b)).eval();
       };
     }},
    {"softmax",
     [](const Sizes& s) -> Timed {
       return [x = random_tensor({s[0], s[1]})] { return softmax(x).eval(); };
     }},
    {"logsumexp",
     [](const Sizes& s) -> Timed {
       return [x = random_tensor({s[0], s[1]})] { return logsumexp_rows(x).eval(); };
     }},
    {"layernorm",
     [](const Sizes& s) -> Timed {
       return [x = random_tensor({s[0], s[1]}), w = random_tensor({s[1]}), b = random_tensor({s[1]})] {
         return layernorm(x, w, b).eval();
       };
     }},
    {"rmsnorm",
     [](const Sizes& s) -> Timed {
       return [x = random_tensor({s[0], s[1]}), w = random_tensor({s[1]})] { return rmsnorm(x, w).eval(); };
     }},
    {"attention",
     [](const Sizes& s) -> Timed {
       const Shape shape{1, s[0], s[1], s[2]};
       return [q = random_tensor(shape), k = random_tensor(shape), v = random_tensor(shape)] {
         return scaled_dot_product_attention(q, k, v).eval();
       };
     }},
    {"conv",
     [](const Sizes& s) -> Timed {
       const int64_t channels = s[0], extent = s[1], results = s[2], window = s[3];
       const Tensor x = random_tensor({1, channels, extent, extent}),
                    w = random_tensor({results, channels / s[5], window, window});
       const ConvOptions options{
           .stride = s[4], .padding = window / 2, .groups = s[5], .bias = random_tensor({results})};
       return [=] { return conv2d(x, w, options).eval(); };
     }},
};

}  // namespace

void add_drawn() {
  const char* const names = std::getenv("BENCH_DRAWN");
  std::istringstream all(names ? names : "");
  for (std::string name; all >> name;) {
    const size_t at = name.find('/');
    const std::string workload = name.substr(0, at), size = name.substr(at + 1);
    if (workload == "chain") add(workload, size, [size] { return chain(size); });
    else add(workload, size, [make = kWorkloads.at(workload), size] { return make(sizes_of(size)); });
  }
}

}  // namespace bench
