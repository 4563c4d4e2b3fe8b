#include "addon/values.h"

#include <algorithm>

#if defined(__EMSCRIPTEN__)
#include <emnapi.h>
#endif

namespace mpmml::addon {

void malformed(Napi::Env env, const std::string& what) {
  throw Napi::TypeError::New(env, "mpmml addon: malformed request: " + what);
}

TypedArray typed_array(const Napi::Value& value) {
  TypedArray array{};
  if (value.IsEmpty()) return array;
#if defined(__EMSCRIPTEN__)
  // All arrays are views of the module's memory (native/wasm/staging.ts), so that an offset in it is an address.
  // Reading the data pointer would copy the buffer if the memory has grown since the view was created.
  size_t offset = 0;
  array.valid =
      napi_get_typedarray_info(value.Env(), value, &array.type, &array.length, nullptr, nullptr, &offset) == napi_ok;
  array.data = reinterpret_cast<void*>(offset);
#else
  array.valid = napi_get_typedarray_info(value.Env(), value, &array.type, &array.length, &array.data, nullptr,
                                         nullptr) == napi_ok;
#endif
  return array;
}

void* elements_of(const Napi::Value& value, napi_typedarray_type type, size_t least) {
  const TypedArray array = typed_array(value);
  if (array.valid && array.type == type && array.length >= least) return array.data;
  malformed(value.Env(),
            "expected a typed array of type " + std::to_string(type) + " and length " + std::to_string(least));
}

Napi::ObjectReference keep(const Napi::CallbackInfo& info) {
  Napi::Array arguments = Napi::Array::New(info.Env(), info.Length());
  for (uint32_t index = 0; index < info.Length(); ++index) arguments.Set(index, info[index]);
  return Napi::Persistent(arguments.As<Napi::Object>());
}

std::vector<uint8_t> In::bytes(size_t count, uint8_t most) const {
  const TypedArray array = typed_array(value_);
  if (!array.valid || array.type != napi_uint8_array || array.length > count) refuse();
  const auto* const first = static_cast<const uint8_t*>(array.data);
  if (std::any_of(first, first + array.length, [&](uint8_t byte) { return byte > most; })) refuse();
  return {first, first + array.length};
}

TypedArray In::elements(std::optional<napi_typedarray_type> type) const {
  const TypedArray array = typed_array(value_);
  if (!array.valid || (type && array.type != *type)) refuse();
  return array;
}

namespace {

template <class Array, class Numbers>
Napi::Value array_of(Napi::Env env, const Numbers* numbers, size_t count) {
  Array array = Array::New(env, count);
  std::copy_n(numbers, count, array.Data());
#if defined(__EMSCRIPTEN__)
  // The array isn't in the module's memory: the elements were written to a copy there, which is copied back. Empty
  // arrays have no copy.
  if (array.ByteLength() == 0) return array;
  napi_value written = array;
  const napi_status status = emnapi_sync_memory(env, false, &written, 0, NAPI_AUTO_LENGTH);
  NAPI_THROW_IF_FAILED(env, status, array);
#endif
  return array;
}

}  // namespace

Napi::Value to_value(Env env, const std::vector<int32_t>& numbers) {
  return array_of<Napi::Int32Array>(env, numbers.data(), numbers.size());
}
Napi::Value to_value(Env env, const graph::Array<int32_t>& numbers) {
  return array_of<Napi::Int32Array>(env, numbers.data(), static_cast<size_t>(numbers.size()));
}
Napi::Value to_value(Env env, const Floats& floats) {
  return array_of<Napi::Float64Array>(env, floats.numbers.data(), floats.numbers.size());
}
Napi::Value to_value(Env env, const std::vector<BasePair>& pairs) {
  static_assert(sizeof(BasePair) == 2 * sizeof(int32_t));
  return array_of<Napi::Int32Array>(env, reinterpret_cast<const int32_t*>(pairs.data()), 2 * pairs.size());
}

Napi::Value to_value(Env env, OfTwo function) {
  return Napi::Function::New(env, [function](const Napi::CallbackInfo& info) {
    const auto number = [&](size_t index) { return info[index].As<Napi::Number>().DoubleValue(); };
    return Napi::Number::New(info.Env(), function(number(0), number(1)));
  });
}

}  // namespace mpmml::addon
