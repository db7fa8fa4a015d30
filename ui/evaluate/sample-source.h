/* The samples of a document's data set, read on a thread: for the views of this box, which choose samples themselves.
 */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/task/studio-task-picture.h"

typedef struct
{
  LoomGraph *alone;      /* the data set's node, for threads */
  StudioTaskQuery query; /* kind, ports and classes are set */
  LoomType x;            /* of a batch */
  guint64 seed;          /* of the run */
  char *data_path;       /* the data set's path, before the names of its ports */
  gboolean writes;       /* the net generates a sequence for a sample */
} SampleSource;

/* Describes the data set of the document. FALSE: *why receives the reason, a sentence (transfer full). */
gboolean sample_source_init (SampleSource *self, StudioDocument *document, char **why);
/* That of the graph that the run trains, of which the document may be a later version. */
gboolean sample_source_init_run (SampleSource *self, StudioDocument *document, StudioRun *run, char **why);
void sample_source_clear (SampleSource *self);

/* Called with the samples (transfer full), or NULL and a sentence. */
typedef void (*SamplesRead) (StudioTaskData *data, const char *why, gpointer owner);
/* Reads n samples by index, or by source->query if indices is NULL. owner is a GObject; read is not called if it is
 * gone, or if *serial has changed meanwhile. */
void sample_source_read (const SampleSource *source, const gint64 *indices, guint n, GObject *owner,
                         const guint *serial, SamplesRead read);
