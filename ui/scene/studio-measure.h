/* The cost of a card, by the measure that the user looks at. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_MEASURE_NONE,
  STUDIO_MEASURE_PARAMETERS,
  STUDIO_MEASURE_OPERATIONS,
  STUDIO_MEASURE_ACTIVATIONS,
  STUDIO_MEASURE_TIME, /* as a run measured it; 0 before */
  STUDIO_N_MEASURES
} StudioMeasure;

const char *studio_measure_name (StudioMeasure measure);  /* "parameters": for settings and actions */
const char *studio_measure_title (StudioMeasure measure); /* "Parameters" */
StudioMeasure studio_measure_find (const char *name);     /* NONE where there is none of that name */
double studio_measure_of (const StudioItem *item, StudioMeasure measure);
double studio_measure_total (const StudioScene *scene, StudioMeasure measure);
/* Gives cards their times: seconds (double *) by path of node. NULL: there are none. */
void studio_measure_set_times (StudioScene *scene, GHashTable *seconds);
/* The part of the whole net that a card is, 0 … 1. */
double studio_measure_share (const StudioScene *scene, const StudioItem *item, StudioMeasure measure);
/* "61.7 k", "2.31 MFLOP", "1.2 MB", for a card; (transfer full) */
char *studio_measure_text (StudioMeasure measure, double value);
/* "Bar: share of 61.7 k parameters": what numbers and bars are of; (transfer full) */
char *studio_measure_legend (const StudioScene *scene, StudioMeasure measure);

G_END_DECLS
