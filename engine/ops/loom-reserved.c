/* The table of reserved attributes; see the header. */
#include "engine/ops/loom-reserved.h"

#include <string.h>

#include "engine/graph/loom-grammar.h"

/* f64 is missing: a whole run computes in it, on the device ref. */
static const char *const computed_in[] = { "f32", "bf16", "f16", NULL };

/* The ways of all operators (LoomWeightSplit). */
static const char *const split_by[] = { "column", "row", "heads", "vocabulary", NULL };

static const LoomReserved reserved[] = {
  { .spec
    = { .name = "title", .type = LOOM_PARAM_STRING, .def = "", .doc = "What the card shows instead of the name." },
    .is_cosmetic = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  /* Any text: which devices there are depends on the machine. */
  { .spec = { .name = "device",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .doc = "Where it is computed; the training's device where nothing is given." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { .name = "frozen",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "Its weights stay as they are while the others are trained." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { .name = "dtype",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .choices = computed_in,
              .doc = "What it is computed in while training; the training's precision where nothing is given." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { .name = "recompute",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "Nothing of it is kept for the backward pass but computed again there: slower, with less "
                     "memory." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { .name = "stage",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 0,
              .maximum = LOOM_MAX_STAGES - 1,
              .doc = "The stage that it begins, or belongs to, where ranks are the stages of a pipeline; what is wired "
                     "behind it follows." },
    .is_inherited = TRUE,
    .shown = LOOM_SHOWN_AT_NODES },
  { .spec = { .name = "split",
              .type = LOOM_PARAM_STRING,
              .def = "",
              .choices = split_by,
              .doc = "How the ranks of a run have parts of its weights, where <parallel> says that some do." } },
  { .spec = { .name = "repeat",
              .type = LOOM_PARAM_INT,
              .def = "",
              .minimum = 1,
              .maximum = LOOM_MAX_COPIES,
              .doc = "How many copies stand in a row" },
    .shown = LOOM_SHOWN_AT_INSTANCES },
  { .spec = { .name = "share",
              .type = LOOM_PARAM_BOOL,
              .def = "false",
              .doc = "The copies of a repeat have the same weights." } },
  { .spec = { .name = "mute", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "Left out of what is computed." } },
  { { NULL } },
};

const LoomReserved *
loom_reserved (void)
{
  return reserved;
}

const LoomReserved *
loom_reserved_find (const char *name)
{
  for (const LoomReserved *r = reserved; r->spec.name != NULL; r++)
    if (strcmp (r->spec.name, name) == 0)
      return r;
  return NULL;
}

gboolean
loom_is_reserved (const char *name)
{
  return g_strv_contains (loom_grammar (LOOM_TAG_NODE)->identity, name) || loom_reserved_find (name) != NULL;
}
