/* The interface of sources of data (LoomDatasetClass, LoomDataset), and their helpers: options, files, tables. */
#pragma once

#include "engine/core/loom-range.h"
#include "engine/data/loom-samples.h"

struct _LoomDatasetClass
{
  const char *name, *title, *doc;
  const LoomDatasetParam *params; /* NULL for none */
  /* describe() and open() can rely on options that are present if required, and in range. */
  gboolean (*describe) (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                        GError **error);
  LoomDataset *(*open) (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error);
  gboolean (*read) (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
                    GError **error);
  void (*free) (LoomDataset *self);
  /* The hash, continued over data from files. NULL: the options determine the data. */
  guint64 (*digest) (const LoomDataset *self, guint64 hash);
  /* Parses samples of x from another file and adds each to items. text ends with 0 and may be overwritten. NULL: the
   * file has rows of numbers. */
  gboolean (*parse) (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items,
                     GError **error);
  void (*restored) (LoomDataset *self); /* called after loom_dataset_restore() has replaced names; optional */
  /* The options that are folders, up to NULL, and which files in them are read, also in their subfolders if is_deep: a
   * link to such a file is found there, and one to a folder. Optional. */
  const char *const *folders;
  gboolean (*is_read) (const char *file);
  gboolean is_deep;
  /* Finds the links itself: calls follow() for each link that would be read, or for each file if there are few. name:
   * the option's. follow() returns whether the folder to which a link leads is searched too. Optional. */
  void (*each_link) (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                     gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data);
  gboolean has_pictures; /* x has pictures with values 0 to 1; the source also has the options of loom-augment.h */
  gboolean is_text;      /* a sample is a piece of a text, as long as its option `context` */
};

/* Adds a sample (tensor: transfer full) to a list of LoomSampleItem, which must free its elements. */
LoomSampleItem *loom_sample_item_add (GPtrArray *items, LoomTensor *tensor, gint64 row);

/* parse() for data sets whose x has sentences of words or characters that are class names: each line is a sample of as
 * many tokens as the line has. */
gboolean loom_sentences_parse (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items,
                               GError **error);

/* A target that cross-entropy ignores (torch.nn.CrossEntropyLoss's ignore_index). */
#define LOOM_TARGET_IGNORED (-100)

/* Calls klass->describe, or returns its cached result if no file has changed. Thread-safe. */
gboolean loom_describe_cached (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                               GError **error);
/* A file's path, time stamp, size and inode, which change with its content; NULL if it is no regular file, or changed
 * less than three seconds ago and could change again within the resolution of the time stamp. (transfer full) */
char *loom_file_stamp (const char *path);

/* The sizes of boxes and of their maps (loom-boxes.h). */
typedef struct
{
  gint64 most, n_classes, stride; /* boxes of a picture; pixels of a cell's side */
} LoomBoxes;

/* The first members of every data set. */
struct _LoomDataset
{
  const LoomDatasetClass *klass;
  LoomDatasetInfo info;
  char **class_names;
  char *note;                   /* what was left out, in a sentence; NULL: nothing */
  char **token_names;           /* names of tokens in x, if they differ from the class names; else NULL */
  struct _LoomAugment *augment; /* NULL: pictures are not changed */
  guint mask_port;              /* i64 [B,H,W], the classes of x's pixels, which move with it; 0: none */
  LoomBoxes *boxes;             /* the ports after x are those of loom-boxes.h; NULL: they are not */
  double mixup;                 /* α of mixup, which blends two samples; 0: no mixup */
  gint64 *kept, n_kept;         /* the training samples that loom_dataset_keep() and _fold() selected; NULL: all */
  gint64 *held;                 /* the samples that _fold() selected for validation; NULL: the source's own split */
  gboolean lower_case;          /* sentences are converted to lower case */
  const char *answer_separator; /* separator of tokens in y if it differs from `separator`; else NULL */
  const char *separator;        /* separator of tokens in a text for users; NULL: none */
  /* For tables: the separator of fields, and the columns of x. */
  char delimiter;
  gboolean has_decimal_comma;
  char **feature_names;
  /* By feature: the value for a gap, and (x - shift) · scale; NULL: none. */
  float *feature_fill, *feature_shift, *feature_scale;
};

/* FALSE with OUTSIDE if the options' guard refuses a path. */
gboolean loom_dataset_check_guard (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomLinks links,
                                   GError **error);

/* The value of an option, or its default. The name must be among the params of the class. */
const char *loom_option_string (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
gint64 loom_option_int (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
double loom_option_float (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);
/* A list of count numbers; a single number is repeated. (transfer full: g_free) NULL with SCHEMA if there are neither
 * one nor count numbers. */
double *loom_option_floats (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name,
                            gsize count, GError **error);
/* The full path of a PATH option; NULL if it is not set. */
char *loom_option_path (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name);

/* DATA with the sentence "There is no file “…” …" if the file is missing. hint may be NULL. */
gboolean loom_dataset_check_file (const char *path, const char *hint, GError **error);

/* The names in a folder that accepts() returns TRUE for, sorted. (transfer full) IO: the folder cannot be read. */
char **loom_dataset_list (const char *folder, gboolean (*accepts) (const char *name, const char *path), GError **error);

/* Describes port `name` of a batch. dims: of one sample. */
void loom_info_add_port (LoomDatasetInfo *info, const char *name, LoomDType dtype, int rank, const gint64 *dims);

/* A data set whose samples are in memory: for each split and port one tensor [rows, sample…], of the port's type, or u8
 * that is returned as f32 (divided by 255) or i64. */
LoomDataset *loom_table_new (const LoomDatasetClass *klass, const LoomDatasetInfo *info);
/* Sets a split to n rows of the tensors, which get references. rows: their indices, (transfer full); NULL: the first
 * n. */
void loom_table_set_split (LoomDataset *self, LoomSplit split, LoomTensor *const data[], guint32 *rows, gint64 n);
/* The rows of the table that belong to a split, *n of them; NULL: the first *n. */
const guint32 *loom_table_rows (const LoomDataset *self, LoomSplit split, gint64 *n);
gboolean loom_table_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n,
                          LoomTensor *const out[], GError **error);
void loom_table_free (LoomDataset *self);
guint64 loom_table_digest (const LoomDataset *self, guint64 hash);

/* The hash, continued over n bytes; of more than half a gigabyte, over a part of them. */
guint64 loom_digest_bytes (guint64 hash, gconstpointer bytes, gsize n);

/* Random numbers for sample i of a split: a pure function of seed, stream and index. stream: a constant of the
 * source. */
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

/* For generated sources: makes n and n_test samples one at a time with a function that fills row i of the ports'
 * tensors. data is passed to it. */
typedef void (*LoomGenerateSample) (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[]);
LoomDataset *loom_table_generate (const LoomDatasetClass *klass, const LoomDatasetOptions *options, guint32 stream,
                                  LoomGenerateSample make, gconstpointer data, GError **error);

/* clang-format off */
/* The first fields of a LoomDatasetParam: { LOOM_OPTION ("seed", INT, "0"), LOOM_RANGE (0, 9), .doc = "…" }. DEFAULT is
 * its `def`. */
#define LOOM_OPTION(NAME, TYPE, DEFAULT) .name = NAME, .type = LOOM_DATASET_##TYPE, .def = DEFAULT
/* The options of every generated source. */
#define LOOM_GENERATED_PARAMS(n_default, n_test_default)                                                       \
  { LOOM_OPTION ("n", INT, n_default), LOOM_RANGE (1, 10000000),                                               \
    .doc = "The number of training samples." },                                                                \
  { LOOM_OPTION ("n_test", INT, n_test_default), LOOM_RANGE (1, 10000000),                                     \
    .doc = "The number of test samples, drawn separately." },                                                  \
  { LOOM_OPTION ("seed", INT, "0"), LOOM_RANGE (0, 4294967295.0),                                              \
    .doc = "The seed of the samples." }
/* The options that divide the rows of one table into splits. WHAT: "rows". REST: a condition for the test split. */
#define LOOM_DEALT_PARAMS(WHAT, TEST_DEFAULT, REST)                                                            \
  { LOOM_OPTION ("val_fraction", FLOAT, "0"), LOOM_RANGE (0, 0.9),                                             \
    .doc = "The fraction of the " WHAT " for validation." },                                                   \
  { LOOM_OPTION ("test_fraction", FLOAT, TEST_DEFAULT), LOOM_RANGE (0, 0.9),                                   \
    .doc = "The fraction of the " WHAT " for testing" REST "." },                                              \
  { LOOM_OPTION ("seed", INT, "0"), LOOM_RANGE (0, 4294967295.0),                                              \
    .doc = "The seed by which the " WHAT " are divided into splits." }
/* The type of y if each point of the plane belongs to one of two classes. */
#define LOOM_TARGET_TYPE_PARAM                                                                                 \
  { LOOM_OPTION ("target_type", ENUM, "class"), .choices = loom_target_types,                                  \
    .doc = "class: y i64 [B]; float: y f32 [B,1], for losses of one output." }
/* clang-format on */
extern const char *const loom_target_types[];

/* Sets the sizes of splits from these options. */
void loom_info_set_generated (LoomDatasetInfo *info, const LoomDatasetClass *klass, const LoomDatasetOptions *options);
/* describe() for generated points of the plane in two classes. */
gboolean loom_info_set_points (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                               GError **error);
