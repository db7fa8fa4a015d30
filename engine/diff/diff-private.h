/* Shared by the files of the comparison: diff-meaning.c compares attributes, diff-match.c matches nodes, and
 * loom-diff.c lists the differences. */
#pragma once

#include "engine/diff/loom-diff.h"
#include "engine/ops/loom-op.h"

/* ---- attributes (diff-meaning.c) ---- */

typedef struct
{
  const char *name; /* interned; for an alias the proper name */
  char *text;       /* as written, or the default */
  char *key;        /* equal for equal meanings; names of a are translated to those of b */
  gboolean is_cosmetic;
} DiffAttribute;

/* One of the two graphs. names: translates its names to b's; NULL for b itself. */
typedef struct _DiffNames DiffNames;
typedef struct
{
  const LoomGraph *graph;
  const DiffNames *names;
} DiffSide;

/* The attributes of an element that differ from their defaults, sorted by name. Attributes that name the element (an
 * id, a module's name, a wire's ends, op and module of a node) are left out. */
GPtrArray *diff_attributes (const DiffSide *side, const LoomElement *element);
/* The default of an attribute that is not written; NULL: none. */
char *diff_default (const DiffSide *side, const LoomElement *element, const char *name);
/* "op relu", "module block": which operator or module a node is, modules by b's names. */
char *diff_node_type (const DiffSide *side, const LoomElement *node);
/* The whole element as one text, for comparison. */
char *diff_fingerprint (const DiffSide *side, const LoomElement *element);

/* ---- matching (diff-match.c) ------ */

/* A scope of a, one of b, or both. */
typedef struct
{
  const LoomElement *a, *b; /* <module>, or <graph>; NULL where it is only in the other */
  const char *name;         /* b's, or a's where b has none; NULL: the graph */
  const char *old_name;     /* where it was renamed */
  GHashTable *node;         /* id in a → id in b */
} DiffScope;

struct _DiffNames
{
  GPtrArray *scopes;  /* DiffScope: the graph first, then modules in b's order, then those of a alone */
  GHashTable *module; /* name in a → DiffScope */
};

DiffNames *diff_names_new (const LoomGraph *a, const LoomGraph *b);
void diff_names_free (DiffNames *names);
/* A wire's end, or a path as "block.0.conv", of a scope: ids as in b, and the port left out where it may be. scope is
 * a's element for a side with names, else b's. */
char *diff_end (const DiffSide *side, const LoomElement *scope, const char *end, gboolean is_input);
