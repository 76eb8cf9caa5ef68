#include "capture.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "wire.h"

using namespace mlusim;

struct CNtaskTopo_st {
  std::vector<Captured> work;
};
struct CNtaskTopoEntity_st {
  std::vector<Captured> work;
};

namespace {

struct Captures {
  std::mutex lock;
  std::map<uint64_t, std::pair<uint64_t, std::vector<Captured>>> all;  // by queue: a number, and the captured work
  uint64_t number = 0;
};
Captures &captures() {
  static Captures *one = new Captures;
  return *one;
}
uint64_t key(uint64_t queue) { return queue ? queue : UNWAITED; }

cnrtRet_t no_place(void *caller, const char *call) { return refuse(cnrtErrorArgsInvalid, caller, std::string(call) + " is given a null pointer"); }

}  // namespace

namespace mlusim {

bool capturing(uint64_t queue) {
  std::lock_guard<std::mutex> held(captures().lock);
  return !captures().all.empty() && captures().all.count(key(queue));
}

bool captured(uint64_t queue, Captured work) {
  std::lock_guard<std::mutex> held(captures().lock);
  auto found = captures().all.find(key(queue));
  if (found == captures().all.end()) return false;
  found->second.second.push_back(std::move(work));
  return true;
}

}  // namespace mlusim

#pragma GCC visibility push(default)
extern "C" {
cnrtRet_t cnrtQueueBeginCapture(cnrtQueue_t queue, cnrtQueueCaptureMode_t) {
  std::lock_guard<std::mutex> held(captures().lock);
  if (!captures().all.insert({key((uint64_t)queue), {++captures().number, {}}}).second)
    return refuse(cnrtErrorIllegalState, CALLER, "cnrtQueueBeginCapture is given a queue that is being captured; end that capture first");
  return cnrtSuccess;
}
cnrtRet_t cnrtQueueEndCapture(cnrtQueue_t queue, cnrtTaskTopo_t *topo) {
  if (!topo) return no_place(CALLER, "cnrtQueueEndCapture");
  std::lock_guard<std::mutex> held(captures().lock);
  auto found = captures().all.find(key((uint64_t)queue));
  if (found == captures().all.end())
    return refuse(cnrtErrorQueueCaptureUnmatched, CALLER, "cnrtQueueEndCapture is given a queue that is not being captured; call cnrtQueueBeginCapture first");
  *topo = new CNtaskTopo_st{std::move(found->second.second)};
  captures().all.erase(found);
  return cnrtSuccess;
}
cnrtRet_t cnrtQueueIsCapturing(cnrtQueue_t queue, cnrtQueueCaptureStatus_t *status) {
  if (!status) return no_place(CALLER, "cnrtQueueIsCapturing");
  *status = capturing((uint64_t)queue) ? cnrtQueueCaptureStatusActive : cnrtQueueCaptureStatusNone;
  return cnrtSuccess;
}
cnrtRet_t cnrtQueueGetCaptureInfo(cnrtQueue_t queue, cnrtQueueCaptureStatus_t *status, uint64_t *id, cnrtTaskTopo_t *topo, const cnrtTaskTopoNode_t **nodes, size_t *count) {
  if (!status) return no_place(CALLER, "cnrtQueueGetCaptureInfo");
  std::lock_guard<std::mutex> held(captures().lock);
  auto found = captures().all.find(key((uint64_t)queue));
  bool active = found != captures().all.end();
  *status = active ? cnrtQueueCaptureStatusActive : cnrtQueueCaptureStatusNone;
  if (id) *id = active ? found->second.first : 0;
  if (topo) *topo = nullptr;  // the topology exists when the capture has ended
  if (nodes) *nodes = nullptr;
  if (count) *count = 0;
  return cnrtSuccess;
}
cnrtRet_t cnrtThreadExchangeQueueCaptureMode(cnrtQueueCaptureMode_t *mode) {
  static thread_local cnrtQueueCaptureMode_t own = cnrtQueueCaptureModeGlobal;
  if (!mode) return no_place(CALLER, "cnrtThreadExchangeQueueCaptureMode");
  std::swap(own, *mode);
  return cnrtSuccess;
}
cnrtRet_t cnrtTaskTopoGetNodes(cnrtTaskTopo_t topo, cnrtTaskTopoNode_t *nodes, size_t *count) {
  if (!topo || !count) return no_place(CALLER, "cnrtTaskTopoGetNodes");
  for (size_t n = 0; nodes && n < *count; ++n) nodes[n] = n < topo->work.size() ? (cnrtTaskTopoNode_t)&topo->work[n] : nullptr;
  *count = nodes ? std::min(*count, topo->work.size()) : topo->work.size();
  return cnrtSuccess;
}
cnrtRet_t cnrtTaskTopoInstantiate(cnrtTaskTopoEntity_t *entity, cnrtTaskTopo_t topo, cnrtTaskTopoNode_t *, char *log, size_t bytes) {
  if (!entity || !topo) return no_place(CALLER, "cnrtTaskTopoInstantiate");
  if (log && bytes) *log = 0;
  *entity = new CNtaskTopoEntity_st{topo->work};
  return cnrtSuccess;
}
cnrtRet_t cnrtTaskTopoEntityInvoke(cnrtTaskTopoEntity_t entity, cnrtQueue_t queue) {
  if (!entity) return no_place(CALLER, "cnrtTaskTopoEntityInvoke");
  if (captured((uint64_t)queue, [work = entity->work](uint64_t by) {
        cnrtRet_t code = cnrtSuccess;
        for (const Captured &one : work)
          if (cnrtRet_t now = one(by); now != cnrtSuccess) code = now;
        return code;
      }))
    return cnrtSuccess;
  cnrtRet_t code = cnrtSuccess;
  for (const Captured &one : entity->work)
    if (cnrtRet_t now = one(key((uint64_t)queue)); now != cnrtSuccess) code = now;
  return code;
}
cnrtRet_t cnrtTaskTopoEntityDestroy(cnrtTaskTopoEntity_t entity) {
  delete entity;
  return cnrtSuccess;
}
cnrtRet_t cnrtTaskTopoDestroy(cnrtTaskTopo_t topo) {
  delete topo;
  return cnrtSuccess;
}
}
#pragma GCC visibility pop
