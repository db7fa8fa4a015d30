/* Declarations shared by the files of the emulator's own test. */
#ifndef EMULATOR_TEST_H
#define EMULATOR_TEST_H

#include <glib.h>

#include <cuda_runtime_api.h>

#define OK(call) g_assert_cmpint ((int)(call), ==, 0)

/* Device memory that cudaFree() frees. */
float *test_memory (size_t floats);

/* The value at an address of the GPU. */
float test_value (const float *at);

/* Runs this test again in another process, in which `body` must end the program with a sentence that matches this one.
 */
void test_found (void (*body) (void), const char *sentence);

void add_library_tests (void);
void add_touch_tests (void);
void add_peer_tests (void);

#endif
