#include "jit/calls/group_dots.hpp"

#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

std::vector<CallOutput> infer_group_dots(const CallSpec& spec, std::span<const Meta> o) {
  const auto a = spec.as<GroupDotsAttributes>();
  const bool power = a.group >= 32 && (a.group & (a.group - 1)) == 0;
  bool fits = (a.bits == 4 || a.bits == 8) && power && (o.size() == 3 || o.size() == 4);
  for (size_t i = 0; fits && i < o.size(); ++i) fits = o[i].shape.size() == 2;
  if (!fits) throw ShapeError(std::string(spec.name()) + ": operands that are no product of groups");
  const Shape &x = o[0].shape, &q = o[1].shape, &scale = o[2].shape;
  const int64_t depth = x[1], unit = std::max<int64_t>(a.group, kGroupDotsBlock);
  fits = depth % unit == 0 && q[1] == (a.bits == 4 ? depth / 2 : depth) &&
         scale == Shape{q[0], depth / a.group} && (o.size() == 3 || o[3].shape == scale);
  if (!fits) throw ShapeError(std::string(spec.name()) + ": shapes that don't fit each other");
  for (size_t i = 0; i < o.size(); ++i)
    if (o[i].dtype != (i != 1 ? float32 : a.bits == 4 ? uint8 : int8))
      throw DtypeError(std::string(spec.name()) + ": float32 and " + (a.bits == 4 ? "uint8" : "int8") +
                       " are needed");
  return {{{float32, {x[0], q[0]}}, {}}};
}

float element(const GroupDots& d, int64_t n, int64_t k) {
  const uint8_t* const row = d.q + n * d.row_bytes();
  if (d.how.bits == 8) return static_cast<float>(static_cast<int8_t>(row[k]));
  const int64_t in_block = k % kGroupDotsBlock, word = in_block % 16, i = in_block / 16;
  const uint8_t byte = row[k / kGroupDotsBlock * (kGroupDotsBlock / 2) + word * 4 + i / 2];
  return static_cast<float>(i % 2 ? byte >> 4 : byte & 15);
}

void run_group_dots(const CallRun& r) {
  const GroupDots d(r);
  if (!d.y) return;
  for (int64_t row = 0; row < d.rows; ++row)
    for (int64_t n = 0; n < d.columns; ++n) {
      float all = 0;
      for (int64_t g = 0; g < d.groups; ++g) {
        const float zero = d.zero ? d.zero[n * d.groups + g] : d.zero_of_all();
        float sum = 0;
        for (int64_t k = g * d.how.group; k < (g + 1) * d.how.group; ++k)
          sum += d.x[row * d.depth + k] * (element(d, n, k) - zero);
        all += d.scale[n * d.groups + g] * sum;
      }
      d.y[row * d.columns + n] = all;
    }
}

std::string describe_group_dots(std::string_view attributes) {
  GroupDotsAttributes a;
  if (attributes.size() != sizeof a) return {};
  std::memcpy(&a, attributes.data(), sizeof a);
  return std::to_string(a.bits) + " bits, groups of " + std::to_string(a.group);
}

}  // namespace

constinit const CallDefinition kGroupDots{.name = "group_dots",
                                          .traits = call_trait::kNoThrow,
                                          .infer = infer_group_dots,
                                          .run = run_group_dots,
                                          .describe = describe_group_dots};

}  // namespace lazy::jit::calls
