// Prefaulting of new arrays. The system creates the pages of a new array at the first write, which takes three times as
// long as the copy of a result into them.
#pragma once
#include <cstdint>
#include <memory>

namespace mpmml::cuda {

/// Populates the pages of large new memory in the background, without changing its contents. Does nothing on systems
/// without support.
class Pages {
 public:
  Pages(void* memory, int64_t bytes);
  /// Cancels the remaining requests, and waits for requests in progress.
  ~Pages();
  Pages(const Pages&) = delete;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mpmml::cuda
