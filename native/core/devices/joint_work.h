// Work on several devices as one.
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/devices/sharded_memory.h"

namespace mpmml {

/// Work that has been started on devices, and what must be kept for it.
class JointWork final : public Pending {
 public:
  struct Work {
    size_t device;
    std::unique_ptr<Pending> pending;
    std::optional<size_t> product = std::nullopt;  ///< of the caller's, that it computes a part of
    int64_t first_node = 0;                        ///< what node 0 of its part is in the whole, for Outcome::gain
  };

  explicit JointWork(const PeerTransfers& peers, size_t products = 0) : peers_(peers), outcomes_(products) {}

  void add(Work work) { works_.push_back(std::move(work)); }
  Kept& kept() { return kept_; }

  bool is_done() override {
    bool all = true;
    for (const Work& work : works_) all &= work.pending->is_done();
    return all;
  }

  /// Throws what that failed with which was started first of those that did.
  std::vector<Outcome> finish() override {
    std::exception_ptr failure;
    for (Work& work : works_) {
      try {
        const std::vector<Outcome> found = peers_.of_device(work.device, [&] { return work.pending->finish(); });
        if (work.product && !found.empty()) join(outcomes_[*work.product], found.front(), work.first_node);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    return std::move(outcomes_);
  }

 private:
  static void join(Outcome& all, const Outcome& part, int64_t first_node) {
    all.take_plan(part.plan);
    all.timing.overlap(part.timing);
    if (part.gain && !all.gain) all.gain = first_node + *part.gain;
  }

  const PeerTransfers& peers_;
  std::vector<Outcome> outcomes_;
  Kept kept_;
  std::vector<Work> works_;  ///< last: work uses what is kept
};

}  // namespace mpmml
