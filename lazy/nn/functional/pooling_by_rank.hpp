// Pools over exactly one, two or three spatial axes, by torch's names. Images have a batch axis: (N, C, S...)
// or (N, S..., C); ShapeError otherwise.
#pragma once
#include "lazy/nn/functional/pooling.hpp"

namespace lazy {

// As max_pool().
Tensor max_pool1d(Arg x, Axes window, const PoolOptions& options = {});
Tensor max_pool2d(Arg x, Axes window, const PoolOptions& options = {});
Tensor max_pool3d(Arg x, Axes window, const PoolOptions& options = {});
// As avg_pool().
Tensor avg_pool1d(Arg x, Axes window, const PoolOptions& options = {});
Tensor avg_pool2d(Arg x, Axes window, const PoolOptions& options = {});
Tensor avg_pool3d(Arg x, Axes window, const PoolOptions& options = {});
// As adaptive_avg_pool() and adaptive_max_pool().
Tensor adaptive_avg_pool1d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_avg_pool2d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_avg_pool3d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool1d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool2d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool3d(Arg x, Axes extents, ChannelLayout layout = channels_first);

}  // namespace lazy
