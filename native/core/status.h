// The one kind of error that crosses a layer: a stable code, and a sentence that says what was expected, what came and
// what to do. The addon turns it into a JavaScript error whose `code` is ERR_MPMML_<CODE>.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mpmml {

enum class ErrorCode {
  kShape,
  kValue,
  kOverflow,
  kNoCuda,
  kOutOfMemory,
  kVariant,
  kOption,
  kAborted,
  kCuda,
  kDisposed,
  kDevice,
  kCycle
};

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
    case ErrorCode::kDisposed:
      return "DISPOSED";
    case ErrorCode::kDevice:
      return "DEVICE";
    case ErrorCode::kCycle:
      return "CYCLE";
  }
  return "CUDA";
}

class Error : public std::runtime_error {
 public:
  /// `product` says which of the products that were asked for in one call failed, if it is known.
  Error(ErrorCode code, const std::string& message, std::optional<size_t> product = std::nullopt)
      : std::runtime_error(message), code_(code), product_(product) {}
  ErrorCode code() const { return code_; }
  std::optional<size_t> product() const { return product_; }

 private:
  ErrorCode code_;
  std::optional<size_t> product_;
};

/// Runs `body`; an error says that it is of this product of those that were asked for in one call.
template <class Body>
void of_product(size_t index, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), index);
  }
}

/// "4 MiB", rounded up.
inline std::string in_mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

/// What work throws when it finds that it has been given up.
inline Error given_up() {
  return Error(ErrorCode::kAborted, "the product was given up because its signal was aborted");
}

}  // namespace mpmml
