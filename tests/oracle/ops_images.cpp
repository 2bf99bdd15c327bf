// Rows of convolution, pooling, resizing: lazy/nn/functional/.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

/// Takes options of convolutions: bias, stride, padding, dilation, groups, and the padding at the end of
/// transposed ones.
ConvOptions conv_options(Given& g) {
  ConvOptions o;
  o.bias = g.tensor();
  o.stride = g.axes(1);
  o.padding = g.axes(0);
  o.dilation = g.axes(1);
  o.groups = g.integer(1);
  o.output_padding = g.axes(0);
  return o;
}

/// Takes options of pooling: stride, padding, dilation, ceil_mode, count_padding, divisor.
PoolOptions pool_options(Given& g) {
  PoolOptions o;
  o.stride = g.axes();
  o.padding = g.axes(0);
  o.dilation = g.axes(1);
  o.ceil_mode = g.flag(false);
  o.count_padding = g.flag(true);
  o.divisor_override = g.integer(0);
  return o;
}

Interpolation interpolation(const std::string& s) {
  if (s == "nearest") return Interpolation::nearest;
  if (s == "nearest-exact") return Interpolation::nearest_exact;
  if (s == "linear" || s == "bilinear" || s == "trilinear") return Interpolation::linear;
  if (s == "bicubic") return Interpolation::cubic;
  if (s == "area") return Interpolation::area;
  throw BadCase("no interpolation: " + s);
}

InterpolateOptions resizing(Given& g) {
  InterpolateOptions o;
  o.size = g.axes();
  o.scale_factor = g.reals();
  o.mode = interpolation(g.text("nearest"));
  o.align_corners = g.flag(false);
  return o;
}

GridOptions grid_options(Given& g) {
  GridOptions o;
  o.mode = interpolation(g.text("bilinear"));
  const std::string outside = g.text("zeros");
  o.padding = outside == "zeros"    ? GridPadding::zeros
              : outside == "border" ? GridPadding::border
                                    : GridPadding::reflection;
  o.align_corners = g.flag(false);
  return o;
}

FoldOptions fold_options(Given& g) {
  FoldOptions o;
  o.stride = g.axes(1);
  o.padding = g.axes(0);
  o.dilation = g.axes(1);
  return o;
}

Results both(const MaxPoolResult& m) { return {m.values, m.indices}; }

#define FOLD(f) ROW(#f, "x 1,8,4\tL 3,3\tL 2,2", ARG(x); AXES(n); AXES(w); return f(x, n, w, fold_options(g)))
#define UNFOLD(f) ROW(#f, "x 1,2,3,3\tL 2,2", ARG(x); AXES(w); return f(x, w, fold_options(g)))
#define CONV(f, sample) ROW(#f, sample, ARG(x); ARG(w); return f(x, w, conv_options(g)))
#define POOL(f) ROW(#f, "x 1,2,4,4\tL 2", ARG(x); AXES(w); return f(x, w, pool_options(g)))
#define ADAPTIVE(f) ROW(#f, "x 1,2,4,4\tL 2", ARG(x); AXES(n); return f(x, n))
#define POOL1(f) ROW(#f, "x 1,2,4\tL 2", ARG(x); AXES(w); return f(x, w, pool_options(g)))
#define ADAPTIVE1(f) ROW(#f, "x 1,2,4\tL 2", ARG(x); AXES(n); return f(x, n))
#define POOL3(f) ROW(#f, "x 1,2,4,4,4\tL 2", ARG(x); AXES(w); return f(x, w, pool_options(g)))
#define ADAPTIVE3(f) ROW(#f, "x 1,2,4,4,4\tL 2", ARG(x); AXES(n); return f(x, n))
#define BLOCKS(f) ROW(#f, "x 1,4,4,4\tI 2", ARG(x); INT(n, 1); return f(x, n))

const Row kRows[] = {
    CONV(conv, "x 1,2,5,5\tx 3,2,3,3"),
    CONV(conv1d, "x 1,2,5\tx 3,2,3"),
    CONV(conv2d, "x 1,2,5,5\tx 3,2,3,3"),
    CONV(conv3d, "x 1,2,4,4,4\tx 3,2,2,2,2"),
    CONV(conv_transpose, "x 1,2,4,4\tx 2,3,2,2"),
    POOL(max_pool),
    POOL(max_pool2d),
    POOL(avg_pool2d),
    ADAPTIVE(adaptive_avg_pool2d),
    ADAPTIVE(adaptive_max_pool2d),
    POOL1(max_pool1d),
    POOL1(avg_pool1d),
    ADAPTIVE1(adaptive_avg_pool1d),
    ADAPTIVE1(adaptive_max_pool1d),
    POOL3(max_pool3d),
    POOL3(avg_pool3d),
    ADAPTIVE3(adaptive_avg_pool3d),
    ADAPTIVE3(adaptive_max_pool3d),
    POOL(avg_pool),
    ADAPTIVE(adaptive_avg_pool),
    ADAPTIVE(adaptive_max_pool),
    BLOCKS(pixel_shuffle),
    BLOCKS(pixel_unshuffle),
    BLOCKS(channel_shuffle),
    FOLD(fold),
    FOLD(col2im),
    UNFOLD(unfold),
    UNFOLD(im2col),
    ROW("max_pool_with_indices", "x 1,2,4,4\tL 2", ARG(x); AXES(w);
        return both(max_pool_with_indices(x, w, pool_options(g)))),
    ROW("adaptive_max_pool_with_indices", "x 1,2,4,4\tL 2", ARG(x); AXES(n);
        return both(adaptive_max_pool_with_indices(x, n))),
    ROW("max_unpool", "x 1,2,2,2\ti 1,2,2,2\tL 2", ARG(x); ARG(i); AXES(w); return max_unpool(x, i, w)),
    ROW("lp_pool", "x 1,2,4,4\tF 2\tL 2", ARG(x); REAL(p, 2); AXES(w);
        return lp_pool(x, p, w, pool_options(g))),
    ROW("avg_pool_backward", "x 1,2,2,2\tx 1,2,4,4\tL 2", ARG(d); ARG(x); AXES(w);
        return avg_pool_backward(d, x, w, pool_options(g))),
    ROW("adaptive_avg_pool_backward", "x 1,2,2,2\tx 1,2,4,4", ARG(d); ARG(x);
        return adaptive_avg_pool_backward(d, x)),
    ROW("max_pool_backward", "x 1,2,2,2\tx 1,2,4,4\ti 1,2,2,2", ARG(d); ARG(x); ARG(i);
        return max_pool_backward(d, x, i)),
    ROW("convolution_backward", "x 1,3,3,3\tx 1,2,5,5\tx 3,2,3,3", ARG(d); ARG(x); ARG(w);
        const ConvGradients r = convolution_backward(d, x, w, conv_options(g));
        return {r.input, r.weight, r.bias}),
    ROW("affine_grid", "x 1,2,3\tL 1,2,3,4", ARG(theta); SHAPE(s); FLAG(corners, false);
        return affine_grid(theta, s, corners)),
    ROW("interpolate", "x 1,2,4,4\tL 3", ARG(x); return interpolate(x, resizing(g))),
    ROW("upsample", "x 1,2,4,4\tL 3", ARG(x); return upsample(x, resizing(g))),
    ROW("imresize", "x 4,5,3\tI 2\tI 7", ARG(x); INT(height, 1); INT(width, 1);
        return imresize(x, height, width)),
    ROW("grid_sample", "x 1,2,4,4\tx 1,3,3,2", ARG(x); ARG(grid);
        return grid_sample(x, grid, grid_options(g))),
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace oracle
