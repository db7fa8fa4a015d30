/* Shared by the files that find quick fixes. */
#pragma once

#include "ui/document/studio-mend.h"

G_BEGIN_DECLS

#define MEND_MOST        3
#define MEND_MOST_INPUTS 16

/* A faulty node, with the types of its inputs. */
typedef struct
{
  StudioDocument *document;
  const LoomNet *net;
  const LoomNetNode *node;
  const LoomFault *fault;
  guint64 serial; /* of the card with the button: the node's, or that of the module that contains it */
  const LoomType *type[MEND_MOST_INPUTS];
  guint n; /* inputs */
  GPtrArray *mends;
} MendPatient;

StudioMend *mend_add (const MendPatient *patient, StudioMendKind kind, const char *port);

/* Fixes that change only wires: mend-wires.c. */
/* Removes one of two wires into an input, or of those in a cycle. */
void mend_try_cuts (const MendPatient *patient);
/* Exchanges two wires of the node, if it accepts both. */
void mend_try_swap (const MendPatient *patient);
/* Wires an unread output of a module in the node's scope to this input. read: numbers of sources, 8 per node. */
void mend_try_modules (const MendPatient *patient, guint at, GHashTable *read);
/* TRUE if the node depends on the faulty node: a wire from it would close a cycle. */
gboolean mend_depends (const MendPatient *patient, guint on);
gboolean mend_cut (StudioDocument *document, const StudioMend *mend);
gboolean mend_swap (StudioDocument *document, const StudioMend *mend);

G_END_DECLS
