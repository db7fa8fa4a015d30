/* Shared by the files that read <train>: where they are, and how they complain. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/net/loom-net.h"
#include "engine/ops/loom-param.h"

G_BEGIN_DECLS

typedef struct
{
  const LoomElement *element; /* <train> */
  const LoomNet *net;
  LoomFaults *faults;
  gboolean failed;
  gboolean partial; /* some node has a fault, so that weights are missing */
} RecipeReading;

LoomFault *recipe_complain (RecipeReading *r, const LoomElement *e, LoomErrorCode code, const char *attribute,
                            const char *format, ...) G_GNUC_PRINTF (5, 6);
/* The attribute as a number of the range, or fallback where it is missing; a fault where it is none. */
double recipe_number (RecipeReading *r, const LoomElement *e, const char *attribute, double fallback, double minimum,
                      double maximum, gboolean whole);
/* The same for a hyper-parameter: outside the range its default is advised, as the range's ends train nothing. */
double recipe_hyper (RecipeReading *r, const LoomElement *e, const LoomHyper *hyper);
/* The place of a word in the list, or fallback. */
guint
recipe_word (RecipeReading *r, const LoomElement *e, const char *attribute, guint fallback, const char *const *words);
/* A fault for each attribute that is neither in known nor a hyper-parameter of the optimiser (NULL: none). */
void
recipe_check_names (RecipeReading *r, const LoomElement *e, const char *const *known, const LoomOptimizer *optimizer);

/* recipe-schedule.c, recipe-groups.c */
void recipe_read_schedule (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_read_group (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_group_free (gpointer group);
gboolean recipe_matches (const char *pattern, const char *path);

/* recipe-metrics.c */
void recipe_read_metric (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_metric_free (gpointer metric);
gboolean recipe_read_port (RecipeReading *r, const LoomElement *e, const char *attribute, LoomNetSource *source);

/* recipe-course.c: after the optimiser and the metrics */
void recipe_read_course (RecipeReading *r, LoomTrainSpec *spec);

G_END_DECLS
