/* The search for quick fixes of one faulty node: its struct, and the functions of the files that find fixes. */
#pragma once

#include "ui/document/studio-quick-fix.h"

G_BEGIN_DECLS

#define FIX_MOST        3
#define FIX_MOST_INPUTS 16

/* A faulty node, with the types of its inputs. */
typedef struct
{
  StudioDocument *document;
  const LoomNet *net;
  const LoomNetNode *node;
  const LoomFault *fault;
  guint64 serial; /* of the card with the button: the node's, or that of the module that contains it */
  const LoomType *type[FIX_MOST_INPUTS];
  guint n; /* inputs */
  GPtrArray *fixes;
} FixSearch;

StudioFix *fix_add (const FixSearch *search, StudioFixKind kind, const char *port);

/* Fixes that change only wires: fix-wires.c. */
/* Removes one of two wires into an input, or of those in a cycle. */
void fix_try_cuts (const FixSearch *search);
/* Exchanges two wires of the node, if it accepts both. */
void fix_try_swap (const FixSearch *search);
/* Wires an unread output of a module in the node's scope to this input. read: numbers of sources, 8 per node. */
void fix_try_modules (const FixSearch *search, guint at, GHashTable *read);
/* TRUE if the node depends on the faulty node: a wire from it would close a cycle. */
gboolean fix_depends (const FixSearch *search, guint on);
gboolean fix_cut (StudioDocument *document, const StudioFix *fix);
gboolean fix_swap (StudioDocument *document, const StudioFix *fix);

G_END_DECLS
