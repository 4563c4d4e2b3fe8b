// Work on the threads for products on the host whose result is a value.
#pragma once
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "addon/background.h"
#include "addon/values.h"

namespace mpmml::addon {

/// Options of a computation.
struct ComputationOptions {
  std::atomic<int32_t>* cancel = nullptr;
  std::function<Place()> place{};  ///< default: the processor
  bool is_group = false;           ///< whether failures have the index of a product
};

template <class Compute>
class Computation final : public Work {
 public:
  Computation(Compute compute, ComputationOptions options, Napi::ObjectReference arguments)
      : Work(options.cancel),
        compute_(std::move(compute)),
        place_(std::move(options.place)),
        is_group_(options.is_group),
        arguments_(std::move(arguments)) {}

  Place place() noexcept override {
    try {
      return place_ ? place_() : Place::kProcessor;
    } catch (...) {
      return Place::kProcessor;  // start() says what is wrong.
    }
  }

 protected:
  using Result = std::invoke_result_t<Compute&>;

  void start() override {
    if constexpr (std::is_void_v<Result>) {
      compute_();
    } else {
      result_.emplace(compute_());
    }
  }

  bool is_group() const override { return is_group_; }

  Napi::Value result(Napi::Env env) override {
    if constexpr (std::is_void_v<Result>) {
      return env.Undefined();
    } else {
      return to_value(Env(env), std::move(*result_));
    }
  }

 private:
  Compute compute_;
  const std::function<Place()> place_;
  const bool is_group_;
  const Napi::ObjectReference arguments_;
  std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result_;
};

/// Returns a promise of the result of `compute`. The arguments of the call stay alive until it is settled.
template <class Compute>
Napi::Value in_background(const Napi::CallbackInfo& info, Compute compute, ComputationOptions options = {}) {
  return Background::of(info.Env())
      .run(Executor::pool(),
           std::make_unique<Computation<Compute>>(std::move(compute), std::move(options), keep(info)));
}

}  // namespace mpmml::addon
