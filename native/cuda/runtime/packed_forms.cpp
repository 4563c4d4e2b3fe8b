#include "cuda/runtime/packed_forms.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "cuda/device/error.h"

namespace mpmml::cuda {
namespace {

/// Packed forms of a device that can be dropped.
struct DeviceForms {
  std::list<PackedForms*> listed;  ///< least recently used first
  std::atomic<int64_t> bytes{0};   ///< of all existing forms, including dropped ones in use by a product
};

struct AllForms {
  std::mutex mutex;
  std::map<int, DeviceForms> of_device;
};

AllForms& all_forms() {
  // Never destroyed, because matrices may be released at the end of the process.
  static auto* const all = new AllForms;
  return *all;
}

}  // namespace

std::shared_ptr<const PackedForm> PackedForms::find(const PackedKey& key, cudaStream_t stream) {
  const auto search = [&]() -> std::shared_ptr<const PackedForm> {
    const auto found = std::find_if(forms_.begin(), forms_.end(), [&](const auto& form) {
      return form->key == key && (form->done || form->buffer.stream() == stream);
    });
    return found == forms_.end() ? nullptr : *found;
  };
  if (!is_listed_) return search();
  AllForms& all = all_forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Listed& listed = all.of_device[device_].listed;
  listed.splice(listed.end(), listed, place_);
  return search();
}

void PackedForms::add(const std::shared_ptr<PackedForm>& form) {
  if (device_ == kOfProduct) return forms_.push_back(form);
  AllForms& all = all_forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  DeviceForms& here = all.of_device[device_];
  forms_.push_back(form);
  form->counter = &here.bytes;
  form->count(form->bytes);
  if (is_listed_) return;
  place_ = here.listed.insert(here.listed.end(), this);
  is_listed_ = true;
}

void PackedForms::clear() {
  if (!is_listed_) return forms_.clear();
  AllForms& all = all_forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.of_device[device_].listed.erase(place_);
  is_listed_ = false;
  forms_.clear();
}

int64_t bytes_of_forms(int device) {
  AllForms& all = all_forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.of_device[device].bytes;
}

int64_t drop_forms(int device, int64_t bytes) {
  int64_t dropped = 0;
  std::map<cudaStream_t, Event> ends;
  {
    AllForms& all = all_forms();
    // While the mutex is locked, matrices whose forms are listed exist, and so do the streams in which the forms are
    // freed.
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::list<PackedForms*>& listed = all.of_device[device].listed;
    if (listed.empty()) return 0;
    MPMML_CUDA(cudaSetDevice(device));
    for (PackedForms* const of_matrix : listed) {
      auto& forms = of_matrix->forms_;
      for (auto form = forms.begin(); form != forms.end() && dropped < bytes;) {
        if (form->use_count() > 1) {
          ++form;
          continue;
        }
        const cudaStream_t stream = (*form)->buffer.stream();
        dropped += (*form)->bytes;
        form = forms.erase(form);
        ends[stream].record(stream);
      }
    }
  }
  for (const auto& [stream, end] : ends) end.wait();
  return dropped;
}

}  // namespace mpmml::cuda
