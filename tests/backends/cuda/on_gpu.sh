#!/bin/sh
# on_gpu.sh <cuda_probe> <command>...: runs a test with the machine's own GPU as default device. Where there
# is none it prints why and ends with status 77: skipped.
unset LAZY_CUDA_PATH
probe=$1
shift
LAZY_DEVICE=cpu "$probe" --available || exit 77
LAZY_TEST_ENVIRONMENT=1 LAZY_DEVICE=cuda exec "$@"
