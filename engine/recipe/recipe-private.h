/* Shared by the files that read <train>: the state of reading, and its faults. */
#pragma once

#include "engine/recipe/loom-attributes.h"
#include "engine/recipe/loom-train-spec.h"
#include "engine/net/loom-net.h"
#include "engine/ops/loom-param.h"

typedef struct
{
  const LoomElement *element; /* <train> */
  const LoomNet *net;
  LoomFaults *faults;
  gboolean failed;
  gboolean partial; /* some node has a fault, so some weights are missing */
} RecipeReading;

LoomFault *recipe_complain (RecipeReading *r, const LoomElement *e, LoomErrorCode code, const char *attribute,
                            const char *format, ...) G_GNUC_PRINTF (5, 6);
/* The table entry of a known attribute (loom-attributes.h). */
const LoomParamSpec *recipe_spec_of (const LoomElement *e, const char *attribute);
/* The value of an attribute of that table as a number, a flag or the index of a word: the table's default if it is
 * missing (0 if that is ""), and a fault if it is invalid or out of range. */
double recipe_number (RecipeReading *r, const LoomElement *e, const char *attribute);
gboolean recipe_flag (RecipeReading *r, const LoomElement *e, const char *attribute);
guint recipe_choice (RecipeReading *r, const LoomElement *e, const char *attribute);
/* The same for parameters of optimisers and schedules, whose tables define the ranges. Outside of its range the fault
 * advises the default of a hyper-parameter, because the ends of the range are not useful. */
double recipe_number_in (RecipeReading *r, const LoomElement *e, const char *attribute, double fallback, double minimum,
                         double maximum, gboolean whole);
double recipe_hyper (RecipeReading *r, const LoomElement *e, const LoomHyper *hyper);
guint recipe_choice_or (RecipeReading *r, const LoomElement *e, const char *attribute, guint fallback,
                        const char *const *choices);
gboolean recipe_flag_or (RecipeReading *r, const LoomElement *e, const char *attribute, gboolean fallback);
/* Adds a fault for a name that is not in the attribute's table. what: "optimiser". */
void recipe_complain_name (RecipeReading *r, const LoomElement *e, const char *attribute, const char *what);
/* The names in the element's table, including aliases, to which more can be appended; those that need another bit of
 * takes are omitted. recipe_check_names() ends the list. */
GPtrArray *recipe_names (LoomTag tag, LoomMetricTakes takes);
/* Adds a fault for each attribute that is neither in known nor a hyper-parameter of the optimiser (NULL: none). */
void recipe_check_names (RecipeReading *r, const LoomElement *e, GPtrArray *known, const LoomOptimizer *optimizer);

/* recipe-schedule.c, recipe-groups.c */
void recipe_read_schedule (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_read_group (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_group_free (gpointer group);

/* The words of <parallel strategy="…">, in the order of LoomShards, then the server; --strategy has more. */
#define RECIPE_STRATEGIES "data", "zero1", "zero2", "zero3", "server"

/* recipe-parallel.c; the second checks combinations, after the splits were read */
void recipe_read_parallel (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_check_parallel (RecipeReading *r, const LoomTrainSpec *spec);

/* recipe-split.c: after <parallel> */
void recipe_read_splits (RecipeReading *r, LoomTrainSpec *spec);
void recipe_split_free (gpointer split);

/* recipe-metrics.c */
void recipe_read_metric (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec);
void recipe_metric_free (gpointer metric);
gboolean recipe_read_port (RecipeReading *r, const LoomElement *e, const char *attribute, LoomNetSource *source);

/* recipe-course.c: after the optimiser and the metrics */
void recipe_read_course (RecipeReading *r, LoomTrainSpec *spec);

/* recipe-sampling.c */
void recipe_read_sampling (RecipeReading *r, LoomTrainSpec *spec);
/* The LoomScheduled of all nodes op="scheduled". (transfer full) */
GPtrArray *recipe_scheduled (const LoomNet *net);
