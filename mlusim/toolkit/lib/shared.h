// Memory and notifiers that processes of one machine share; each has a simulator and addresses of its own.
#pragma once
#include "cnrt.h"

#pragma GCC visibility push(default)
namespace mlusim {

cnrtRet_t share_memory(cnrtIpcMemHandle *handle, void *pointer, void *caller, const char *call);
cnrtRet_t map_memory(void **pointer, cnrtIpcMemHandle handle, int flags, void *caller, const char *call);
cnrtRet_t unmap_memory(void *pointer, void *caller);
void end_sharing(void *pointer);  // of memory that is freed: its handle names nothing any more
cnrtRet_t share_notifier(cnrtIpcNotifierHandle *handle, cnrtNotifier_t notifier, void *caller, const char *call);
cnrtRet_t open_notifier(cnrtNotifier_t *notifier, const cnrtIpcNotifierHandle &handle, void *caller, const char *call);

// What the calls for notifiers do beside the simulator's part, for those between processes.
bool notify_others(cnrtNotifier_t notifier);
void end_shared(cnrtNotifier_t notifier);
void placed(cnrtNotifier_t notifier);     // behind what its process has given to queues
bool met(cnrtNotifier_t notifier);        // whether all that it was placed behind is done
void wait_until_met(cnrtNotifier_t notifier);
void forget_shared();                     // in a child, whose handles are its parent's

}  // namespace mlusim
#pragma GCC visibility pop
