/* What a graph has and where it lies, as rows of tables: parameters before and after they move to where they are
 * trained, and nodes with what they take of the memory, as planned and as a run has taken it. No widget. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

G_BEGIN_DECLS

#define STUDIO_INVENTORY_COLUMNS 10

#define STUDIO_TYPE_INVENTORY_ROW (studio_inventory_row_get_type ())
G_DECLARE_FINAL_TYPE (StudioInventoryRow, studio_inventory_row, STUDIO, INVENTORY_ROW, GObject)

struct _StudioInventoryRow
{
  GObject parent_instance;
  char *path; /* the node's, or the parameter's name, which begins with it; NULL: of none */
  char *text[STUDIO_INVENTORY_COLUMNS];
  double key[STUDIO_INVENTORY_COLUMNS]; /* what a column of numbers is sorted by */
};

typedef struct
{
  const char *title; /* to be translated */
  gboolean is_number;
} StudioInventoryColumn;

/* As many as a row has texts, ending with a title NULL. */
const StudioInventoryColumn *studio_inventory_parameter_columns (void);
const StudioInventoryColumn *studio_inventory_node_columns (void);

/* A row for each parameter of `gradloom plan --parameters --json` (JsonObject), which tells of as many ranks. summary
 * receives a sentence about all of them. */
GListStore *studio_inventory_parameters (GPtrArray *events, char **summary);
/* Bytes by owner and in all; of several ranks, the first one's, which is the run's own. */
typedef struct
{
  guint64 owner[LOOM_N_OWNERS], total;
} StudioInventorySum;
/* A row for each node that is planned to take some memory or has taken some. taken may be NULL: nothing runs. */
GListStore *studio_inventory_nodes (GPtrArray *planned, GPtrArray *taken, StudioInventorySum *plan);

/* Less than 0, 0 or more, by this column. */
int
studio_inventory_compare (const StudioInventoryRow *a, const StudioInventoryRow *b, guint column, gboolean is_number);

G_END_DECLS
