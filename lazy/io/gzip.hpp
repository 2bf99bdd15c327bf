// Unpacks files that gzip has packed. Internal to lazy/.
#pragma once
#include "lazy/io/file.hpp"

namespace lazy::detail {

/// Returns what a file packed by gzip has, else the file. IoError if it is damaged. Offsets in errors about
/// the result are those in what was packed.
FileBytes unpacked(const FileBytes&);

}  // namespace lazy::detail
