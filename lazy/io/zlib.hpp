// Compresses and decompresses by zlib, which is opened when it is first called. Internal to lazy/io.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/site.hpp"

namespace lazy::detail {

/// Says what is around a stream of deflate: nothing, as in ZIP files, zlib's header and checksum, as in PNG,
/// or those of gzip.
enum class Wrapping { none, zlib, gzip };

/// Bounds how many bytes one byte of deflate stands for: a size that exceeds that is wrong.
inline constexpr uint64_t kMostInflation = 1032;

/// Decompresses `from` into exactly `size` bytes. Returns false if the stream is damaged, or gives more or
/// fewer. DeviceError if there is no zlib.
bool inflate(const char* op, std::string_view from, Wrapping, char* to, size_t size, const Site&);
/// Decompresses the first `size` bytes. Returns false if there are fewer. DeviceError if there is no zlib.
bool inflate_begin(const char* op, std::string_view from, Wrapping, char* to, size_t size, const Site&);
/// Appends to `to` what a gzip file has, of all its members, but not more than `most` bytes. Returns false if
/// it is damaged as far as it was read, or has bytes behind its members; `to` is then of no use. DeviceError
/// if there is no zlib.
bool gunzip(const char* op, std::string_view from, std::string& to, uint64_t most, const Site&);
/// Returns the bytes compressed. DeviceError if there is no zlib.
std::string deflate(const char* op, std::string_view from, Wrapping, const Site&);

/// Continues the CRC-32 of ZIP and PNG over more bytes; begins with 0.
uint32_t crc32(uint32_t so_far, std::string_view bytes);

}  // namespace lazy::detail
