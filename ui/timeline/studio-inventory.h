/* Builds the rows of two tables: each parameter with its device before and after it is moved for training, and each
 * node with its planned memory and its memory in the run. List models without widgets. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

#define STUDIO_INVENTORY_COLUMNS 10

#define STUDIO_TYPE_INVENTORY_ROW (studio_inventory_row_get_type ())
G_DECLARE_FINAL_TYPE (StudioInventoryRow, studio_inventory_row, STUDIO, INVENTORY_ROW, GObject)

struct _StudioInventoryRow
{
  GObject parent_instance;
  char *path; /* of the node; for a parameter its name, which begins with the node's path; NULL: none */
  char *text[STUDIO_INVENTORY_COLUMNS];
  double key[STUDIO_INVENTORY_COLUMNS]; /* the sort key of a numeric column */
};

typedef struct
{
  const char *title; /* to be translated */
  gboolean is_number;
} StudioInventoryColumn;

/* As many columns as a row has texts; the last one has a NULL title. */
const StudioInventoryColumn *studio_inventory_parameter_columns (void);
const StudioInventoryColumn *studio_inventory_node_columns (void);

/* One row per parameter of the events of `gradloom plan --parameters --json` (JsonObject), from all ranks in them.
 * summary receives a sentence with the totals. */
GListStore *studio_inventory_parameters (GPtrArray *events, char **summary);
/* Bytes by owner and in total, of rank 0. */
typedef struct
{
  guint64 owner[LOOM_N_OWNERS], total;
} StudioInventorySum;
/* One row for each node, device and rank with planned or used memory. taken: events of a run; NULL: no run. */
GListStore *studio_inventory_nodes (GPtrArray *planned, GPtrArray *used, StudioInventorySum *plan);

/* Compares two rows by a column, as a GCompareFunc does. */
int
studio_inventory_compare (const StudioInventoryRow *a, const StudioInventoryRow *b, guint column, gboolean is_number);
