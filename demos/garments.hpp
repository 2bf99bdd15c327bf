// Draws pictures of garments, in the format and of the classes of Fashion-MNIST, for when that is not at
// hand.
#pragma once
#include <cstdint>
#include <string>

namespace demo {

inline constexpr const char* kGarments[] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                            "sandal",  "shirt",   "sneaker",  "bag",   "boot"};

/// Writes the four files of a set of 28 x 28 pictures into a folder, which it makes. The same counts give the
/// same pictures. Throws a Failure if it can't.
void write_garments(const std::string& folder, int64_t train, int64_t test);

}  // namespace demo
