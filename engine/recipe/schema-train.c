/* Prints the schema of <train> and its children from the reader's tables: attributes, and those of optimisers,
 * schedules and metrics.
 *
 * If an attribute chooses a descriptor, there is one group per descriptor with its attributes, as for the variants of
 * an operator. */
#include "engine/recipe/schema-private.h"

#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-schedule.h"

#include <string.h>

static void
open_attribute (LoomXml *out, const char *name, gboolean required)
{
  if (!required)
    loom_xml_open (out, "optional", NULL);
  loom_xml_open (out, "attribute", "name", name, NULL);
  loom_xml_open (out, "choice", NULL);
}

static void
close_attribute (LoomXml *out, gboolean required)
{
  loom_xml_close (out);
  loom_xml_close (out);
  if (!required)
    loom_xml_close (out);
}

static void
put_value (LoomXml *out, const char *name, const LoomParamSpec *spec, gboolean required)
{
  open_attribute (out, name, required);
  schema_put_values (out, spec);
  close_attribute (out, required);
}

/* A number or a word that a descriptor adds. */
static void
put_number (LoomXml *out, const char *name, gboolean whole, gboolean flag, const char *const *choices,
            gboolean required)
{
  LoomParamSpec spec = { .type = choices != NULL ? LOOM_PARAM_ENUM
                                 : flag          ? LOOM_PARAM_BOOL
                                 : whole         ? LOOM_PARAM_INT
                                                 : LOOM_PARAM_FLOAT,
                         .choices = choices };

  put_value (out, name, &spec, required);
}

static void
put_both_names (LoomXml *out, const LoomAttribute *a)
{
  put_value (out, a->spec.name, &a->spec, a->spec.def == NULL && a->alias == NULL);
  if (a->alias != NULL)
    put_value (out, a->alias, &a->spec, FALSE);
}

/* ---- attributes of descriptors -------------------------------------------- */

static void
put_optimizer (LoomXml *out, const char *name)
{
  const LoomOptimizer *optimizer = loom_optimizer (name);

  for (const LoomHyper *h = optimizer->hyper; h->name != NULL; h++)
    {
      const LoomParamSpec numbers = { .type = LOOM_PARAM_FLOATS };

      put_number (out, h->name, h->is_integer, h->is_bool, h->choices, FALSE);
      /* <train> itself has betas, with its documentation. */
      if (h->list != NULL && strcmp (h->list, "betas") != 0 && g_strcmp0 (h[1].list, h->list) != 0)
        put_value (out, h->list, &numbers, FALSE);
    }
}

static void
put_schedule (LoomXml *out, const char *name)
{
  for (const LoomScheduleParam *p = loom_schedule (name)->param; p->name != NULL; p++)
    {
      put_number (out, p->name, p->whole, FALSE, p->choices, p->required && p->alias == NULL);
      if (p->alias != NULL)
        put_number (out, p->alias, p->whole, FALSE, p->choices, FALSE);
    }
}

typedef struct
{
  LoomTag tag;
  const char *chooser;                          /* the attribute that names the descriptor */
  void (*put) (LoomXml *out, const char *name); /* NULL: it only determines which attributes of the element apply */
} Choice;

static const Choice choices[] = {
  { LOOM_TAG_TRAIN, "optimizer", put_optimizer },
  { LOOM_TAG_SCHEDULE, "type", put_schedule },
  { LOOM_TAG_METRIC, "type", NULL },
};

static gboolean
is_milestones (const Choice *choice, const LoomAttribute *a)
{
  return choice->tag == LOOM_TAG_SCHEDULE && strcmp (a->spec.name, "milestones") == 0;
}

static gboolean
is_formula (const Choice *choice, const LoomAttribute *a)
{
  return choice->tag == LOOM_TAG_SCHEDULE && strcmp (a->spec.name, "formula") == 0;
}

/* TRUE if an attribute of the element's table applies to every descriptor, */
static gboolean
is_common (const Choice *choice, const LoomAttribute *a)
{
  return a->takes == 0 && !is_milestones (choice, a) && !is_formula (choice, a)
         && strcmp (a->spec.name, choice->chooser) != 0;
}

/* or, if not, to this one. */
static gboolean
applies_to (const Choice *choice, const LoomAttribute *a, const char *name)
{
  if (is_milestones (choice, a))
    return loom_schedule (name)->has_milestones;
  if (is_formula (choice, a))
    return loom_schedule (name)->has_formula;
  return a->takes != 0 && (a->takes & loom_metric (name)->takes) == a->takes;
}

/* ---- elements --------------------------------------------------------------- */

/* Writes the attributes that one descriptor adds, under this name or its alias; the chooser may be omitted for the
 * default descriptor. */
static void
put_group (LoomXml *out, const Choice *choice, const LoomAttribute *chooser, const char *name, const char *alias)
{
  gboolean is_usual = g_strcmp0 (chooser->spec.def, name) == 0;

  loom_xml_open (out, "group", NULL);
  open_attribute (out, choice->chooser, !is_usual);
  loom_xml_put (out, name, "value", NULL);
  if (alias != NULL)
    loom_xml_put (out, alias, "value", NULL);
  close_attribute (out, !is_usual);
  for (const LoomAttribute *a = loom_attributes (choice->tag); a->spec.name != NULL; a++)
    if (applies_to (choice, a, name))
      put_both_names (out, a);
  if (choice->put != NULL)
    choice->put (out, name);
  loom_xml_close (out);
}

/* A <train> has a loss, or only initial weights: see loom_train_spec_new(). Both patterns are written in place of the
 * loss. */
static void
put_loss (LoomXml *out, const LoomAttribute *a)
{
  const LoomAttribute *weights = loom_attribute (LOOM_TAG_TRAIN, "weights");

  if (a == weights)
    return;
  loom_xml_open (out, "choice", NULL);
  loom_xml_open (out, "group", NULL);
  put_value (out, a->spec.name, &a->spec, TRUE);
  put_value (out, weights->spec.name, &weights->spec, FALSE);
  loom_xml_close (out);
  put_value (out, weights->spec.name, &weights->spec, TRUE);
  loom_xml_close (out);
}

static void
put_choice (LoomXml *out, const Choice *choice)
{
  const LoomAttribute *chooser = loom_attribute (choice->tag, choice->chooser);
  const char *const *names = chooser->names ();

  for (const LoomAttribute *a = loom_attributes (choice->tag); a->spec.name != NULL; a++)
    if (choice->tag == LOOM_TAG_TRAIN && (strcmp (a->spec.name, "loss") == 0 || strcmp (a->spec.name, "weights") == 0))
      put_loss (out, a);
    else if (is_common (choice, a))
      put_both_names (out, a);
  loom_xml_open (out, "choice", NULL);
  for (guint i = 0; names[i] != NULL; i++)
    put_group (out, choice, chooser, names[i],
               chooser->refers == LOOM_REFERS_METRIC ? loom_metric (names[i])->alias : NULL);
  loom_xml_close (out);
}

gboolean
schema_put_attributes (LoomXml *out, LoomTag tag)
{
  const LoomAttribute *a = loom_attributes (tag);

  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    if (choices[i].tag == tag)
      {
        put_choice (out, &choices[i]);
        return TRUE;
      }
  /* <graph> has other attributes, which the grammar lists. */
  if (a->spec.name == NULL || tag == LOOM_TAG_GRAPH)
    return FALSE;
  for (; a->spec.name != NULL; a++)
    put_both_names (out, a);
  return TRUE;
}
