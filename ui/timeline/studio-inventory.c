/* Builds the rows of the tables of parameters and of memory per node from JSON events: those of `gradloom plan` and
 * those of the worker. A column is an entry of the tables in studio_inventory_parameter_columns() and
 * studio_inventory_node_columns(). */
#include "ui/timeline/studio-inventory.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>

#include "ui/charts/studio-type.h"

STUDIO_DEFINE_TYPE (StudioInventoryRow, studio_inventory_row, G_TYPE_OBJECT)

static void
row_finalize (GObject *object)
{
  StudioInventoryRow *self = STUDIO_INVENTORY_ROW (object);

  g_free (self->path);
  for (guint i = 0; i < STUDIO_INVENTORY_COLUMNS; i++)
    g_free (self->text[i]);
  G_OBJECT_CLASS (studio_inventory_row_parent_class)->finalize (object);
}

static void
studio_inventory_row_class_init (StudioInventoryRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = row_finalize;
}

int
studio_inventory_compare (const StudioInventoryRow *a, const StudioInventoryRow *b, guint column, gboolean is_number)
{
  if (is_number)
    return a->key[column] < b->key[column] ? -1 : a->key[column] > b->key[column];
  return g_utf8_collate (a->text[column] != NULL ? a->text[column] : "",
                         b->text[column] != NULL ? b->text[column] : "");
}

static void
set_bytes (StudioInventoryRow *row, guint column, guint64 bytes)
{
  row->key[column] = (double)bytes;
  g_free (row->text[column]);
  row->text[column] = bytes > 0 ? loom_bytes_to_string ((double)bytes) : g_strdup ("–");
}

static const char *
string_of (JsonObject *object, const char *name)
{
  return json_object_get_string_member_with_default (object, name, NULL);
}

static guint64
bytes_of (JsonObject *object, const char *name)
{
  return (guint64)json_object_get_int_member_with_default (object, name, 0);
}

/* ---- parameters ------------------------------------------------------------------ */

enum
{
  NAME,
  SHAPE,
  DTYPE,
  BYTES,
  BEFORE,
  AFTER
};

const StudioInventoryColumn *
studio_inventory_parameter_columns (void)
{
  static const StudioInventoryColumn columns[] = {
    [NAME] = { N_ ("Name"), FALSE },
    [SHAPE] = { N_ ("Shape"), FALSE },
    [DTYPE] = { N_ ("Type"), FALSE },
    [BYTES] = { N_ ("Bytes"), TRUE },
    [BEFORE] = { N_ ("Before"), FALSE },
    [AFTER] = { N_ ("After"), FALSE },
    { NULL },
  };

  return columns;
}

/* "256×784"; "1" for a scalar. */
static char *
shape_text (JsonArray *shape, gint64 *count)
{
  GString *s = g_string_new (NULL);

  *count = 1;
  for (guint i = 0; shape != NULL && i < json_array_get_length (shape); i++)
    {
      gint64 size = json_array_get_int_element (shape, i);

      *count *= size;
      g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? "×" : "", size);
    }
  if (s->len == 0)
    g_string_append_c (s, '1');
  return g_string_free (s, FALSE);
}

/* The shards of a parameter. */
typedef struct
{
  const char *device; /* of the first rank that holds a shard */
  gboolean devices_differ, parts_differ;
  char *part;                /* the shape of the first shard */
  gint64 whole, least, most; /* elements: of the tensor, of the smallest and of the largest shard */
  int n, first, last;        /* ranks that hold a shard */
} Shards;

static void
shards_add (Shards *self, JsonObject *event)
{
  JsonArray *shape = json_object_get_array_member (event, "shape");
  const char *device = string_of (event, "device");
  gint64 count;
  g_autofree char *part = shape_text (shape, &count);

  if (count == 0)
    return;
  if (self->n++ == 0)
    {
      self->device = device;
      self->part = g_steal_pointer (&part);
      self->least = self->most = count;
      self->first = (int)json_object_get_int_member_with_default (event, "rank", -1);
    }
  self->devices_differ |= g_strcmp0 (device, self->device) != 0;
  self->parts_differ |= part != NULL && g_strcmp0 (part, self->part) != 0;
  self->least = MIN (self->least, count);
  self->most = MAX (self->most, count);
  self->last = (int)json_object_get_int_member_with_default (event, "rank", -1);
}

static char *
shards_text (const Shards *self)
{
  const char *device = self->devices_differ ? _ ("several devices") : self->device;

  if (self->n == 0)
    return g_strdup ("–");
  if (self->first < 0)
    return g_strdup (device);
  if (self->n == 1)
    return g_strdup_printf (_ ("%1$s · rank %2$d"), device, self->first);
  if (self->least == self->whole)
    return g_strdup_printf (_ ("%1$s · whole on ranks %2$d–%3$d"), device, self->first, self->last);
  if (self->parts_differ)
    return g_strdup_printf (_ ("%1$s · %2$d shards of at most %3$s on ranks %4$d–%5$d"), device, self->n, self->part,
                            self->first, self->last);
  return g_strdup_printf (_ ("%1$s · %2$s on each of ranks %3$d–%4$d"), device, self->part, self->first, self->last);
}

static StudioInventoryRow *
parameter_row (GPtrArray *events, const char *name, const char *host, guint64 *bytes)
{
  StudioInventoryRow *row = g_object_new (STUDIO_TYPE_INVENTORY_ROW, NULL);
  JsonObject *first = events->pdata[0];
  JsonArray *whole = json_object_has_member (first, "whole") ? json_object_get_array_member (first, "whole")
                                                             : json_object_get_array_member (first, "shape");
  const char *dtype = string_of (first, "dtype");
  Shards shards = { 0 };

  row->path = g_strdup (name);
  row->text[NAME] = g_strdup (name);
  row->text[SHAPE] = shape_text (whole, &shards.whole);
  for (guint i = 0; i < events->len; i++)
    shards_add (&shards, events->pdata[i]);
  row->text[DTYPE] = json_object_get_boolean_member_with_default (first, "trainable", TRUE)
                         ? g_strdup (dtype)
                         : g_strdup_printf (_ ("%s · frozen"), dtype);
  *bytes = 0;
  for (int t = 0; t < LOOM_N_DTYPES; t++)
    if (g_strcmp0 (loom_dtype_name ((LoomDType)t), dtype) == 0)
      *bytes = (guint64)shards.whole * loom_dtype_size ((LoomDType)t);
  set_bytes (row, BYTES, *bytes);
  row->text[BEFORE] = g_strdup (host);
  row->text[AFTER] = shards_text (&shards);
  g_free (shards.part);
  return row;
}

/* TRUE if a shard is on another device than the host. */
static gboolean
shards_move (GPtrArray *events, const char *host)
{
  for (guint i = 0; i < events->len; i++)
    if (g_strcmp0 (string_of (events->pdata[i], "device"), host) != 0)
      return TRUE;
  return FALSE;
}

GListStore *
studio_inventory_parameters (GPtrArray *events, char **summary)
{
  static const char host[] = "cpu";
  GListStore *store = g_list_store_new (STUDIO_TYPE_INVENTORY_ROW);
  g_autoptr (GHashTable) by_name
      = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  guint64 all = 0;
  guint moved = 0;

  for (guint i = 0; i < events->len; i++)
    {
      const char *name = string_of (events->pdata[i], "name");
      GPtrArray *parts;

      if (g_strcmp0 (string_of (events->pdata[i], "event"), "parameter") != 0 || name == NULL)
        continue;
      parts = g_hash_table_lookup (by_name, name);
      if (parts == NULL)
        {
          parts = g_ptr_array_new ();
          g_hash_table_insert (by_name, (gpointer)name, parts);
          g_ptr_array_add (names, (gpointer)name);
        }
      g_ptr_array_add (parts, events->pdata[i]);
    }
  for (guint i = 0; i < names->len; i++)
    {
      guint64 bytes;
      g_autoptr (StudioInventoryRow) row
          = parameter_row (g_hash_table_lookup (by_name, names->pdata[i]), names->pdata[i], host, &bytes);

      all += bytes;
      moved += shards_move (g_hash_table_lookup (by_name, names->pdata[i]), host);
      g_list_store_append (store, row);
    }
  g_autofree char *size = loom_bytes_to_string ((double)all);
  g_autofree char *have = g_strdup_printf (
      ngettext ("%1$u parameter tensor, %2$s.", "%1$u parameter tensors, %2$s.", names->len), names->len, size);
  g_autofree char *move = moved == 0 ? g_strdup (_ ("None are moved."))
                                     : g_strdup_printf (ngettext ("%u is moved.", "%u are moved.", moved), moved);
  *summary = g_strdup_printf ("%s %s\n%s", have, move,
                              _ ("Before: in host memory, where weights are initialized or read. After: on the device "
                                 "that trains them, as after module.to(device)."));
  return store;
}

/* ---- nodes ----------------------------------------------------------------------- */

enum
{
  NODE,
  DEVICE,
  PLANNED,
  TAKEN,
  OWNERS
};
G_STATIC_ASSERT (OWNERS + LOOM_N_OWNERS == STUDIO_INVENTORY_COLUMNS);

const StudioInventoryColumn *
studio_inventory_node_columns (void)
{
  static const StudioInventoryColumn columns[] = {
    [NODE] = { N_ ("Node"), FALSE },
    [DEVICE] = { N_ ("Device"), FALSE },
    [PLANNED] = { N_ ("Planned"), TRUE },
    [TAKEN] = { N_ ("In the Run"), TRUE },
    [OWNERS + LOOM_OWNER_PARAMETERS] = { N_ ("Parameters"), TRUE },
    [OWNERS + LOOM_OWNER_GRADIENTS] = { N_ ("Gradients"), TRUE },
    [OWNERS + LOOM_OWNER_OPTIMIZER] = { N_ ("Optimizer"), TRUE },
    [OWNERS + LOOM_OWNER_ACTIVATIONS] = { N_ ("Activations"), TRUE },
    [OWNERS + LOOM_OWNER_WORKSPACE] = { N_ ("Workspace"), TRUE },
    [OWNERS + LOOM_OWNER_DATA] = { N_ ("Data"), TRUE },
    { NULL },
  };

  return columns;
}

/* Returns the row of the event's node, device and rank; creates it if needed. */
static StudioInventoryRow *
node_row (GListStore *store, GHashTable *rows, JsonObject *event)
{
  const char *node = string_of (event, "node"), *device = string_of (event, "device");
  gint64 rank = json_object_get_int_member_with_default (event, "rank", -1);
  g_autofree char *where = rank >= 0 ? g_strdup_printf (_ ("%1$s · rank %2$d"), device, (int)rank) : g_strdup (device);
  g_autofree char *key = g_strdup_printf ("%s\n%s", node != NULL ? node : "", where);
  StudioInventoryRow *row = g_hash_table_lookup (rows, key);

  if (row != NULL)
    return row;
  row = g_object_new (STUDIO_TYPE_INVENTORY_ROW, NULL);
  row->path = g_strdup (node);
  row->text[NODE] = g_strdup (node != NULL ? node : _ ("no node"));
  row->text[DEVICE] = g_steal_pointer (&where);
  for (guint c = PLANNED; c < STUDIO_INVENTORY_COLUMNS; c++)
    set_bytes (row, c, 0);
  g_hash_table_insert (rows, g_steal_pointer (&key), row);
  g_list_store_append (store, row);
  g_object_unref (row);
  return row;
}

GListStore *
studio_inventory_nodes (GPtrArray *planned, GPtrArray *used, StudioInventorySum *plan)
{
  GListStore *store = g_list_store_new (STUDIO_TYPE_INVENTORY_ROW);
  g_autoptr (GHashTable) rows = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  *plan = (StudioInventorySum){ 0 };
  for (guint i = 0; i < planned->len; i++)
    {
      JsonObject *event = planned->pdata[i];
      StudioInventoryRow *row;

      if (g_strcmp0 (string_of (event, "event"), "node") != 0)
        continue;
      const gint64 rank = json_object_get_int_member_with_default (event, "rank", -1);

      row = node_row (store, rows, event);
      set_bytes (row, PLANNED, bytes_of (event, "bytes"));
      plan->total += rank <= 0 ? bytes_of (event, "bytes") : 0;
      for (guint o = 0; o < LOOM_N_OWNERS; o++)
        {
          guint64 bytes = bytes_of (event, loom_owner_name ((LoomOwner)o));

          plan->owner[o] += rank <= 0 ? bytes : 0;
          set_bytes (row, OWNERS + o, bytes);
        }
    }
  /* The memory of the run is that of rank 0, so with several planned ranks it belongs to that rank's row. */
  for (guint i = 0; used != NULL && i < used->len; i++)
    {
      JsonObject *event = used->pdata[i];
      const char *node = string_of (event, "node"), *device = string_of (event, "device");
      g_autofree char *first = g_strdup_printf (_ ("%1$s · rank %2$d"), device, 0);
      g_autofree char *key = g_strdup_printf ("%s\n%s", node != NULL ? node : "", first);
      StudioInventoryRow *row = g_hash_table_lookup (rows, key);

      if (row == NULL)
        row = node_row (store, rows, event);
      set_bytes (row, TAKEN, bytes_of (event, "bytes"));
    }
  return store;
}
