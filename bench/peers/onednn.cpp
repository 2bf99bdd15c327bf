// oneDNN's primitives as a side of bench/run (serve.hpp): products and convolutions, with weights laid out
// ahead of time as a good runtime would do; what is done at each call is told in runs_on, with the
// implementation that oneDNN chose.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "peer.hpp"

namespace bench {
namespace {

using dnnl::memory;
using Desc = memory::desc;
using Type = memory::data_type;
using Tag = memory::format_tag;
constexpr bool kThree = DNNL_VERSION_MAJOR >= 3;

dnnl::engine& engine() {
  static dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  static dnnl::stream s(engine());
  return s;
}

void convert(memory from, memory to) {
  dnnl::reorder(from, to).execute(stream(), from, to);
  stream().wait();
}
/// Returns memory of that description which holds the floats.
memory laid_out(const float* data, const Desc& as, const Desc& wanted) {
  memory source(as, engine(), const_cast<float*>(data)), target(wanted, engine());
  convert(source, target);
  return target;
}

template <class... T>
dnnl::matmul::primitive_desc product(const dnnl::primitive_attr& attributes, const T&... descriptions) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), descriptions..., attributes};
#else
  return {dnnl::matmul::desc(descriptions...), attributes, engine()};
#endif
}

std::string implementation(const char* name) {
  std::string s = name;
  std::replace(s.begin(), s.end(), ',', ';');
  return s;
}

Call matmul(const Shape& shape, Type type, const char* dtype, float most) {
  auto d = std::make_shared<Data>();
  const float *a = d->input(shape, -most, most, dtype), *b = d->input(shape, -most, most, dtype);
  const bool whole = type == Type::s8;
  float* y = d->output(shape, whole ? "int32" : dtype);
  const Tag tag = shape.size() == 2 ? Tag::ab : Tag::abc;
  const Desc plain(shape, Type::f32, tag), in(shape, type, tag), out(shape, whole ? Type::s32 : type, tag);
  const auto pd = product({}, in, in, out);
  memory A = laid_out(a, plain, in), B = laid_out(b, plain, in), Y(out, engine());
  // The reference sees what was multiplied: rounded.
  for (auto [memory_of, values] : {std::pair{&A, &d->in[0]}, {&B, &d->in[1]}}) {
    memory back(plain, engine(), values->data());
    convert(*memory_of, back);
  }
  const dnnl::matmul primitive(pd);
  return call_of(
      d,
      [=] {
        primitive.execute(stream(), {{DNNL_ARG_SRC, A}, {DNNL_ARG_WEIGHTS, B}, {DNNL_ARG_DST, Y}});
        stream().wait();
      },
      [=] {
        memory back(plain, engine(), y);
        convert(Y, back);
      },
      implementation(pd.impl_info_str()));
}

/// Multiplies by weights that were laid out ahead of time, adds the bias, applies gelu.
Call linear(int64_t m, Type type, const char* dtype, bool gelu) {
  constexpr int64_t k = 768, n = 3072;
  auto d = std::make_shared<Data>();
  const float* x = d->input({m, k}, -1, 1, dtype);
  const float* w = d->input({n, k}, -1, 1, dtype);
  const float* b = d->input({n}, -1, 1, dtype);
  float* y = d->output({m, n}, dtype);
  dnnl::primitive_attr attributes;
  if (gelu) {
    dnnl::post_ops ops;
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#else
    ops.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#endif
    attributes.set_post_ops(ops);
  }
  const Desc xs({m, k}, type, Tag::ab), ys({m, n}, type, Tag::ab), bs({1, n}, Type::f32, Tag::ab);
  const auto pd = product(attributes, xs, Desc({k, n}, type, Tag::any), bs, ys);
  const Desc plain_x({m, k}, Type::f32, Tag::ab), plain_w({k, n}, Type::f32, Tag::ba);
  memory X = laid_out(x, plain_x, xs), W = laid_out(w, plain_w, pd.weights_desc()), Y(ys, engine());
  memory back_x(plain_x, engine(), d->in[0].data()), back_w(plain_w, engine(), d->in[1].data());
  convert(X, back_x), convert(W, back_w);
  if (type != Type::f32) {  // the bias too is as the library's: rounded
    const Desc floats({1, n}, Type::f32, Tag::ab);
    memory rounded = laid_out(b, floats, Desc({1, n}, type, Tag::ab)),
           back(floats, engine(), d->in[2].data());
    convert(rounded, back);
  }
  memory B(bs, engine(), d->in[2].data());
  const dnnl::matmul primitive(pd);
  return call_of(
      d,
      [=] {
        primitive.execute(stream(),
                          {{DNNL_ARG_SRC, X}, {DNNL_ARG_WEIGHTS, W}, {DNNL_ARG_BIAS, B}, {DNNL_ARG_DST, Y}});
        stream().wait();
      },
      [=] {
        memory back(Desc({m, n}, Type::f32, Tag::ab), engine(), y);
        convert(Y, back);
      },
      implementation(pd.impl_info_str()) + "; weights laid out ahead of time");
}

/// Quantises dynamically as the library's row: the largest magnitude is found at each call.
Call linear_int8(int64_t m) {
  constexpr int64_t k = 768, n = 3072;
  auto d = std::make_shared<Data>();
  const float* x = d->input({m, k});
  const float* w = d->input({n, k}, -127, 127, "int8");
  const float* b = d->input({n});
  float* y = d->output({m, n});
  const Desc xs({m, k}, Type::s8, Tag::ab), ys({m, n}, Type::s32, Tag::ab);
  const auto pd = product({}, xs, Desc({k, n}, Type::s8, Tag::any), ys);
  memory X(xs, engine()), Y(ys, engine());
  memory W = laid_out(w, Desc({k, n}, Type::f32, Tag::ba), pd.weights_desc());
  const dnnl::matmul primitive(pd);
  return call_of(
      d,
      [=] {
        float top = 0;
#pragma omp simd reduction(max : top)
        for (int64_t i = 0; i < m * k; ++i) top = std::max(top, std::fabs(x[i]));
        auto* q = static_cast<int8_t*>(X.get_data_handle());
        const float by = 127 / top, scale = top / (127 * 127);
#pragma omp simd
        for (int64_t i = 0; i < m * k; ++i) q[i] = static_cast<int8_t>(std::nearbyint(x[i] * by));
        primitive.execute(stream(), {{DNNL_ARG_SRC, X}, {DNNL_ARG_WEIGHTS, W}, {DNNL_ARG_DST, Y}});
        stream().wait();
        const auto* sums = static_cast<const int32_t*>(Y.get_data_handle());
        for (int64_t r = 0; r < m; ++r)
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) y[r * n + i] = static_cast<float>(sums[r * n + i]) * scale + b[i];
      },
      [] {}, implementation(pd.impl_info_str()) + "; weights laid out ahead of time; quantised by a loop");
}

/// Computes the row of the library: `last` has channels last, `normalised` ends in the batch norm and relu,
/// which are folded into the weights ahead of time.
Call convolution(bool last, bool normalised) {
  constexpr int64_t c = 64, s = 56;
  auto d = std::make_shared<Data>();
  const float* x = d->input(last ? Shape{1, s, s, c} : Shape{1, c, s, s});
  d->input({c, c, 3, 3});
  for (int i = 0; i < (normalised ? 5 : 1); ++i) d->input({c}, 0.5f, 1);
  float* y = d->output(last ? Shape{1, s, s, c} : Shape{1, c, s, s});
  std::vector<float> weights = d->in[1], bias = d->in[2];
  for (int64_t o = 0; normalised && o < c; ++o) {
    const auto at = static_cast<size_t>(o);
    const float by = d->in[3][at] / std::sqrt(d->in[6][at] + 1e-5f);
    bias[at] = (bias[at] - d->in[5][at]) * by + d->in[4][at];
    for (size_t i = 0; i < c * 9; ++i) weights[at * c * 9 + i] *= by;
  }
  const Desc image({1, c, s, s}, Type::f32, last ? Tag::nhwc : Tag::nchw),
      filters({c, c, 3, 3}, Type::f32, Tag::any);
  const Desc channel({c}, Type::f32, Tag::a);
  dnnl::primitive_attr attributes;
  dnnl::post_ops ops;
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  if (normalised) attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc pd(engine(), dnnl::prop_kind::forward_inference,
                                                     dnnl::algorithm::convolution_auto, image, filters,
                                                     channel, image, {1, 1}, {1, 1}, {1, 1}, attributes);
#else
  ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  if (normalised) attributes.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc pd(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
                                      image, filters, channel, image, {1, 1}, {1, 1}, {1, 1}),
      attributes, engine());
#endif
  memory W = laid_out(weights.data(), Desc({c, c, 3, 3}, Type::f32, Tag::oihw), pd.weights_desc());
  memory B = laid_out(bias.data(), channel, channel);
  memory X(image, engine(), const_cast<float*>(x)), Y(image, engine(), y);
  const dnnl::convolution_forward primitive(pd);
  return call_of(
      d,
      [=] {
        primitive.execute(stream(),
                          {{DNNL_ARG_SRC, X}, {DNNL_ARG_WEIGHTS, W}, {DNNL_ARG_BIAS, B}, {DNNL_ARG_DST, Y}});
        stream().wait();
      },
      [] {},
      implementation(pd.impl_info_str()) + "; weights laid out" + (normalised ? " and normalised" : "") +
          " ahead of time");
}

std::vector<Row> all() {
  std::vector<Row> rows;
  for (const int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048})
    rows.push_back({"matmul", std::to_string(n), [n] { return matmul({n, n}, Type::f32, "float32", 1); }});
  rows.push_back({"matmul_bf16", "512", [] { return matmul({512, 512}, Type::bf16, "bfloat16", 1); }});
  if (kThree)
    rows.push_back({"matmul_f16", "512", [] { return matmul({512, 512}, Type::f16, "float16", 1); }});
  rows.push_back({"matmul_int8", "512", [] { return matmul({512, 512}, Type::s8, "int8", 100); }});
  rows.push_back({"batched_matmul", "64x32x32", [] {
                    return matmul({64, 32, 32}, Type::f32, "float32", 1);
                  }});
  for (const int64_t m : {128, 1}) {
    const std::string size = std::to_string(m) + "x768x3072";
    rows.push_back({"linear_fp32", size, [m] { return linear(m, Type::f32, "float32", false); }});
    rows.push_back({"linear_gelu", size, [m] { return linear(m, Type::f32, "float32", true); }});
    rows.push_back({"linear_bf16", size, [m] { return linear(m, Type::bf16, "bfloat16", false); }});
    rows.push_back({"linear_int8", size, [m] { return linear_int8(m); }});
  }
  for (const bool last : {false, true})
    for (const bool normalised : {false, true})
      rows.push_back({std::string(normalised ? "conv_bn_relu" : "conv2d") + (last ? "_nhwc" : "_nchw"),
                      "1x64x56x56", [=] { return convolution(last, normalised); }});
  return rows;
}

const char* isa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx2: return "AVX2";
    case dnnl::cpu_isa::avx2_vnni: return "AVX2 with VNNI";
    case dnnl::cpu_isa::avx512_core: return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni: return "AVX-512 with VNNI";
    case dnnl::cpu_isa::avx512_core_bf16: return "AVX-512 with bfloat16";
    case dnnl::cpu_isa::avx512_core_amx: return "AMX";
    default: return "another instruction set";
  }
}

}  // namespace
}  // namespace bench

int main() {
  const dnnl_version_t* v = dnnl_version();
  return bench::serve(bench::all(), "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) +
                                        "." + std::to_string(v->patch) + "; " + bench::isa());
}
