/* Functions that the readers of pages and of slides share. */
#pragma once

#include "engine/graph/loom-graph.h"

G_BEGIN_DECLS

/* The words of a list that blanks or commas part; NULL for none. (transfer full) */
char **lesson_words (const char *text);
/* Whether two such lists have the same words in the same order. */
gboolean lesson_same_words (char **a, char **b);
/* Text as XML files have it, without the indent that all its lines but the first share: Markdown would take four blanks
 * for a listing. (transfer full) */
char *lesson_markdown (const char *text);

/* An attribute as it is written, else the default that holds; NULL where there is neither. subject: a node by its path,
 * through modules and copies; "train", or what stands in it by its tag, "train.schedule". Owned by the graph or by
 * tables that are never freed. */
const char *lesson_attribute (const LoomGraph *graph, const char *subject, const char *name);

G_END_DECLS
