/* Ranks operators by how well they match typed text, for the palette and quick-add. */
#pragma once

#include "engine/fix/loom-fit.h"

/* The words by which a row is found, made once per row. */
typedef struct _StudioSearchKey StudioSearchKey;

StudioSearchKey *studio_search_key_new (const LoomOp *op);
/* For rows that are no operators: a module, a note. Each may be NULL. */
StudioSearchKey *studio_search_key_new_text (const char *name, const char *title, const char *doc);
void studio_search_key_free (StudioSearchKey *key);

/* 0: no match; larger is better. Everything matches an empty text. Several words must all be found. */
guint studio_search_rank (const StudioSearchKey *key, const char *text);
/* The bonus of a layer of a first course: more than the difference between a name that begins with the text and the
 * name itself, which is 2. */
#define STUDIO_SEARCH_COURSE 3
/* The sort key of a row with such a rank for these words (stripped), and such a fit at the position; larger is better,
 * 0: no match. The typed text is most important; without text, the fit. */
guint studio_search_order (guint rank, LoomFit fit, const char *words);
