#include "addon/cpu_lab.h"

#include <functional>
#include <vector>

#include "addon/background.h"
#include "cpu/yardsticks.h"

namespace mpmml::addon {
namespace {

/// A number of the request; lib has validated it, and what would be undefined behaviour is refused once more.
double number(const Napi::Object& request, const char* name, double least, double most) {
  const Napi::Value value = request.Get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : most + 1;
  if (number >= least && number <= most) return number;
  throw Napi::TypeError::New(request.Env(), std::string("mpmml addon: malformed request: ") + name);
}

int integer(const Napi::Object& request, const char* name, int most) {
  return static_cast<int>(number(request, name, 1, most));
}

const cpu::Yardstick& yardstick_of(const Napi::Object& request) {
  const Napi::Value isa = request.Get("isa");
  return cpu::find_yardstick(isa.IsString() ? isa.As<Napi::String>().Utf8Value() : "");
}

class Measurement : public Work {
 public:
  using Measure = std::function<std::vector<double>()>;
  Measurement(Napi::Env env, const cpu::Yardstick& yardstick, const char* field, Measure measure)
      : Work(env), yardstick_(yardstick), field_(field), measure_(std::move(measure)) {}

  void run() override { samples_ = measure_(); }

  Napi::Value result(Napi::Env env) override {
    Napi::Array samples = Napi::Array::New(env, samples_.size());
    for (uint32_t index = 0; index < samples_.size(); ++index) samples.Set(index, samples_[index]);
    Napi::Object object = Napi::Object::New(env);
    object.Set("isa", yardstick_.isa);
    object.Set(field_, samples);
    return object;
  }

 private:
  const cpu::Yardstick& yardstick_;
  const char* field_;
  Measure measure_;
  std::vector<double> samples_;
};

Napi::Object request_of(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject()) throw Napi::TypeError::New(info.Env(), "mpmml addon: malformed request: no object");
  return info[0].As<Napi::Object>();
}

Napi::Value cpu_ceiling(const Napi::CallbackInfo& info) {
  const Napi::Object request = request_of(info);
  const cpu::Yardstick& yardstick = yardstick_of(request);
  const Napi::Value name = request.Get("steps");
  const cpu::Yardstick::Steps& steps =
      cpu::find_steps(yardstick, name.IsString() ? name.As<Napi::String>().Utf8Value() : "");
  const int threads = integer(request, "threads", 1024);
  const int samples = integer(request, "samples", 1000);
  const double milliseconds = number(request, "milliseconds", 0.01, 1e5);
  const auto measure = [=, &steps] { return cpu::measure_ceiling(steps, threads, samples, milliseconds); };
  return run_in_background(info.Env(), std::make_unique<Measurement>(info.Env(), yardstick, "stepsPerSecond", measure));
}

Napi::Value cpu_naive_loop(const Napi::CallbackInfo& info) {
  const Napi::Object request = request_of(info);
  const cpu::Yardstick& yardstick = yardstick_of(request);
  const int m = integer(request, "m", 1 << 15), n = integer(request, "n", 1 << 15), k = integer(request, "k", 1 << 15);
  const int repetitions = integer(request, "repetitions", 1000);
  const auto measure = [=, &yardstick] { return cpu::measure_naive_loop(yardstick, m, n, k, repetitions); };
  return run_in_background(info.Env(), std::make_unique<Measurement>(info.Env(), yardstick, "ms", measure));
}

}  // namespace

void export_cpu_lab(Napi::Env env, Napi::Object exports) {
  exports.Set("cpuCeiling", Napi::Function::New<guarded<cpu_ceiling>>(env, "cpuCeiling"));
  exports.Set("cpuNaiveLoop", Napi::Function::New<guarded<cpu_naive_loop>>(env, "cpuNaiveLoop"));
}

}  // namespace mpmml::addon
