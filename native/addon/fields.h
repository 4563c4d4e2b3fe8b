// Reading request objects.
#pragma once
#include <napi.h>

#include <string>

#include "addon/engine.h"

namespace mpmml::addon {

/// The fields of a request object; lib has validated them, and what would be undefined behaviour is refused once more.
class Fields {
 public:
  explicit Fields(const Napi::Value& value) : env_(value.Env()) {
    if (!value.IsObject()) malformed("no object");
    object_ = value.As<Napi::Object>();
  }

  double number(const char* name, double fallback, double least, double most) const {
    const Napi::Value value = object_.Get(name);
    if (value.IsUndefined()) return fallback;
    const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : most + 1;
    if (!(number >= least && number <= most)) malformed(name);
    return number;
  }

  template <class Integer = int>
  Integer integer(const char* name, double fallback, double least = 0, double most = 2147483647) const {
    return static_cast<Integer>(number(name, fallback, least, most));
  }

  std::string text(const char* name) const {
    const Napi::Value value = object_.Get(name);
    if (value.IsUndefined()) return {};
    if (!value.IsString()) malformed(name);
    return value.As<Napi::String>();
  }

  bool has(const char* name) const { return !object_.Get(name).IsUndefined(); }
  Fields object(const char* name) const { return Fields(object_.Get(name)); }

  int device() const { return integer("device", 0, 0, 65535); }

  const Variant& variant() const {
    const auto& rows = engine().variants();
    return *rows[integer<size_t>("variant", -1, 0, static_cast<double>(rows.size()) - 1)];
  }

 private:
  [[noreturn]] void malformed(const char* what) const {
    throw Napi::TypeError::New(env_, std::string("mpmml addon: malformed request: ") + what);
  }

  Napi::Env env_;
  Napi::Object object_;
};

}  // namespace mpmml::addon
