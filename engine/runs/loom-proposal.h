/* A proposal: a graph that another program suggests in place of the one in a file, next to which it is stored.
 *
 * The file is a JSON object of texts. It changes nothing by itself: Studio shows how the graph would differ, and the
 * user accepts or refuses. It may be anyone's, so every member is checked, and data that the graph names are guarded as
 * those of the graph itself. */
#pragma once

#include "engine/core/loom-error.h"

#define LOOM_PROPOSAL_SUFFIX      ".proposal"
#define LOOM_PROPOSAL_MOST_TITLE  200 /* characters */
#define LOOM_PROPOSAL_MOST_REASON 2000

typedef struct
{
  char *title;  /* "Add a batch norm after each convolution"; not empty, one line */
  char *reason; /* "" if none is given */
  char *base;   /* loom_graph_hash() of the graph for which it was made */
  char *graph;  /* XML */
} LoomProposal;

void loom_proposal_free (LoomProposal *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomProposal, loom_proposal_free)

/* NULL without an error if there is none; DATA for a file that is no proposal; IO. */
LoomProposal *loom_proposal_read (const char *graph, GError **error);
/* Replaces an earlier proposal. USAGE for a title or a reason that is too long; IO. */
gboolean loom_proposal_write (const LoomProposal *self, const char *graph, GError **error);
/* Nothing happens if there is none. */
void loom_proposal_remove (const char *graph);
