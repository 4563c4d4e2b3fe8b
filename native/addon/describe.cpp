// Describes the build and the machine, for variants(), explainBackend() and `mpmml info`, and receives the settings
// from lib. Native code never reads environment variables itself, because JavaScript may write them while other threads
// run.
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "addon/engine.h"
#include "core/algebra/dispatch.h"
#include "generated/addon.h"
#include "generated/refused.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/device/device.h"
#include "cuda/runtime/self_test.h"
#include "cuda/user/kernels.h"
#endif

namespace mpmml::addon {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

/// CPU kernels are compiled for one instruction set. CUDA kernels are compiled for the architectures of the build, and
/// those of the laboratory for fewer of them.
std::vector<std::string> architectures_of(const Variant& variant) {
  if (variant.backend == BackendKind::kCuda) {
    return words(variant.automatic ? MPMML_CUDA_ARCHITECTURES : MPMML_CUDA_LAB_ARCHITECTURES);
  }
  for (const Parameter& parameter : variant.parameters) {
    if (std::string("isa") == parameter.name) return words(parameter.value);
  }
  return words(MPMML_TARGET_PROCESSOR);
}

NativeCuda describe_cuda() {
  NativeCuda cuda{false, MPMML_CUDA_STATUS, MPMML_CUDA_TOOLKIT, words(MPMML_CUDA_ARCHITECTURES), "", "", {}};
  cuda.reason = engine().gpu_unusable(0);
#if defined(MPMML_WITH_CUDA)
  cuda.built = true;
  cuda.driver = cuda::driver_version();
  for (const auto& rows : cuda::device_properties()) cuda.devices.emplace_back(rows.begin(), rows.end());
#endif
  return cuda;
}

/// Returns the properties of a row of the table, which don't depend on whether its kernel is built.
template <class Row>
Row row_of(const Variant& variant) {
  Row row{};
  row.name = variant.name;
  row.family = variant.family;
  row.semiring = semiring_name(variant.semiring);
  row.dtype = data_type_name(variant.dtype);
  for (const Parameter& it : variant.parameters) {
    if (it.is_number) {
      row.parameters.emplace_back(it.name, std::atof(it.value));
    } else {
      row.parameters.emplace_back(it.name, it.value);
    }
  }
  return row;
}

const char* name_of(OperatorKind kind) { return kOperatorNames[static_cast<size_t>(kind)]; }

/// Returns x ⊕ y of two numbers of any storage type; NaN if one of them is NaN.
template <class S>
double joined(double x, double y) {
  using Element = typename S::Element;
  const auto element = [](double number) { return static_cast<Element>(S::is_boolean ? number != 0 : number); };
  return std::isnan(x) ? x : std::isnan(y) ? y : S::combine(element(x), element(y));
}

}  // namespace

std::vector<NativeVariant> variants() {
  std::vector<NativeVariant> rows;
  for (const Variant* variant : engine_of_build().variants()) {
    rows.push_back(row_of<NativeVariant>(*variant));
    rows.back().automatic = variant->automatic;
    rows.back().backend = kBackendNames[static_cast<size_t>(variant->backend)];
    rows.back().architectures = architectures_of(*variant);
  }
  return rows;
}

std::vector<NativeRefusedVariant> refused_variants() {
  std::vector<NativeRefusedVariant> rows;
  for (const RefusedVariant& refused : mpmml::refused_variants()) {
    rows.push_back(row_of<NativeRefusedVariant>(refused.variant));
    rows.back().reason = refused.reason;
  }
  return rows;
}

std::vector<NativeSemiring> semirings() {
  std::vector<NativeSemiring> rows;
  for (size_t id = 0; id < std::size(kSemiringNames); ++id) {
    NativeSemiring row{};
    row.name = kSemiringNames[id];
    for (size_t type = 0; type < std::size(kDataTypeNames); ++type) {
      const auto semiring = static_cast<SemiringId>(id);
      const auto dtype = static_cast<DataType>(type);
      if (!has_semiring(semiring, dtype)) continue;
      with_semiring_that<Any>(semiring, dtype, [&](auto value) {
        using S = decltype(value);
        row.zeros.emplace_back(data_type_name(dtype), static_cast<double>(S::zero));
        row.ones.emplace_back(data_type_name(dtype), static_cast<double>(S::one));
        row.combine = name_of(S::combine_kind);
        row.extend = name_of(S::extend_kind);
        row.idempotent = S::idempotent;
        // The last type that the semiring has is the widest.
        if constexpr (!S::idempotent) row.join = joined<S>;
      });
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

NativeDescription describe() {
  const cpu::CpuInfo info = cpu::info();
  return {MPMML_COMPILER, describe_cuda(), info};
}

std::string device_name([[maybe_unused]] int device) {
#if defined(MPMML_WITH_CUDA)
  return cuda::known_device_name(device);
#else
  return "";
#endif
}

std::string tensor_cores([[maybe_unused]] int device) {
#if defined(MPMML_WITH_CUDA)
  return cuda::describe_exponents(device);
#else
  return "";
#endif
}

NativeExplanation explain(int device) { return engine().explain(device); }

void configure_cpu(const CpuSettings& settings) { cpu::configure(settings); }

void explain_without_cuda(const std::string& reason) { engine().explain_without_gpu(reason); }

void set_measured_choices([[maybe_unused]] const std::string& gpu,
                          [[maybe_unused]] const std::vector<MeasuredChoice>& choices) {
#if defined(MPMML_WITH_CUDA)
  cuda::set_measured_choices(gpu, choices);
#endif
}

std::vector<UserKernelText> user_kernel_texts([[maybe_unused]] const std::shared_ptr<const UserSemiring>& semiring) {
  std::vector<UserKernelText> texts;
#if defined(MPMML_WITH_CUDA)
  for (auto& [name, ptx] : cuda::user_kernel_texts(*semiring)) texts.push_back({std::move(name), std::move(ptx)});
#endif
  return texts;
}

void configure_user_kernels([[maybe_unused]] const std::string& folder, [[maybe_unused]] int64_t bytes) {
#if defined(MPMML_WITH_CUDA)
  cuda::keep_user_kernels(folder, bytes);
#endif
}

}  // namespace mpmml::addon
