/* What the files that read <train> share: where they are, and how they complain. */
#pragma once

#include "engine/ops/loom-train-spec.h"
#include "engine/ops/net-private.h"

G_BEGIN_DECLS

typedef struct
{
  const LoomElement *element; /* <train> */
  const LoomNet *net;
  LoomFaults *faults;
  gboolean failed;
  gboolean partial; /* some node has a fault, so that weights are missing */
} TrainReading;

LoomFault *train_complain (TrainReading *r, const LoomElement *e, LoomErrorCode code, const char *attribute,
                           const char *format, ...) G_GNUC_PRINTF (5, 6);
/* The attribute as a number of the range, or fallback where it is missing; a fault where it is none. */
double train_number (TrainReading *r, const LoomElement *e, const char *attribute, double fallback, double minimum,
                     double maximum, gboolean whole);
/* The same for a hyper-parameter: outside the range its default is advised, as the range's ends train nothing. */
double train_hyper (TrainReading *r, const LoomElement *e, const LoomHyper *hyper);
/* The place of a word in the list, or fallback. */
guint
train_word (TrainReading *r, const LoomElement *e, const char *attribute, guint fallback, const char *const *words);
/* A fault for each attribute that is neither in known nor a hyper-parameter of the optimiser (NULL: none). */
void
train_check_names (TrainReading *r, const LoomElement *e, const char *const *known, const LoomOptimizer *optimizer);

/* train-schedule.c, train-groups.c */
void train_read_schedule (TrainReading *r, const LoomElement *e, LoomTrainSpec *spec);
void train_read_group (TrainReading *r, const LoomElement *e, LoomTrainSpec *spec);
void train_group_free (gpointer group);
gboolean train_matches (const char *pattern, const char *path);

/* train-metrics.c */
void train_read_metric (TrainReading *r, const LoomElement *e, LoomTrainSpec *spec);
void train_metric_free (gpointer metric);
gboolean train_read_port (TrainReading *r, const LoomElement *e, const char *attribute, LoomNetSource *source);

/* train-course.c: after the optimiser and the metrics */
void train_read_course (TrainReading *r, LoomTrainSpec *spec);

G_END_DECLS
