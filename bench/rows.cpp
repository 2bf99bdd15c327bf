#include "rows.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>

#include "backends/cpu/machine/features.hpp"
#include "inputs.hpp"
#include "serve.hpp"
#include "support/config.hpp"

namespace bench {
namespace {

uint64_t seed = 0;
std::vector<Tensor> inputs;  // of the row that is being made
std::vector<Row> rows;

void write(Arrays& to, bool input, const Tensor& t) {
  const Shape s = t.shape();
  const std::vector<int64_t> shape(s.begin(), s.end());
  const char* dtype = lazy::name_of(t.dtype());
  const auto put = [&](const auto& v) {
    input ? to.in(dtype, shape, v.data()) : to.out(dtype, shape, v.data());
  };
  // A float holds each number of the short types, a double those of the long ones that occur here.
  t.dtype() == float64 || t.dtype() == int32 || t.dtype() == int64 ? put(t.to_vector<double>())
                                                                   : put(t.to_vector<float>());
}

/// Makes the inputs and what is timed.
std::pair<Timed, std::vector<Tensor>> begin(const std::function<Timed()>& make) {
  seed = 0;
  inputs.clear();
  Timed t = make();
  return {std::move(t), std::exchange(inputs, {})};
}

Call call_of(const std::function<Timed()>& make) {
  auto [timed, made] = begin(make);
  Call call{.run = timed.run};
  if (timed.results)
    call.arrays = [results = timed.results, made = std::move(made)](Arrays& to) {
      for (const Tensor& t : made) write(to, true, t);
      for (const Tensor& t : results()) write(to, false, t);
    };
  return call;
}

std::string about() {
  using Asked = config::CpuIsa;
  const Asked asked = config::get().cpu_isa.get();
  const cpu_backend::Isa isa = asked == Asked::reference ? cpu_backend::Isa::reference
                               : asked == Asked::avx2    ? cpu_backend::Isa::avx2
                                                         : cpu_backend::best_isa();
  return std::string("its own products; ") + cpu_backend::name_of(isa);
}

}  // namespace

Tensor random_tensor(ShapeArg shape, float low, float high) {
  inputs.push_back(from_span<float>(uniform(numel(shape), low, high, ++seed), shape));
  return inputs.back();
}

Tensor random_tensor(DType dtype, ShapeArg shape, float low, float high) {
  Tensor t = random_tensor(shape, low, high).astype(dtype);
  if (dtype == float64) t = t * (1 + 0x1p-30);  // digits that float32 has not
  return inputs.back() = t.eval();
}

void add(const std::string& workload, const std::string& size, std::function<Timed()> make) {
  rows.push_back({workload, size, [make] { return call_of(make); }});
  const std::string name = workload + "/" + size;
  benchmark::RegisterBenchmark(name.c_str(), [name, make](benchmark::State& state) {
    static std::string made;  // inputs of one workload at a time: some are large
    static std::function<void()> call;
    if (made != name) {
      call = nullptr;
      call = begin(make).first.run;
      made = name;
      call();
      call();
    }
    for (auto _ : state) call();
    reset_metrics();
    const uint64_t before = metrics().bytes_live;
    call();
    // Counts the memory that the call needs besides its inputs. LAZY_EAGER=1 shows what it would need op by
    // op.
    state.counters["peak_bytes"] = static_cast<double>(metrics().bytes_peak - before);
  })->UseRealTime();
}

void add_measured(const std::string& workload, const std::string& size, int repetitions, bool fresh,
                  std::function<double()> call) {
  rows.push_back({workload, size, [call] { return Call{.measured = call}; }, fresh});
  benchmark::RegisterBenchmark((workload + "/" + size).c_str(),
                               [call](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(call() * 1e-6);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(repetitions);
}

int run_rows(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--serve") == 0) return serve(rows, about());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace bench
