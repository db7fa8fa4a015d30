/* Reads new samples from files: pictures, rows of numbers, arrays and texts, in the form of x in the data set that the
 * net was trained on. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/data/loom-picture.h"

G_BEGIN_DECLS

typedef struct
{
  LoomPictureFit fit;
  gboolean invert;
  double low, high; /* what black and white become; NaN: as in the data set */
} LoomSampleOptions;

typedef struct
{
  LoomTensor *tensor; /* one sample, without the dimension of the batch */
  gint64 row;         /* its index in the file, from 1; 0: the file is this one sample */
  char *note;         /* what was done in addition to reading; NULL: nothing */
} LoomSampleItem;

/* The separator of the tokens of a prediction that is shown as a text. */
const char *loom_dataset_answer_separator (const LoomDataset *self);

typedef struct _LoomSampleReader LoomSampleReader;

/* type is what the net reads, a batch. dataset, which must outlive the reader, may be NULL: then a file is an array, a
 * picture or rows of numbers, as its shape allows. */
LoomSampleReader *
loom_sample_reader_new (const LoomType *type, const LoomDataset *dataset, const LoomSampleOptions *how);
void loom_sample_reader_free (LoomSampleReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSampleReader, loom_sample_reader_free)

/* The samples of one file, as LoomSampleItem; name is used in errors. For a data set of text the one sample is as
 * long as the text, at most as its context. DATA or SHAPE: the file holds something else. */
GPtrArray *loom_sample_reader_read (LoomSampleReader *self, GBytes *bytes, const char *name, GError **error);

G_END_DECLS
