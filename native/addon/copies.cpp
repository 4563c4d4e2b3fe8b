#include "addon/copies.h"

#include <cstddef>

#include "addon/device.h"
#include "addon/request.h"
#include "core/pages.h"

namespace mpmml::addon {
namespace {

double steps_of_copy(int64_t batch, const MutableMatrixView& matrix) {
  return static_cast<double>(batch) * matrix.rows * matrix.cols * DeviceWork::kStepsPerElement;
}

class UploadWork : public DeviceWork {
 public:
  UploadWork(const Napi::CallbackInfo& info, Uses uses, const Copy& copy, std::atomic<int32_t>* cancel)
      : DeviceWork(std::move(uses), cancel), copy_(copy), arguments_(keep(info)) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    const MutableMatrixView& from = copy_.array;
    Memory& memory = make(copy_.bytes, copy_.dtype, from.storage, copy_.units());
    MutableMatrixView to = row_major(memory.data(), from.rows, from.cols);
    to.storage = from.storage;
    to.memory = &memory;
    if (copy_.has_elements()) session.upload(copy_.dtype, copy_.batch, read_only(from), to, cancel());
    return std::make_unique<Done>();
  }
  double steps() const override { return steps_of_copy(copy_.batch, copy_.array); }

 private:
  const Copy copy_;
  const Napi::ObjectReference arguments_;
};

class DownloadWork : public DeviceWork {
 public:
  DownloadWork(const Napi::CallbackInfo& info, Uses uses, const Copy& copy, std::atomic<int32_t>* cancel)
      : DeviceWork(std::move(uses), cancel), copy_(copy), arguments_(keep(info)) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    if (!copy_.has_elements()) return std::make_unique<Done>();
    return session.download(copy_.dtype, copy_.batch, copy_.memory, copy_.array, cancel());
  }
  double steps() const override { return steps_of_copy(copy_.batch, copy_.array); }

 private:
  const Copy copy_;
  const Napi::ObjectReference arguments_;
};

class FillWork : public DeviceWork {
 public:
  FillWork(Uses uses, const Copy& copy) : DeviceWork(std::move(uses)), copy_(copy) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    Memory& memory = make(copy_.bytes, copy_.dtype, Storage::kElement, copy_.units());
    MutableMatrixView to = row_major(memory.data(), copy_.array.rows, copy_.array.cols);
    to.memory = &memory;
    if (!copy_.has_elements()) return std::make_unique<Done>();
    return session.fill(copy_.dtype, copy_.batch, to, copy_.value);
  }
  double steps() const override { return steps_of_copy(copy_.batch, copy_.array); }

 private:
  const Copy copy_;
};

class CombineWork : public DeviceWork {
 public:
  CombineWork(Uses uses, const Problem& problem) : DeviceWork(std::move(uses)), problem_(problem) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    const Problem& it = problem_;
    if (it.batch * it.c.rows * it.c.cols == 0) return std::make_unique<Done>();
    return session.combine(it.operation, it.batch, it.c, it.b);
  }
  double steps() const override { return steps_of_copy(problem_.batch, problem_.c); }

 private:
  const Problem problem_;
};

Napi::Value upload(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const Copy copy = read_upload(info[1], info[2]);
  return DeviceWork::run(info.Env(), std::make_unique<UploadWork>(info, std::move(uses), copy, cancel_of(info[3])));
}

Napi::Value download(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const Copy copy = read_download(info[1], info[2], info[3], uses);
  return DeviceWork::run(info.Env(), std::make_unique<DownloadWork>(info, std::move(uses), copy, cancel_of(info[4])));
}

Napi::Value fill(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const Copy copy = read_fill(info[1]);
  return DeviceWork::run(info.Env(), std::make_unique<FillWork>(std::move(uses), copy));
}

Napi::Value combine(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const Problem problem = read_combine(info[1], info[2], info[3], uses);
  return DeviceWork::run(info.Env(), std::make_unique<CombineWork>(std::move(uses), problem));
}

/// preferHugePages(array): before it is written.
Napi::Value huge_pages(const Napi::CallbackInfo& info) {
  const auto array = info[0].As<Napi::TypedArray>();
  auto* const data = static_cast<std::byte*>(array.ArrayBuffer().Data());
  prefer_huge_pages(data + array.ByteOffset(), array.ByteLength());
  return info.Env().Undefined();
}

}  // namespace

void export_copies(Napi::Env env, Napi::Object exports) {
  exports.Set("copyFields", copy_field_names(env));
  exports.Set("upload", Napi::Function::New<guarded<upload>>(env, "upload"));
  exports.Set("download", Napi::Function::New<guarded<download>>(env, "download"));
  exports.Set("fill", Napi::Function::New<guarded<fill>>(env, "fill"));
  exports.Set("combine", Napi::Function::New<guarded<combine>>(env, "combine"));
  exports.Set("preferHugePages", Napi::Function::New<guarded<huge_pages>>(env, "preferHugePages"));
}

}  // namespace mpmml::addon
