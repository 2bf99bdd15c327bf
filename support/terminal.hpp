// Asks how wide a terminal is.
#pragma once
#include <sys/ioctl.h>

namespace lazy {

/// Returns how many characters are side by side on the terminal that a file descriptor is; 0 where it is
/// none, or does not say. It may differ at each call.
inline int terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace lazy
