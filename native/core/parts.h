// One product on several devices: how it is divided, and how its parts agree that it has succeeded.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/backend.h"
#include "core/destination.h"
#include "core/problem.h"
#include "core/region.h"

namespace mpmml {

/// Divides [0, size) in proportion to the speeds of devices. A span for each of them, in their order; one may be empty.
/// `in_tiles`: whether they consist of whole tiles of rows or columns, if there are enough.
std::vector<Span> shares_of(int64_t size, const std::vector<double>& speeds, bool in_tiles);

/// Divides a product in proportion to the speeds of the devices, by its instances, its rows or its columns. A region for
/// each device, in their order; one may be empty.
std::vector<Region> divide(const Problem& problem, const std::vector<double>& speeds);

/// `where`, for a region of a product of which other devices compute the rest.
Placement for_part(const Problem& problem, const Region& region, const Placement& where);

/// C changes only if the whole product succeeds: so no part writes to C before all of them know that they will succeed.
class Agreement {
 public:
  explicit Agreement(size_t parts) : missing_(parts) {}

  /// Marks one more part as one that will succeed, and waits until all have said so. Throws given_up() if one has failed, or if
  /// `is_cancelled`.
  void agree(const std::function<bool()>& is_cancelled);
  /// Marks a part as failed.
  void fail();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t missing_;
  bool failed_ = false;
};

/// What a backend that computes a part has to know of the rest.
class PartOfProduct {
 public:
  PartOfProduct(size_t index, Agreement& agreement, SharedOperand* shared)
      : index_(index), agreement_(agreement), shared_(shared) {}

  size_t index() const { return index_; }
  /// Null if B isn't shared.
  SharedOperand* shared() const { return shared_; }
  /// To be called before the first result is written to the problem's C.
  void before_writing(const Problem& problem) {
    if (has_agreed_ || !writes_apart(problem, true)) return;
    agreement_.agree([&] { return problem.is_cancelled(); });
    has_agreed_ = true;
  }

 private:
  const size_t index_;
  Agreement& agreement_;
  SharedOperand* const shared_;
  bool has_agreed_ = false;
};

/// How fast devices have been in the parts that they computed, so that unequal ones get unequal parts.
class Speeds {
 public:
  /// `fallback[i]` is what is assumed of devices[i] if one of them hasn't been measured.
  std::vector<double> of(const Operation& operation, const std::vector<int>& devices,
                         const std::vector<double>& fallback);
  /// Speeds in one product. Only what they are relative to each other is kept: other products are faster or slower on all.
  void measured(const Operation& operation, const std::vector<int>& devices, const std::vector<double>& speeds);

 private:
  struct Known {
    SemiringId semiring;
    DataType dtype;
    int device;
    double speed;
  };
  std::mutex mutex_;
  std::vector<Known> known_;
};

/// Runs `body(index)` for 0 … count − 1, each on a thread of its own. While they run, calls `watch` again and again, and at
/// once when one has ended. `body` must not throw. Throws Error(kOutOfMemory) if the system refuses a thread, after
/// `stop(index)`, with the index of the first that isn't run, and when those that have been started have ended.
void on_threads(size_t count, const std::function<void(size_t)>& body, const std::function<void()>& watch,
                const std::function<void(size_t)>& stop);

}  // namespace mpmml
