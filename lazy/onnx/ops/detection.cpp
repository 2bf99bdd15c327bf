#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/onnx/ops/window.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width;
  return both / (a.area() + b.area() - both);
}

/// Chooses boxes one after another, which is no op on tensors: boxes and scores are read.
void non_max_suppression_op(Call& c) {
  const Shape shape = c.shape(1);
  if (shape.size() != 3 || c.shape(0) != Shape{shape[0], shape[2], 4})
    c.fail<ShapeError>("boxes " + to_string(c.shape(0)) + " don't fit scores " + to_string(shape));
  const int64_t batches = shape[0], classes = shape[1], count = shape[2];
  const int64_t most = c.has(2) ? c.integer(2) : 0;
  const double limit = c.has(3) ? c.number(3) : 0;
  const bool bounded = c.has(4);
  const double least = bounded ? c.number(4) : 0;
  const auto boxes = c.tensor(0).to_vector<float>(c.site()), scores = c.tensor(1).to_vector<float>(c.site());
  const bool centred = c.integer("center_point_box", 0) != 0;
  const auto box = [&](int64_t batch, int64_t i) {
    const float* const b = boxes.data() + (batch * count + i) * 4;
    const double p = static_cast<double>(b[0]), q = static_cast<double>(b[1]), r = static_cast<double>(b[2]),
                 s = static_cast<double>(b[3]);
    if (centred) return Box{q - s / 2, p - r / 2, q + s / 2, p + r / 2};
    return Box{std::min(p, r), std::min(q, s), std::max(p, r), std::max(q, s)};
  };
  std::vector<int64_t> chosen;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t k = 0; k < classes; ++k) {
      const float* const score = scores.data() + (b * classes + k) * count;
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i)
        if (!bounded || static_cast<double>(score[i]) > least) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score[i] > score[j]; });
      std::vector<int64_t> kept;
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const bool covered = std::any_of(kept.begin(), kept.end(),
                                         [&](int64_t j) { return overlap(box(b, i), box(b, j)) > limit; });
        if (!covered) kept.push_back(i), chosen.insert(chosen.end(), {b, k, i});
      }
    }
  const auto rows = static_cast<int64_t>(chosen.size() / 3);
  c.give(from_span(chosen, {rows, 3}, c.device(), c.site()));
}

/// Reads images (N, C, H, W) at computed positions between their elements, as four neighbours and their
/// weights.
class Sampler {
 public:
  Sampler(Call& c, const Tensor& image)
      : c_(c), shape_(image.shape(c.site())), dtype_(image.dtype(c.site())) {
    const Tensor channels_first = permute_dims(c.arg(image), {1, 0, 2, 3});
    flat_ = reshape(c.arg(channels_first), {shape_[1], shape_[0] * shape_[2] * shape_[3]});
  }

  /// Returns (C, ...) at rows y and columns x, which broadcast, of the images whose numbers are given.
  /// Outside there are zeros, or with `clamped` positions less than 1 beyond the border count as on it.
  std::vector<Tensor> taps(const Tensor& image, const Tensor& y, const Tensor& x, bool clamped) {
    const Axis rows = axis(y, shape_[2], clamped), columns = axis(x, shape_[3], clamped);
    std::vector<Tensor> all;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const Tensor plane = multiply(c_.arg(image), Arg(shape_[2] * shape_[3], c_.site()));
        const Tensor line = multiply(c_.arg(rows.at[i]), Arg(shape_[3], c_.site()));
        const Tensor place = add(c_.arg(add(c_.arg(plane), c_.arg(line))), c_.arg(columns.at[j]));
        const Tensor value = take(c_.arg(flat_), c_.arg(place), 1, Bounds::clip);
        const Tensor weight = multiply(c_.arg(rows.weight[i]), c_.arg(columns.weight[j]));
        all.push_back(multiply(c_.arg(value), c_.arg(weight.astype(dtype_, c_.site()))));
      }
    return all;
  }

 private:
  struct Axis {
    Tensor at[2], weight[2];
  };
  /// Returns the neighbours of positions along an axis.
  Axis axis(const Tensor& position, int64_t extent, bool clamped) {
    Tensor p = position;
    const double last = static_cast<double>(extent - 1);
    Tensor inside;
    if (clamped) {
      inside = logical_and(c_.arg(greater_equal(c_.arg(p), -1.0)),
                           c_.arg(less_equal(c_.arg(p), static_cast<double>(extent))));
      p = clip(c_.arg(p), 0.0, last);
    }
    const Tensor low = floor(c_.arg(p)), share = subtract(c_.arg(p), c_.arg(low));
    Axis r;
    for (int i = 0; i < 2; ++i) {
      const Tensor at = add(c_.arg(low), static_cast<double>(i));
      Tensor w = i ? share : subtract(Arg(1.0, c_.site()), c_.arg(share));
      const Tensor there =
          logical_and(c_.arg(greater_equal(c_.arg(at), 0.0)), c_.arg(less_equal(c_.arg(at), last)));
      w = where(c_.arg(there), c_.arg(w), Arg(0.0, c_.site()));
      if (inside.defined()) w = where(c_.arg(inside), c_.arg(w), Arg(0.0, c_.site()));
      r.at[i] = clip(c_.arg(at), 0.0, last).astype(int64, c_.site());
      r.weight[i] = w;
    }
    return r;
  }
  Call& c_;
  const Shape shape_;
  const DType dtype_;
  Tensor flat_;
};

Tensor summed(Call& c, const std::vector<Tensor>& all) {
  Tensor sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) sum = add(c.arg(sum), c.arg(all[i]));
  return sum;
}

/// Pools regions of interest, all with the same numbers of samples in a bin.
Tensor pooled_regions(Call& c, Sampler& sampler, const Tensor& rois, const Tensor& batch, int64_t height,
                      int64_t width, int64_t rows, int64_t columns) {
  const int64_t count = rois.size(0, c.site());
  const double scale = c.real("spatial_scale", 1);
  const bool half =
      c.version() >= 16 && c.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const auto bound = [&](int64_t i) {
    const Tensor v = multiply(c.arg(narrow(c.arg(rois), 1, i, 1)), scale);
    return half ? subtract(c.arg(v), 0.5) : v;
  };
  /// Returns the positions of all samples along an axis, (count, bins * samples).
  const auto positions = [&](const Tensor& first, const Tensor& last, int64_t bins, int64_t samples) {
    Tensor size = subtract(c.arg(last), c.arg(first));
    if (!half) size = maximum(c.arg(size), 1.0);
    const Tensor number =
        arange(0, bins * samples, 1, int64, c.device(), c.site()).astype(rois.dtype(c.site()), c.site());
    const Tensor share = multiply(c.arg(add(c.arg(number), 0.5)), 1.0 / static_cast<double>(bins * samples));
    return add(c.arg(first), c.arg(multiply(c.arg(size), c.arg(share))));
  };
  const Tensor y = positions(bound(1), bound(3), height, rows),
               x = positions(bound(0), bound(2), width, columns);
  const Tensor image = reshape(c.arg(batch.astype(int64, c.site())), {count, 1, 1});
  const std::vector<Tensor> taps = sampler.taps(image, unsqueeze(c.arg(y), 2), unsqueeze(c.arg(x), 1), true);
  const bool largest = c.text("mode", "avg") == "max";
  const int64_t channels = taps[0].size(0, c.site());
  const ShapeArg split{channels, count, height, rows, width, columns};
  Tensor r;
  if (largest) {
    r = taps[0];
    for (size_t i = 1; i < taps.size(); ++i) r = maximum(c.arg(r), c.arg(taps[i]));
    r = max(c.arg(reshape(c.arg(r), split)), {3, 5});
  } else {
    r = mean(c.arg(reshape(c.arg(summed(c, taps)), split)), {3, 5});
  }
  return permute_dims(c.arg(r), {1, 0, 2, 3});
}

void roi_align_op(Call& c) {
  const int64_t height = c.integer("output_height", 1), width = c.integer("output_width", 1),
                ratio = c.integer("sampling_ratio", 0);
  if (c.rank(0) != 4 || c.rank(1) != 2 || c.shape(1)[1] != 4 || c.shape(2) != Shape{c.shape(1)[0]} ||
      height < 1 || width < 1)
    c.fail<ShapeError>("regions " + to_string(c.shape(1)) + " don't fit images " + to_string(c.shape(0)));
  Sampler sampler(c, c.tensor(0));
  if (ratio > 0)
    return c.give(pooled_regions(c, sampler, c.tensor(1), c.tensor(2), height, width, ratio, ratio));
  // Without a ratio each region has as many samples as elements, which its bounds say: they are read.
  const auto rois = c.tensor(1).to_vector<double>(c.site());
  const double scale = c.real("spatial_scale", 1);
  std::vector<Tensor> all;
  for (int64_t i = 0; i < c.shape(1)[0]; ++i) {
    const double* const r = rois.data() + i * 4;
    const auto samples = [&](double size, int64_t bins) {
      return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(size * scale / static_cast<double>(bins))));
    };
    all.push_back(pooled_regions(c, sampler, narrow(c[1], 0, i, 1), narrow(c[2], 0, i, 1), height, width,
                                 samples(r[3] - r[1], height), samples(r[2] - r[0], width)));
  }
  if (all.empty()) return c.give(zeros({0, c.shape(0)[1], height, width}, c.dtype(0), c.device(), c.site()));
  c.give(concat(all, 0, c.site()));
}

void deform_conv_op(Call& c) {
  const Shape shape = c.shape(0), weights = c.shape(1);
  if (shape.size() != 4 || weights.size() != 4)
    c.fail<ShapeError>("images of two spatial axes are supported, not " + to_string(shape));
  const Windows w(c, shape, {weights[2], weights[3]});
  const std::vector<int64_t> count = w.count(shape);
  const int64_t groups = c.integer("group", 1), parts = c.integer("offset_group", 1),
                taps = weights[2] * weights[3];
  const int64_t batch = shape[0], channels = shape[1], rows = count[0], columns = count[1];
  if (groups < 1 || parts < 1 || channels % groups != 0 || channels % parts != 0 || weights[0] % groups != 0)
    c.fail<ShapeError>("channels make no such groups");
  // Offsets, (N, parts, taps, 2, rows, columns), move the places where windows read.
  const Tensor offsets = reshape(c[2], {batch, parts, taps, 2, rows, columns});
  const DType dtype = c.dtype(0);
  const auto grid = [&](size_t axis, int64_t windows, int64_t elements) {
    const Tensor begin = add(c.arg(multiply(c.arg(arange(0, windows, 1, int64, c.device(), c.site())),
                                            Arg(w.stride[axis], c.site()))),
                             Arg(-w.before[axis], c.site()));
    const Tensor element =
        multiply(c.arg(arange(0, elements, 1, int64, c.device(), c.site())), Arg(w.dilation[axis], c.site()));
    return std::pair(begin.astype(dtype, c.site()), element.astype(dtype, c.site()));
  };
  const auto [row_begin, row_element] = grid(0, rows, weights[2]);
  const auto [column_begin, column_element] = grid(1, columns, weights[3]);
  const Tensor at_row = add(c.arg(reshape(c.arg(row_begin), {1, 1, rows, 1})),
                            c.arg(reshape(c.arg(row_element), {weights[2], 1, 1, 1}))),
               at_column = add(c.arg(reshape(c.arg(column_begin), {1, 1, 1, columns})),
                               c.arg(reshape(c.arg(column_element), {1, weights[3], 1, 1})));
  const auto whole = [&](const Tensor& t) {
    return reshape(c.arg(broadcast_to(c.arg(t), {weights[2], weights[3], rows, columns})),
                   {taps, rows, columns});
  };
  const Tensor mask = c.has(4) ? reshape(c[4], {batch, parts, taps, rows, columns}) : Tensor();
  std::vector<Tensor> sampled;
  for (int64_t p = 0; p < parts; ++p) {
    const Tensor of_part = squeeze(c.arg(narrow(c.arg(offsets), 1, p, 1)), 1);
    const auto moved = [&](int64_t axis, const Tensor& places) {
      return add(c.arg(squeeze(c.arg(narrow(c.arg(of_part), 2, axis, 1)), 2)), c.arg(whole(places)));
    };
    const Tensor image = narrow(c[0], 1, p * (channels / parts), channels / parts);
    Sampler sampler(c, image);
    const Tensor number = reshape(c.arg(arange(0, batch, 1, int64, c.device(), c.site())), {batch, 1, 1, 1});
    Tensor values = summed(c, sampler.taps(number, moved(0, at_row), moved(1, at_column), false));
    if (mask.defined())
      values = multiply(c.arg(values), c.arg(squeeze(c.arg(narrow(c.arg(mask), 1, p, 1)), 1)));
    sampled.push_back(values);  // (channels / parts, N, taps, rows, columns)
  }
  const Tensor all =
      reshape(c.arg(concat(sampled, 0, c.site())), {groups, channels / groups, batch, taps, rows * columns});
  const Tensor moved = reshape(c.arg(permute_dims(c.arg(all), {2, 0, 1, 3, 4})),
                               {batch, groups, channels / groups * taps, rows * columns});
  const Tensor kernel = reshape(c[1], {groups, weights[0] / groups, channels / groups * taps});
  Tensor y = reshape(c.arg(matmul(c.arg(kernel), c.arg(moved))), {batch, weights[0], rows, columns});
  if (c.has(3)) y = add(c.arg(y), c.arg(reshape(c[3], {weights[0], 1, 1})));
  c.give(std::move(y));
}

/// Counts n-grams of integers; what is counted is read.
void tf_idf_vectorizer_op(Call& c) {
  const std::vector<int64_t> pool = c.integers("pool_int64s"), counts = c.integers("ngram_counts"),
                             indexes = c.integers("ngram_indexes");
  const std::vector<double> weights = c.reals("weights");
  const int64_t least = c.needed("min_gram_length"), most = c.needed("max_gram_length"),
                skips = c.needed("max_skip_count");
  const std::string_view mode = c.text("mode", "TF");
  std::map<std::vector<int64_t>, size_t> places;  // of an n-gram: its number
  size_t number = 0;
  int64_t last = 0;
  for (const int64_t n : counts) {
    if (n < last || n > static_cast<int64_t>(pool.size()))
      c.fail("attribute 'ngram_counts' does not ascend in the pool");
    last = n;
  }
  for (size_t n = 1; n <= counts.size(); ++n) {
    const auto end = static_cast<size_t>(n < counts.size() ? counts[n] : static_cast<int64_t>(pool.size()));
    for (auto at = static_cast<size_t>(counts[n - 1]); at + n <= end; at += n)
      places[{pool.begin() + static_cast<std::ptrdiff_t>(at),
              pool.begin() + static_cast<std::ptrdiff_t>(at + n)}] = number++;
  }
  const bool negative = std::any_of(indexes.begin(), indexes.end(), [](int64_t i) { return i < 0; });
  if (negative || number > indexes.size() || (!weights.empty() && weights.size() != indexes.size()))
    c.fail("n-grams, attribute 'ngram_indexes' and attribute 'weights' differ in number");
  const int64_t width = indexes.empty() ? 0 : *std::max_element(indexes.begin(), indexes.end()) + 1;
  const Known x = c.elements(0);
  const int64_t rows = c.rank(0) == 2 ? c.shape(0)[0] : 1,
                length = rows ? static_cast<int64_t>(x.size()) / rows : 0;
  std::vector<float> result(static_cast<size_t>(rows * width), 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = least; n <= most; ++n)
      for (int64_t step = 1; n > 0 && step <= (n == 1 ? 1 : skips + 1); ++step)
        for (int64_t begin = 0; begin + (n - 1) * step < length; ++begin) {
          std::vector<int64_t> gram;
          for (int64_t i = 0; i < n; ++i)
            gram.push_back(x.integers[static_cast<size_t>(row * length + begin + i * step)]);
          const auto found = places.find(gram);
          if (found == places.end()) continue;
          result[static_cast<size_t>(row * width + indexes[found->second])] += 1;
        }
  for (size_t i = 0; i < result.size(); ++i) {
    const auto column = static_cast<int64_t>(i) % width;
    const auto at = std::find(indexes.begin(), indexes.end(), column) - indexes.begin();
    const double weight = weights.empty() ? 1 : weights[static_cast<size_t>(at)];
    if (mode == "IDF" && result[i] > 0) result[i] = static_cast<float>(weight);
    if (mode == "TFIDF") result[i] *= static_cast<float>(weight);
  }
  c.give(from_span(result, c.rank(0) == 2 ? ShapeArg({rows, width}) : ShapeArg(width), c.device(), c.site()));
}

const Operator kDetections[] = {
    {"NonMaxSuppression", 10, 21, "center_point_box", non_max_suppression_op},
    {"RoiAlign", 10, 21,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale",
     roi_align_op},
    {"DeformConv", 19, 21, "dilations group kernel_shape offset_group pads strides", deform_conv_op},
    {"TfIdfVectorizer", 9, 21,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s weights",
     tf_idf_vectorizer_op},
};

}  // namespace

std::span<const Operator> detection_operators() { return kDetections; }

}  // namespace lazy::onnx
