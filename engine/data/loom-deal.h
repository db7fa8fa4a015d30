/* Divides the rows of a table among the splits: at random, with the same fraction of each class, by group, or in time.
 */
#pragma once

#include "engine/data/loom-dataset-private.h"

typedef enum
{
  LOOM_DEAL_RANDOM,
  LOOM_DEAL_STRATIFIED, /* of each key each split has its fraction, as nearly as whole rows allow */
  LOOM_DEAL_GROUP,      /* all rows of a key are in one split */
  LOOM_DEAL_TIME        /* by ascending key: training, then validation, then test rows */
} LoomDealKind;

extern const char *const loom_deal_kinds[]; /* "random", "stratified", "group", "time", NULL */

typedef struct
{
  LoomDealKind kind;
  guint64 seed;
  double val, test; /* fractions of the rows */
  /* By row: the class, the group, or the rank in time, 0 … n-1; equal ranks keep their order. NULL: random. */
  const guint32 *key;
} LoomDealing;

/* Seed, fractions and, if the source has the option, `split_kind`; the key is not set. */
LoomDealing loom_dealing (const LoomDatasetClass *klass, const LoomDatasetOptions *options);
/* Distributes n rows among the splits: n_of of them for this split, ascending. (transfer full) Groups are taken in an
 * order drawn by the seed until validation and then test have their fraction, so both may have more, by less than a
 * group. */
void loom_deal_rows (guint32 n, const LoomDealing *how, guint32 *rows[LOOM_N_SPLITS], gint64 n_of[LOOM_N_SPLITS]);
/* Sets the splits of a table to rows of data, each in file order. SCHEMA if how is stratified without a key, and the
 * target, integers [n], is no class; target may be NULL. */
gboolean loom_table_deal (LoomDataset *self, LoomTensor *const data[], const LoomTensor *target, const LoomDealing *how,
                          GError **error);
/* The keys of a column of texts: numbers of equal texts, or with `is_time` ranks of numbers, or of dates that begin
 * with a year of four digits (2024-01-31 10:00). (transfer full) DATA: a text is neither. name: the column, for errors.
 */
guint32 *loom_deal_keys (const GPtrArray *texts, gboolean is_time, const char *name, GError **error);

/* clang-format off */
/* The option of sources whose samples have classes. */
#define LOOM_SPLIT_PARAM                                                                                       \
  { .name = "split_kind", .type = LOOM_DATASET_ENUM, .def = "random", .choices = loom_deal_class_kinds,             \
    .doc = "random: samples are divided at random by the seed; stratified: likewise, and each split has the "  \
           "same fraction of each class." }
/* clang-format on */
extern const char *const loom_deal_class_kinds[];
