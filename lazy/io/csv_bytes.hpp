// Reads CSV from memory. Internal to lazy/io.
#pragma once
#include "lazy/io/csv.hpp"
#include "lazy/io/file.hpp"

namespace lazy::detail {

Csv read_csv(const FileBytes&, const CsvOptions&, const MaybeDevice&);

}  // namespace lazy::detail
