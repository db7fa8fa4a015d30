/* Shared by the tests of this folder: one example with a bit of everything, and files as text. */
#pragma once

#include "engine/graph/loom-graph.h"

extern const char *const example_graph;

/* Reads text; asserts that it is a graph. Faults are kept in *faults when that is not NULL, else there may be none. */
LoomGraph *graph_from_text (const char *text, LoomFaults **faults);
/* All sentences, a line each. */
char *faults_as_text (const LoomFaults *faults);
/* Compares text with the file under the source root, or writes it when GRADLOOM_UPDATE=1. */
void assert_golden (const char *file, const char *text);
