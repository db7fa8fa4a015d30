/* How well an operator matches what somebody types: what the palette and quick-add rank their rows by. */
#pragma once

#include "ui/document/studio-fit.h"

G_BEGIN_DECLS

/* The words by which a row is found, made once for each row. */
typedef struct _StudioSearchKey StudioSearchKey;

StudioSearchKey *studio_search_key_new (const LoomOp *op);
/* Of what is no operator: a module, a note. Any of them may be NULL. */
StudioSearchKey *studio_search_key_new_text (const char *name, const char *title, const char *doc);
void studio_search_key_free (StudioSearchKey *key);

/* 0: does not match; larger is better. Everything matches an empty text. Several words must all be found. */
guint studio_search_rank (const StudioSearchKey *key, const char *text);
/* By how much a layer of a first course is ahead: more than the step from a name that begins with a text to the name
 * that it is, which is 2. */
#define STUDIO_SEARCH_COURSE 3
/* Where a row stands that has such a rank for these words (stripped), and fits so well at the place that is asked
 * about; larger is better, 0: not at all. What was typed counts first; where nothing was, what fits. */
guint studio_search_order (guint rank, StudioFit fit, const char *words);

G_END_DECLS
