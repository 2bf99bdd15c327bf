#include "jit/built_in/nn/group_dots.hpp"

#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

/// Throws unless these are integers with scales, and perhaps zero points, of `depth` numbers a row.
void check_integers(const CallSpec& spec, std::span<const Meta> o, int64_t depth) {
  const auto a = spec.as<GroupDotsAttributes>();
  const int32_t least = a.bits == 4 ? kGroupDotsBlock : kGroupDotsBlock / 2;
  const bool power = a.group >= least && (a.group & (a.group - 1)) == 0;
  bool fits = (a.bits == 4 || a.bits == 8) && power && (o.size() == 2 || o.size() == 3);
  for (size_t i = 0; fits && i < o.size(); ++i) fits = o[i].shape.size() == 2;
  fits = fits && depth % a.group == 0 && o[0].shape[1] == (a.bits == 4 ? depth / 2 : depth) &&
         o[1].shape == Shape{o[0].shape[0], depth / a.group} && (o.size() == 2 || o[2].shape == o[1].shape);
  if (!fits) throw ShapeError(std::string(spec.name()) + ": shapes that don't fit each other");
  for (size_t i = 0; i < o.size(); ++i)
    if (o[i].dtype != (i ? float32 : a.bits == 4 ? uint8 : int8))
      throw DtypeError(std::string(spec.name()) + ": float32 and " + (a.bits == 4 ? "uint8" : "int8") +
                       " are needed");
}

std::vector<CallOutput> infer_group_dots(const CallSpec& spec, std::span<const Meta> o) {
  if (o.size() < 3 || o[0].shape.size() != 2)
    throw ShapeError(std::string(spec.name()) + ": operands that are no product of groups");
  const bool bytes = o[0].dtype == int8 && spec.as<GroupDotsAttributes>().bits == 4;
  if (o[0].dtype != float32 && !bytes) throw DtypeError(std::string(spec.name()) + ": float32 is needed");
  check_integers(spec, o.subspan(1), o[0].shape[1]);
  return {{{float32, {o[0].shape[0], o[1].shape[0]}}, {}}};
}

std::vector<CallOutput> infer_group_numbers(const CallSpec& spec, std::span<const Meta> o) {
  if (o.size() < 2 || o[1].shape.size() != 2)
    throw ShapeError(std::string(spec.name()) + ": operands that are no groups");
  const int64_t depth = o[1].shape[1] * spec.as<GroupDotsAttributes>().group;
  check_integers(spec, o, depth);
  return {{{float32, {o[0].shape[0], depth}}, {}}};
}

float element(const GroupDots& d, int64_t n, int64_t k) {
  const uint8_t* const row = d.q + n * d.row_bytes();
  if (d.how.bits == 8) return static_cast<float>(static_cast<int8_t>(row[k]));
  constexpr int64_t kHalf = kGroupDotsBlock / 2;
  const uint8_t byte = row[k / kGroupDotsBlock * kHalf + k % kHalf];
  return static_cast<float>(k / kHalf % 2 ? byte >> 4 : byte & 15);
}

float x_at(const GroupDots& d, int64_t i) { return d.x ? d.x[i] : static_cast<float>(d.x_bytes[i]); }

void run_group_dots(const CallRun& r) {
  const GroupDots d(r, true);
  if (!d.y) return;
  for (int64_t row = 0; row < d.rows; ++row)
    for (int64_t n = 0; n < d.columns; ++n) {
      float all = 0;
      for (int64_t g = 0; g < d.groups; ++g) {
        const float zero = d.zero ? d.zero[n * d.groups + g] : d.zero_of_all();
        float sum = 0;
        for (int64_t k = g * d.how.group; k < (g + 1) * d.how.group; ++k)
          sum += x_at(d, row * d.depth + k) * (element(d, n, k) - zero);
        all += d.scale[n * d.groups + g] * sum;
      }
      d.y[row * d.columns + n] = all;
    }
}

void run_group_numbers(const CallRun& r) {
  const GroupDots d(r, false);
  if (!d.y) return;
  for (int64_t n = 0; n < d.columns; ++n)
    for (int64_t k = 0; k < d.depth; ++k) {
      const int64_t g = n * d.groups + k / d.how.group;
      d.y[n * d.depth + k] = (element(d, n, k) - (d.zero ? d.zero[g] : d.zero_of_all())) * d.scale[g];
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
constinit const CallDefinition kGroupNumbers{.name = "group_numbers",
                                             .traits = call_trait::kNoThrow,
                                             .infer = infer_group_numbers,
                                             .run = run_group_numbers,
                                             .describe = describe_group_dots};

}  // namespace lazy::jit::calls
