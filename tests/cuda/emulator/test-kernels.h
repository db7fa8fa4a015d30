/* Launches of the kernels in test-kernels.cu. */
#ifndef EMULATOR_TEST_KERNELS_H
#define EMULATOR_TEST_KERNELS_H

#include <cuda_runtime_api.h>

#define TEST_NOTHING 0
#define TEST_BARRIER 1
#define TEST_WARP    2
#define TEST_SHUFFLE 3

struct TestStruct
{
  float what;
  float *x;
};

void test_add (cudaStream_t stream, float *x, long long n, float what);
void test_shape (dim3 grid, dim3 block, size_t bytes, float *x);
void test_add_in_struct (cudaStream_t stream, TestStruct in);
cudaError_t test_opt_in (int bytes);
void test_dynamic (float *y, int n);
void test_large (float *y);
void test_four (float *y, const float *x);
void test_copy (float *y, const float *x, int n);
void test_follow (float *y, TestStruct in);
float test_host_read (const float *x);
void test_join (float *y, const float *x);
void test_shift (int *y, int by);
void test_sum (int *y, int a, int b);
void test_race (const char *name, float *y);
void test_some (float *y);
/* 64 threads; each has y [8], its sums, and words [6]. */
void test_product (bool bf16, float *y, const unsigned *words);

#endif
