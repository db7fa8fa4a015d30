/* Reads new samples from files (pictures, rows of numbers, arrays and texts) in the form of x in the data set on which
 * the net was trained. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/data/loom-picture.h"

typedef struct
{
  LoomPictureFit fit;
  gboolean invert;
  double low, high; /* values of black and white; NaN: as in the data set */
} LoomSampleOptions;

typedef struct
{
  LoomTensor *tensor;     /* one sample, without the dimension of the batch */
  gint64 row;             /* its row in the file, from 1; 0: the file is one sample */
  char *note;             /* what else was changed in reading; NULL: nothing */
  LoomPictureFrame frame; /* of a picture; its width is 0 for anything else */
} LoomSampleItem;

/* The separator of tokens in a prediction that is shown as text. */
const char *loom_dataset_answer_separator (const LoomDataset *self);

typedef struct _LoomSampleReader LoomSampleReader;

/* type: the net's input, a batch. dataset must outlive the reader; NULL: a file is an array, a picture or rows of
 * numbers, depending on its shape. */
LoomSampleReader *
loom_sample_reader_new (const LoomType *type, const LoomDataset *dataset, const LoomSampleOptions *how);
void loom_sample_reader_free (LoomSampleReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSampleReader, loom_sample_reader_free)

/* Reads the samples of one file, as LoomSampleItem. name: for errors. For a data set of text the file is one sample, as
 * long as the text, but not longer than the context. DATA or SHAPE if the file has something else. */
GPtrArray *loom_sample_reader_read (LoomSampleReader *self, GBytes *bytes, const char *name, GError **error);
