/* Declares functions that the readers of pages and of slides share. */
#pragma once

#include "engine/graph/loom-graph.h"

/* The words of a list separated by blanks or commas; NULL for none. (transfer full) */
char **lesson_words (const char *text);
/* Whether two such lists have the same words in the same order. */
gboolean lesson_same_words (char **a, char **b);
/* Text as in XML files, without the common indent of all lines but the first: Markdown would read four blanks as
 * code. (transfer full) */
char *lesson_markdown (const char *text);

/* An attribute as written, else the default; NULL if there is neither. subject: a node by its path, through modules
 * and copies; "train", or a child of it by its tag, "train.schedule". Owned by the graph or by static tables. */
const char *lesson_attribute (const LoomGraph *graph, const char *subject, const char *name);
