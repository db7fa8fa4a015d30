/* The interface that a source implements, and helpers of sources: options, files, tables. */
#pragma once

#include "engine/data/loom-samples.h"

G_BEGIN_DECLS

struct _LoomDatasetClass
{
  const char *name, *title, *doc;
  const LoomDatasetParam *params; /* NULL for none */
  /* Both may rely on options that are present where required and in range. */
  gboolean (*describe) (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                        GError **error);
  LoomDataset *(*open) (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error);
  gboolean (*read) (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
                    GError **error);
  void (*free) (LoomDataset *self);
  /* The hash, continued over data from files. NULL: its options determine the data. */
  guint64 (*digest) (const LoomDataset *self, guint64 hash);
  /* Parses samples of x from another file and adds each to items; text ends with 0 and may be overwritten. NULL: rows
   * of numbers. */
  gboolean (*parse) (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items,
                     GError **error);
  void (*restored) (LoomDataset *self); /* after loom_dataset_restore() took over other names; optional */
  /* Calls follow() for each link below the folders of its options that would be read, or for each file if they are few;
   * name is the option's. It returns whether a folder that the link leads to is looked through. Optional. */
  void (*each_link) (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                     gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data);
  gboolean has_pictures;                /* x is pictures of 0 to 1, and the options are those of loom-augment.h, too */
  gboolean is_text;                     /* a sample is a piece of a text with the length of its option `context` */
};

/* Adds a sample (its tensor is taken) to a list of LoomSampleItem, which must free them. */
LoomSampleItem *loom_sample_item_add (GPtrArray *items, LoomTensor *tensor, gint64 row);

/* parse() of data sets whose x is sentences in the words or characters of their class names: a line is a sample, as
 * long as it has tokens. */
gboolean loom_sentences_parse (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items,
                               GError **error);

/* A target that cross-entropy leaves out (torch.nn.CrossEntropyLoss's ignore_index). */
#define LOOM_TARGET_IGNORED (-100)

/* klass->describe, or its cached result if no file has changed. Thread-safe. */
gboolean loom_describe_cached (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                               GError **error);

/* The head of every data set. */
struct _LoomDataset
{
  const LoomDatasetClass *klass;
  LoomDatasetInfo info;
  char **class_names;
  char **token_names;           /* of x, if they differ from the class names; else NULL */
  struct _LoomAugment *augment; /* NULL: pictures stay as they are */
  double mixup;                 /* α of samples that are blends of two; 0: they are not */
  gint64 *kept, n_kept;         /* the training samples that loom_dataset_keep() and _fold() left; NULL: all */
  gint64 *held;                 /* those that _fold() made the validation split; NULL: it is the source's own */
  gboolean lower_case;          /* sentences are read in small letters */
  const char *answer_separator; /* between those of y, if it differs from separator; else NULL */
  const char *separator;        /* between tokens that are shown as a text; NULL: nothing */
  /* Of tables as text: the separator of fields, and the columns of x. */
  char delimiter;
  gboolean has_decimal_comma;
  char **feature_names;
  /* Of each feature: the value of a gap, and (x - shift) · scale; NULL: none. */
  float *feature_fill, *feature_shift, *feature_scale;
};

/* FALSE with OUTSIDE if the options' guard refuses a path. */
gboolean loom_dataset_check_guard (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomLinks links,
                                   GError **error);
/* Calls follow() for each link in a folder that leads to a folder or to a file that accepts() takes; deep: in its
 * folders, too. */
void loom_folder_each_link (const char *name, const char *folder, gboolean (*accepts) (const char *file), gboolean deep,
                            gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data);

/* One option, or its default. Names must be in the class's params. */
const char *loom_option_string (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
gint64 loom_option_int (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
double loom_option_float (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
/* A list of count numbers, by repeating a single one; free with g_free. NULL with
 * SCHEMA when there are neither one nor count. */
double *loom_option_floats (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name,
                            gsize count, GError **error);
/* The full path of a PATH option; NULL when it is not given. */
char *loom_option_path (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);

/* DATA with the sentence "There is no file “…” …" when it is missing. hint may be NULL. */
gboolean loom_dataset_check_file (const char *path, const char *hint, GError **error);

/* Sets port `name` of a batch: dims are those of one sample. */
void loom_info_add_port (LoomDatasetInfo *info, const char *name, LoomDType dtype, int rank, const gint64 *dims);

/* A data set whose samples lie in memory: per split one tensor a port, [rows, sample…],
 * in the port's type, or u8 that is returned as f32 (divided by 255) or i64. */
LoomDataset *loom_table_new (const LoomDatasetClass *klass, const LoomDatasetInfo *info);
/* rows picks n of the tensors' rows (transfer full); NULL: the first n. References are taken. */
void loom_table_set_split (LoomDataset *self, LoomSplit split, LoomTensor *const data[], guint32 *rows, gint64 n);
/* Distributes n rows among the splits, at random by seed, each split's in ascending order: n_of of them, to be freed.
 */
void loom_deal_rows (guint32 n, guint64 seed, double val_fraction, double test_fraction, guint32 *rows[LOOM_N_SPLITS],
                     gint64 n_of[LOOM_N_SPLITS]);
/* Deals rows of one table to the three splits, at random by seed, each in file order. */
void loom_table_random_split (LoomDataset *self, LoomTensor *const data[], guint64 seed, double val_fraction,
                              double test_fraction);
/* The rows of the table that belong to a split, *n of them; NULL: the first *n. */
const guint32 *loom_table_rows (const LoomDataset *self, LoomSplit split, gint64 *n);
gboolean loom_table_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                          LoomTensor *const out[], GError **error);
void loom_table_free (LoomDataset *self);
guint64 loom_table_digest (const LoomDataset *self, guint64 hash);

/* The hash, continued over n bytes: of half a gigabyte or less over all of them. */
guint64 loom_digest_bytes (guint64 hash, gconstpointer bytes, gsize n);

/* Random numbers of sample i of a split: a pure function of seed, stream and index.
 * stream is a constant of the source. */
typedef struct
{
  guint64 seed, stream, sample;
  guint64 block;
  guint32 word[4];
  guint used;
} LoomSampleRandom;

LoomSampleRandom loom_sample_random (guint64 seed, guint32 stream, LoomSplit split, gint64 sample);
float loom_sample_uniform (LoomSampleRandom *self); /* [0, 1) */
float loom_sample_normal (LoomSampleRandom *self);
guint32 loom_sample_below (LoomSampleRandom *self, guint32 n); /* 0 … n-1 */

/* Shared by generated sources: n and n_test samples made one by one by a
 * function that fills row i of the ports' tensors. data is passed through. */
typedef void (*LoomGenerateSample) (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[]);
LoomDataset *loom_table_generate (const LoomDatasetClass *klass, const LoomDatasetOptions *options, guint32 stream,
                                  LoomGenerateSample make, gconstpointer data, GError **error);

/* clang-format off */
/* The options that every generated source has. */
#define LOOM_GENERATED_PARAMS(n_default, n_test_default)                                                       \
  { .name = "n", .type = LOOM_DATASET_INT, .def = n_default, .minimum = 1, .maximum = 10000000,                \
    .doc = "The number of training samples." },                                                                \
  { .name = "n_test", .type = LOOM_DATASET_INT, .def = n_test_default, .minimum = 1, .maximum = 10000000,      \
    .doc = "The number of test samples, drawn separately." },                                                  \
  { .name = "seed", .type = LOOM_DATASET_INT, .def = "0", .minimum = 0, .maximum = 4294967295.0,               \
    .doc = "The seed of the samples." }
/* How the rows of one table are divided into splits; WHAT: "rows", REST: a condition of the test split. */
#define LOOM_DEALT_PARAMS(WHAT, TEST_DEFAULT, REST)                                                            \
  { .name = "val_fraction", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 0.9,              \
    .doc = "The fraction of the " WHAT " for validation." },                                                   \
  { .name = "test_fraction", .type = LOOM_DATASET_FLOAT, .def = TEST_DEFAULT, .minimum = 0, .maximum = 0.9,    \
    .doc = "The fraction of the " WHAT " for testing" REST "." },                                              \
  { .name = "seed", .type = LOOM_DATASET_INT, .def = "0", .minimum = 0, .maximum = 4294967295.0,               \
    .doc = "The seed by which the " WHAT " are divided into splits." }
/* The type of y where points of the plane belong to one of two classes. */
#define LOOM_TARGET_TYPE_PARAM                                                                                 \
  { .name = "target_type", .type = LOOM_DATASET_ENUM, .def = "class", .choices = loom_target_types,            \
    .doc = "class: y i64 [B]; float: y f32 [B,1], for losses of one output." }
/* clang-format on */
extern const char *const loom_target_types[];

/* Sets n of the splits from the options above. */
void loom_info_set_generated (LoomDatasetInfo *info, const LoomDatasetClass *klass, const LoomDatasetOptions *options);
/* describe() of generated points of the plane in two classes. */
gboolean loom_info_set_points (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                               GError **error);

G_END_DECLS
