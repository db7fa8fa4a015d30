/* A graph as a Python file for PyTorch: modules as classes, weights under their names, and the training loop.
 *
 * The text is data: ids become identifiers, numbers and words become literals, and texts of the file become comments of
 * one line, so a graph cannot put code into it. Each line knows the node that it was written for. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef struct _LoomPytorch LoomPytorch;

/* samples: the name of the file with the samples, next to the Python file. NULL with faults, if the graph has a fault,
 * or if a node cannot be written: its fault names it and the reason. */
LoomPytorch *loom_pytorch_new (const LoomGraph *graph, const char *samples, LoomFaults *faults);
void loom_pytorch_free (LoomPytorch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomPytorch, loom_pytorch_free)

/* The whole file, UTF-8; valid while self is. */
const char *loom_pytorch_text (const LoomPytorch *self);
guint loom_pytorch_n_lines (const LoomPytorch *self);
/* The serial of the <node>, <train> or <module> that a line was written for, line 0 being the first; 0: none. Copies of
 * a module have one class, so a line is about all of them. */
guint64 loom_pytorch_line_serial (const LoomPytorch *self, guint line);

/* What the file does not do as the graph does, also in comments at its head: clauses that name the attribute. */
guint loom_pytorch_n_notes (const LoomPytorch *self);
const char *loom_pytorch_note (const LoomPytorch *self, guint i);
