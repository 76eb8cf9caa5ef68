// cnnl_extra: programs link it; the simulator has no stand-ins for its calls.
extern "C" __attribute__((visibility("default"))) int cnnlExtraGetLibVersion(int *major, int *minor, int *patch) {
  *major = 0, *minor = 0, *patch = 0;
  return 0;
}
