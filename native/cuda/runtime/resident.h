// Device memory of resident matrices, with the bounds of their elements and their packed forms.
#pragma once
#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "core/session/readers.h"
#include "core/session/session.h"
#include "cuda/runtime/facts.h"
#include "cuda/runtime/levels.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/packed_forms.h"

namespace mpmml::cuda {

/// Results of scans of a memory's lines, for semirings whose ⊕ is a maximum or a minimum.
struct KnownLines {
  OperandLines lines;
  bool maximizes;
  LevelsFound found{};
  bool is_sampled = false, is_all = false;  ///< whether a sample, or all lines have been scanned
};

/// Device memory of a session's matrices. All functions but the destructor and retire() must be called by the session's
/// thread.
class ResidentMemory final : public Memory {
 public:
  /// Callback for released memory. It receives the bytes that are no longer accounted for, and the buffers, which it
  /// must free in the order of the session's stream.
  using Held = std::pair<DeviceBuffer, PackedForms>;
  using Release = std::function<void(int64_t bytes, std::shared_ptr<Held>)>;

  ResidentMemory(DeviceBuffer buffer, int64_t bytes, int device, Release release)
      : Memory(buffer.get(), bytes),
        held_(std::make_shared<Held>(std::move(buffer), PackedForms(device))),
        release_(std::move(release)) {}
  /// Creates a part of another memory, which must outlive it, with separate bounds.
  ResidentMemory(void* data, int64_t bytes, const ValueBounds& facts)
      : Memory(data, bytes),
        facts_(facts),
        is_exact_(true),
        held_(std::make_shared<Held>(DeviceBuffer(), PackedForms())),
        release_([](int64_t, const std::shared_ptr<Held>&) {}) {}
  ~ResidentMemory() override {
    ResidentMemory::retire();
    release_(0, std::move(held_));
  }
  void retire() override {
    if (counts_) release_(bytes(), nullptr);
    counts_ = false;
  }

  /// Prefetches the bounds into the cache, for a thread that will read the bounds of thousands of memories.
  void prefetch_facts() const {
    __builtin_prefetch(&facts_);
    __builtin_prefetch(&facts_ + 1);
  }
  const ValueBounds& facts() const { return facts_; }
  /// Returns whether the bounds are exact, so that a scan would have the same result.
  bool is_exact() const { return is_exact_; }
  /// Sets the bounds to the result of a scan of all elements.
  void found(const ValueBounds& facts) {
    if (!is_exact_) forms().clear();
    facts_ = facts;
    is_exact_ = true;
  }

  /// Marks all elements, or a part of them, as written. `facts` are the bounds of the new elements, which are `exact`
  /// if they are the result of a scan. After a partial write the bounds of the memory are no longer exact, because an
  /// overwritten element may have been the least or the greatest. Must be called before the elements are written.
  void written(bool all, const ValueBounds& facts, bool exact) {
    wait_for_readers();
    forms().clear();
    known_lines_.clear();
    is_exact_ = exact && all;
    if (all) facts_ = {};
    facts_.merge(facts);
  }

  /// Returns whether the matrices cover all of the memory.
  template <class Pointer>
  bool is_covered_by(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t batch) const {
    return is_row_major(view, batch) && batch * view.rows * view.cols * stored_bytes(dtype, view.storage) == bytes();
  }

  /// Returns the scan results of lines of the memory. The reference stays valid while only a few other lines are
  /// requested.
  KnownLines& known_lines(const OperandLines& lines, bool maximizes) {
    constexpr size_t kMost = 16;
    const auto found = std::find_if(known_lines_.begin(), known_lines_.end(), [&](const KnownLines& known) {
      return known.maximizes == maximizes && known.lines == lines;
    });
    if (found == known_lines_.end()) {
      known_lines_.push_back({lines, maximizes});
      if (known_lines_.size() > kMost) known_lines_.pop_front();
    } else {
      known_lines_.splice(known_lines_.end(), known_lines_, found);
    }
    return known_lines_.back();
  }

  PackedForms& forms() { return held_->second; }

  void read_by(const std::shared_ptr<Reader>& reader) { readers_.add(reader); }
  void wait_for_readers() { readers_.wait(); }

 private:
  // First member, next to the base class in memory: products of groups read only this.
  ValueBounds facts_;
  bool is_exact_ = false, counts_ = true;
  std::list<KnownLines> known_lines_;  ///< latest at the end
  std::shared_ptr<Held> held_;
  Release release_;
  Readers readers_;
};

inline ResidentMemory& resident(Memory* memory) { return static_cast<ResidentMemory&>(*memory); }

/// Calls ResidentMemory::written() for matrices.
inline void mark_written(const MutableMatrixView& view, DataType dtype, int64_t batch, const ValueBounds& facts,
                         bool exact = false) {
  ResidentMemory& memory = resident(view.memory);
  memory.written(memory.is_covered_by(view, dtype, batch), facts, exact);
}

}  // namespace mpmml::cuda
