// cnml: programs of older toolkits link it and call nothing of it.
extern "C" __attribute__((visibility("default"))) void cnmlExit() {}
