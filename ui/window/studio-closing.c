/* Implements studio-closing.h. */
#include "ui/window/studio-closing.h"

#include <glib/gi18n.h>

#include "ui/page/studio-guard.h"

/* The pages to close. Pages to save are saved one after another; a failure keeps that page and the remaining ones. */
typedef struct
{
  StudioClosing parts; /* tabs and window are owned */
  GPtrArray *going;
  gboolean whole;   /* the window closes too */
  GPtrArray *pages; /* to be saved */
  GPtrArray *check; /* of each edited page: its check button, not owned */
  guint next;
  guint n_kept; /* of the pages to close */
} Job;

static Job *
job_new (const StudioClosing *parts, GPtrArray *going, gboolean whole)
{
  Job *closing = g_new0 (Job, 1);
  *closing = (Job){ .parts = *parts, .going = g_ptr_array_ref (going), .whole = whole };
  g_object_ref (parts->tabs);
  g_object_ref (parts->window);
  closing->check = g_ptr_array_new ();
  return closing;
}

static void
job_free (gpointer data)
{
  Job *closing = data;
  g_object_unref (closing->parts.tabs);
  g_object_unref (closing->parts.window);
  g_ptr_array_unref (closing->going);
  g_ptr_array_unref (closing->check);
  g_clear_pointer (&closing->pages, g_ptr_array_unref);
  g_free (closing);
}

static gboolean
is_edited (StudioPage *page)
{
  return studio_document_is_edited (studio_page_get_document (page));
}

static gboolean
is_live (StudioPage *page)
{
  return studio_run_is_live (studio_page_get_run (page));
}

static GPtrArray *
pages_of (StudioTabs *tabs, StudioPage *but)
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < studio_tabs_n_pages (tabs); i++)
    if (studio_tabs_get_nth_page (tabs, i) != but)
      g_ptr_array_add (pages, g_object_ref (studio_tabs_get_nth_page (tabs, i)));
  return pages;
}

static GPtrArray *
pages_that (GPtrArray *of, gboolean (*have) (StudioPage *page))
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < of->len; i++)
    if (have (of->pdata[i]))
      g_ptr_array_add (pages, g_object_ref (of->pdata[i]));
  return pages;
}

/* Only a crash should leave journals; the user has decided about these. */
static void
let_all_go (const StudioClosing *self)
{
  for (guint i = 0; i < studio_tabs_n_pages (self->tabs); i++)
    studio_page_let_go (studio_tabs_get_nth_page (self->tabs, i));
  studio_questions_detach (self->questions);
}

/* A page must be freed with its window and not be kept alive by the dialog. */
static void
go (Job *closing)
{
  const StudioClosing parts = closing->parts;
  g_autoptr (StudioTabs) tabs = g_object_ref (parts.tabs);
  g_autoptr (GtkWindow) window = g_object_ref (parts.window);
  g_autoptr (GPtrArray) going = g_ptr_array_new ();
  const gboolean whole = closing->whole;
  for (guint i = 0; i < closing->going->len; i++)
    g_ptr_array_add (going, closing->going->pdata[i]);
  job_free (closing);
  for (guint i = 0; !whole && i < going->len; i++)
    studio_tabs_drop_page (tabs, going->pdata[i]);
  if (!whole)
    return;
  let_all_go (&parts);
  gtk_window_destroy (window);
}

/* ---- one page ------------------------------------------------------------------------------------ */

static void
leave_cb (StudioPage *page, gpointer closing)
{
  go (closing);
}

static void
stay_cb (StudioPage *page, gpointer closing)
{
  job_free (closing);
}

static void
ask_about_one (Job *closing, StudioPage *page)
{
  studio_tabs_show_page (closing->parts.tabs, page);
  studio_page_ask_to_leave (page, leave_cb, stay_cb, closing);
}

/* ---- several ------------------------------------------------------------------------------------- */

static void
save_next_cb (StudioPage *saved, gpointer data)
{
  Job *closing = data;
  if (closing->next == closing->pages->len)
    {
      go (closing);
      return;
    }
  StudioPage *page = g_ptr_array_index (closing->pages, closing->next++);
  /* Saving may ask for a file name. */
  studio_tabs_show_page (closing->parts.tabs, page);
  studio_page_save_then (page, save_next_cb, stay_cb, closing);
}

static void
leave (Job *closing)
{
  if (closing->pages != NULL)
    save_next_cb (NULL, closing);
  else
    go (closing);
}

static void keep_next (Job *closing);

static void
kept_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Job *closing = data;
  g_autoptr (GError) error = NULL;

  if (studio_run_keep_finish (result, &error))
    {
      studio_run_set_goes_on (STUDIO_RUN (source), TRUE);
      keep_next (closing);
      return;
    }
  for (guint i = 0; i < closing->going->len; i++)
    studio_run_set_goes_on (studio_page_get_run (closing->going->pdata[i]), FALSE);
  studio_guard_say_not_kept (closing->parts.questions, error->message);
  job_free (closing);
}

/* Workers may refuse to go on, so they are asked while the window can still say so. */
static void
keep_next (Job *closing)
{
  while (closing->n_kept < closing->going->len)
    {
      StudioPage *page = closing->going->pdata[closing->n_kept++];
      if (is_live (page))
        {
          studio_run_keep_async (studio_page_get_run (page), kept_cb, closing);
          return;
        }
    }
  leave (closing);
}

static void
response_cb (AdwMessageDialog *dialog, const char *response)
{
  Job *closing = g_object_steal_data (G_OBJECT (dialog), "closing");
  if (closing == NULL)
    return;
  for (guint i = 0; i < closing->going->len; i++)
    studio_run_set_goes_on (studio_page_get_run (closing->going->pdata[i]), FALSE);
  if (g_str_equal (response, "save"))
    {
      g_autoptr (GPtrArray) edited = pages_that (closing->going, is_edited);
      closing->pages = g_ptr_array_new_with_free_func (g_object_unref);
      for (guint i = 0; i < edited->len; i++)
        if (closing->check->len == 0 || gtk_check_button_get_active (closing->check->pdata[i]))
          g_ptr_array_add (closing->pages, g_object_ref (edited->pdata[i]));
    }
  if (g_str_equal (response, "go-on"))
    keep_next (closing);
  else if (closing->pages == NULL && !g_str_equal (response, "discard") && !g_str_equal (response, "stop"))
    job_free (closing);
  else if (studio_guard_get_goes_on (dialog))
    keep_next (closing);
  else
    leave (closing);
}

/* "Save All" becomes "Save Selected" if some are unchecked; with none checked, "Discard All" is the way. */
static void
check_cb (AdwMessageDialog *dialog)
{
  const Job *closing = g_object_get_data (G_OBJECT (dialog), "closing");
  guint n = 0;
  for (guint i = 0; i < closing->check->len; i++)
    n += gtk_check_button_get_active (closing->check->pdata[i]);
  adw_message_dialog_set_response_label (dialog, "save",
                                         n == closing->check->len ? _ ("_Save All") : _ ("_Save Selected"));
  adw_message_dialog_set_response_enabled (dialog, "save", n > 0);
}

/* Shows the file of a page, or that it has none. */
static GtkWidget *
row_for (StudioPage *page, GtkWidget *check)
{
  const char *path = studio_document_get_path (studio_page_get_document (page));
  g_autofree char *shown = path != NULL ? g_filename_display_name (path) : g_strdup (_ ("Not saved in a file yet"));
  GtkWidget *row = adw_action_row_new ();
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), studio_page_get_title (page));
  g_autofree char *subtitle = g_markup_escape_text (shown, -1);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 1);
  gtk_widget_set_valign (check, GTK_ALIGN_CENTER);
  gtk_check_button_set_active (GTK_CHECK_BUTTON (check), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (check), GTK_ACCESSIBLE_PROPERTY_LABEL, studio_page_get_title (page),
                                  -1);
  adw_action_row_add_prefix (ADW_ACTION_ROW (row), check);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), check);
  return row;
}

static void
list_documents (Job *closing, AdwMessageDialog *dialog, GPtrArray *edited)
{
  GtkWidget *list = gtk_list_box_new (), *window = gtk_scrolled_window_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Graphs to save"), -1);
  for (guint i = 0; i < edited->len; i++)
    {
      GtkWidget *check = gtk_check_button_new ();
      g_ptr_array_add (closing->check, check);
      gtk_list_box_append (GTK_LIST_BOX (list), row_for (edited->pdata[i], check));
      g_signal_connect_object (check, "toggled", G_CALLBACK (check_cb), dialog, G_CONNECT_SWAPPED);
    }
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (window), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (window), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (window), 300);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (window), list);
  adw_message_dialog_set_extra_child (dialog, window);
}

/* Lists the edits that would be lost and what happens to the runs. */
static char *
dup_body (GPtrArray *edited, GPtrArray *live, guint queued)
{
  g_autoptr (GString) text = g_string_new (NULL);
  if (edited->len > 0)
    g_string_append (text, _ ("Unsaved changes will be lost."));
  for (guint i = 0; i < live->len; i++)
    {
      g_autofree char *run = studio_page_dup_run_sentence (g_ptr_array_index (live, i));
      g_string_append_printf (text, "%s%s", i > 0 ? " " : text->len > 0 ? "\n\n" : "", run);
    }
  if (live->len > 0)
    g_string_append_printf (text, " %s",
                            ngettext ("The run will finish its step and write a checkpoint.",
                                      "Each run will finish its step and write a checkpoint.", live->len));
  g_autofree char *lost = queued > 0 ? studio_guard_dup_queue_sentence (queued) : NULL;
  if (lost != NULL)
    g_string_append_printf (text, "%s%s", text->len > 0 ? "\n\n" : "", lost);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
ask_about_several (Job *closing)
{
  g_autoptr (GPtrArray) edited = pages_that (closing->going, is_edited), live = pages_that (closing->going, is_live);
  gboolean can_go_on = FALSE;
  guint queued = 0;
  for (guint i = 0; i < live->len; i++)
    can_go_on = can_go_on || studio_run_can_go_on (studio_page_get_run (live->pdata[i]));
  for (guint i = 0; i < closing->going->len; i++)
    queued += studio_page_n_queued (closing->going->pdata[i]);
  g_autofree char *body = dup_body (edited, live, queued), *heading = NULL;
  if (edited->len == 0 && live->len == 0)
    heading = g_strdup (_ ("Close and lose the queue?"));
  else if (edited->len == 0)
    heading = g_strdup_printf (ngettext ("Stop %u run and close?", "Stop %u runs and close?", live->len), live->len);
  else if (edited->len == 1)
    heading = g_strdup_printf (_ ("Save changes to “%s”?"), studio_page_get_title (g_ptr_array_index (edited, 0)));
  else
    heading = g_strdup_printf (ngettext ("Save changes to %u graph?", "Save changes to %u graphs?", edited->len),
                               edited->len);
  AdwMessageDialog *dialog = studio_questions_add (closing->parts.questions, heading, body);
  if (edited->len == 0 && can_go_on)
    adw_message_dialog_add_response (dialog, "go-on", _ ("_Go On Without the Window"));
  if (edited->len == 0)
    adw_message_dialog_add_response (dialog, "stop", live->len > 0 ? _ ("_Stop and Close") : _ ("_Close"));
  else
    {
      adw_message_dialog_add_responses (dialog, "discard", edited->len > 1 ? _ ("_Discard All") : _ ("_Discard"),
                                        "save", edited->len > 1 ? _ ("_Save All") : _ ("_Save"), NULL);
      adw_message_dialog_set_response_appearance (dialog, "discard", ADW_RESPONSE_DESTRUCTIVE);
      adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
    }
  adw_message_dialog_set_default_response (dialog, edited->len == 0 ? "stop" : "save");
  g_object_set_data_full (G_OBJECT (dialog), "closing", closing, job_free);
  if (edited->len > 1)
    list_documents (closing, dialog, edited);
  if (edited->len > 0 && can_go_on)
    studio_guard_add_goes_on (dialog, live->len);
  g_signal_connect (dialog, "response", G_CALLBACK (response_cb), NULL);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- the close button ------------------------------------------------------------------------------ */

static gboolean
is_asking (const StudioClosing *self)
{
  for (guint i = 0; i < studio_tabs_n_pages (self->tabs); i++)
    if (studio_page_is_asking (studio_tabs_get_nth_page (self->tabs, i)))
      return TRUE;
  return studio_questions_is_asking (self->questions);
}

/* Takes ownership of closing. FALSE: nothing would be lost, and no dialog is shown. */
static gboolean
ask (Job *closing)
{
  for (guint i = 0; i < closing->going->len; i++)
    studio_page_commit (closing->going->pdata[i]);
  g_autoptr (GPtrArray) losing = pages_that (closing->going, studio_page_would_lose);
  const guint n = losing->len;
  if (n == 0)
    job_free (closing);
  else if (n == 1)
    ask_about_one (closing, losing->pdata[0]);
  else
    ask_about_several (closing);
  return n > 0;
}

gboolean
studio_closing_ask (const StudioClosing *self)
{
  if (is_asking (self))
    return TRUE;
  g_autoptr (GPtrArray) all = pages_of (self->tabs, NULL);
  if (ask (job_new (self, all, TRUE)))
    return TRUE;
  let_all_go (self);
  return FALSE;
}

void
studio_closing_close_others (const StudioClosing *self)
{
  if (is_asking (self))
    return;
  g_autoptr (GPtrArray) others = pages_of (self->tabs, studio_tabs_get_target_page (self->tabs));
  if (!ask (job_new (self, others, FALSE)))
    go (job_new (self, others, FALSE));
}
