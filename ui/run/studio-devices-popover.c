#include "ui/run/studio-devices-popover.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/dist/loom-dist.h"
#include "ui/charts/studio-template.h"
#include "ui/run/device-figures.h"
#include "ui/run/studio-host-field.h"
#include "ui/run/studio-rank-count.h"
#include "ui/run/studio-run-messages.h"
#include "ui/scene/studio-format.h"
#include "ui/training/studio-training-settings.h"
#include "ui/worker/studio-devices.h"

#define MOST_STAGES 16
#define CALM_MS     300 /* without a change, before the request */

/* The words of <parallel strategy="…">, in the order of the list. */
static const char *const strategies[] = { NULL, "zero1", "zero2", "zero3" };

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioDevices *devices; /* of the host; the one whose changes are shown */
  GtkWidget *popover, *scroller, *choices, *host, *device, *stages, *shards, *sentence, *memory, *times, *forecast,
      *spinner, *hosts;
  DeviceFigures *figures;
  gboolean filling;
  guint timer;
} Devices;

static LoomElement *
find_train (const Devices *self)
{
  return loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
}

static const char *
parallel_value (const Devices *self, const char *name)
{
  const LoomElement *train = find_train (self);
  const LoomElement *parallel = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;

  return parallel != NULL ? loom_element_get (parallel, name) : NULL;
}

/* The names of the host's devices; of this machine's as long as those are not known. */
static const char *const *
device_names (const Devices *self)
{
  const char *const *names = studio_devices_get_names (self->devices);

  return names != NULL ? names : studio_devices_get_names (studio_devices_get ());
}

/* ---- tables ------------------------------------------------------------------------------ */

static void
clear_grid (GtkWidget *grid)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (grid)) != NULL)
    gtk_grid_remove (GTK_GRID (grid), child);
}

static void
put (GtkWidget *grid, int column, int row, const char *text, gboolean is_heading)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column == 0 ? 0 : 1);
  gtk_widget_add_css_class (label, is_heading ? "dim-label" : "numeric");
  gtk_grid_attach (GTK_GRID (grid), label, column, row, 1, 1);
}

/* Rank by rank; of many only the first ones. */
#define MOST_ROWS 8

static void
show_shards (Devices *self)
{
  static const LoomOwner owners[]
      = { LOOM_OWNER_PARAMETERS, LOOM_OWNER_GRADIENTS, LOOM_OWNER_OPTIMIZER, LOOM_OWNER_ACTIVATIONS };
  static const char *const titles[] = { N_ ("Parameters"), N_ ("Gradients"), N_ ("Optimizer"), N_ ("Activations") };
  const GArray *shards = device_figures_shards (self->figures);

  clear_grid (self->memory);
  gtk_widget_set_visible (self->memory, shards->len > 0);
  for (guint o = 0; o < G_N_ELEMENTS (owners); o++)
    put (self->memory, (int)o + 1, 0, _ (titles[o]), TRUE);
  put (self->memory, G_N_ELEMENTS (owners) + 1, 0, _ ("Total"), TRUE);
  for (guint r = 0; r < MIN (shards->len, MOST_ROWS); r++)
    {
      const DeviceShard *shard = &g_array_index (shards, DeviceShard, r);
      g_autofree char *name = g_strdup_printf (_ ("Rank %u"), r), *total = loom_bytes_to_string ((double)shard->total);

      put (self->memory, 0, (int)r + 1, name, TRUE);
      for (guint o = 0; o < G_N_ELEMENTS (owners); o++)
        {
          g_autofree char *text = loom_bytes_to_string ((double)shard->owner[owners[o]]);
          put (self->memory, (int)o + 1, (int)r + 1, text, FALSE);
        }
      put (self->memory, G_N_ELEMENTS (owners) + 1, (int)r + 1, total, FALSE);
    }
}

static void
show_times (Devices *self)
{
  const GArray *times = device_figures_times (self->figures);
  const gboolean busy = device_figures_is_busy (self->figures);

  clear_grid (self->times);
  gtk_widget_set_visible (self->times, times->len > 0);
  put (self->times, 0, 0, _ ("Ranks"), TRUE);
  put (self->times, 1, 0, _ ("Time of a step"), TRUE);
  put (self->times, 2, 0, _ ("Speed-up"), TRUE);
  for (guint i = 0; i < times->len; i++)
    {
      const DeviceTime *time = &g_array_index (times, DeviceTime, i);
      g_autofree char *ranks = g_strdup_printf ("%d", time->ranks), *ms = studio_format_number (1000 * time->seconds);
      g_autofree char *each = g_strdup_printf (_ ("%s ms"), ms), *plain = g_strdup_printf ("%.2f", time->speedup);
      g_autofree char *times_text = studio_format_local (plain);
      g_autofree char *speedup = g_strdup_printf ("× %s", times_text);

      put (self->times, 0, (int)i + 1, ranks, FALSE);
      put (self->times, 1, (int)i + 1, each, FALSE);
      put (self->times, 2, (int)i + 1, speedup, FALSE);
    }
  gtk_spinner_set_spinning (GTK_SPINNER (self->spinner), busy);
  gtk_widget_set_sensitive (self->forecast, !busy && !studio_run_is_live (self->run));
}

/* ---- what cannot be ---------------------------------------------------------------------- */

/* One sentence about what cannot be, the gravest first. (transfer full) */
static char *
dup_sentence (Devices *self)
{
  const LoomElement *train = find_train (self);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  const char *const *names = studio_devices_get_names (self->devices);
  const char *host = studio_run_get_host (self->run);
  g_autofree char *launcher = NULL, *fault = studio_host_field_dup_fault (self->host);

  if (train == NULL)
    return g_strdup (_ ("The graph has no loss to train, so there is nothing to divide yet."));
  if (fault != NULL)
    return g_steal_pointer (&fault);
  if (host != NULL && studio_devices_get_fault (self->devices) != NULL)
    return studio_run_rewrite_message (studio_devices_get_fault (self->devices));
  if (device != NULL && names != NULL && !g_strv_contains (names, device))
    return host == NULL ? g_strdup_printf (_ ("The device “%s” is not on this machine. Choose another one."), device)
                        : g_strdup_printf (_ ("The device “%1$s” is not on %2$s. Choose another one."), device, host);
  if (device_figures_why (self->figures) != NULL)
    return g_strdup (device_figures_why (self->figures));
  if (studio_run_is_live (self->run))
    return g_strdup (_ ("A run is training. These settings are for the next one."));
  if (host == NULL && studio_run_get_ranks (self->run) > 1 && (launcher = loom_dist_find_launcher ()) == NULL)
    return g_strdup (_ ("MPI is not on this machine, so the ranks are threads of one process."));
  return NULL;
}

static void
show_sentence (Devices *self)
{
  g_autofree char *sentence = dup_sentence (self);

  gtk_label_set_text (GTK_LABEL (self->sentence), sentence != NULL ? sentence : "");
  gtk_widget_set_visible (self->sentence, sentence != NULL);
}

/* Studio starts ranks on this machine; on others a terminal does. */
static void
show_hosts (Devices *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *word = loom_text_shell_word (path != NULL ? path : "graph.xml");
  g_autofree char *text = g_strdup_printf (_ ("On other hosts: gradloom train %s --hosts a:2,b:2"), word);

  gtk_label_set_text (GTK_LABEL (self->hosts), text);
}

static void
figures_cb (gpointer data)
{
  Devices *self = data;

  show_shards (self);
  show_times (self);
  show_sentence (self);
}

/* ---- choices ----------------------------------------------------------------------------- */

static void
show_choices (Devices *self)
{
  const char *const *names = device_names (self);
  const LoomElement *train = find_train (self);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  const char *stages = parallel_value (self, "pipeline"), *strategy = parallel_value (self, "strategy");

  self->filling = TRUE;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (device == NULL ? i == 0 : g_str_equal (names[i], device))
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->device), i);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->stages),
                             stages != NULL ? CLAMP (g_ascii_strtod (stages, NULL), 1, MOST_STAGES) : 1);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->shards), 0);
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    if (g_strcmp0 (strategies[i], strategy) == 0)
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->shards), i);
  self->filling = FALSE;
}

static void
fill_devices (Devices *self)
{
  const char *const *names = device_names (self);
  StudioDevices *devices = names == studio_devices_get_names (self->devices) ? self->devices : studio_devices_get ();
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *text = studio_devices_describe (devices, names[i]);
      gtk_string_list_append (list, text);
    }
  self->filling = TRUE;
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->device), G_LIST_MODEL (list));
  self->filling = FALSE;
}

static void
devices_cb (Devices *self)
{
  fill_devices (self);
  show_choices (self);
  show_sentence (self);
}

/* Another host may have been chosen. */
static void
take_devices (Devices *self)
{
  StudioDevices *devices = studio_devices_get_of (studio_run_get_host (self->run));

  if (devices == self->devices)
    return;
  if (self->devices != NULL)
    g_signal_handlers_disconnect_by_data (self->devices, self);
  self->devices = devices;
  g_signal_connect_swapped (devices, "changed", G_CALLBACK (devices_cb), self);
  g_signal_connect_swapped (devices, "details", G_CALLBACK (devices_cb), self);
  fill_devices (self);
}

static gboolean
request_cb (gpointer data)
{
  Devices *self = data;
  const LoomElement *train = find_train (self);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;

  self->timer = 0;
  device = device != NULL && studio_run_get_host (self->run) != NULL ? studio_devices_stand_in (device) : NULL;
  if (train != NULL && loom_faults_count (studio_document_get_faults (self->document)) == 0)
    device_figures_request_shards (self->figures, studio_run_get_ranks (self->run), device);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (Devices *self)
{
  take_devices (self);
  show_choices (self);
  show_sentence (self);
  show_times (self);
  g_clear_handle_id (&self->timer, g_source_remove);
  self->timer = g_timeout_add (CALM_MS, request_cb, self);
}

static void
device_cb (Devices *self)
{
  const char *const *names = device_names (self);
  const guint chosen = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->device));

  if (!self->filling && names != NULL && chosen < g_strv_length ((char **)names))
    studio_training_set (self->document, "device", names[chosen]);
}

static void
stages_cb (Devices *self)
{
  const int n = gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->stages));
  g_autofree char *text = n > 1 ? g_strdup_printf ("%d", n) : NULL;
  int least;

  if (self->filling)
    return;
  studio_training_set_parallel (self->document, "pipeline", text);
  /* Each stage needs a rank. */
  least = studio_rank_count_required (self->document);
  if (studio_run_get_ranks (self->run) % MAX (n, 1) != 0 && least <= STUDIO_RANK_COUNT_MAX)
    studio_run_set_ranks (self->run, MAX (least, n));
}

static void
shards_cb (Devices *self)
{
  const guint chosen = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->shards));

  if (!self->filling && chosen < G_N_ELEMENTS (strategies))
    studio_training_set_parallel (self->document, "strategy", strategies[chosen]);
}

static void
forecast_cb (Devices *self)
{
  device_figures_request_times (self->figures, studio_rank_count_required (self->document));
}

/* ---- content ----------------------------------------------------------------------------- */

static void
add_field (Devices *self, int row, const char *title, GtkWidget *field)
{
  gtk_widget_set_halign (field, GTK_ALIGN_END);
  gtk_grid_attach (GTK_GRID (self->choices), field, 1, row, 1, 1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (field), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
}

static void
make_content (Devices *self)
{
  self->popover = studio_template_new ("studio-devices-popover.ui");
  STUDIO_TEMPLATE_FIELDS (self->popover, self, scroller, choices, device, stages, shards, sentence, memory, times,
                          forecast, spinner, hosts);
  self->host = studio_host_field_new (self->run);
  take_devices (self);
  add_field (self, 1, _ ("Ranks"), studio_rank_count_spin_new (self->document, self->run));
  add_field (self, 4, _ ("Host"), self->host);
  show_choices (self);
  g_signal_connect_swapped (self->host, "changed", G_CALLBACK (show_sentence), self);
  g_signal_connect_swapped (self->device, "notify::selected", G_CALLBACK (device_cb), self);
  g_signal_connect_swapped (self->stages, "value-changed", G_CALLBACK (stages_cb), self);
  g_signal_connect_swapped (self->shards, "notify::selected", G_CALLBACK (shards_cb), self);
  g_signal_connect_swapped (self->forecast, "clicked", G_CALLBACK (forecast_cb), self);
}

/* ---- life -------------------------------------------------------------------------------- */

static void
devices_free (gpointer data)
{
  Devices *self = data;

  g_clear_handle_id (&self->timer, g_source_remove);
  g_signal_handlers_disconnect_by_data (self->document, self);
  g_signal_handlers_disconnect_by_data (self->run, self);
  g_signal_handlers_disconnect_by_data (self->devices, self);
  device_figures_free (self->figures);
  g_object_unref (self->document);
  g_object_unref (self->run);
  g_free (self);
}

static gboolean
unparent_cb (gpointer popover)
{
  gtk_widget_unparent (popover);
  return G_SOURCE_REMOVE;
}

/* Its handlers run on after this one. */
static void
closed_cb (GtkPopover *popover, Devices *self)
{
  g_autofree char *fault = studio_host_field_dup_fault (self->host);

  if (fault != NULL)
    {
      g_autofree char *sentence = g_strdup_printf (_ ("%s The next run trains on this machine."), fault);
      studio_run_take_problem (self->run, "NOTE", "", "", sentence);
    }
  g_idle_add (unparent_cb, popover);
}

/* The lower edge of the button, which need not be in the widget. */
static GdkRectangle
place_of (GtkWidget *button, GtkWidget *at)
{
  graphene_rect_t bounds;

  if (button == NULL || !gtk_widget_get_mapped (button) || !gtk_widget_compute_bounds (button, at, &bounds))
    return (GdkRectangle){ gtk_widget_get_width (at) - 24, 0, 1, 1 };
  return (GdkRectangle){ (int)bounds.origin.x, (int)(bounds.origin.y + bounds.size.height) - 1, (int)bounds.size.width,
                         1 };
}

void
studio_devices_popover_open (StudioDocument *document, StudioRun *run, GtkWidget *at, GtkWidget *button)
{
  Devices *self = g_new0 (Devices, 1);
  const GdkRectangle place = place_of (button, at);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->figures = device_figures_new (document, figures_cb, self);
  make_content (self);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover), &place);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (self->scroller),
                                              MAX (gtk_widget_get_height (at) - 60, 120));
  g_object_set_data_full (G_OBJECT (self->popover), "devices", self, devices_free);
  gtk_widget_set_parent (self->popover, at);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (run, "ranks-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (run, "state-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect (self->popover, "closed", G_CALLBACK (closed_cb), self);
  show_hosts (self);
  figures_cb (self);
  request_cb (self);
  gtk_popover_popup (GTK_POPOVER (self->popover));
}
