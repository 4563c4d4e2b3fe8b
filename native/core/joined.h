// Work on several devices as one.
#pragma once
#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "core/session.h"

namespace mpmml {

/// What work has been started on the devices. It keeps copies that were made for it.
class Joined final : public Pending {
 public:
  struct Share {
    std::vector<std::unique_ptr<Pending>> works;  ///< of a device, in their order
    std::vector<std::vector<size_t>> products;    ///< which of the caller's each of them has
  };

  Joined(std::vector<Share> shares, std::vector<std::shared_ptr<void>> kept, size_t products)
      : kept_(std::move(kept)), shares_(std::move(shares)), products_(products) {}

  bool is_done() override {
    for (Share& share : shares_) {
      for (const auto& work : share.works) {
        if (!work->is_done()) return false;
      }
    }
    return true;
  }

  std::vector<Outcome> finish() override {
    std::vector<Outcome> outcomes(products_);
    std::exception_ptr failure;
    for (Share& share : shares_) {
      for (size_t index = 0; index < share.works.size(); ++index) {
        try {
          const std::vector<Outcome> found = share.works[index]->finish();
          for (size_t at = 0; at < found.size() && at < share.products[index].size(); ++at) {
            Outcome& all = outcomes[share.products[index][at]];
            all.take_plan(found[at].plan);
            all.timing.overlap(found[at].timing);
            if (found[at].gain) all.gain = found[at].gain;
          }
        } catch (...) {
          if (!failure) failure = std::current_exception();
        }
      }
    }
    if (failure) std::rethrow_exception(failure);
    return outcomes;
  }

 private:
  const std::vector<std::shared_ptr<void>> kept_;
  std::vector<Share> shares_;  ///< last: work uses what is kept
  const size_t products_;
};

}  // namespace mpmml
