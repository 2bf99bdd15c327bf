// Reads sets of pictures, and text. What is wrong with a file throws IoError, which says where. Datasets
// throw at get() what reading throws, at the line of the loop where a DataLoader calls it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lazy/data/collate.hpp"
#include "lazy/data/dataset.hpp"

namespace lazy::data {

/// Reads an IDX file, as MNIST's are, packed by gzip or not: numbers of any of its types, in its shape.
Tensor read_idx(const std::string& path, Site s = Site::current());

/// Returns MNIST or a set in its format (Fashion-MNIST, KMNIST) of a folder that has its four files, or those
/// of `train` or not: x uint8 [n, height, width], y int64 [n].
TensorDataset mnist(const std::string& folder, bool train = true, Site s = Site::current());

/// Reads a file of CIFAR-10 in its binary version: x uint8 [n, 3, 32, 32], y int64 [n] from 0 to 9.
Batch read_cifar10(const std::string& path, Site s = Site::current());
/// Reads one of CIFAR-100: y from 0 to 99, or the 20 coarse classes.
Batch read_cifar100(const std::string& path, bool coarse = false, Site s = Site::current());
/// Return the sets of a folder with the files of the binary version (data_batch_1.bin, ..., test_batch.bin;
/// train.bin, test.bin).
TensorDataset cifar10(const std::string& folder, bool train = true, Site s = Site::current());
TensorDataset cifar100(const std::string& folder, bool train = true, bool coarse = false,
                       Site s = Site::current());

/// Has the pictures in the folders of a folder as examples: PNG, JPEG, PGM and PPM. Folders in the order of
/// their names are the classes. x is uint8 [channels, height, width], y the class.
class ImageFolder {
 public:
  /// Lists the files. `channels` is 3, or 1 (grey): of pictures in colour grey is their luma (ITU-R BT.601),
  /// of alpha nothing remains. IoError if there is no such folder, or no picture in it; ShapeError for
  /// others.
  explicit ImageFolder(const std::string& folder, int channels = 3, Site s = Site::current());
  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  Example get(int64_t i) const;
  const std::vector<std::string>& classes() const { return classes_; }
  const std::string& path(int64_t i) const { return files_[static_cast<size_t>(i)].path; }

 private:
  struct File {
    std::string path;
    int64_t label;
  };
  std::vector<File> files_;
  std::vector<std::string> classes_;
  int channels_;
};

/// Returns the bytes of a file.
std::string read_text(const std::string& path, Site s = Site::current());

/// Numbers the bytes that occur in a text, in their order.
class CharVocabulary {
 public:
  explicit CharVocabulary(std::string_view text);
  int64_t size() const { return static_cast<int64_t>(characters_.size()); }
  /// Returns the numbers of a text's bytes; Error for a byte that has none.
  std::vector<int64_t> encode(std::string_view text, Site s = Site::current()) const;
  /// Returns the text of such numbers; IndexError for one that stands for nothing.
  std::string decode(std::span<const int64_t> numbers, Site s = Site::current()) const;
  char character(int64_t number) const { return characters_[static_cast<size_t>(number)]; }

 private:
  std::string characters_;
  int16_t numbers_[256];  // by byte; -1: none
};

/// Has all pieces of `length` numbers of a text as examples: x is a piece, y the same one number later, both
/// int64 [length].
class TextDataset {
 public:
  /// ShapeError unless there are more numbers than `length`, which is at least 1.
  TextDataset(std::vector<int64_t> numbers, int64_t length, Site s = Site::current());
  int64_t size() const { return numbers_.size() - length_; }
  Example get(int64_t i) const;

 private:
  Array numbers_;
  int64_t length_;
};

}  // namespace lazy::data
