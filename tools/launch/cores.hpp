// Shares this machine's cores among the ranks on it.
#pragma once
#include <vector>

namespace lazy::tool {

using Cores = std::vector<int>;  // logical processors, by the kernel's numbers

/// Returns those that this process may run on; never none.
Cores cores_here();
/// Returns a rank's part: neighbours, as many for each rank as possible, the first ranks one more where they
/// do not divide evenly. Empty where there are fewer cores than ranks.
Cores share_of(const Cores& all, int rank, int ranks);
/// Has the calling process run on these alone; does nothing for none.
void bind_to(const Cores& cores);

}  // namespace lazy::tool
