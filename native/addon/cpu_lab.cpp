#include "addon/cpu_lab.h"

#include <functional>
#include <vector>

#include "addon/background.h"
#include "addon/fields.h"
#include "cpu/yardsticks.h"

namespace mpmml::addon {
namespace {

class Measurement : public Work {
 public:
  using Measure = std::function<std::vector<double>()>;
  Measurement(const cpu::Yardstick& yardstick, const char* field, Measure measure)
      : yardstick_(yardstick), field_(field), measure_(std::move(measure)) {}

 protected:
  void start() override { samples_ = measure_(); }

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

Napi::Value cpu_ceiling(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  const cpu::Yardstick& yardstick = cpu::find_yardstick(fields.text("isa"));
  const cpu::Yardstick::Steps& steps = cpu::find_steps(yardstick, fields.text("steps"));
  const int threads = fields.integer("threads", 1, 1024);
  const int samples = fields.integer("samples", 1, 1000);
  const double milliseconds = fields.number("milliseconds", 0.01, 1e5);
  const auto measure = [=, &steps] { return cpu::measure_ceiling(steps, threads, samples, milliseconds); };
  return run_in_background(info.Env(), std::make_unique<Measurement>(yardstick, "stepsPerSecond", measure));
}

Napi::Value cpu_naive_loop(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  const cpu::Yardstick& yardstick = cpu::find_yardstick(fields.text("isa"));
  constexpr double kMost = 1 << 15;
  const int m = fields.integer("m", 1, kMost), n = fields.integer("n", 1, kMost), k = fields.integer("k", 1, kMost);
  const int repetitions = fields.integer("repetitions", 1, 1000);
  const auto measure = [=, &yardstick] { return cpu::measure_naive_loop(yardstick, m, n, k, repetitions); };
  return run_in_background(info.Env(), std::make_unique<Measurement>(yardstick, "ms", measure));
}

}  // namespace

void export_cpu_lab(Napi::Env env, Napi::Object exports) {
  exports.Set("cpuCeiling", Napi::Function::New<guarded<cpu_ceiling>>(env, "cpuCeiling"));
  exports.Set("cpuNaiveLoop", Napi::Function::New<guarded<cpu_naive_loop>>(env, "cpuNaiveLoop"));
}

}  // namespace mpmml::addon
