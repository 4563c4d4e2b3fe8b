// Error type that crosses layers: a stable code, and a sentence with the expected value, the actual value and advice.
// The addon turns it into a JavaScript error whose `code` is ERR_MPMML_<CODE>.
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

/// Returns the suffix of the public code: "SHAPE" for kShape, whose public code is ERR_MPMML_SHAPE.
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
  /// `product` is the index of the failed product among the products of a call, if it is known.
  Error(ErrorCode code, const std::string& message, std::optional<size_t> product = std::nullopt)
      : std::runtime_error(message), code_(code), product_(product) {}
  ErrorCode code() const { return code_; }
  std::optional<size_t> product() const { return product_; }

 private:
  ErrorCode code_;
  std::optional<size_t> product_;
};

/// Calls `body`. Adds the index of this product among the products of a call to errors.
template <class Body>
void of_product(size_t index, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), index);
  }
}

/// Returns a size such as "4 MiB", rounded up.
inline std::string in_mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

/// Returns the error that cancelled work throws.
inline Error aborted() { return Error(ErrorCode::kAborted, "the product was aborted by its AbortSignal"); }

}  // namespace mpmml
