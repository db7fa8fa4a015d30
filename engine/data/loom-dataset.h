/* Data sets: the sources of batches.
 *
 * A source ("fashion-mnist", "csv", "spirals") is one descriptor with its options; a data set is an opened source. It
 * has splits of samples and one to four ports, each of which delivers one tensor a batch: images x f32 [B,C,H,W] with
 * values 0 to 1, classes y i64 [B]. Describing a source is cheap enough for every edit of a graph: it never reads all
 * data, and it does not open a file again that has not changed. */
#pragma once

#include "engine/core/loom-guard.h"
#include "engine/core/loom-tensor.h"

#define LOOM_DATASET_MAX_PORTS 4
#define LOOM_WEIGHT_PORT       "weight" /* f32 [B], at least 0: the weight of each sample */

typedef enum
{
  LOOM_SPLIT_TRAIN,
  LOOM_SPLIT_VAL,
  LOOM_SPLIT_TEST,
  LOOM_N_SPLITS
} LoomSplit;

const char *loom_split_name (LoomSplit split); /* "train" */

/* The options of a source: attributes of the graph's node. */
typedef struct
{
  const char *(*get) (gconstpointer data, const char *name); /* returns NULL if not set; get may be NULL: none is set */
  gconstpointer data;
  const char *folder;     /* folder of the graph's file, to which paths are relative; NULL: the working folder */
  const LoomGuard *guard; /* decides about files outside the graph's folder; NULL: all may be read */
} LoomDatasetOptions;

/* Options from a NULL-terminated list of name, value, name, value …, for callers without a node. */
const char *loom_dataset_options_from_strv (gconstpointer strv, const char *name);

typedef enum
{
  LOOM_DATASET_INT,
  LOOM_DATASET_FLOAT,
  LOOM_DATASET_FLOATS, /* "1,2.5"; a single number is used for all */
  LOOM_DATASET_ENUM,
  LOOM_DATASET_STRING,
  LOOM_DATASET_PATH /* a file or folder, relative to the graph file */
} LoomDatasetParamType;

typedef struct
{
  const char *name;
  LoomDatasetParamType type;
  const char *def;            /* as text; NULL: required; "": may be left out */
  double minimum, maximum;    /* of numbers; both 0: unbounded */
  const char *const *choices; /* of an enum, NULL-terminated */
  const char *doc;            /* one sentence */
} LoomDatasetParam;

typedef struct
{
  const char *name; /* "x", "y" */
  LoomType type;    /* of a batch: the first dimension is B */
} LoomDatasetPort;

typedef struct
{
  guint n_ports;
  LoomDatasetPort port[LOOM_DATASET_MAX_PORTS];
  gint64 n[LOOM_N_SPLITS]; /* samples; -1: known only after opening */
  gint64 n_classes;        /* of y; 0: no classes; -1: known only after opening */
} LoomDatasetInfo;

typedef struct _LoomDataset LoomDataset;
typedef struct _LoomDatasetClass LoomDatasetClass;

/* NULL-terminated, in the order of menus. */
const LoomDatasetClass *const *loom_dataset_classes (void);
const LoomDatasetClass *loom_dataset_class (const char *source); /* NULL when there is none */

const char *loom_dataset_class_name (const LoomDatasetClass *klass);  /* "fashion-mnist" */
const char *loom_dataset_class_title (const LoomDatasetClass *klass); /* "Fashion-MNIST" */
const char *loom_dataset_class_doc (const LoomDatasetClass *klass);
gboolean loom_dataset_class_is_text (
    const LoomDatasetClass *klass); /* a sample is a piece of a text, `context` characters long */
const LoomDatasetParam *loom_dataset_class_params (const LoomDatasetClass *klass); /* ends with name NULL */

/* Describes ports, types and the known sizes, without reading all data. FALSE with an error if the source could not be
 * opened; info->n_ports is then still set if the types are known anyway (a missing Fashion-MNIST), otherwise 0. Errors:
 * SCHEMA for the source's name or an option, DATA for a missing or wrong file, OUTSIDE if the guard refuses a path in
 * an option; links in folders are not checked. */
gboolean
loom_dataset_describe (const char *source, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error);

/* Opens a data set and reads what it needs. Errors as above; the guard also checks links in folders. */
LoomDataset *loom_dataset_open (const char *source, const LoomDatasetOptions *options, GError **error);
typedef enum
{
  LOOM_LINKS_IGNORED,
  LOOM_LINKS_READ /* searches the folders of the data set */
} LoomLinks;

/* Calls func for each file or folder outside own (see loom_path_outside()) that an option names; name is the option's.
 * With LOOM_LINKS_READ also for each file or folder outside own to which a link in such a folder leads; name is then
 * NULL. If there are many, it is called for the folders that contain them. follow (NULL: TRUE) returns whether a folder
 * outside is searched for further links. */
typedef void (*LoomOutsideCall) (const char *name, const char *path, gpointer data);
void loom_dataset_each_outside (const char *source, const LoomDatasetOptions *options, const char *own, LoomLinks links,
                                LoomMayRead follow, LoomOutsideCall call, gpointer data);
/* A data set without ports and with one empty training sample, for a loss that depends on no data. An epoch is one
 * step. */
LoomDataset *loom_dataset_new_empty (void);
void loom_dataset_free (LoomDataset *self);

const LoomDatasetInfo *loom_dataset_info (const LoomDataset *self); /* every n ≥ 0 */
/* What opening the data set left out, in a sentence for users; NULL: nothing. */
const char *loom_dataset_note (const LoomDataset *self);
gint64 loom_dataset_count (const LoomDataset *self, LoomSplit split);
/* A hash of all samples. Of data larger than memory only a part is hashed, of pictures in files their names and the
 * content of some. Hashes can be compared within a run on machines of one kind; they may differ between versions. */
guint64 loom_dataset_digest (const LoomDataset *self);
/* Keeps n of the training samples, drawn by seed; the others are not read again. The number of samples does not change:
 * an epoch keeps its length and repeats those n. No effect if n is at least the number of samples. */
void loom_dataset_keep (LoomDataset *self, gint64 n, guint64 seed);
/* Divides the training samples into `folds` parts by seed. Part `fold`, from 0, becomes the validation split, in place
 * of any other; the rest are the training samples. DATA: fewer samples than folds. */
gboolean loom_dataset_fold (LoomDataset *self, gint64 folds, gint64 fold, guint64 seed, GError **error);
/* The limit of whole numbers as classes, for n classes or samples. Most of the numbers below a larger one would have no
 * sample, so it is a code. */
gint64 loom_dataset_most_classes (gint64 n);
/* Names of the classes (or characters), NULL-terminated; NULL when they have no names. */
const char *const *loom_dataset_class_names (const LoomDataset *self);
/* Names of the whole numbers in x, which are mostly also the classes' names; NULL if they have none. */
const char *const *loom_dataset_token_names (const LoomDataset *self);
#define LOOM_PADDING_NAME "<pad>" /* the padding of short sequences */
#define LOOM_END_NAME     "<end>" /* the end of a sequence */
/* The separator of names in a sequence for users: " " for words, "" for characters. */
const char *loom_dataset_separator (const LoomDataset *self);
/* Names of the columns of x, NULL-terminated; NULL if they have none. */
const char *const *loom_dataset_feature_names (const LoomDataset *self);
/* The class in a row of boxes that is a crowd: an area with several objects, of which nothing is learnt, and on which
 * detections do not count. Its own inverse. */
#define LOOM_BOX_CROWD(klass) (-2 - (klass))
/* TRUE if the second port is boxes of objects, f32 [B,M,5]: class (−1: no box; below: a crowd), x1, y1, x2, y2 in
 * pixels of x. */
gboolean loom_dataset_has_boxes (const LoomDataset *self);
/* TRUE if a file's name ends as that of a picture does. */
gboolean loom_dataset_is_picture_name (const char *name);
/* TRUE if x has pictures, with values 0 to 1 before normalisation. */
gboolean loom_dataset_has_pictures (const LoomDataset *self);

/* The steps from a sample in a file to x: NaN becomes fill, then x = (v - shift) · scale. f32, of shapes that broadcast
 * to x; NULL: there is no such step. */
typedef struct
{
  LoomTensor *fill, *shift, *scale;
} LoomPreparation;

void loom_dataset_preparation (const LoomDataset *self, LoomPreparation *out);
void loom_preparation_clear (LoomPreparation *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomPreparation, loom_preparation_clear)

/* The state that a run has to save to read other samples in the same way: names of classes, tokens and columns, and the
 * values for gaps and normalisation. NULL if there is none. (transfer full) */
char *loom_dataset_save (const LoomDataset *self);
/* Restores that state. name: for errors. DATA if it belongs to another data set. */
gboolean loom_dataset_restore (LoomDataset *self, const char *saved, const char *name, GError **error);
/* Reads samples of a split into the first n rows of out[0 … n_ports-1], batches of at least n samples, of the ports'
 * types. Each index is below the split's size. May be called by several threads at once. */
gboolean loom_dataset_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                            LoomTensor *const out[], GError **error);

/* The same for the training split, with augmentation (flip, crop, …), a function of seed, epoch and index. Without
 * augmentation it is loom_dataset_read(). */
gboolean loom_dataset_read_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                                      const gint64 *indices, guint n, LoomTensor *const out[], GError **error);

/* loom_dataset_read() into new tensors, one for each port, elements of an array. (transfer full) SHAPE: a port has
 * unknown sizes other than the number of samples. */
GPtrArray *
loom_dataset_read_new (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, GError **error);
/* The same as a run with this seed reads them in this epoch, from 0: training samples with augmentation. */
GPtrArray *loom_dataset_read_new_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                                            const gint64 *indices, guint n, GError **error);

/* TRUE if training samples are changed at random each time they are read. */
gboolean loom_dataset_changes_samples (const LoomDataset *self);
/* x of one training sample unchanged, then as in the first n - 1 epochs of a run with seed 0: [n, …], n at least 1.
 * (transfer full) */
LoomTensor *loom_dataset_read_variants (const LoomDataset *self, gint64 index, guint n, GError **error);

/* A permutation of 0 … n-1, a function of its arguments: Fisher and Yates's shuffle with Philox. Loaders use it for the
 * order of an epoch. */
void loom_dataset_permutation (guint64 seed, guint64 epoch, guint32 n, guint32 *out);

/* Draws n numbers from 0 … n-1 with replacement, a function of its arguments. sums: cumulative sums of the numbers'
 * weights, sums[n-1] > 0. */
void loom_dataset_draw (guint64 seed, guint64 epoch, guint32 n, const double *sums, guint32 *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDataset, loom_dataset_free)
