#include "addon/failure.h"

#include <new>

#include "core/status.h"

namespace mpmml::addon {

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {std::string("ERR_MPMML_") + error_code_name(error.code()), error.what(), error.product()};
  } catch (const Failure& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return {"ERR_MPMML_OUT_OF_MEMORY", "the host has no memory left for this product's workspace", {}};
  } catch (const std::exception& error) {
    return {"", std::string("mpmml addon: ") + error.what(), {}};
  } catch (...) {
    return {"", "mpmml addon: an exception of an unknown type", {}};
  }
}

}  // namespace mpmml::addon
