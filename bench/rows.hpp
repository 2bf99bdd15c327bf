// The list of rows that bench_lazy measures.
#pragma once
#include <functional>
#include <lazy/lazy.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

using namespace lazy;

/// Holds what a row times, and how to have its results where it returns them: a Tensor, a pair or a vector.
class Timed {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Timed> && std::is_invocable_v<const F&>)
      Timed(F f) {  // NOLINT(google-explicit-constructor)
    if constexpr (!std::is_void_v<std::invoke_result_t<const F&>>) results = [f] { return list(f()); };
    run = [f = std::move(f)] { f(); };
  }
  std::function<void()> run;
  std::function<std::vector<Tensor>()> results;  // empty where the row returns nothing: no errors are told

 private:
  static std::vector<Tensor> list(Tensor t) { return {std::move(t)}; }
  static std::vector<Tensor> list(std::pair<Tensor, Tensor> p) { return {p.first, p.second}; }
  static std::vector<Tensor> list(std::vector<Tensor> v) { return v; }
};

/// Returns an input of a row: the same numbers in every process, the next of them at each call.
Tensor random_tensor(ShapeArg shape, float low = -1, float high = 1);
/// Returns an input of a row of another dtype.
Tensor random_tensor(DType dtype, ShapeArg shape, float low = -1, float high = 1);

/// Adds a workload. `make` builds the inputs and returns what is timed; it is called once for all
/// repetitions.
void add(const std::string& workload, const std::string& size, std::function<Timed()> make);
/// Adds a workload that times itself: each call returns its microseconds. One that is `fresh` needs a process
/// that ran nothing else.
void add_measured(const std::string& workload, const std::string& size, int repetitions, bool fresh,
                  std::function<double()> call);

void add_typed();      // typed.cpp: dtypes, heads of attention
void add_compiling();  // compiling.cpp: what is compiled
void add_drawn();      // drawn.cpp: what bench/run --draw names

/// Runs them as the arguments say: those of Google Benchmark, or --serve.
int run_rows(int argc, char** argv);

}  // namespace bench
