/* libFuzzer's entry, for callers without libFuzzer. */
#pragma once

#include <stddef.h>

int LLVMFuzzerTestOneInput (const unsigned char *data, size_t size);
