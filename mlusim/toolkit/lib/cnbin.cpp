// cnbin: programs link it without calling it.
extern "C" __attribute__((visibility("default"))) int cnbinGetLibVersion(int *major, int *minor, int *patch) {
  *major = 0, *minor = 0, *patch = 0;
  return 0;
}
