/* Shared by the finders of remedies. */
#pragma once

#include "ui/document/studio-mend.h"

G_BEGIN_DECLS

#define MEND_MOST        3
#define MEND_MOST_INPUTS 16

/* A faulty node, with what comes to it. */
typedef struct
{
  StudioDocument *document;
  const LoomNet *net;
  const LoomNetNode *node;
  const LoomFault *fault;
  guint64 serial; /* of the card whose button it is: the node's, or that of a module that it stands in */
  const LoomType *type[MEND_MOST_INPUTS];
  guint n; /* inputs */
  GPtrArray *mends;
} MendPatient;

StudioMend *mend_add (const MendPatient *patient, StudioMendKind kind, const char *port);

/* Remedies that leave the nodes as they are: mend-wires.c. */
/* One of two wires into an input, or of those in a ring, goes. */
void mend_try_cuts (const MendPatient *patient);
/* Two wires of the node change places, where it then takes both. */
void mend_try_swap (const MendPatient *patient);
/* Outputs of modules in the node's scope that nothing reads, for this input. read: numbers of sources, 8 a node. */
void mend_try_modules (const MendPatient *patient, guint at, GHashTable *read);
/* Whether the node computes something from what is wrong here: a wire from it would close a ring. */
gboolean mend_depends (const MendPatient *patient, guint on);
gboolean mend_cut (StudioDocument *document, const StudioMend *mend);
gboolean mend_swap (StudioDocument *document, const StudioMend *mend);

G_END_DECLS
