// cnml: programs of older toolkits link it without calling it.
extern "C" __attribute__((visibility("default"))) void cnmlExit() {}
