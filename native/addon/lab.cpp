#include "addon/lab.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "addon/background.h"
#include "addon/engine.h"
#include "addon/fields.h"
#include "addon/guarded.h"
#include "core/status.h"
#if defined(MPMML_WITH_CUDA)
#include "lab/measure.h"
#include "lab/microbench/bandwidth.h"
#include "lab/microbench/machine.h"
#endif

namespace mpmml::addon {
namespace {

/// Work on a device. `convert` makes the promise's value from its result.
template <class Result>
class LabWork : public Work {
 public:
  using Compute = std::function<Result()>;
  using Convert = Napi::Value (*)(Napi::Env, const Result&);

  LabWork(int device, Compute compute, Convert convert)
      : device_(device), compute_(std::move(compute)), convert_(convert) {}

 protected:
  void start() override {
    const std::string reason = engine().cuda_unusable(device_);
    if (!reason.empty()) throw Error(ErrorCode::kNoCuda, "this needs a GPU, and none can be used: " + reason);
    result_ = compute_();
  }

  Napi::Value result(Napi::Env env) override { return convert_(env, *result_); }

 private:
  const int device_;
  const Compute compute_;
  const Convert convert_;
  std::optional<Result> result_;
};

template <class Result>
Napi::Value on_device(Napi::Env env, int device, typename LabWork<Result>::Compute compute,
                      typename LabWork<Result>::Convert convert) {
  return run_in_background(env, std::make_unique<LabWork<Result>>(device, std::move(compute), convert));
}

#if defined(MPMML_WITH_CUDA)

Napi::Array numbers(Napi::Env env, const std::vector<double>& values) {
  Napi::Array array = Napi::Array::New(env, values.size());
  for (uint32_t index = 0; index < values.size(); ++index) array.Set(index, values[index]);
  return array;
}

Napi::Value measure(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  cuda::MeasureRequest request{};
  request.variant = &fields.variant();
  request.m = fields.integer<int64_t>("m", 1);
  request.n = fields.integer<int64_t>("n", 1);
  request.k = fields.integer<int64_t>("k", 1);
  request.batch = fields.integer_or<int64_t>(1, "batch", 1);
  request.repetitions = fields.integer_or(5, "repetitions", 1, 1e6);
  request.warmup = fields.integer_or(1, "warmup", 0, 1e6);
  request.device = fields.device();
  request.minimum = fields.integer_or<int32_t>(-1000, "minimum", -2147483647, 2147483646);
  request.maximum = fields.integer_or<int32_t>(1000, "maximum", request.minimum, 2147483646);
  request.zero_fraction = fields.number_or(0, "zeroFraction", 0, 1);
  request.seed = fields.integer_or<uint64_t>(1, "seed", 0, 9007199254740991);
  using Result = cuda::Measurement;
  return on_device<Result>(
      info.Env(), request.device, [request] { return cuda::measure(request); },
      [](Napi::Env env, const Result& result) -> Napi::Value {
        Napi::Object object = Napi::Object::New(env);
        object.Set("kernelMs", numbers(env, result.kernel));
        object.Set("prepareMs", numbers(env, result.prepare));
        object.Set("analysisMs", numbers(env, result.analysis));
        object.Set("path", kRangePathNames[static_cast<int>(result.path)]);
        object.Set("operandSets", result.operand_sets);
        object.Set("clockMHz", result.clock_mhz);
        return object;
      });
}

Napi::Value microbenches(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array rows = Napi::Array::New(env);
  for (const microbench::Microbenchmark& microbenchmark : microbench::microbenchmarks()) {
    Napi::Object row = Napi::Object::New(env);
    Napi::Array instances = Napi::Array::New(env);
    bool in_shared = false;
    for (const microbench::Instance& instance : microbenchmark.instances) {
      Napi::Object object = Napi::Object::New(env);
      object.Set("x", instance.x);
      object.Set("y", instance.y);
      object.Set("k", instance.k);
      object.Set("max", instance.max);
      instances.Set(instances.Length(), object);
      in_shared = in_shared || instance.shared_a || instance.shared_b;
    }
    Napi::Array parameters = Napi::Array::New(env);
    for (const char* name : {"bsi", "bsj", "gsi", "gsj", "n", "constant"}) parameters.Set(parameters.Length(), name);
    if (in_shared) parameters.Set(parameters.Length(), "m");
    row.Set("name", microbenchmark.name);
    row.Set("summary", microbenchmark.summary);
    row.Set("instances", instances);
    row.Set("parameters", parameters);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

microbench::Selection selection_of(const Fields& fields) {
  const auto size = [&](const char* name) { return fields.integer_or(0, name, 1); };
  return {fields.text("name"), size("x"), size("y"), size("k"), fields.text("max")};
}

Napi::Value run_microbench(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  microbench::Request request{};
  request.selection = selection_of(fields);
  request.m = fields.integer_or<int64_t>(32, "m", 1, 1 << 20);
  request.bsi = fields.integer_or<int64_t>(16, "bsi", 1, 1024);
  request.bsj = fields.integer_or<int64_t>(16, "bsj", 1, 1024);
  request.gsi = fields.integer_or<int64_t>(0, "gsi", 0, 65535);
  request.gsj = fields.integer_or<int64_t>(0, "gsj", 0, 1 << 20);
  request.n = fields.integer_or<int64_t>(1000, "n", 1, 1 << 30);
  request.constant = fields.integer_or<int32_t>(1, "constant", -2147483648.0);
  request.repetitions = fields.integer_or(5, "repetitions", 1, 1e6);
  request.warmup = fields.integer_or(1, "warmup", 0, 1e6);
  request.device = fields.device();
  using Result = microbench::Result;
  return on_device<Result>(
      info.Env(), request.device, [request] { return microbench::run(request); },
      [](Napi::Env env, const Result& result) -> Napi::Value {
        Napi::Object object = Napi::Object::New(env);
        object.Set("ms", numbers(env, result.ms));
        object.Set("clockMHz", result.clock_mhz);
        object.Set("multiprocessors", result.multiprocessors);
        object.Set("threadsPerBlock", static_cast<double>(result.threads_per_block));
        object.Set("threads", static_cast<double>(result.threads));
        object.Set("iterations", static_cast<double>(result.iterations));
        object.Set("lanes", result.lanes);
        object.Set("stepsPerIteration", result.steps_per_iteration);
        object.Set("operationsPerIteration", result.operations_per_iteration);
        object.Set("operationsPerThread", result.operations_per_iteration * static_cast<double>(result.iterations));
        Napi::Object instructions = Napi::Object::New(env);
        for (const auto& [opcode, count] : result.instructions) instructions.Set(opcode, count);
        object.Set("instructionsPerIteration", instructions);
        object.Set("peakOperationsPerClock", result.peak_operations_per_clock);
        object.Set("peakReason", result.peak_reason);
        return object;
      });
}

Napi::Value bandwidths(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array rows = Napi::Array::New(env);
  for (const microbench::Bandwidth& bandwidth : microbench::bandwidths()) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("name", bandwidth.name);
    row.Set("summary", bandwidth.summary);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Value run_bandwidth(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  microbench::BandwidthRequest request{};
  request.name = fields.text("name");
  request.stride = fields.integer_or<int32_t>(1, "stride", 1, 1 << 20);
  request.repetitions = fields.integer_or(5, "repetitions", 1, 1e6);
  request.warmup = fields.integer_or(1, "warmup", 0, 1e6);
  request.device = fields.device();
  using Result = microbench::BandwidthResult;
  return on_device<Result>(
      info.Env(), request.device, [request] { return microbench::run(request); },
      [](Napi::Env env, const Result& result) -> Napi::Value {
        Napi::Object object = Napi::Object::New(env);
        object.Set("ms", numbers(env, result.ms));
        object.Set("bytes", static_cast<double>(result.bytes));
        object.Set("bufferBytes", static_cast<double>(result.buffer_bytes));
        object.Set("clockMHz", result.clock_mhz);
        object.Set("multiprocessors", result.multiprocessors);
        return object;
      });
}

Napi::Value occupancy(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  const int device = fields.device();
  using Result = cuda::Occupancy;
  std::function<Result()> work;
  if (fields.has("microbench")) {
    const Fields kernel = fields.object("microbench");
    const auto bsi = kernel.integer_or<int64_t>(16, "bsi", 1, 1024);
    const auto bsj = kernel.integer_or<int64_t>(16, "bsj", 1, 1024);
    const auto m = kernel.integer_or<int64_t>(32, "m", 1, 1 << 20);
    work = [selection = selection_of(kernel), bsi, bsj, m, device] {
      const microbench::Instance& instance = microbench::find(selection);
      const int64_t shared_bytes = std::min(instance.shared_bytes(m, bsi, bsj), int64_t{1} << 30);
      return cuda::occupancy(instance.function, bsi * bsj, static_cast<int>(shared_bytes), device);
    };
  } else {
    work = [variant = &fields.variant(), device] { return cuda::occupancy(*variant, device); };
  }
  return on_device<Result>(info.Env(), device, work, [](Napi::Env env, const Result& result) -> Napi::Value {
    Napi::Object object = Napi::Object::New(env);
    object.Set("registersPerThread", result.registers);
    object.Set("sharedBytesPerBlock", result.shared_bytes);
    object.Set("localBytes", result.local_bytes);
    object.Set("threadsPerBlock", result.threads);
    object.Set("activeThreads", result.active_threads);
    object.Set("activeWarps", result.active_warps);
    object.Set("activeBlocks", result.active_blocks);
    object.Set("occupancyPercent", result.percent);
    return object;
  });
}

Napi::Value fault(const Napi::CallbackInfo& info) {
  const int device = Fields(info[0]).device();
  const auto work = [device] {
    cuda::fault(device);
    return 0;
  };
  return on_device<int>(info.Env(), device, work, [](Napi::Env env, const int&) { return env.Undefined(); });
}

Napi::Value peaks(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array rows = Napi::Array::New(env);
  for (const microbench::Peak& peak : microbench::peaks()) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("capability", std::to_string(peak.capability / 10) + "." + std::to_string(peak.capability % 10));
    row.Set("add", peak.add);
    row.Set("minmax", peak.minmax);
    row.Set("multiplyAdd", peak.multiply_add);
    row.Set("fused", peak.fused);
    row.Set("packed", peak.packed);
    row.Set("issue", peak.issue);
    row.Set("cores", peak.cores);
    row.Set("tensor", peak.tensor);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

#else

/// If the build has no CUDA, no device is usable and the promise is rejected.
Napi::Value refuse(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  return on_device<int>(
      info.Env(), fields.device(), [] { return 0; }, [](Napi::Env env, const int&) { return env.Undefined(); });
}
constexpr auto measure = refuse, run_microbench = refuse, run_bandwidth = refuse, occupancy = refuse, fault = refuse;

Napi::Value microbenches(const Napi::CallbackInfo& info) { return Napi::Array::New(info.Env()); }
constexpr auto peaks = microbenches, bandwidths = microbenches;

#endif

}  // namespace

void export_lab(Napi::Env env, Napi::Object exports) {
  exports.Set("labMeasure", Napi::Function::New<guarded<measure>>(env, "labMeasure"));
  exports.Set("labMicrobenches", Napi::Function::New<guarded<microbenches>>(env, "labMicrobenches"));
  exports.Set("labMicrobench", Napi::Function::New<guarded<run_microbench>>(env, "labMicrobench"));
  exports.Set("labBandwidths", Napi::Function::New<guarded<bandwidths>>(env, "labBandwidths"));
  exports.Set("labBandwidth", Napi::Function::New<guarded<run_bandwidth>>(env, "labBandwidth"));
  exports.Set("labOccupancy", Napi::Function::New<guarded<occupancy>>(env, "labOccupancy"));
  exports.Set("labFault", Napi::Function::New<guarded<fault>>(env, "labFault"));
  exports.Set("labPeaks", Napi::Function::New<guarded<peaks>>(env, "labPeaks"));
}

}  // namespace mpmml::addon
