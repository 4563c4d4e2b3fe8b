#include "addon/multiply.h"

#include <atomic>
#include <chrono>

#include "addon/background.h"
#include "addon/engine.h"
#include "addon/request.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/runtime/device.h"
#endif

namespace mpmml::addon {
namespace {

void multiply_and_report(const Call& call, double* report) {
  const auto start = std::chrono::steady_clock::now();
  const Result result = engine().execute(call.problem, call.request);
  const std::chrono::duration<double, std::milli> total = std::chrono::steady_clock::now() - start;
  const int device = call.request.where.device;
  write_report(report, result, engine().variants(), device, total.count());
#if defined(MPMML_WITH_CUDA)
  // lib shows the name in the result, and asks for it on JavaScript's thread.
  if (result.backend == BackendKind::kCuda) cuda::device_name(device);
#endif
}

double* report_of(const Napi::CallbackInfo& info) {
  return static_cast<double*>(elements_of(info[5], napi_float64_array, ReportField::count));
}

class MultiplyWork : public Work {
 public:
  MultiplyWork(const Napi::CallbackInfo& info, const Call& call)
      : Work(info.Env()), call_(call), report_(report_of(info)) {
    cancelled_ = static_cast<std::atomic<int32_t>*>(elements_of(info[6], napi_int32_array, 1));
    call_.problem.cancelled = cancelled_;
    call_.problem.steps_done = steps_done_in(report_);
    // Keeps the arrays alive as long as the product.
    Napi::Array arguments = Napi::Array::New(info.Env(), info.Length());
    for (uint32_t index = 0; index < info.Length(); ++index) arguments.Set(index, info[index]);
    arguments_ = Napi::Persistent(arguments.As<Napi::Object>());
  }

  void run() override { multiply_and_report(call_, report_); }
  void give_up() override { cancelled_->store(1, std::memory_order_relaxed); }

 private:
  Call call_;
  double* report_;
  std::atomic<int32_t>* cancelled_;
  Napi::ObjectReference arguments_;
};

}  // namespace

Napi::Value multiply(const Napi::CallbackInfo& info) {
  return run_in_background(info.Env(), std::make_unique<MultiplyWork>(info, read_call(info, engine().variants())));
}

Napi::Value multiply_sync(const Napi::CallbackInfo& info) {
  const Call call = read_call(info, engine().variants());
  multiply_and_report(call, report_of(info));
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
