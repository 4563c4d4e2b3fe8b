// Memory of a device in which matrices stay: what is known of the elements, and the packed forms of the matrices.
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

/// What scans of lines of a memory have found, for semirings whose ⊕ is a maximum or a minimum.
struct KnownLines {
  OperandLines lines;
  bool maximizes;
  LevelsFound found{};
  bool is_sampled = false, is_all = false;  ///< whether that is about some lines, or about all
};

/// All functions but the destructor and retire() are for the session's thread.
class ResidentMemory final : public Memory {
 public:
  /// Is told of bytes that don't count any more, and then gets what the memory held, which it must give back in the order
  /// of the session's stream.
  using Held = std::pair<DeviceBuffer, PackedForms>;
  using Release = std::function<void(int64_t bytes, std::shared_ptr<Held>)>;

  ResidentMemory(DeviceBuffer buffer, int64_t bytes, int device, Release release)
      : Memory(buffer.get(), bytes),
        held_(std::make_shared<Held>(std::move(buffer), PackedForms(device))),
        release_(std::move(release)) {}
  /// A part of other memory, which outlives it, with facts of its own.
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

  /// Has the facts fetched, for a thread that will ask thousands of memories for them.
  void prefetch_facts() const {
    __builtin_prefetch(&facts_);
    __builtin_prefetch(&facts_ + 1);
  }
  const ValueBounds& facts() const { return facts_; }
  /// Whether the facts come from the elements themselves, so that a scan would find no others.
  bool is_exact() const { return is_exact_; }
  /// Facts that a scan of all elements has found.
  void found(const ValueBounds& facts) {
    if (!is_exact_) forms().clear();
    facts_ = facts;
    is_exact_ = true;
  }

  /// Marks elements as written: all, or a part. `facts` are about the new ones, and `exact` if they come from the elements
  /// themselves. Of a part they are bounds for the whole, because what was there may have been the least or the greatest.
  /// Called before the elements are written.
  void written(bool all, const ValueBounds& facts, bool exact) {
    wait_for_readers();
    forms().clear();
    known_lines_.clear();
    is_exact_ = exact && all;
    if (all) facts_ = {};
    facts_.merge(facts);
  }

  /// Whether these matrices are all that the memory holds.
  template <class Pointer>
  bool is_covered_by(const BasicMatrixView<Pointer>& view, DataType dtype, int64_t batch) const {
    return is_row_major(view, batch) && batch * view.rows * view.cols * stored_bytes(dtype, view.storage) == bytes();
  }

  /// What is known of lines of it. The answer stays valid while few others are asked for.
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
  // Next to what a memory begins with: groups only read this.
  ValueBounds facts_;
  bool is_exact_ = false, counts_ = true;
  std::list<KnownLines> known_lines_;  ///< the latest at the end
  std::shared_ptr<Held> held_;
  Release release_;
  Readers readers_;
};

inline ResidentMemory& resident(Memory* memory) { return static_cast<ResidentMemory&>(*memory); }

/// ResidentMemory::written() of these matrices.
inline void mark_written(const MutableMatrixView& view, DataType dtype, int64_t batch, const ValueBounds& facts,
                         bool exact = false) {
  ResidentMemory& memory = resident(view.memory);
  memory.written(memory.is_covered_by(view, dtype, batch), facts, exact);
}

}  // namespace mpmml::cuda
