// Matrices to a device and back, filled, copied, and combined element by element.
#include <cstddef>

#include "addon/request.h"
#include "core/host/huge_pages.h"

namespace mpmml::addon {
namespace {

template <class View>
double count_of(int64_t batch, const View& matrix) {
  return static_cast<double>(batch) * matrix.rows * matrix.cols;
}

/// Allocates row-major memory for the result of a copy or fill.
MutableMatrixView make(DeviceWork& work, const Copy& copy) {
  const MutableMatrixView& from = copy.array;
  Memory& memory = work.make(copy.bytes, copy.dtype, from.storage, copy.units());
  MutableMatrixView to = row_major<void*>(nullptr, from.rows, from.cols);
  to.storage = from.storage;
  return placed_in(memory, to);
}

}  // namespace

Napi::Value upload(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, const Napi::Value& array,
                   const double* request, std::atomic<int32_t>* cancel) {
  const Copy copy = read_upload(array, request);
  const auto begin = [copy, cancel](DeviceWork& work, Session& session) {
    const MutableMatrixView to = make(work, copy);
    if (copy.has_elements()) session.upload(copy.dtype, copy.batch, read_only(copy.array), to, cancel);
    return std::make_unique<Done>();
  };
  return start(info.Env(), Uses(device), count_of(copy.batch, copy.array), begin, cancel, keep(info));
}

Napi::Value download(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, const Napi::Value& memory,
                     const Napi::Value& array, const double* request, std::atomic<int32_t>* cancel) {
  Uses uses(device);
  const Copy copy = read_download(memory, array, request, uses);
  const auto begin = [copy, cancel](DeviceWork&, Session& session) -> std::unique_ptr<Pending> {
    if (!copy.has_elements()) return std::make_unique<Done>();
    return session.download(copy.dtype, copy.batch, copy.memory, copy.array, cancel);
  };
  return start(info.Env(), std::move(uses), count_of(copy.batch, copy.array), begin, cancel, keep(info));
}

Napi::Value fill(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, const double* request) {
  const Copy copy = read_fill(request);
  const auto begin = [copy](DeviceWork& work, Session& session) -> std::unique_ptr<Pending> {
    const MutableMatrixView to = make(work, copy);
    if (!copy.has_elements()) return std::make_unique<Done>();
    return session.fill(copy.dtype, copy.batch, to, copy.value);
  };
  return start(info.Env(), Uses(device), count_of(copy.batch, copy.array), begin);
}

Napi::Value combine(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, const Napi::Value& c,
                    const Napi::Value& d, const double* request) {
  Uses uses(device);
  const Problem problem = read_combine(c, d, request, uses);
  const double elements = count_of(problem.batch, problem.c);
  const auto begin = [problem, elements](DeviceWork&, Session& session) -> std::unique_ptr<Pending> {
    if (elements == 0) return std::make_unique<Done>();
    return session.combine(problem.operation, problem.batch, problem.c, problem.b);
  };
  return start(info.Env(), std::move(uses), elements, begin);
}

Napi::Value copy_matrix(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device, const Napi::Value& from,
                        const Napi::Value& to, const double* request) {
  Uses uses(device);
  const MemoryCopy copy = read_memory_copy(from, to, request, uses);
  const double elements = count_of(copy.batch, copy.to);
  const auto begin = [copy, elements](DeviceWork&, Session& session) -> std::unique_ptr<Pending> {
    if (elements == 0) return std::make_unique<Done>();
    return session.copy(copy.dtype, copy.batch, copy.from, copy.to);
  };
  return start(info.Env(), std::move(uses), elements, begin);
}

void prefer_huge_pages(const Napi::Value& value) {
  if (!value.IsTypedArray()) malformed(value.Env(), "array");
  const auto array = value.As<Napi::TypedArray>();
  auto* const data = static_cast<std::byte*>(array.ArrayBuffer().Data());
  mpmml::prefer_huge_pages(data + array.ByteOffset(), array.ByteLength());
}

}  // namespace mpmml::addon
