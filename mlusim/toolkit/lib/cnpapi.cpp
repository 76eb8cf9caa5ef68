// cnpapi: no tracing by these calls; `mlusim profile` and `mlusim run --trace` show a program's launches.
#include "cnpapi.h"

#include "wire.h"

using namespace mlusim;

static cnpapiResult not_simulated(void *caller, const char *call) {
  refuse(cnrtErrorNotSupport, caller, std::string(call) + " is not simulated; `mlusim profile` shows the launches of a program");
  return CNPAPI_ERROR_NOT_SUPPORTED;
}

extern "C" {
cnpapiResult cnpapiInit(void) { return not_simulated(CALLER, "cnpapiInit"); }
cnpapiResult cnpapiRelease(void) { return CNPAPI_SUCCESS; }
cnpapiResult cnpapiGetResultString(cnpapiResult code, const char **text) {
  *text = code == CNPAPI_SUCCESS ? "no error" : code == CNPAPI_ERROR_NOT_SUPPORTED ? "the simulator does not do this" : "an error";
  return CNPAPI_SUCCESS;
}
cnpapiResult cnpapiSubscribe(cnpapi_SubscriberHandle *, cnpapi_CallbackFunc, void *) { return not_simulated(CALLER, "cnpapiSubscribe"); }
cnpapiResult cnpapiUnsubscribe(cnpapi_SubscriberHandle) { return CNPAPI_SUCCESS; }
cnpapiResult cnpapiEnableCallback(uint32_t, cnpapi_SubscriberHandle, cnpapi_CallbackDomain, cnpapi_CallbackId) {
  return not_simulated(CALLER, "cnpapiEnableCallback");
}
cnpapiResult cnpapiEnableDomain(uint32_t, cnpapi_SubscriberHandle, cnpapi_CallbackDomain) { return not_simulated(CALLER, "cnpapiEnableDomain"); }
}
