#include "addon/multiply.h"

#include <chrono>
#include <optional>

#include "addon/engine.h"
#include "addon/failure.h"
#include "addon/request.h"

namespace mpmml::addon {
namespace {

/// Runs the product and writes its report; returns what went wrong.
std::optional<Failure> run(const Call& call, double* report) {
  const auto start = std::chrono::steady_clock::now();
  try {
    const Result result = engine().execute(call.problem, call.request);
    const std::chrono::duration<double, std::milli> total = std::chrono::steady_clock::now() - start;
    write_report(report, result, engine().variants(), call.request.device, total.count());
    return std::nullopt;
  } catch (...) {
    return current_failure();
  }
}

Napi::Float64Array report_of(const Napi::CallbackInfo& info) {
  const Napi::Value value = info[5];
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      value.As<Napi::TypedArray>().ElementLength() < ReportField::count) {
    throw Napi::TypeError::New(info.Env(), "mpmml addon: malformed request: no report to write into");
  }
  return value.As<Napi::Float64Array>();
}

class MultiplyWorker : public Napi::AsyncWorker {
 public:
  MultiplyWorker(const Napi::CallbackInfo& info, const Call& call)
      : Napi::AsyncWorker(info.Env(), "mpmml:multiply"),
        deferred_(Napi::Promise::Deferred::New(info.Env())),
        call_(call),
        report_(report_of(info).Data()) {
    if (!info[6].IsTypedArray() || info[6].As<Napi::TypedArray>().TypedArrayType() != napi_int32_array ||
        info[6].As<Napi::TypedArray>().ElementLength() < 1) {
      throw Napi::TypeError::New(info.Env(), "mpmml addon: malformed request: no cancellation flag");
    }
    const int32_t* flag = info[6].As<Napi::Int32Array>().Data();
    call_.problem.cancelled = reinterpret_cast<const std::atomic<int32_t>*>(flag);
    // The arrays must live as long as the product.
    Napi::Array arguments = Napi::Array::New(info.Env(), info.Length());
    for (uint32_t index = 0; index < info.Length(); ++index) arguments.Set(index, info[index]);
    arguments_ = Napi::Persistent(arguments.As<Napi::Object>());
  }

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override { failure_ = run(call_, report_); }

  void OnOK() override {
    if (failure_) {
      deferred_.Reject(to_javascript(Env(), *failure_).Value());
    } else {
      deferred_.Resolve(Env().Undefined());
    }
  }

 private:
  Napi::Promise::Deferred deferred_;
  Call call_;
  double* report_;
  Napi::ObjectReference arguments_;
  std::optional<Failure> failure_;
};

}  // namespace

Napi::Value multiply(const Napi::CallbackInfo& info) {
  auto* worker = new MultiplyWorker(info, read_call(info, engine().variants()));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

Napi::Value multiply_sync(const Napi::CallbackInfo& info) {
  const Call call = read_call(info, engine().variants());
  Napi::Float64Array report = report_of(info);
  if (const auto failure = run(call, report.Data())) throw to_javascript(info.Env(), *failure);
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
