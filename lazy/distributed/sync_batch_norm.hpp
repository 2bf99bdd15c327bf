// Has batch norms normalise with the statistics of the batches of all ranks, as torch's SyncBatchNorm does.
#pragma once
#include "lazy/distributed/group.hpp"
#include "lazy/nn/functional/normalisation.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::distributed {

/// Has every batch norm of the model, in training, use the mean and variance of the batches of all ranks
/// together, which may be of different sizes: an exchange of 2 C + 1 numbers for each, and one in backward().
/// Returns how many there are. On one rank nothing changes.
int sync_batch_norms(nn::Module& model, const Group& = {});

/// Does what batch_norm_training() does, x being a part of the batch: (N, C, ...), N by rank. ShapeError if a
/// channel has only one element on all ranks together.
BatchNormResult sync_batch_norm(Arg x, const MaybeTensor& running_mean = {},
                                const MaybeTensor& running_var = {}, const BatchNormOptions& options = {},
                                const Group& = {});

}  // namespace lazy::distributed
