// Compares transforms of all instruction sets with the reference's, bit for bit.
#include <cstring>
#include <random>
#include <string>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/calls/fft.hpp"
#include "jit/built_in/fft/fft.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using cpu_backend::Isa;

BOOST_AUTO_TEST_SUITE(transforms)

namespace {

using jit::Meta;

/// Runs the call of a kernel, or of the definition if there is none. Memory ends where it may no longer be
/// touched.
std::vector<std::string> run(const jit::CallSpec& spec, const jit::CallKernel* kernel,
                             const std::vector<Meta>& operands, const std::vector<const char*>& in) {
  std::vector<Meta> outputs;
  for (const jit::CallOutput& o : spec.definition().infer(spec, operands)) outputs.push_back(o.meta);
  std::vector<test::Fenced> memory;
  std::vector<char*> out;
  for (const Meta& m : outputs) {
    memory.emplace_back(static_cast<size_t>(numel(m.shape)) * static_cast<size_t>(size_of(m.dtype)));
    out.push_back(memory.back().data());
  }
  const Site here{};
  const jit::CallRun r{
      spec, test::backend_of(Isa::reference), operands, outputs, in.data(), out.data(), nullptr, 0, here,
      "fft"};
  if (kernel) kernel->run(r);
  else spec.definition().run(r);
  std::vector<std::string> bytes;
  for (const test::Fenced& f : memory) {
    BOOST_TEST(f.intact_before());
    bytes.emplace_back(f.data(), f.bytes());
  }
  return bytes;
}

/// Fills memory with random numbers.
template <class T>
test::Fenced numbers(int64_t n) {
  std::mt19937 random(9);
  std::uniform_real_distribution<T> d(-1, 1);
  test::Fenced memory(static_cast<size_t>(n) * sizeof(T));
  for (int64_t i = 0; i < n; ++i) {
    const T x = d(random);
    std::memcpy(memory.data() + i * static_cast<int64_t>(sizeof x), &x, sizeof x);
  }
  return memory;
}

template <class T>
void same_bits(DType t, const Shape& shape) {
  const int64_t n = shape.back();
  const test::Fenced re = numbers<T>(numel(shape)), im = numbers<T>(numel(shape));
  Shape half = shape;
  half[half.size() - 1] = n / 2 + 1;
  const test::Fenced half_re = numbers<T>(numel(half)), half_im = numbers<T>(numel(half));
  const char *const a = re.data(), *const b = im.data();
  struct Case {
    const jit::CallSpec& spec;
    std::vector<Meta> operands;
    std::vector<const char*> in;
  };
  const auto plain = [](const jit::CallDefinition& d) -> const jit::CallSpec& {
    return jit::intern_call(d, std::string_view());
  };
  const Case cases[] = {
      {plain(jit::calls::kFft), {{t, shape}, {t, shape}}, {a, b}},
      {plain(jit::calls::kFftColumns), {{t, shape}, {t, shape}}, {a, b}},
      {plain(jit::calls::kRealFft), {{t, shape}}, {a}},
      {plain(jit::calls::kInverseRealFft),
       {{t, half}, {t, half}, {DType::bool_, Shape{n, 0}}},
       {a, b, nullptr}},
  };
  for (const Case& c : cases) {
    const std::vector<std::string> want = run(c.spec, nullptr, c.operands, c.in);
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
      if (isa > cpu_backend::best_isa()) continue;
      const auto kernel = cpu_backend::make_fft(c.spec.definition(), isa);
      BOOST_TEST((run(c.spec, kernel.get(), c.operands, c.in) == want),
                 c.spec.name() << " of " << to_string(shape) << ' ' << name_of(t) << ", " << name_of(isa));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_instruction_sets_give_the_same_bits) {
  const std::vector<Shape> shapes = {{1, 1},   {3, 2},    {17, 5},    {16, 12},     {33, 64},   {5, 100},
                                     {2, 128}, {16, 243}, {3, 1000},  {9, 1009},    {1, 1024},  {20, 31},
                                     {64, 17}, {1, 4095}, {1, 30030}, {2, 1 << 15}, {1, 65610}, {300, 3}};
  for (const Shape& shape : shapes) {
    same_bits<float>(DType::float32, shape);
    same_bits<double>(DType::float64, shape);
  }
}

BOOST_AUTO_TEST_SUITE_END()
