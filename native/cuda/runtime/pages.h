// Memory that the system has promised but not provided: the pages of a new array come into being when they are first
// written, which takes three times as long as the copy of a result into them.
#pragma once
#include <cstdint>
#include <memory>

namespace mpmml::cuda {

/// Asks the system for the pages of large memory that has none yet, while other work goes on. It doesn't change what
/// the memory holds. Where the system can't be asked, it does nothing.
class Pages {
 public:
  Pages(void* memory, int64_t bytes);
  /// Leaves out what hasn't been asked for yet, and waits for the rest.
  ~Pages();
  Pages(const Pages&) = delete;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mpmml::cuda
