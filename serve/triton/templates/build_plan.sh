#!/usr/bin/env bash
# Builds the encoder's TensorRT plan, on the GPU that is to run it and in the image that serves it:
# a plan fits one kind of GPU and one version of TensorRT (10 or later, for 64-bit inputs).
set -euo pipefail
cd "$$(dirname "$$0")"

trtexec \
  --onnx=$model \
  --saveEngine=$models/$encoder/1/$plan \
  --fp16 \
  --minShapes=input_ids:1x$least,attention_mask:1x$least,token_type_ids:1x$least \
  --optShapes=input_ids:${rows}x$window,attention_mask:${rows}x$window,token_type_ids:${rows}x$window \
  --maxShapes=input_ids:${rows}x$window,attention_mask:${rows}x$window,token_type_ids:${rows}x$window \
  --memPoolSize=workspace:4096M \
  --skipInference
