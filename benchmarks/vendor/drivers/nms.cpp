// Suppression of boxes, with a descriptor made for it.
#include "core/context.h"
#include "core/tensor.h"
#include "mlu_op.h"
mluOpStatus_t DriveNms(mluOpHandle_t handle, int box_mode, int mode, int algo, int method_mode, float iou_threshold, float soft_nms_sigma,
                       int max_output_boxes, float confidence_threshold, float offset, int input_layout, bool pad_to_max_output_size,
                       const mluOpTensorDescriptor_t boxes_desc, const void *boxes, const mluOpTensorDescriptor_t confidence_desc,
                       const void *confidence, const mluOpTensorDescriptor_t output_desc, void *output,
                       const mluOpTensorDescriptor_t output_size_desc, void *output_size) {
  mluOpNmsDescriptor_t desc;
  size_t size = 0;
  mluOpCreateNmsDescriptor(&desc);
  mluOpStatus_t status = mluOpSetNmsDescriptor(desc, (mluOpNmsBoxPointMode_t)box_mode, (mluOpNmsOutputMode_t)mode, (mluOpNmsAlgo_t)algo,
                                               (mluOpNmsMethodMode_t)method_mode, iou_threshold, soft_nms_sigma, max_output_boxes,
                                               confidence_threshold, offset, input_layout, pad_to_max_output_size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  bool turned = boxes_desc->getDimIndex(1) == 7;
  status = mluOpGetNmsWorkspaceSize(handle, desc, boxes_desc, turned ? nullptr : confidence_desc, &size);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return mluOpNms(handle, desc, boxes_desc, boxes, turned ? nullptr : confidence_desc, turned ? nullptr : confidence, nullptr, size,
                  output_desc, output, output_size);
}
