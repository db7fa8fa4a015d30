/* Declares the entry for arbitrary bytes of graphs. */
#pragma once

#include <stddef.h>

/* Reads bytes as a graph, makes a net, writes, and reads again. */
void fuzz_graph (const unsigned char *data, size_t size);
