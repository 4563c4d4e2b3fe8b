// The products of a call as work that settles a promise: for host matrices on the threads of products on the host, or
// on an opened device. `Products` are those of built-in semirings (multiply.cpp) or of the user's (user.cpp).
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "addon/computation.h"
#include "addon/device.h"
#include "addon/values.h"
#include "core/host/clock.h"

namespace mpmml::addon {

template <class Products>
class DeviceProducts final : public DeviceWork {
 public:
  DeviceProducts(const Napi::CallbackInfo& info, Products products, Uses uses, std::atomic<int32_t>* cancel)
      : DeviceWork(std::move(uses), cancel), products_(std::move(products)), arguments_(keep(info)) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    start_ = Clock::now();
    done_.backend = session.backend();
    done_.device = session.device();
    done_.devices = set_of(session.devices());
    return products_.start(*this, session);
  }

  void end(const std::vector<Outcome>& outcomes) override {
    const double total = milliseconds_since(start_);
    for (size_t index = 0; index < outcomes.size(); ++index) {
      done_.outcome = outcomes[index];
      products_.report(index, done_, total);
    }
  }

  double steps() const override { return products_.steps(); }
  bool is_group() const override { return products_.is_group; }
  bool is_short() const override { return products_.is_short() && !runs_anywhere(); }
  Napi::Value result(Napi::Env env) override { return products_.result(env, DeviceWork::result(env)); }

 private:
  Products products_;
  const Napi::ObjectReference arguments_;
  Clock::time_point start_;
  Result done_{};  ///< shared by all products of the call
};

/// The computed products of a call on the host. to_value() converts them to its result.
template <class Products>
struct ComputedProducts {
  std::shared_ptr<Products> products;
};
template <class Products>
Napi::Value to_value(Env env, const ComputedProducts<Products>& computed) {
  return computed.products->result(env, env.Undefined());
}

/// Queues the products that `read(uses)` returns: on a device, or of arrays, without uses.
template <class Read>
Napi::Value run_products(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device,
                         std::atomic<int32_t>* cancel, Read read) {
  using Products = decltype(read(nullptr));
  if (!device) {
    auto products = std::make_shared<Products>(read(nullptr));
    const auto place = [products] { return products->is_for_gpu() ? Place::kDevice : Place::kProcessor; };
    const auto compute = [products] {
      products->compute();
      return ComputedProducts<Products>{products};
    };
    return in_background(info, compute, {cancel, place, products->is_group});
  }
  Uses uses(device);
  Products products = read(&uses);
  return DeviceWork::run(
      info.Env(), std::make_unique<DeviceProducts<Products>>(info, std::move(products), std::move(uses), cancel));
}

/// Computes the products that `read(uses)` returns on a device, and waits for them.
template <class Read>
Napi::Value run_products_and_wait(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, Read read) {
  using Products = decltype(read(nullptr));
  Uses uses(device);
  Products products = read(&uses);
  return DeviceWork::run_and_wait(
      info.Env(), std::make_unique<DeviceProducts<Products>>(info, std::move(products), std::move(uses), nullptr));
}

}  // namespace mpmml::addon
