// cndrv: the driver's calls, implemented by the run-time.
#include "cn_api.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "shared.h"
#include "wire.h"

using namespace mlusim;

namespace {

CNresult as_cn(cnrtRet_t code) { return (CNresult)code; }  // the numbers are the same

void *at(CNaddr address) { return (void *)address; }

// A context is represented by its device, counted from 1; each device has one.
CNcontext context_of(int device) { return (CNcontext)(intptr_t)(device + 1); }
int device_of(CNcontext context) { return (int)(intptr_t)context - 1; }

CNresult load(const char *data, size_t bytes, CNmodule *module, void *caller, const char *call) {
  size_t number = data ? load_module(data, bytes) : 0;
  if (!number)
    return as_cn(refuse(cnrtErrorNotSupport, caller, std::string(call) + " is given no device code of the simulator, which does not run binaries of the vendor's compiler; write the file with `cncc --bang-fatbin-only`"));
  *module = (CNmodule)number;
  return CN_SUCCESS;
}

}  // namespace

extern "C" {

CNresult cnInit(unsigned) { return CN_SUCCESS; }
CNresult cnGetErrorString(CNresult code, const char **text) {
  switch (code) {
#define MLUSIM_ERROR(name, number, said) case name: *text = said; return CN_SUCCESS;
    MLUSIM_CN_ERRORS(MLUSIM_ERROR)
#undef MLUSIM_ERROR
  }
  *text = "an error without a name";
  return CN_ERROR_INVALID_VALUE;
}
CNresult cnGetErrorName(CNresult code, const char **text) {
  switch (code) {
#define MLUSIM_ERROR(name, number, said) case name: *text = #name; return CN_SUCCESS;
    MLUSIM_CN_ERRORS(MLUSIM_ERROR)
#undef MLUSIM_ERROR
  }
  *text = "CN_ERROR_UNKNOWN";
  return CN_ERROR_INVALID_VALUE;
}
CNresult cnGetLibVersion(int *major, int *minor, int *patch) { return as_cn(cnrtGetLibVersion(major, minor, patch)); }
CNresult cnGetDriverVersion(int *major, int *minor, int *patch) { return as_cn(cnrtDriverGetVersion(major, minor, patch)); }

// ---- devices and contexts ------------------------------------------------------------------------
CNresult cnDeviceGet(CNdev *device, int number) {
  if (!there_is(number)) return as_cn(refuse(cnrtErrorNoDevice, CALLER, "there is no device " + std::to_string(number)));
  *device = number;
  return CN_SUCCESS;
}
CNresult cnDeviceGetCount(int *count) {
  *count = (int)ask(OP_DEVICES).value;
  return CN_SUCCESS;
}
CNresult cnDeviceGetName(char *name, int bytes, CNdev device) {
  if (!there_is(device)) return as_cn(refuse(cnrtErrorNoDevice, CALLER, "there is no device " + std::to_string(device)));
  snprintf(name, bytes, "%s", ask(OP_NAME, {}, nullptr, nullptr, 0, device).data.c_str());
  return CN_SUCCESS;
}
CNresult cnDeviceGetAttribute(int *value, CNdevice_attribute which, CNdev device) {
  if (!there_is((int)device)) return as_cn(refuse(cnrtErrorNoDevice, CALLER, "there is no device " + std::to_string(device)));
  switch (which) {
#define MLUSIM_ATTRIBUTE(name, number) case name: *value = (int)board_attribute(#name, (int)device); return CN_SUCCESS;
    MLUSIM_CN_ATTRIBUTES(MLUSIM_ATTRIBUTE)
#undef MLUSIM_ATTRIBUTE
  }
  return as_cn(refuse(cnrtErrorArgsInvalid, CALLER, "cnDeviceGetAttribute is given no attribute that there is"));
}
CNresult cnDeviceTotalMem(cn_uint64_t *bytes, CNdev device) {
  std::string memory = ask(OP_MEMORY, {}, CALLER, nullptr, 0, device).data;
  uint64_t both[2] = {};
  if (memory.size() == sizeof both) memcpy(both, memory.data(), sizeof both);
  *bytes = both[1];
  return CN_SUCCESS;
}
CNresult cnCtxCreate(CNcontext *context, unsigned, CNdev device) {
  if (!there_is(device)) return as_cn(refuse(cnrtErrorNoDevice, CALLER, "there is no device " + std::to_string(device)));
  choose_device(device);
  *context = context_of(device);
  return CN_SUCCESS;
}
CNresult cnCtxDestroy(CNcontext) { return CN_SUCCESS; }
CNresult cnCtxGetCurrent(CNcontext *context) {
  *context = context_of(current_device());
  return CN_SUCCESS;
}
CNresult cnCtxSetCurrent(CNcontext context) {
  if (context && !there_is(device_of(context))) return as_cn(refuse(cnrtErrorArgsInvalid, CALLER, "cnCtxSetCurrent is given no context"));
  if (context) choose_device(device_of(context));
  return CN_SUCCESS;
}
CNresult cnCtxPush(CNcontext context) { return cnCtxSetCurrent(context); }
CNresult cnCtxPop(CNcontext *context) { return context ? cnCtxGetCurrent(context) : CN_SUCCESS; }
CNresult cnCtxGetDevice(CNdev *device) {
  *device = current_device();
  return CN_SUCCESS;
}
CNresult cnCtxSync(void) { return as_cn(sync_queue(EVERY, CALLER)); }
CNresult cnSharedContextAcquire(CNcontext *context, CNdev device) {
  *context = context_of(device);
  return CN_SUCCESS;
}
CNresult cnSharedContextRelease(CNdev) { return CN_SUCCESS; }
CNresult cnGetCtxConfigParam(CNcontext context, CNctxConfigParamType which, CNctxConfigParam *param) {
  int device = context ? device_of(context) : current_device();
  int unions = (int)board_attribute("cnrtAttrMaxClusterCountPerUnionTask", device), clusters = (int)board_attribute("cnrtAttrClusterCount", device);
  if (which == CN_CTX_CONFIG_UNION_LIMIT) param->unionLimit = (KernelClass)(unions ? 4 * unions : 1);
  else if (which == CN_CTX_CONFIG_VISIBLE_CLUSTER_NUM) param->visibleClusterNumber = clusters;
  else param->visibleCluster = (1ull << clusters) - 1;
  return CN_SUCCESS;
}
CNresult cnSetCtxConfigParam(CNcontext, CNctxConfigParamType, CNctxConfigParam *) { return CN_SUCCESS; }
CNresult cnGetCtxConfigParam_pt(CNcontext context, CNctxConfigParamType which, CNctxConfigParam *param) { return cnGetCtxConfigParam(context, which, param); }
CNresult cnSetCtxConfigParam_pt(CNcontext, CNctxConfigParamType, CNctxConfigParam *) { return CN_SUCCESS; }
CNresult cnGetCtxMaxParallelUnionTasks(CNcontext context, KernelClass kind, int *count) {
  int device = context ? device_of(context) : current_device();
  int clusters = (int)board_attribute("cnrtAttrClusterCount", device), cores = (int)board_attribute("cnrtAttrMcorePerCluster", device);
  if (kind != CN_KERNEL_CLASS_BLOCK && (int)kind < 4)
    return as_cn(refuse(cnrtErrorArgsInvalid, CALLER, "cnGetCtxMaxParallelUnionTasks is given no task type"));
  *count = kind == CN_KERNEL_CLASS_BLOCK ? clusters * cores : clusters / ((int)kind / 4);
  return CN_SUCCESS;
}

// ---- memory --------------------------------------------------------------------------------------
CNresult cnMalloc(CNaddr *address, cn_uint64_t bytes) { return as_cn(allocate((void **)address, bytes, CALLER, "cnMalloc")); }
CNresult cnIpcGetMemHandle(CNIpcMemHandle *handle, CNaddr address) { return as_cn(share_memory((void **)handle, at(address), CALLER, "cnIpcGetMemHandle")); }
CNresult cnIpcOpenMemHandle(CNaddr *address, CNIpcMemHandle handle, unsigned flags) { return as_cn(map_memory((void **)address, handle, (int)flags, CALLER, "cnIpcOpenMemHandle")); }
CNresult cnIpcCloseMemHandle(CNaddr address) { return as_cn(unmap_memory(at(address), CALLER)); }
CNresult cnZmalloc(CNaddr *address, cn_uint64_t bytes) {
  cnrtRet_t code = allocate((void **)address, bytes, CALLER, "cnZmalloc");
  return as_cn(code == cnrtSuccess ? set(at(*address), 0, 1, bytes, 0, CALLER) : code);
}
CNresult cnMallocConstant(CNaddr *address, cn_uint64_t bytes) { return as_cn(allocate((void **)address, bytes, CALLER, "cnMallocConstant")); }
CNresult cnFree(CNaddr address) { return as_cn(give_back(at(address), CALLER)); }
CNresult cnMallocHost(void **pointer, size_t bytes) { return as_cn(cnrtHostMalloc(pointer, bytes)); }
CNresult cnFreeHost(void *pointer) { return as_cn(cnrtFreeHost(pointer)); }
CNresult cnMemGetInfo(cn_uint64_t *free, cn_uint64_t *total) {
  size_t left = 0, all = 0;
  cnrtRet_t code = cnrtMemGetInfo(&left, &all);
  if (free) *free = left;
  if (total) *total = all;
  return as_cn(code);
}
CNresult cnGetMemAttribute(void *value, CNmem_attribute which, CNaddr address) {
  int64_t device = (int64_t)ask(OP_KIND, {address}).value;
  if (device < 0) return as_cn(refuse(cnrtErrorArgsInvalid, CALLER, "cnGetMemAttribute is given no memory of a device"));
  *(int *)value = which == CN_MEM_ATTRIBUTE_DEVICE_ORDINAL ? (int)device : which == CN_MEM_ATTRIBUTE_TYPE ? cnrtMemTypeDevice : 0;
  return CN_SUCCESS;
}
CNresult cnGetMemAddressRange(CNaddr *first, cn_uint64_t *bytes, CNaddr address) {
  Reply reply = ask(OP_RANGE, {address}, CALLER);
  uint64_t both[2] = {};
  if (reply.data.size() == sizeof both) memcpy(both, reply.data.data(), sizeof both);
  if (first) *first = both[0];
  if (bytes) *bytes = both[1];
  return as_cn(done(reply.code));
}
CNresult cnMemcpy(CNaddr to, CNaddr from, cn_uint64_t bytes) { return as_cn(copy(at(to), at(from), bytes, cnrtMemcpyNoDirection, 0, CALLER, "cnMemcpy")); }
CNresult cnMemcpyHtoD(CNaddr to, const void *from, cn_uint64_t bytes) { return as_cn(copy(at(to), from, bytes, cnrtMemcpyHostToDev, 0, CALLER, "cnMemcpyHtoD")); }
CNresult cnMemcpyDtoH(void *to, CNaddr from, cn_uint64_t bytes) { return as_cn(copy(to, at(from), bytes, cnrtMemcpyDevToHost, 0, CALLER, "cnMemcpyDtoH")); }
CNresult cnMemcpyDtoD(CNaddr to, CNaddr from, cn_uint64_t bytes) { return as_cn(copy(at(to), at(from), bytes, cnrtMemcpyDevToDev, 0, CALLER, "cnMemcpyDtoD")); }
CNresult cnMemcpyAsync(CNaddr to, CNaddr from, cn_uint64_t bytes, CNqueue queue) {
  return as_cn(copy(at(to), at(from), bytes, cnrtMemcpyNoDirection, unwaited(queue), CALLER, "cnMemcpyAsync"));
}
CNresult cnMemcpyHtoDAsync(CNaddr to, const void *from, cn_uint64_t bytes, CNqueue queue) {
  return as_cn(copy(at(to), from, bytes, cnrtMemcpyHostToDev, unwaited(queue), CALLER, "cnMemcpyHtoDAsync"));
}
CNresult cnMemcpyDtoHAsync(void *to, CNaddr from, cn_uint64_t bytes, CNqueue queue) {
  return as_cn(copy(to, at(from), bytes, cnrtMemcpyDevToHost, unwaited(queue), CALLER, "cnMemcpyDtoHAsync"));
}
CNresult cnMemcpyDtoDAsync(CNaddr to, CNaddr from, cn_uint64_t bytes, CNqueue queue) {
  return as_cn(copy(at(to), at(from), bytes, cnrtMemcpyDevToDev, unwaited(queue), CALLER, "cnMemcpyDtoDAsync"));
}
CNresult cnMemsetD8(CNaddr to, unsigned char value, cn_uint64_t count) { return as_cn(set(at(to), value, 1, count, 0, CALLER)); }
CNresult cnMemsetD32(CNaddr to, unsigned value, cn_uint64_t count) { return as_cn(set(at(to), value, 4, count, 0, CALLER)); }
CNresult cnMemsetD8Async(CNaddr to, unsigned char value, cn_uint64_t count, CNqueue queue) { return as_cn(set(at(to), value, 1, count, unwaited(queue), CALLER)); }
CNresult cnMemsetD32Async(CNaddr to, unsigned value, cn_uint64_t count, CNqueue queue) { return as_cn(set(at(to), value, 4, count, unwaited(queue), CALLER)); }

// ---- queues and notifiers ------------------------------------------------------------------------
CNresult cnCreateQueue(CNqueue *queue, unsigned) { return as_cn(make_queue(queue, CALLER)); }
CNresult cnDestroyQueue(CNqueue queue) { return as_cn(end_queue(queue, CALLER)); }
CNresult cnQueueSync(CNqueue queue) { return as_cn(sync_queue((uint64_t)queue, CALLER)); }
CNresult cnQueryQueue(CNqueue queue) { return as_cn(sync_queue((uint64_t)queue, CALLER)); }
CNresult cnQueueGetContext(CNqueue, CNcontext *context) { return cnCtxGetCurrent(context); }
CNresult cnQueueWaitNotifier(CNnotifier notifier, CNqueue queue, unsigned flags) { return as_cn(cnrtQueueWaitNotifier(notifier, queue, flags)); }
CNresult cnCreateNotifier(CNnotifier *notifier, unsigned flags) { return as_cn(make_notifier(notifier, flags, CALLER)); }
CNresult cnDestroyNotifier(CNnotifier notifier) { return as_cn(end_notifier(notifier, CALLER)); }
CNresult cnPlaceNotifier(CNnotifier notifier, CNqueue queue) { return as_cn(place(notifier, queue, CALLER)); }
CNresult cnWaitNotifier(CNnotifier notifier) { return as_cn(wait_for(notifier, CALLER)); }
CNresult cnQueryNotifier(CNnotifier notifier) { return as_cn(met(notifier) ? wait_for(notifier, CALLER) : cnrtErrorNotReady); }
CNresult cnIpcGetNotifierHandle(CNIpcNotifierHandle *handle, CNnotifier notifier) { return as_cn(share_notifier(handle, notifier, CALLER, "cnIpcGetNotifierHandle")); }
CNresult cnIpcOpenNotifierHandle(CNnotifier *notifier, CNIpcNotifierHandle handle) { return as_cn(open_notifier(notifier, handle, CALLER, "cnIpcOpenNotifierHandle")); }
CNresult cnNotifierDuration(CNnotifier from, CNnotifier to, float *us) { return as_cn(duration(from, to, us, 1, CALLER)); }
CNresult cnNotifierElapsedTime(CNnotifier from, CNnotifier to, float *ms) { return as_cn(duration(from, to, ms, 1000, CALLER)); }
CNresult cnInvokeHostFunc(CNqueue queue, CNhostFn function, void *data) { return as_cn(call_host_function(queue, function, data, CALLER)); }

// ---- launches ------------------------------------------------------------------------------------
CNresult cnInvokeKernel(CNkernel kernel, unsigned x, unsigned y, unsigned z, KernelClass kind, unsigned, CNqueue queue, void **args, void **) {
  return as_cn(launch(kernel, cnrtDim3_t{x, y, z}, (cnrtFunctionType_t)kind, args, queue, CALLER));
}
CNresult cnModuleLoad(const char *path, CNmodule *module) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return as_cn(refuse(cnrtErrorArgsInvalid, CALLER, std::string("cnModuleLoad cannot read ") + path));
  std::string content((std::istreambuf_iterator<char>(file)), {});
  return load(content.data(), content.size(), module, CALLER, "cnModuleLoad");
}
CNresult cnModuleLoadFatBinary(const void *data, CNmodule *module) { return load((const char *)data, SIZE_MAX, module, CALLER, "cnModuleLoadFatBinary"); }
CNresult cnModuleUnload(CNmodule) { return CN_SUCCESS; }
CNresult cnModuleGetKernel(CNmodule module, const char *name, CNkernel *kernel) {
  const void *found = nullptr;
  cnrtRet_t code = module ? find_kernel((size_t)module, name, &found, CALLER) : refuse(cnrtErrorArgsInvalid, CALLER, "cnModuleGetKernel is given no module");
  if (code == cnrtSuccess) *kernel = (CNkernel)found;
  return as_cn(code);
}
}
