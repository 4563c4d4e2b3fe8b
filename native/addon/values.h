// Conversions of values between JavaScript and native code, used by generated/addon.h.
#pragma once
#include <napi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "addon/device.h"
#include "addon/engine.h"
#include "addon/user.h"
#include "core/graph/array.h"
#include "core/graph/search.h"
#include "core/rna/rna.h"
#include "core/user/semiring.h"

namespace mpmml::addon {

/// Result of napi_get_typedarray_info(). One call of Node-API reads all properties, because separate calls take as long
/// as a small product.
struct TypedArray {
  bool valid;
  napi_typedarray_type type;
  size_t length;
  void* data;
};
TypedArray typed_array(const Napi::Value& value);

/// Returns the elements of a typed array. Throws Napi::Error if `value` isn't an array of this type with at least
/// `least` elements.
void* elements_of(const Napi::Value& value, napi_typedarray_type type, size_t least);

/// Returns whether `value` is null or undefined, with one call of Node-API.
inline bool is_missing(const Napi::Value& value) {
  const napi_valuetype type = value.Type();
  return type == napi_null || type == napi_undefined;
}

/// Returns the nested dissection of a graph. Throws Napi::Error if `value` isn't one.
std::shared_ptr<const graph::Dissection> dissection_of(const Napi::Value& value);

/// Keeps the arguments of a call alive, for its work.
Napi::ObjectReference keep(const Napi::CallbackInfo& info);

/// A value that JavaScript has passed, and its name in errors. lib has validated it; values that would cause undefined
/// behaviour are refused here again.
class In {
 public:
  In(Napi::Value value, const char* name) : value_(value), name_(name) {}

  bool is_missing() const { return addon::is_missing(value_); }

  In property(const char* name) const {
    if (!value_.IsObject()) refuse();
    return {value_.As<Napi::Object>().Get(name), name};
  }

  double number(double least, double most) const {
    const double number = value_.IsNumber() ? value_.As<Napi::Number>().DoubleValue() : most + 1;
    if (!(number >= least && number <= most)) refuse();
    return number;
  }

  /// Returns any number, including NaN and infinities.
  double real() const {
    if (!value_.IsNumber()) refuse();
    return value_.As<Napi::Number>().DoubleValue();
  }

  template <class Integer>
  Integer integer(double least, double most) const {
    return static_cast<Integer>(number(least, most));
  }

  template <class Enum>
  Enum index(size_t count) const {
    return static_cast<Enum>(integer<size_t>(0, static_cast<double>(count) - 1));
  }

  const Variant* variant() const {
    const auto& rows = engine_of_build().variants();
    return rows[index<size_t>(rows.size())];
  }

  bool flag() const { return value_.ToBoolean(); }

  std::string text() const {
    if (!value_.IsString()) refuse();
    return value_.As<Napi::String>();
  }

  /// Returns at most `count` bytes with values from 0 to `most`.
  std::vector<uint8_t> bytes(size_t count, uint8_t most) const;

  template <class To>
  To record() const {
    if (!value_.IsObject()) refuse();
    To to{};
    read(*this, to);
    return to;
  }

  template <class To, class Read>
  std::vector<To> list(Read read) const {
    if (!value_.IsArray()) refuse();
    const auto array = value_.As<Napi::Array>();
    std::vector<To> all;
    for (uint32_t index = 0; index < array.Length(); ++index) all.push_back(read(In(array.Get(index), name_)));
    return all;
  }

  Napi::Value value() const { return value_; }
  /// Returns a typed array of the given type, or of any type.
  TypedArray elements(std::optional<napi_typedarray_type> type = std::nullopt) const;
  /// Returns the numbers of a Float64Array.
  double* fields(size_t count) const { return static_cast<double*>(elements_of(value_, napi_float64_array, count)); }
  /// Returns the cancellation flag in an Int32Array.
  std::atomic<int32_t>* cancel() const {
    return static_cast<std::atomic<int32_t>*>(elements_of(value_, napi_int32_array, 1));
  }
  std::shared_ptr<Device> device() const { return device_of(value_); }
  std::shared_ptr<const graph::Dissection> division() const { return dissection_of(value_); }
  std::shared_ptr<const UserSemiring> user_semiring() const { return user_semiring_of(value_); }

  PairScores pair_scores() const;
  /// Returns the words of an Int32Array that describes a semiring. Throws Error(kOption) if there are more words than
  /// its expressions may have.
  template <class Word>
  std::vector<Word> words() const {
    const TypedArray array = definition_words();
    const auto* const first = static_cast<const Word*>(array.data);
    return {first, first + array.length};
  }
  std::vector<UserType> user_types() const;
  std::vector<UserNode> user_nodes() const;

 private:
  [[noreturn]] void refuse() const { malformed(value_.Env(), name_); }
  TypedArray definition_words() const;

  Napi::Value value_;
  const char* name_;
};

/// The environment in which values are created. A type of this namespace, so that argument-dependent lookup finds
/// to_value() for types of other namespaces.
struct Env : Napi::Env {
  Env(Napi::Env env) : Napi::Env(env) {}
};

/// Numbers to be returned as a Float64Array.
struct Floats {
  const std::vector<double>& numbers;
};

/// Writes the properties of an object, in order.
template <class Value>
struct Properties : std::vector<std::pair<std::string, Value>> {
  using std::vector<std::pair<std::string, Value>>::vector;
};

inline Napi::Value to_value(Env env, double number) { return Napi::Number::New(env, number); }
inline Napi::Value to_value(Env env, int number) { return Napi::Number::New(env, number); }
inline Napi::Value to_value(Env env, int64_t number) { return Napi::Number::New(env, static_cast<double>(number)); }
inline Napi::Value to_value(Env env, bool flag) { return Napi::Boolean::New(env, flag); }
inline Napi::Value to_value(Env env, const char* text) { return Napi::String::New(env, text); }
inline Napi::Value to_value(Env env, const std::string& text) { return Napi::String::New(env, text); }
inline Napi::Value to_value(Env /*env*/, Napi::Value value) { return value; }
/// An Int32Array.
Napi::Value to_value(Env env, const std::vector<int32_t>& numbers);
Napi::Value to_value(Env env, const graph::Array<int32_t>& numbers);
Napi::Value to_value(Env env, const Floats& floats);
/// Creates an array of the indices i and j of all pairs, interleaved.
Napi::Value to_value(Env env, const std::vector<BasePair>& pairs);

/// An external.
Napi::Value to_value(Env env, const std::shared_ptr<const graph::Dissection>& division);

/// A function of two numbers.
using OfTwo = double (*)(double, double);
Napi::Value to_value(Env env, OfTwo function);

template <class... Values>
Napi::Value to_value(Env env, const std::variant<Values...>& value) {
  return std::visit([&](const auto& content) { return to_value(env, content); }, value);
}

template <class Named>
Napi::Value object_of(Env env, const Named& properties) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [name, value] : properties) object.Set(name, to_value(env, value));
  return object;
}
template <class Value>
Napi::Value to_value(Env env, const Properties<Value>& properties) {
  return object_of(env, properties);
}
inline Napi::Value to_value(Env env, const std::map<std::string, double>& properties) {
  return object_of(env, properties);
}

template <class Value>
Napi::Value to_value(Env env, const std::vector<Value>& values) {
  Napi::Array array = Napi::Array::New(env, values.size());
  for (uint32_t index = 0; index < values.size(); ++index) array.Set(index, to_value(env, values[index]));
  return array;
}

template <class Value>
void set(Napi::Object object, const char* name, const Value& value) {
  object.Set(name, to_value(Env(object.Env()), value));
}

template <class Value>
void set(Napi::Object object, const char* name, const std::optional<Value>& value) {
  if (value) set(object, name, *value);
}

/// A list of names, in the order of their enumerators.
template <size_t count>
Napi::Array names_of(Napi::Env env, const char* const (&list)[count]) {
  Napi::Array array = Napi::Array::New(env, count);
  for (uint32_t index = 0; index < count; ++index) array.Set(index, list[index]);
  return array;
}

}  // namespace mpmml::addon
