#include "addon/describe.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "addon/engine.h"
#include "core/dispatch.h"
#include "cpu/backend.h"
#include "generated/refused.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/device/device.h"
#include "cuda/runtime/exponent_check.h"
#endif

namespace mpmml::addon {
namespace {

Napi::Array words(Napi::Env env, const std::string& text) {
  Napi::Array array = Napi::Array::New(env);
  std::istringstream stream(text);
  for (std::string word; stream >> word;) array.Set(array.Length(), word);
  return array;
}

template <class Strings>
Napi::Array strings(Napi::Env env, const Strings& list) {
  Napi::Array array = Napi::Array::New(env);
  for (const auto& text : list) array.Set(array.Length(), Napi::String::New(env, text));
  return array;
}

/// CPU kernels are compiled for one instruction set. CUDA kernels are compiled for the architectures of the build, and
/// those of the laboratory for fewer of them.
Napi::Array architectures_of(Napi::Env env, const Variant& variant) {
  if (variant.backend == BackendKind::kCuda) {
    return words(env, variant.automatic ? MPMML_CUDA_ARCHITECTURES : MPMML_CUDA_LAB_ARCHITECTURES);
  }
  for (const Parameter& parameter : variant.parameters) {
    if (std::string("isa") == parameter.name) return words(env, parameter.value);
  }
  return words(env, MPMML_TARGET_PROCESSOR);
}

Napi::Object describe_cuda(Napi::Env env) {
  Napi::Object cuda = Napi::Object::New(env);
  cuda.Set("status", MPMML_CUDA_STATUS);
  cuda.Set("toolkit", MPMML_CUDA_TOOLKIT);
  cuda.Set("architectures", words(env, MPMML_CUDA_ARCHITECTURES));
  cuda.Set("reason", engine().cuda_unusable(0));
  Napi::Array devices = Napi::Array::New(env);
#if defined(MPMML_WITH_CUDA)
  cuda.Set("built", true);
  cuda.Set("driver", cuda::driver_version());
  for (const auto& properties : cuda::device_properties()) {
    Napi::Object device = Napi::Object::New(env);
    for (const auto& [name, value] : properties) {
      std::visit([&, key = name](const auto& content) { device.Set(key, content); }, value);
    }
    devices.Set(devices.Length(), device);
  }
#else
  cuda.Set("built", false);
  cuda.Set("driver", "");
#endif
  cuda.Set("devices", devices);
  return cuda;
}

/// A row as the table has it, whether a kernel could be built for it or not.
Napi::Object row_of(Napi::Env env, const Variant& variant) {
  Napi::Object parameters = Napi::Object::New(env);
  for (const Parameter& parameter : variant.parameters) {
    if (parameter.is_number) {
      parameters.Set(parameter.name, std::atof(parameter.value));
    } else {
      parameters.Set(parameter.name, parameter.value);
    }
  }
  Napi::Object row = Napi::Object::New(env);
  row.Set("name", variant.name);
  row.Set("family", variant.family);
  row.Set("semiring", semiring_name(variant.semiring));
  row.Set("dtype", data_type_name(variant.dtype));
  row.Set("parameters", parameters);
  return row;
}

const char* name_of(OperatorKind kind) { return kOperatorNames[static_cast<size_t>(kind)]; }

/// x ⊕ y of two numbers, whatever type they are stored as; NaN if one of them is.
template <class S>
Napi::Value joined(const Napi::CallbackInfo& info) {
  using Element = typename S::Element;
  const double x = info[0].As<Napi::Number>().DoubleValue(), y = info[1].As<Napi::Number>().DoubleValue();
  const auto element = [](double number) { return static_cast<Element>(S::is_boolean ? number != 0 : number); };
  const double sum = std::isnan(x) ? x : std::isnan(y) ? y : S::combine(element(x), element(y));
  return Napi::Number::New(info.Env(), sum);
}

}  // namespace

Napi::Array variants(Napi::Env env) {
  Napi::Array rows = Napi::Array::New(env);
  for (const Variant* variant : engine().variants()) {
    Napi::Object row = row_of(env, *variant);
    row.Set("automatic", variant->automatic);
    row.Set("backend", kBackendNames[static_cast<size_t>(variant->backend)]);
    row.Set("architectures", architectures_of(env, *variant));
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Array refused_variants(Napi::Env env) {
  Napi::Array rows = Napi::Array::New(env);
  for (const RefusedVariant& refused : mpmml::refused_variants()) {
    Napi::Object row = row_of(env, refused.variant);
    row.Set("reason", refused.reason);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Array semirings(Napi::Env env) {
  Napi::Array rows = Napi::Array::New(env);
  for (size_t id = 0; id < std::size(kSemiringNames); ++id) {
    Napi::Object zeros = Napi::Object::New(env), ones = Napi::Object::New(env);
    Napi::Object row = Napi::Object::New(env);
    for (size_t type = 0; type < std::size(kDataTypeNames); ++type) {
      const auto semiring = static_cast<SemiringId>(id);
      const auto dtype = static_cast<DataType>(type);
      if (!has_semiring(semiring, dtype)) continue;
      with_semiring_that<Any>(semiring, dtype, [&](auto value) {
        using S = decltype(value);
        zeros.Set(data_type_name(dtype), static_cast<double>(S::zero));
        ones.Set(data_type_name(dtype), static_cast<double>(S::one));
        row.Set("combine", name_of(S::combine_kind));
        row.Set("extend", name_of(S::extend_kind));
        row.Set("idempotent", S::idempotent);
        // The last type that the semiring has is the widest.
        if constexpr (!S::idempotent) row.Set("join", Napi::Function::New(env, &joined<S>, "join"));
      });
    }
    row.Set("name", kSemiringNames[id]);
    row.Set("zeros", zeros);
    row.Set("ones", ones);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Value describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const cpu::CpuInfo cpu_info = cpu::info();
  Napi::Object cpu = Napi::Object::New(env);
  cpu.Set("simd", cpu_info.instruction_set);
  cpu.Set("instructionSets", strings(env, cpu_info.instruction_sets));
  cpu.Set("threads", cpu_info.threads);
  Napi::Object description = Napi::Object::New(env);
  description.Set("compiler", MPMML_COMPILER);
  description.Set("cuda", describe_cuda(env));
  description.Set("cpu", cpu);
  return description;
}

Napi::Value device_name(const Napi::CallbackInfo& info) {
#if defined(MPMML_WITH_CUDA)
  return Napi::String::New(info.Env(), cuda::known_device_name(info[0].As<Napi::Number>().Int32Value()));
#else
  return Napi::String::New(info.Env(), "");
#endif
}

Napi::Value tensor_cores(const Napi::CallbackInfo& info) {
#if defined(MPMML_WITH_CUDA)
  return Napi::String::New(info.Env(), cuda::describe_exponents(info[0].As<Napi::Number>().Int32Value()));
#else
  return Napi::String::New(info.Env(), "");
#endif
}

Napi::Value explain(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const int device = info[0].IsNumber() ? info[0].As<Napi::Number>().Int32Value() : 0;
  const Explanation explanation = engine().explain(device);
  Napi::Object object = Napi::Object::New(env);
  object.Set("backend", kBackendNames[static_cast<size_t>(explanation.backend)]);
  object.Set("reason", explanation.reason);
  return object;
}

}  // namespace mpmml::addon
