/* The cost of a card by the selected measure: parameters, operations, memory or time. */
#pragma once

#include "ui/scene/studio-scene.h"

typedef enum
{
  STUDIO_MEASURE_NONE,
  STUDIO_MEASURE_PARAMETERS,
  STUDIO_MEASURE_OPERATIONS,
  STUDIO_MEASURE_ACTIVATIONS,
  STUDIO_MEASURE_TIME, /* measured by a run; else 0 */
  STUDIO_N_MEASURES
} StudioMeasure;

const char *studio_measure_name (StudioMeasure measure);  /* "parameters": for settings and actions */
const char *studio_measure_title (StudioMeasure measure); /* "Parameters" */
StudioMeasure studio_measure_find (const char *name);     /* NONE: unknown name */
double studio_measure_of (const StudioItem *item, StudioMeasure measure);
double studio_measure_total (const StudioScene *scene, StudioMeasure measure);
/* Sets the times of cards: seconds (double *) by node path. NULL: none. */
void studio_measure_set_times (StudioScene *scene, GHashTable *seconds);
/* The card's fraction of the whole net, 0 … 1. */
double studio_measure_share (const StudioScene *scene, const StudioItem *item, StudioMeasure measure);
/* "61.7 k", "2.31 MFLOP", "1.2 MB" (transfer full) */
char *studio_measure_text (StudioMeasure measure, double value);
/* The legend: "Bar: share of 61.7 k parameters" (transfer full) */
char *studio_measure_legend (const StudioScene *scene, StudioMeasure measure);
