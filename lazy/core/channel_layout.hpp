// Says where images have their channels.
#pragma once
#include <cstdint>

namespace lazy {

/// Says where an image has its channels: (N, C, spatial...) or (N, spatial..., C). Of a tensor's memory,
/// whose axes are always (N, C, spatial...): in which of these orders its elements lie.
enum class ChannelLayout : uint8_t { first, last };
inline constexpr ChannelLayout channels_first = ChannelLayout::first, channels_last = ChannelLayout::last;

}  // namespace lazy
