#include "addon/task.h"

#include <string>

#include "core/status.h"

namespace mpmml::addon {

void Task::fail() noexcept {
  failure_ = current_failure();
  if (is_group() && failure_->product) {
    failure_->message = "product " + std::to_string(*failure_->product) + ": " + failure_->message;
  }
}

void Task::try_start() noexcept {
  try {
    if (cancel_ && cancel_->load(std::memory_order_relaxed) != 0) throw aborted();
    start();
  } catch (...) {
    fail();
  }
}

bool Task::can_finish() noexcept {
  if (failure_) return true;
  try {
    return is_done();
  } catch (...) {
    fail();
    return true;
  }
}

void Task::try_finish() noexcept {
  try {
    if (!failure_) finish();
  } catch (...) {
    fail();
  }
  conclude(failure_ ? &*failure_ : nullptr);
}

void Task::withdraw() noexcept {
  try {
    throw aborted();
  } catch (...) {
    fail();
  }
  conclude(&*failure_);
}

void Task::abandon() noexcept {
  if (cancel_) cancel_->store(1, std::memory_order_relaxed);
}

}  // namespace mpmml::addon
