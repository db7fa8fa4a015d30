/* Data sets: the sources of batches.
 *
 * A source ("fashion-mnist", "csv", "spirals") is one descriptor with its options; a
 * data set is an opened source. It has splits of samples and one to four ports, each
 * a batch of one tensor a sample: images x f32 [B,C,H,W] in 0..1, classes y i64 [B].
 * Describing is cheap enough for every edit of a graph: it never reads all the data, and a file that has not changed
 * is not opened again. */
#pragma once

#include "engine/core/loom-guard.h"
#include "engine/core/loom-tensor.h"

G_BEGIN_DECLS

#define LOOM_DATASET_MAX_PORTS 4
#define LOOM_WEIGHT_PORT       "weight" /* f32 [B], from 0: the weight of a sample */

typedef enum
{
  LOOM_SPLIT_TRAIN,
  LOOM_SPLIT_VAL,
  LOOM_SPLIT_TEST,
  LOOM_N_SPLITS
} LoomSplit;

const char *loom_split_name (LoomSplit split); /* "train" */

/* The options of a source: the attributes of the graph's node. */
typedef struct
{
  const char *(*get) (gconstpointer data, const char *name); /* returns NULL if not set; get may be NULL: none is set */
  gconstpointer data;
  const char *folder; /* the graph file's: relative paths start there; NULL: the working folder */
  const LoomGuard *guard; /* asked before files outside the graph's folder are read; NULL: all may be */
} LoomDatasetOptions;

/* Options from a NULL-terminated list of name, value, name, value …, for callers without a node. */
const char *loom_dataset_options_from_strv (gconstpointer strv, const char *name);

typedef enum
{
  LOOM_DATASET_INT,
  LOOM_DATASET_FLOAT,
  LOOM_DATASET_FLOATS, /* "1,2.5": a single value is used for all */
  LOOM_DATASET_ENUM,
  LOOM_DATASET_STRING,
  LOOM_DATASET_PATH /* a file or folder, relative to the graph file */
} LoomDatasetParamType;

typedef struct
{
  const char *name;
  LoomDatasetParamType type;
  const char *def;            /* as text; NULL: required; "": may be left out */
  double minimum, maximum;    /* of numbers; both 0: no bounds */
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

/* Ports, types and the known sizes, without reading all the data. FALSE with an
 * error when it could not be opened; info->n_ports is then still set where the types
 * are known anyway (a missing Fashion-MNIST), else 0. Errors: SCHEMA for the source's
 * name or an option, DATA for a missing or wrong file, OUTSIDE where the guard refuses
 * a path of an option; links below it are not looked at. */
gboolean
loom_dataset_describe (const char *source, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error);

/* Opens and reads what is needed. Errors as above; the guard also checks links below a folder. */
LoomDataset *loom_dataset_open (const char *source, const LoomDatasetOptions *options, GError **error);
typedef enum
{
  LOOM_LINKS_IGNORED,
  LOOM_LINKS_READ /* reads the lists of the data set's folders */
} LoomLinks;

/* Calls for each file or folder that the options name and that is outside own (see loom_path_outside()); name is the
 * option's. Then, with LOOM_LINKS_READ, for each file or folder outside both that a link in such a folder leads to;
 * name is NULL. If those are many, the folders that contain them are named instead. follow (NULL: always) says whether
 * a folder outside is looked through for further links. */
typedef void (*LoomOutsideCall) (const char *name, const char *path, gpointer data);
void loom_dataset_each_outside (const char *source, const LoomDatasetOptions *options, const char *own, LoomLinks links,
                                LoomMayRead follow, LoomOutsideCall call, gpointer data);
/* No ports and one training sample that is nothing: for a loss that depends on no data. An epoch of it is one step. */
LoomDataset *loom_dataset_new_empty (void);
void loom_dataset_free (LoomDataset *self);

const LoomDatasetInfo *loom_dataset_info (const LoomDataset *self); /* every n ≥ 0 */
gint64 loom_dataset_count (const LoomDataset *self, LoomSplit split);
/* A hash of all samples. Of data that do not fit into memory only a part is hashed, of pictures in files their names
 * and the content of some. Comparable within a run on machines of one kind: it may change between versions. */
guint64 loom_dataset_digest (const LoomDataset *self);
/* Keeps n of the training samples, drawn by seed; the others are never read again. The number of samples stays, so that
 * an epoch has its length and repeats those n. No effect if n is at least the number of samples. */
void loom_dataset_keep (LoomDataset *self, gint64 n, guint64 seed);
/* Divides the training samples into `folds` parts by seed: part `fold`, from 0, becomes the validation split, replacing
 * any other, and the rest are the training samples. DATA: fewer samples than folds. */
gboolean loom_dataset_fold (LoomDataset *self, gint64 folds, gint64 fold, guint64 seed, GError **error);
/* The limit of whole numbers as classes, for n classes or samples: of larger numbers most have no sample, so they are
 * codes. */
gint64 loom_dataset_most_classes (gint64 n);
/* Names of the classes (or characters), NULL-terminated; NULL when they have no names. */
const char *const *loom_dataset_class_names (const LoomDataset *self);
/* Names of the whole numbers in x, which most often are the classes' too; NULL when they have none. */
const char *const *loom_dataset_token_names (const LoomDataset *self);
#define LOOM_PADDING_NAME "<pad>" /* the padding of short sequences */
#define LOOM_END_NAME     "<end>" /* the end of a sequence */
/* The separator of names in a sequence that is shown as a text: " " for words, "" for characters. */
const char *loom_dataset_separator (const LoomDataset *self);
/* Names of the columns of x, NULL-terminated; NULL where they have none. */
const char *const *loom_dataset_feature_names (const LoomDataset *self);
/* TRUE if x is pictures, whose numbers are 0 to 1 before normalisation. */
gboolean loom_dataset_has_pictures (const LoomDataset *self);

/* The steps between a sample as its file has it and x: a NaN becomes fill, then x = (v - shift) · scale. f32, of shapes
 * that broadcast to x; NULL: that step is left out. */
typedef struct
{
  LoomTensor *fill, *shift, *scale;
} LoomPreparation;

void loom_dataset_preparation (const LoomDataset *self, LoomPreparation *out);
void loom_preparation_clear (LoomPreparation *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomPreparation, loom_preparation_clear)

/* The state that a run must save to read other samples in the same way: names of classes, tokens and columns, and the
 * values for gaps and normalisation. NULL if there is none. (transfer full) */
char *loom_dataset_save (const LoomDataset *self);
/* Restores it; name is used in errors. DATA: it is something else. */
gboolean loom_dataset_restore (LoomDataset *self, const char *saved, const char *name, GError **error);
/* Fills the first n rows of out[0 … n_ports-1] (batches of at least n samples, of the
 * ports' types) with these samples of the split, each index below the split's count.
 * May be called from several threads at once. */
gboolean loom_dataset_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                            LoomTensor *const out[], GError **error);

/* The same of the training split, with augmentation (flip, crop, …): a function of seed, epoch and index.
 * Without augmentation it is loom_dataset_read(). */
gboolean loom_dataset_read_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                                      const gint64 *indices, guint n, LoomTensor *const out[], GError **error);

/* loom_dataset_read() into tensors of its own, one a port, each (transfer full) an array's element. SHAPE: a
 * port has unknown sizes besides the number of samples. */
GPtrArray *
loom_dataset_read_new (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, GError **error);
/* loom_dataset_read_augmented() likewise, as the first epoch of a run with seed 0 has the samples: for pictures of
 * them. */
GPtrArray *loom_dataset_read_new_augmented (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                                            GError **error);

/* Whether training samples are changed at random each time they are read. */
gboolean loom_dataset_changes_samples (const LoomDataset *self);
/* x of one training sample as it is, then as the first n - 1 epochs of a run with seed 0 have it: [n, …], n
 * at least 1. (transfer full) */
LoomTensor *loom_dataset_read_variants (const LoomDataset *self, gint64 index, guint n, GError **error);

/* A permutation of 0 … n-1 that depends on nothing but its arguments: Fisher and
 * Yates's shuffle fed by Philox. Loaders order an epoch by it. */
void loom_dataset_permutation (guint64 seed, guint64 epoch, guint32 n, guint32 *out);

/* n draws from 0 … n-1 with replacement, likewise a function of its arguments: number i with the weight that it adds to
 * the cumulative sums, sums[n-1] > 0. */
void loom_dataset_draw (guint64 seed, guint64 epoch, guint32 n, const double *sums, guint32 *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDataset, loom_dataset_free)

G_END_DECLS
