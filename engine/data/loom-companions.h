/* Finds pictures in folders, each with a file that describes it: a mask, or boxes.
 *
 * The files of a picture have its name without the ending. Splits are lists of names, as in PASCAL VOC, or folders
 * train, val and test; otherwise all pictures are divided at random. */
#pragma once

#include "engine/data/loom-pictures.h"

/* One way to organise a folder. */
typedef struct
{
  const char *pictures, *companions; /* folders, relative to the data set's or to that of a split */
  const char *const *endings;        /* what replaces the ending of a picture: ".png"; NULL-terminated */
  const char *lists[LOOM_N_SPLITS];  /* files that name the pictures of splits; NULL: none */
  gboolean has_folders;              /* splits may be folders that contain both folders */
} LoomCompanionLayout;

typedef struct
{
  const LoomCompanionLayout *layout;
  GPtrArray *pictures, *files; /* paths, of the same number; by splits, train first */
  guint n[LOOM_N_SPLITS];      /* if n[val] is 0, the training pictures are still to be divided */
} LoomCompanions;

/* The layout that a folder has; *base (transfer full) is where its folders are: path, or VOCdevkit/VOC… or VOC… in it.
 * NULL if it has none. */
const LoomCompanionLayout *
loom_companions_layout (const char *path, const LoomCompanionLayout *layouts, guint n, char **base);
/* Lists the files. DATA: a picture without its file, or none at all. A list whose first picture has no file, as that of
 * VOC's test split, is left out. */
LoomCompanions *loom_companions_new (const char *base, const LoomCompanionLayout *layout, GError **error);
void loom_companions_free (LoomCompanions *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCompanions, loom_companions_free)

/* Finishes pictures that were added in this order. */
gboolean loom_companions_finish (const LoomCompanions *self, LoomPictures *pictures, const LoomDatasetOptions *options,
                                 GError **error);
