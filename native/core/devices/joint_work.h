// Combination of the pending work of multiple devices.
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/devices/sharded_memory.h"

namespace mpmml {

/// Pending work on devices, and the objects that must live until it ends.
class JointWork final : public Pending {
 public:
  struct Work {
    size_t device;
    std::unique_ptr<Pending> pending;
    std::optional<size_t> product = std::nullopt;  ///< index of the caller's product that this work is part of
    int64_t first_node = 0;                        ///< index of its node 0 in the whole matrix, for Outcome::gain
  };

  explicit JointWork(const PeerTransfers& peers, size_t products = 0) : peers_(peers), outcomes_(products) {}

  void add(Work work) { works_.push_back(std::move(work)); }
  Kept& kept() { return kept_; }

  bool is_done() override {
    bool all = true;
    for (const Work& work : works_) all &= work.pending->is_done();
    return all;
  }

  /// Waits for all works. Throws the exception of the first started work that failed.
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
  std::vector<Work> works_;  ///< last member: works use the kept objects
};

}  // namespace mpmml
