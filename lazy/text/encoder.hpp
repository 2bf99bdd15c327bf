// Runs a tokenizer's pipeline over a text.
#pragma once
#include "lazy/text/files/loaded.hpp"
#include "lazy/text/pipeline/word_cache.hpp"

namespace lazy::text {

/// Returns the tokens of a text, without special ones around it. `op` is the user's function, for errors.
pipeline::Row tokens_of(const files::Loaded&, std::string_view text, int64_t type_id, pipeline::WordCache&,
                        const char* op, const Site&);
/// Leaves out tokens of one or two rows, which `added` others will join. Error if they can't be that short.
void truncate(std::vector<pipeline::Row>& rows, const files::Truncation&, size_t added, const char* op,
              const Site&);
/// Joins rows.
Encoding joined(std::vector<pipeline::Row>&& rows);

}  // namespace lazy::text
