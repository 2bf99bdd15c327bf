// Reads sets of pictures from memory. Internal to lazy/data.
#pragma once
#include "lazy/data/collate.hpp"
#include "lazy/io/file.hpp"

namespace lazy::data::detail {

using lazy::detail::FileBytes;

Tensor read_idx(const FileBytes&);
/// Reads records of labels, the one at `label` of `labels` in each, and a picture; all are below `classes`.
Batch read_cifar(const FileBytes&, size_t labels, size_t label, int classes);

}  // namespace lazy::data::detail
