/* Reads a file or a typed text in the form of a data set's samples, on a thread, as `gradloom predict` does. */
#pragma once

#include "ui/evaluate/sample-source.h"

/* One sample of x, prepared; count numbers. */
typedef struct
{
  float *x;
  gsize count;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  char *note; /* what was changed in reading; NULL: nothing */
} OwnSample;

void own_sample_free (OwnSample *sample);

/* Called with the sample (transfer full), or NULL and a sentence. */
typedef void (*OwnSampleRead) (OwnSample *sample, const char *why, gpointer owner);
/* Reads the first sample of the bytes; name: for errors. owner and serial: as in sample_source_read(). */
void own_sample_read (const SampleSource *source, GBytes *bytes, const char *name, GObject *owner, const guint *serial,
                      OwnSampleRead read);
