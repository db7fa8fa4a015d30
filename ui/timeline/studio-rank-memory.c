/* The table of the ranks' memory: shows the plan's figures and the newest report that StudioRun keeps. While it is
 * mapped, it makes StudioRun request a report every PERIOD seconds. */
#include "ui/timeline/studio-rank-memory.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>

#include "engine/loom.h"
#include "ui/worker/studio-planner.h"
#include "ui/timeline/studio-inventory.h"

#define PERIOD     1   /* seconds */
#define MAX_HEIGHT 220 /* pixels of the table before it scrolls */

typedef struct
{
  guint64 owner[LOOM_N_OWNERS], total;
} Sum;

/* The memory of a rank in the run. */
typedef struct
{
  Sum sum;
  gint64 process, before, now; /* process id; bytes before training and now */
} Held;

struct _StudioRankMemory
{
  AdwBin parent_instance;

  StudioRun *run;
  GtkWidget *grid, *words;
  GArray *planned; /* Sum, by rank */
  GArray *held;    /* Held; empty: not known yet */
  GBytes *shown;   /* the last parsed text; a reference, so that its address is not reused; NULL: none */
  guint timer;
};

G_DEFINE_FINAL_TYPE (StudioRankMemory, studio_rank_memory, ADW_TYPE_BIN)

/* ---- table ------------------------------------------------------------------------------- */

static void
put (StudioRankMemory *self, int column, int row, const char *text, gboolean is_heading)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column == 0 ? 0 : 1);
  gtk_widget_add_css_class (label, is_heading ? "dim-label" : "numeric");
  gtk_grid_attach (GTK_GRID (self->grid), label, column, row, 1, 1);
}

static void
put_sum (StudioRankMemory *self, int row, const char *title, const Sum *sum)
{
  put (self, 0, row, title, TRUE);
  for (int o = 0; o <= LOOM_N_OWNERS; o++)
    {
      guint64 bytes = o < LOOM_N_OWNERS ? sum->owner[o] : sum->total;
      g_autofree char *text = bytes > 0 ? loom_bytes_to_string ((double)bytes) : g_strdup ("–");

      put (self, o + 1, row, text, FALSE);
    }
}

/* TRUE if the ranks are threads, which share one process. */
static gboolean
have_one_process (StudioRankMemory *self)
{
  for (guint k = 1; k < self->held->len; k++)
    if (g_array_index (self->held, Held, k).process != g_array_index (self->held, Held, 0).process)
      return FALSE;
  return TRUE;
}

static void
put_process (StudioRankMemory *self, int row, const Held *held)
{
  g_autofree char *more = loom_bytes_to_string ((double)MAX (held->now - held->before, 0));
  g_autofree char *text = g_strdup_printf ("%d · +%s", (int)held->process, more);

  put (self, LOOM_N_OWNERS + 2, row, text, FALSE);
}

static void
show (StudioRankMemory *self)
{
  const StudioInventoryColumn *columns = studio_inventory_node_columns ();
  GtkWidget *child;
  int row = 1;

  while ((child = gtk_widget_get_first_child (self->grid)) != NULL)
    gtk_grid_remove (GTK_GRID (self->grid), child);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    put (self, o + 1, 0, _ (columns[STUDIO_INVENTORY_COLUMNS - LOOM_N_OWNERS + o].title), TRUE);
  put (self, LOOM_N_OWNERS + 1, 0, _ ("Total"), TRUE);
  if (self->held->len > 0)
    put (self, LOOM_N_OWNERS + 2, 0, _ ("Process"), TRUE);
  for (guint k = 0; k < MAX (self->planned->len, self->held->len); k++)
    {
      g_autofree char *planned = g_strdup_printf (_ ("Rank %u, planned"), k);
      g_autofree char *taken = g_strdup_printf (_ ("Rank %u, in the run"), k);

      if (k < self->planned->len)
        put_sum (self, row++, planned, &g_array_index (self->planned, Sum, k));
      if (k >= self->held->len)
        continue;
      put_sum (self, row, taken, &g_array_index (self->held, Held, k).sum);
      if (k == 0 || !have_one_process (self))
        put_process (self, row, &g_array_index (self->held, Held, k));
      row++;
    }
  const char *words
      = self->held->len == 0 ? _ ("No run with several ranks has used memory yet. Train to see what each rank uses.")
        : have_one_process (self)
            ? _ ("The ranks are threads of one process. Its number is followed by its growth since the run began.")
            : _ ("Each rank is a process. Its number is followed by its growth since the run began, including "
                 "communication buffers. Rank 0 also computes the views of the run.");
  g_autofree char *ended = self->held->len > 0 && !studio_run_is_live (self->run)
                               ? g_strdup_printf (_ ("The run has ended. These are its last values. %s"), words)
                               : NULL;
  gtk_label_set_label (GTK_LABEL (self->words), ended != NULL ? ended : words);
}

/* ---- data -------------------------------------------------------------------------------- */

gboolean
studio_rank_memory_set_planned (StudioRankMemory *self, GPtrArray *events)
{
  g_array_set_size (self->planned, 0);
  for (guint i = 0; i < events->len; i++)
    {
      JsonObject *event = events->pdata[i];
      gint64 rank = json_object_get_int_member_with_default (event, "rank", -1);
      Sum *sum;

      if (rank < 0 || rank > 4096
          || g_strcmp0 (json_object_get_string_member_with_default (event, "event", ""), "node") != 0)
        continue;
      if (rank >= self->planned->len)
        g_array_set_size (self->planned, (guint)rank + 1);
      sum = &g_array_index (self->planned, Sum, rank);
      sum->total += (guint64)json_object_get_int_member_with_default (event, "bytes", 0);
      for (guint o = 0; o < LOOM_N_OWNERS; o++)
        sum->owner[o] += (guint64)json_object_get_int_member_with_default (event, loom_owner_name ((LoomOwner)o), 0);
    }
  gtk_widget_set_visible (GTK_WIDGET (self), self->planned->len > 1);
  show (self);
  return self->planned->len > 1;
}

/* text has the lines of LOOM_SNAPSHOT_RANKS. */
static void
parse_ranks (StudioRankMemory *self, const char *text, gsize length)
{
  g_autoptr (GPtrArray) lines = studio_planner_parse_events (text, length);

  g_array_set_size (self->held, 0);
  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *line = lines->pdata[i],
                 *bytes = json_object_has_member (line, "bytes") ? json_object_get_object_member (line, "bytes") : NULL;
      Held held = { .process = json_object_get_int_member_with_default (line, "process", 0),
                    .before = json_object_get_int_member_with_default (line, "process_before", 0),
                    .now = json_object_get_int_member_with_default (line, "process_now", 0) };

      held.sum.total = (guint64)json_object_get_int_member_with_default (line, "held", 0);
      for (guint o = 0; bytes != NULL && o < LOOM_N_OWNERS; o++)
        held.sum.owner[o] = (guint64)json_object_get_int_member_with_default (bytes, loom_owner_name ((LoomOwner)o), 0);
      g_array_append_val (self->held, held);
    }
  show (self);
}

/* ---- requests ---------------------------------------------------------------------------- */

/* The run keeps the last reply, so that its memory can be shown after it has ended. */
static void
memory_cb (StudioRun *run, StudioRankMemory *self)
{
  GBytes *known = studio_run_get_rank_memory (run);
  gsize n = 0;
  const char *text = known != NULL ? g_bytes_get_data (known, &n) : "";

  if (known == self->shown)
    return;
  g_clear_pointer (&self->shown, g_bytes_unref);
  self->shown = known != NULL ? g_bytes_ref (known) : NULL;
  parse_ranks (self, text, n);
}

static void
state_cb (StudioRun *run, StudioRankMemory *self)
{
  show (self);
}

static gboolean
ask_cb (gpointer data)
{
  studio_run_request_rank_memory (((StudioRankMemory *)data)->run);
  return G_SOURCE_CONTINUE;
}

static void
rank_memory_map (GtkWidget *widget)
{
  StudioRankMemory *self = STUDIO_RANK_MEMORY (widget);

  GTK_WIDGET_CLASS (studio_rank_memory_parent_class)->map (widget);
  if (self->timer == 0)
    self->timer = g_timeout_add_seconds (PERIOD, ask_cb, self);
  ask_cb (self);
}

static void
rank_memory_unmap (GtkWidget *widget)
{
  g_clear_handle_id (&STUDIO_RANK_MEMORY (widget)->timer, g_source_remove);
  GTK_WIDGET_CLASS (studio_rank_memory_parent_class)->unmap (widget);
}

/* ---- widget ------------------------------------------------------------------------------ */

static void
rank_memory_dispose (GObject *object)
{
  StudioRankMemory *self = STUDIO_RANK_MEMORY (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_rank_memory_parent_class)->dispose (object);
}

static void
rank_memory_finalize (GObject *object)
{
  StudioRankMemory *self = STUDIO_RANK_MEMORY (object);

  g_array_unref (self->planned);
  g_array_unref (self->held);
  g_clear_pointer (&self->shown, g_bytes_unref);
  G_OBJECT_CLASS (studio_rank_memory_parent_class)->finalize (object);
}

static void
studio_rank_memory_class_init (StudioRankMemoryClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = rank_memory_dispose;
  G_OBJECT_CLASS (klass)->finalize = rank_memory_finalize;
  GTK_WIDGET_CLASS (klass)->map = rank_memory_map;
  GTK_WIDGET_CLASS (klass)->unmap = rank_memory_unmap;
}

static void
studio_rank_memory_init (StudioRankMemory *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller = gtk_scrolled_window_new ();

  self->planned = g_array_new (FALSE, TRUE, sizeof (Sum));
  self->held = g_array_new (FALSE, TRUE, sizeof (Held));
  self->grid = gtk_grid_new ();
  self->words = gtk_label_new (NULL);
  gtk_grid_set_column_spacing (GTK_GRID (self->grid), 18);
  gtk_widget_set_margin_start (self->grid, 12);
  gtk_widget_set_margin_end (self->grid, 12);
  gtk_label_set_xalign (GTK_LABEL (self->words), 0);
  gtk_label_set_wrap (GTK_LABEL (self->words), TRUE);
  gtk_widget_set_margin_start (self->words, 12);
  gtk_widget_set_margin_end (self->words, 12);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_AUTOMATIC, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), MAX_HEIGHT);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->grid);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), self->words);
  adw_bin_set_child (ADW_BIN (self), box);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

StudioRankMemory *
studio_rank_memory_new (StudioRun *run)
{
  StudioRankMemory *self = g_object_new (STUDIO_TYPE_RANK_MEMORY, NULL);

  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_object (run, "memory-changed", G_CALLBACK (memory_cb), self, 0);
  memory_cb (run, self);
  return self;
}
