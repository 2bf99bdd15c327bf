// Unpacks files that gzip has packed. Internal to lazy/.
#pragma once
#include "lazy/io/file.hpp"

namespace lazy::detail {

/// Returns what a file packed by gzip has, or its first bytes if that is more than `most`; else the file.
/// IoError if it is damaged as far as it was read. Offsets in errors about the result are those in what was
/// packed.
FileBytes unpacked(const FileBytes&, uint64_t most);

}  // namespace lazy::detail
