/* Data sets: where batches come from.
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
#define LOOM_WEIGHT_PORT       "weight" /* f32 [B], from 0: what a sample counts */

typedef enum
{
  LOOM_SPLIT_TRAIN,
  LOOM_SPLIT_VAL,
  LOOM_SPLIT_TEST,
  LOOM_N_SPLITS
} LoomSplit;

const char *loom_split_name (LoomSplit split); /* "train" */

/* How a source gets at its options: the attributes of the graph's node. */
typedef struct
{
  const char *(*get) (gconstpointer data, const char *name); /* NULL where not given; get may be NULL: none given */
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
  LOOM_DATASET_FLOATS, /* "1,2.5": one value stands for all */
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
  gint64 n[LOOM_N_SPLITS]; /* samples; -1 where that is known only after opening */
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

/* Ports, types and what is known of sizes, without reading all the data. FALSE with an
 * error when it could not be opened; info->n_ports is then still set where the types
 * are known anyway (a missing Fashion-MNIST), else 0. Errors: SCHEMA for the source's
 * name or an option, DATA for a missing or wrong file, OUTSIDE where the guard refuses
 * a path of an option; links below it are not looked at. */
gboolean
loom_dataset_describe (const char *source, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error);

/* Opens and reads what is needed. Errors as above; the guard is asked about links below a folder, too. */
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
/* A number that is the same where all samples are the same, and almost surely another one where one of them is not.
 * Data that do not fit into memory are compared by a part of them, pictures that are files by their names and the
 * content of some. For one run on machines of one kind: it may change from version to version. */
guint64 loom_dataset_digest (const LoomDataset *self);
/* Leaves n of the training samples, drawn by seed: the others are never read again, and as many are counted as before,
 * so that an epoch is as long and goes over those n again and again. n of at least all of them changes nothing. */
void loom_dataset_keep (LoomDataset *self, gint64 n, guint64 seed);
/* Deals the training samples into n_folds parts by seed: the fold-th, from 0, is the validation split from now on,
 * instead of one that there was, and the others are the training samples. DATA where there are fewer samples than
 * folds. */
gboolean loom_dataset_fold (LoomDataset *self, gint64 folds, gint64 fold, guint64 seed, GError **error);
/* Whole numbers as classes are below this, where there are n of the classes, or of the samples: among larger ones most
 * numbers have no sample, so they are codes. */
gint64 loom_dataset_most_classes (gint64 n);
/* Names of the classes (or characters), NULL-terminated; NULL when they have no names. */
const char *const *loom_dataset_class_names (const LoomDataset *self);
/* Names of the whole numbers in x, which most often are the classes' too; NULL when they have none. */
const char *const *loom_dataset_token_names (const LoomDataset *self);
#define LOOM_PADDING_NAME "<pad>" /* of what fills a short sequence up */
#define LOOM_END_NAME     "<end>" /* of what ends a sequence */
/* What stands between names where a sequence of them is read as a text: " " between words, "" between characters. */
const char *loom_dataset_separator (const LoomDataset *self);
/* Names of the columns of x, NULL-terminated; NULL where they have none. */
const char *const *loom_dataset_feature_names (const LoomDataset *self);
/* TRUE where x is pictures, whose numbers are 0 to 1 before they are prepared. */
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

/* What a run must keep to read other samples as it read these: names of classes, tokens and columns, and the numbers by
 * which columns are filled and normalised. NULL where there is nothing of that. (transfer full) */
char *loom_dataset_save (const LoomDataset *self);
/* Takes that over; name is what sentences call it. DATA where it is something else. */
gboolean loom_dataset_restore (LoomDataset *self, const char *saved, const char *name, GError **error);
/* Fills the first n places of out[0 … n_ports-1] (batches of at least n samples, of the
 * ports' types) with these samples of the split, each index below the split's count.
 * May be called from several threads at once. */
gboolean loom_dataset_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                            LoomTensor *const out[], GError **error);

/* The same of the training split, with what the data set changes at random while training (flip, crop, …): a function
 * of seed, epoch and index. Of data sets and splits that change nothing it is loom_dataset_read(). */
gboolean loom_dataset_read_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                                      const gint64 *indices, guint n, LoomTensor *const out[], GError **error);

/* loom_dataset_read() into tensors of its own, one a port, each (transfer full) an array's element. SHAPE where a
 * port's shape has more than the number of samples open. */
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

/* n draws from 0 … n-1 with replacement, likewise a function of its arguments: each number as often as it adds to sums,
 * which grow up to sums[n-1] > 0. */
void loom_dataset_draw (guint64 seed, guint64 epoch, guint32 n, const double *sums, guint32 *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDataset, loom_dataset_free)

G_END_DECLS
