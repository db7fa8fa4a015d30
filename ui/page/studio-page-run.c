/* Training in a page: what its one button does, and what belongs to the run that is shown. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/run/studio-inventory-window.h"
#include "ui/run/studio-rank-count.h"
#include "ui/run/studio-timeline-window.h"
#include "ui/training/studio-training-settings.h"
#include "ui/page/studio-page-private.h"

/* ---- starting ------------------------------------------------------------------------------- */

static gboolean
is_sound (StudioPage *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  if (loom_faults_count (faults) == 0)
    return TRUE;
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      if (fault->is_warning)
        continue;
      g_autofree char *text
          = fault->node != NULL ? g_strdup_printf ("%s: %s", fault->node, fault->message) : g_strdup (fault->message);
      studio_page_toast (self, text);
      break;
    }
  studio_page_show_faults (self);
  return FALSE;
}

/* ---- data outside the graph's folder --------------------------------------------------------- */

static void start (StudioPage *self, gboolean paused);

/* Asks about what the graph reads outside its folder. NULL if it reads nothing there, all of it was agreed to, or a
 * question is open already, which *must_wait says. */
static AdwMessageDialog *
new_outside_question (StudioPage *self, const char *label, gboolean *must_wait)
{
  g_auto (GStrv) paths = studio_document_outside (self->document);
  *must_wait = paths[0] != NULL && studio_document_get_path (self->document) != NULL;
  if (!*must_wait)
    {
      studio_document_agree (self->document); /* the paths of a graph without a file were chosen here */
      return NULL;
    }
  if (studio_page_is_asking (self))
    return NULL;
  g_autofree char *list = g_strjoinv ("\n", paths);
  g_autofree char *shown = loom_text_printable (list, FALSE, 2000);
  g_autofree char *body = g_strdup_printf (_ ("This graph reads data outside its own folder:\n%s\nIf you did not "
                                              "create the graph, make sure that this is intended."),
                                           shown);
  AdwMessageDialog *dialog = studio_page_new_question (self, _ ("Read Files Outside the Graph’s Folder?"), body);
  adw_message_dialog_add_response (dialog, "read", label);
  return dialog;
}

static void
read_response_cb (AdwMessageDialog *dialog, const char *response, StudioPage *self)
{
  if (g_str_equal (response, "read"))
    studio_document_agree (self->document);
}

void
studio_page_ask_to_read (StudioPage *self)
{
  gboolean must_wait;
  AdwMessageDialog *dialog = new_outside_question (self, _ ("_Read"), &must_wait);
  if (dialog == NULL)
    return;
  g_signal_connect_object (dialog, "response", G_CALLBACK (read_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
train_response_cb (AdwMessageDialog *dialog, const char *response, StudioPage *self)
{
  if (!g_str_equal (response, "read"))
    return;
  studio_document_agree (self->document);
  start (self, GPOINTER_TO_INT (g_object_get_data (G_OBJECT (dialog), "paused")));
}

/* TRUE if the run may read what its graph names. A graph that was opened from a file may be from elsewhere, so files
 * outside its folder are asked about, once. */
static gboolean
may_read (StudioPage *self, gboolean paused)
{
  gboolean must_wait;
  AdwMessageDialog *dialog = new_outside_question (self, _ ("_Read and Train"), &must_wait);
  if (dialog == NULL)
    return !must_wait;
  g_object_set_data (G_OBJECT (dialog), "paused", GINT_TO_POINTER (paused));
  g_signal_connect_object (dialog, "response", G_CALLBACK (train_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
  return FALSE;
}

/* Trains what start() has found to be sound, and whose data may be read. */
static void
begin (StudioPage *self, gboolean paused)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = loom_graph_write (graph, NULL);
  g_autofree char *name = studio_document_dup_title (self->document);
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  options.paused = paused;
  studio_document_mark_run (self->document);
  studio_run_start (self->run, xml, loom_graph_get_folder (graph), name, &options);
  g_autofree char *hash = loom_graph_hash (graph);
  studio_run_remember (self->run, hash);
  if (paused)
    studio_run_step (self->run);
  studio_page_show_panel (self);
}

static void
start (StudioPage *self, gboolean paused)
{
  g_autoptr (GError) error = NULL;
  /* A fault of the last run does not forbid another run. */
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  /* Data that wait for an agreement are a fault themselves. */
  if (!may_read (self, paused) || !is_sound (self))
    return;
  if (!studio_training_ensure (self->document, &error))
    {
      studio_page_toast (self, error->message);
      return;
    }
  if (is_sound (self))
    begin (self, paused);
}

void
studio_page_train (StudioPage *self)
{
  switch (studio_run_get_state (self->run))
    {
    case STUDIO_RUN_RUNNING:
      studio_run_pause (self->run);
      break;
    case STUDIO_RUN_PAUSED:
      studio_run_resume (self->run);
      break;
    case STUDIO_RUN_STARTING:
      if (studio_run_is_pause_wanted (self->run))
        studio_run_resume (self->run);
      else
        studio_run_pause (self->run);
      break;
    case STUDIO_RUN_IDLE:
    case STUDIO_RUN_DONE:
    case STUDIO_RUN_STOPPED:
    case STUDIO_RUN_FAILED:
    case STUDIO_RUN_LOST:
      start (self, FALSE);
      break;
    }
}

/* ---- going on ------------------------------------------------------------------------------- */

/* The attributes of <train> that may change for a run that goes on: where it trains, and how long. The learning rate is
 * the run's. */
static const char *const may_change[] = { "device", "epochs" };

static LoomElement *
train_of (LoomGraph *graph)
{
  return loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
}

/* The run's own graph; NULL before the first run. */
static LoomGraph *
read_run_graph (StudioPage *self)
{
  const char *xml = studio_run_get_graph (self->run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  return xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;
}

/* TRUE when the run, gone on with as the document now says, is of the document's version. Changes run. */
static gboolean
is_of_this_version (StudioPage *self, LoomGraph *run)
{
  LoomGraph *document = studio_document_get_graph (self->document);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  if (here == NULL || there == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (may_change); i++)
    {
      const char *value = loom_element_get (here, may_change[i]);
      g_autoptr (LoomEdit) inverse = loom_graph_apply (run, loom_edit_set (there, may_change[i], value));
    }
  g_autofree char *a = loom_graph_hash (document), *b = loom_graph_hash (run);
  return g_str_equal (a, b);
}

static void
go_on (StudioPage *self, double lr, gboolean paused)
{
  StudioRunOptions changes = STUDIO_RUN_OPTIONS_INIT;
  LoomGraph *document = studio_document_get_graph (self->document);
  g_autoptr (LoomGraph) run = read_run_graph (self);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  const char *epochs = here != NULL ? loom_element_get (here, "epochs") : NULL;
  changes.device = studio_page_get_device (self);
  if (there != NULL && epochs != NULL && g_strcmp0 (epochs, loom_element_get (there, "epochs")) != 0)
    changes.epochs = g_ascii_strtoll (epochs, NULL, 10);
  changes.lr = lr;
  changes.paused = paused;
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_run_continue (self->run, &changes);
  if (is_of_this_version (self, run))
    {
      g_autofree char *hash = loom_graph_hash (document);
      studio_document_mark_run (self->document);
      studio_run_remember (self->run, hash);
      studio_run_banners_update_version (self->run_bars);
    }
  if (paused)
    studio_run_step (self->run);
}

void
studio_page_continue (StudioPage *self)
{
  go_on (self, NAN, FALSE);
}

void
studio_page_continue_slower (StudioPage *self)
{
  go_on (self, studio_run_get_base_lr (self->run) / 10, FALSE);
}

void
studio_page_step (StudioPage *self)
{
  if (studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    studio_run_pause (self->run);
  else if (studio_run_is_live (self->run))
    studio_run_step (self->run);
  else
    {
      g_autoptr (LoomGraph) run = studio_run_can_resume (self->run) ? read_run_graph (self) : NULL;
      if (is_of_this_version (self, run))
        go_on (self, NAN, TRUE);
      else
        start (self, TRUE);
    }
}

void
studio_page_restart (StudioPage *self)
{
  start (self, FALSE);
}

/* The graph as the run has it, in a page of its own. */
void
studio_page_show_run (StudioPage *self)
{
  const char *folder = studio_run_get_folder (self->run);
  g_autoptr (GFile) file = folder != NULL ? g_file_new_build_filename (folder, "graph.xml", NULL) : NULL;
  if (file == NULL || !g_file_query_exists (file, NULL))
    {
      studio_page_toast (self, _ ("The run has not written its graph yet."));
      return;
    }
  g_autofree char *uri = g_file_get_uri (file);
  gtk_widget_activate_action (GTK_WIDGET (self), "win.open-recent", "s", uri);
}

/* ---- how fast ------------------------------------------------------------------------------- */

#define WATCH_SECONDS 30

/* Remembered while the program runs: a page that is opened later begins as the last one was set. */
static gboolean full_speed;

void
studio_page_set_speed (StudioPage *self, const char *speed)
{
  full_speed = g_str_equal (speed, "full");
  studio_run_set_pace (self->run, full_speed ? 0 : WATCH_SECONDS);
  studio_run_panel_set_speed (self->run_panel, speed);
}

const char *
studio_page_get_speed (void)
{
  return full_speed ? "full" : "watch";
}

/* ---- the run's news --------------------------------------------------------------------------- */

static void
state_cb (StudioRun *run, StudioPage *self)
{
  StudioRunState state = studio_run_get_state (run);
  if (state == STUDIO_RUN_STARTING || state == STUDIO_RUN_RUNNING)
    studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_page_update_actions (self);
}

static void
problem_cb (StudioRun *run, const char *code, const char *node, const char *port, const char *sentence,
            StudioPage *self)
{
  /* The card says it; where no card does, the bar of a run that failed; what is no failure, a toast. */
  if (node != NULL && *node != '\0' && studio_document_run_has (self->document, node))
    {
      studio_document_set_run_fault (self->document, code, node, port, sentence);
      return;
    }
  if (!g_str_equal (code, "NOTE") && !g_str_equal (code, "REFUSED"))
    return;
  g_autofree char *text
      = node != NULL && *node != '\0' ? g_strdup_printf ("%s: %s", node, sentence) : g_strdup (sentence);
  studio_page_toast (self, text);
}

static void
memory_cb (StudioRun *run, StudioPage *self)
{
  studio_page_update_title (self);
}

/* A worker that this page has just let go of is soon done; what trains longer than this trains elsewhere. */
#define ELSEWHERE_MS 700

/* Finds the run of this graph that an earlier Studio left. */
static gboolean
find_cut_off (StudioPage *self, const char *hash)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  if (!studio_run_find_interrupted (self->run, hash, loom_graph_get_folder (graph)))
    return FALSE;
  studio_document_mark_run (self->document);
  studio_page_show_panel (self);
  return TRUE;
}

/* A graph that trains in another page is no run that ended early; once it is over there, it is looked for again. */
static gboolean
elsewhere_cb (gpointer data)
{
  StudioPage *self = data;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  gboolean idle = studio_run_get_state (self->run) == STUDIO_RUN_IDLE;
  gboolean elsewhere = idle && studio_run_is_elsewhere (hash);
  studio_run_set_elsewhere (self->run, elsewhere);
  if (elsewhere)
    return G_SOURCE_CONTINUE;
  self->elsewhere_timer = 0;
  if (idle)
    find_cut_off (self, hash);
  return G_SOURCE_REMOVE;
}

static void
look_for_run (StudioPage *self)
{
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  if (studio_document_get_path (self->document) == NULL)
    return;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  if (!find_cut_off (self, hash) && studio_run_is_elsewhere (hash))
    self->elsewhere_timer = g_timeout_add (ELSEWHERE_MS, elsewhere_cb, self);
}

/* A document that was opened has no run yet: what is shown of an earlier one would be another graph's. */
void
studio_page_setup_run (StudioPage *self)
{
  if (g_object_get_data (G_OBJECT (self->run), "wired") == NULL)
    {
      g_signal_connect (self->run, "state-changed", G_CALLBACK (state_cb), self);
      g_signal_connect (self->run, "problem", G_CALLBACK (problem_cb), self);
      g_signal_connect (self->run, "memory-changed", G_CALLBACK (memory_cb), self);
      g_object_set_data (G_OBJECT (self->run), "wired", self);
    }
  else
    {
      studio_run_reset (self->run);
      self->panel_shown = FALSE;
      studio_document_unmark_run (self->document);
    }
  look_for_run (self);
  state_cb (self->run, self);
  studio_page_open_lesson (self);
  /* The pages of a lesson say when to set them, after a look at one rank. */
  if (studio_lesson_get (self->lesson) == NULL)
    {
      int wanted = studio_rank_count_required (self->document);
      /* More than the field offers are for a cluster, and not for this machine. */
      studio_run_set_ranks (self->run, wanted <= STUDIO_RANK_COUNT_MAX ? wanted : 1);
    }
  studio_page_open_task (self);
}

/* ---- devices ------------------------------------------------------------------------------------- */

/* The device that the document names, else the best that there is. */
const char *
studio_page_get_device (StudioPage *self)
{
  const char *const *names = studio_devices_get_names (studio_devices_get ());
  LoomElement *train = train_of (studio_document_get_graph (self->document));
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  return device != NULL || names == NULL ? device : names[0];
}

void
studio_page_set_device (StudioPage *self, const char *device)
{
  studio_training_set (self->document, "device", device);
}

/* ---- lanes of a step ------------------------------------------------------------------------------ */

void
studio_page_show_timeline (StudioPage *self)
{
  studio_timeline_window_present (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), &self->timeline, self->run);
}

/* ---- parameters and memory ------------------------------------------------------------------------ */

static void
show_inventory (StudioPage *self, const char *page)
{
  studio_inventory_window_present (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), &self->inventory,
                                   self->document, self->run, page);
}

void
studio_page_show_parameters (StudioPage *self)
{
  show_inventory (self, "parameters");
}

void
studio_page_show_memory (StudioPage *self)
{
  show_inventory (self, "memory");
}
