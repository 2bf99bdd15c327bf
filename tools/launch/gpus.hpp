// Shares a machine's GPUs out among its ranks.
#pragma once
#include <string>
#include <vector>

namespace lazy::tool {

/// Returns CUDA_VISIBLE_DEVICES of each rank of this machine, as neighbouring GPUs as there are for each;
/// empty where ranks compute on the CPU (LAZY_DEVICE), or there are fewer GPUs than ranks.
std::vector<std::string> gpus_of_ranks(int ranks);

}  // namespace lazy::tool
