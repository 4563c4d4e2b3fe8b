// Reading request objects.
#pragma once
#include <napi.h>

#include <string>

#include "addon/engine.h"

namespace mpmml::addon {

/// The fields of a request object. lib has checked them; values that would cause undefined behaviour are refused here
/// again.
class Fields {
 public:
  explicit Fields(const Napi::Value& value) : env_(value.Env()) {
    if (!value.IsObject()) malformed("no object");
    object_ = value.As<Napi::Object>();
  }

  double number(const char* name, double least, double most) const {
    const Napi::Value value = object_.Get(name);
    const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : most + 1;
    if (!(number >= least && number <= most)) malformed(name);
    return number;
  }

  /// `fallback` if the field isn't there.
  double number_or(double fallback, const char* name, double least, double most) const {
    return has(name) ? number(name, least, most) : fallback;
  }

  template <class Integer = int>
  Integer integer(const char* name, double least, double most = kMostInteger) const {
    return static_cast<Integer>(number(name, least, most));
  }

  template <class Integer = int>
  Integer integer_or(double fallback, const char* name, double least, double most = kMostInteger) const {
    return static_cast<Integer>(number_or(fallback, name, least, most));
  }

  /// Empty if the field isn't there.
  std::string text(const char* name) const {
    const Napi::Value value = object_.Get(name);
    if (value.IsUndefined()) return {};
    if (!value.IsString()) malformed(name);
    return value.As<Napi::String>();
  }

  bool has(const char* name) const { return !object_.Get(name).IsUndefined(); }
  Fields object(const char* name) const { return Fields(object_.Get(name)); }

  int device() const { return integer_or(0, "device", 0, 65535); }

  const Variant& variant() const {
    const auto& rows = engine().variants();
    return *rows[integer<size_t>("variant", 0, static_cast<double>(rows.size()) - 1)];
  }

 private:
  static constexpr double kMostInteger = 2147483647;

  [[noreturn]] void malformed(const char* what) const {
    throw Napi::TypeError::New(env_, std::string("mpmml addon: malformed request: ") + what);
  }

  Napi::Env env_;
  Napi::Object object_;
};

}  // namespace mpmml::addon
