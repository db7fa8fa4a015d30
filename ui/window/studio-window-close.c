/* Closes a window, or all tabs but one. One dialog asks about all the pages to be closed and lists those with unsaved
 * changes. */
#include "ui/window/studio-window-private.h"

#include <glib/gi18n.h>

/* The pages to close. Pages to save are saved one after another; a failure keeps that page and the remaining ones. */
typedef struct
{
  StudioWindow *window;
  GPtrArray *going;
  gboolean whole;   /* the window closes too */
  GPtrArray *pages; /* to be saved */
  GPtrArray *check; /* of each edited page: its check button, not owned */
  guint next;
} Closing;

static Closing *
closing_new (StudioWindow *window, GPtrArray *going, gboolean whole)
{
  Closing *closing = g_new0 (Closing, 1);
  *closing = (Closing){ .window = g_object_ref (window), .going = g_ptr_array_ref (going), .whole = whole };
  closing->check = g_ptr_array_new ();
  return closing;
}

static void
closing_free (gpointer data)
{
  Closing *closing = data;
  g_object_unref (closing->window);
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
pages_of (StudioWindow *self, StudioPage *but)
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    if (studio_window_get_nth_page (self, i) != but)
      g_ptr_array_add (pages, g_object_ref (studio_window_get_nth_page (self, i)));
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
let_all_go (StudioWindow *self)
{
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    studio_page_let_go (studio_window_get_nth_page (self, i));
  studio_questions_detach (self->questions);
}

/* A page must be freed with its window and not be kept alive by the dialog. */
static void
go (Closing *closing)
{
  g_autoptr (StudioWindow) window = g_object_ref (closing->window);
  g_autoptr (GPtrArray) going = g_ptr_array_new ();
  const gboolean whole = closing->whole;
  for (guint i = 0; i < closing->going->len; i++)
    g_ptr_array_add (going, closing->going->pdata[i]);
  closing_free (closing);
  for (guint i = 0; !whole && i < going->len; i++)
    studio_window_drop_tab (window, going->pdata[i]);
  if (!whole)
    return;
  let_all_go (window);
  gtk_window_destroy (GTK_WINDOW (window));
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
  closing_free (closing);
}

static void
ask_about_one (Closing *closing, StudioPage *page)
{
  studio_window_show_page (closing->window, page);
  studio_page_ask_to_leave (page, leave_cb, stay_cb, closing);
}

/* ---- several ------------------------------------------------------------------------------------- */

static void
save_next_cb (StudioPage *saved, gpointer data)
{
  Closing *closing = data;
  if (closing->next == closing->pages->len)
    {
      go (closing);
      return;
    }
  StudioPage *page = g_ptr_array_index (closing->pages, closing->next++);
  /* Saving may ask for a file name. */
  studio_window_show_page (closing->window, page);
  studio_page_save_then (page, save_next_cb, stay_cb, closing);
}

static void
response_cb (AdwMessageDialog *dialog, const char *response)
{
  Closing *closing = g_object_steal_data (G_OBJECT (dialog), "closing");
  if (closing == NULL)
    return;
  if (g_str_equal (response, "save"))
    {
      g_autoptr (GPtrArray) edited = pages_that (closing->going, is_edited);
      closing->pages = g_ptr_array_new_with_free_func (g_object_unref);
      for (guint i = 0; i < edited->len; i++)
        if (closing->check->len == 0 || gtk_check_button_get_active (closing->check->pdata[i]))
          g_ptr_array_add (closing->pages, g_object_ref (edited->pdata[i]));
      save_next_cb (NULL, closing);
    }
  else if (g_str_equal (response, "discard") || g_str_equal (response, "stop"))
    go (closing);
  else
    closing_free (closing);
}

/* "Save All" becomes "Save Selected" if some are unchecked; with none checked, "Discard All" is the way. */
static void
check_cb (AdwMessageDialog *dialog)
{
  const Closing *closing = g_object_get_data (G_OBJECT (dialog), "closing");
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
list_documents (Closing *closing, AdwMessageDialog *dialog, GPtrArray *edited)
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
dup_body (GPtrArray *edited, GPtrArray *live)
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
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
ask_about_several (Closing *closing)
{
  StudioWindow *self = closing->window;
  g_autoptr (GPtrArray) edited = pages_that (closing->going, is_edited), live = pages_that (closing->going, is_live);
  g_autofree char *body = dup_body (edited, live), *heading = NULL;
  if (edited->len == 0)
    heading = g_strdup_printf (ngettext ("Stop %u run and close?", "Stop %u runs and close?", live->len), live->len);
  else if (edited->len == 1)
    heading = g_strdup_printf (_ ("Save changes to “%s”?"), studio_page_get_title (g_ptr_array_index (edited, 0)));
  else
    heading = g_strdup_printf (ngettext ("Save changes to %u graph?", "Save changes to %u graphs?", edited->len),
                               edited->len);
  AdwMessageDialog *dialog = studio_questions_add (self->questions, heading, body);
  if (edited->len == 0)
    adw_message_dialog_add_response (dialog, "stop", _ ("_Stop and Close"));
  else
    {
      adw_message_dialog_add_responses (dialog, "discard", edited->len > 1 ? _ ("_Discard All") : _ ("_Discard"),
                                        "save", edited->len > 1 ? _ ("_Save All") : _ ("_Save"), NULL);
      adw_message_dialog_set_response_appearance (dialog, "discard", ADW_RESPONSE_DESTRUCTIVE);
      adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
    }
  adw_message_dialog_set_default_response (dialog, edited->len == 0 ? "stop" : "save");
  g_object_set_data_full (G_OBJECT (dialog), "closing", closing, closing_free);
  if (edited->len > 1)
    list_documents (closing, dialog, edited);
  g_signal_connect (dialog, "response", G_CALLBACK (response_cb), NULL);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- the close button ------------------------------------------------------------------------------ */

static gboolean
is_asking (StudioWindow *self)
{
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    if (studio_page_is_asking (studio_window_get_nth_page (self, i)))
      return TRUE;
  return studio_questions_is_asking (self->questions);
}

/* Takes ownership of closing. FALSE: nothing would be lost, and no dialog is shown. */
static gboolean
ask (Closing *closing)
{
  for (guint i = 0; i < closing->going->len; i++)
    studio_page_commit (closing->going->pdata[i]);
  g_autoptr (GPtrArray) losing = pages_that (closing->going, studio_page_would_lose);
  const guint n = losing->len;
  if (n == 0)
    closing_free (closing);
  else if (n == 1)
    ask_about_one (closing, losing->pdata[0]);
  else
    ask_about_several (closing);
  return n > 0;
}

gboolean
studio_window_ask_to_close (StudioWindow *self)
{
  if (is_asking (self))
    return TRUE;
  g_autoptr (GPtrArray) all = pages_of (self, NULL);
  if (ask (closing_new (self, all, TRUE)))
    return TRUE;
  let_all_go (self);
  return FALSE;
}

void
studio_window_close_pages_but (StudioWindow *self, StudioPage *page)
{
  if (is_asking (self))
    return;
  g_autoptr (GPtrArray) others = pages_of (self, page);
  if (!ask (closing_new (self, others, FALSE)))
    go (closing_new (self, others, FALSE));
}
