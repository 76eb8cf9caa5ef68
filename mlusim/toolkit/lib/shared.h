// Memory and notifiers that processes of one machine share; each process has a simulator and addresses of its own.
#pragma once
#include "cnrt.h"

#pragma GCC visibility push(default)
namespace mlusim {

cnrtRet_t share_memory(cnrtIpcMemHandle *handle, void *pointer, void *caller, const char *call);
cnrtRet_t map_memory(void **pointer, cnrtIpcMemHandle handle, int flags, void *caller, const char *call);
cnrtRet_t unmap_memory(void *pointer, void *caller);
void end_sharing(void *pointer);  // for memory that is freed: its handle becomes invalid
cnrtRet_t share_notifier(cnrtIpcNotifierHandle *handle, cnrtNotifier_t notifier, void *caller, const char *call);
cnrtRet_t open_notifier(cnrtNotifier_t *notifier, const cnrtIpcNotifierHandle &handle, void *caller, const char *call);

// The part of the calls for notifiers that concerns other processes, in addition to the simulator's part.
bool notify_others(cnrtNotifier_t notifier);
void end_shared(cnrtNotifier_t notifier);
void placed(cnrtNotifier_t notifier);     // after the work that its process has given to queues
bool met(cnrtNotifier_t notifier);        // whether all work before the notifier is done
void wait_until_met(cnrtNotifier_t notifier);
void forget_shared();                     // in a child, whose handles are its parent's

}  // namespace mlusim
#pragma GCC visibility pop
