// The one kind of error that crosses a layer: a stable code, and a sentence that says what was expected, what came and
// what to do. The addon turns it into a JavaScript error whose `code` is ERR_MPMML_<CODE>.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace mpmml {

enum class ErrorCode { kShape, kValue, kOverflow, kNoCuda, kOutOfMemory, kVariant, kOption, kAborted, kCuda };

/// The suffix of the public code: kShape is "SHAPE", public ERR_MPMML_SHAPE.
constexpr const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kShape:
      return "SHAPE";
    case ErrorCode::kValue:
      return "VALUE";
    case ErrorCode::kOverflow:
      return "OVERFLOW";
    case ErrorCode::kNoCuda:
      return "NO_CUDA";
    case ErrorCode::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case ErrorCode::kVariant:
      return "VARIANT";
    case ErrorCode::kOption:
      return "OPTION";
    case ErrorCode::kAborted:
      return "ABORTED";
    case ErrorCode::kCuda:
      return "CUDA";
  }
  return "CUDA";
}

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// What work throws when it finds that it has been given up.
inline Error given_up() {
  return Error(ErrorCode::kAborted, "the product was given up because its signal was aborted");
}

}  // namespace mpmml
