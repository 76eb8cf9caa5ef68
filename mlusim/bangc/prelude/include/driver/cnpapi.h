// The vendor's tracing library: its types, and calls that report that they are not simulated; `mlusim profile` traces a program.
#pragma once
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
typedef enum {
  CNPAPI_SUCCESS = 0,
  CNPAPI_ERROR_INVALID_ARGUMENT = 1,
  CNPAPI_ERROR_NOT_INITIALIZED = 2,
  CNPAPI_ERROR_NOT_SUPPORTED = 3,
  CNPAPI_ERROR_UNKNOWN = 999,
} cnpapiResult;
typedef enum { CNPAPI_CB_DOMAIN_CNRT_API, CNPAPI_CB_DOMAIN_CNDRV_API, CNPAPI_CB_DOMAIN_CNNL_API } cnpapi_CallbackDomain;
typedef enum { CNPAPI_API_ENTER, CNPAPI_API_EXIT } cnpapi_ApiCallbackSite;
typedef uint32_t cnpapi_CallbackId;
typedef struct {
  cnpapi_ApiCallbackSite callbackSite;
  const char *functionName;
  const void *functionParams;
  void *functionReturnValue;
  uint64_t *correlationData;
} cnpapi_CallbackData;
typedef void (*cnpapi_CallbackFunc)(void *, cnpapi_CallbackDomain, cnpapi_CallbackId, const void *);
typedef struct cnpapi_Subscriber *cnpapi_SubscriberHandle;
#ifdef __cplusplus
extern "C" {
#endif
cnpapiResult cnpapiInit(void);
cnpapiResult cnpapiRelease(void);
cnpapiResult cnpapiGetResultString(cnpapiResult, const char **);
cnpapiResult cnpapiSubscribe(cnpapi_SubscriberHandle *, cnpapi_CallbackFunc, void *);
cnpapiResult cnpapiUnsubscribe(cnpapi_SubscriberHandle);
cnpapiResult cnpapiEnableCallback(uint32_t, cnpapi_SubscriberHandle, cnpapi_CallbackDomain, cnpapi_CallbackId);
cnpapiResult cnpapiEnableDomain(uint32_t, cnpapi_SubscriberHandle, cnpapi_CallbackDomain);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
