/* Closing a window: one question for all its pages, and then the window goes. */
#include "ui/window/studio-question.h"

#include <glib/gi18n.h>

#include "ui/window/studio-window-private.h"

/* The pages that were edited are saved one after the other; whatever stops one keeps the window. */
typedef struct
{
  StudioWindow *window;
  GPtrArray *pages; /* that are to be saved */
  guint next;
} Closing;

static void
closing_free (Closing *closing)
{
  g_object_unref (closing->window);
  g_ptr_array_unref (closing->pages);
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
pages_that (StudioWindow *self, gboolean (*have) (StudioPage *page))
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    if (have (studio_window_get_nth_page (self, i)))
      g_ptr_array_add (pages, g_object_ref (studio_window_get_nth_page (self, i)));
  return pages;
}

/* A crash leaves the journals; who closes has answered for what is in them. */
static void
let_all_go (StudioWindow *self)
{
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    studio_page_let_go (studio_window_get_nth_page (self, i));
  /* The dialog whose answer this is outlives the window, and would disconnect itself from what is gone. */
  if (self->question != NULL)
    gtk_window_set_transient_for (self->question, NULL);
}

static void
go (StudioWindow *self)
{
  let_all_go (self);
  gtk_window_destroy (GTK_WINDOW (self));
}

/* ---- one page ------------------------------------------------------------------------------------ */

static void
leave_cb (StudioPage *page, gpointer window)
{
  go (window);
}

static void
ask_about_one (StudioWindow *self, StudioPage *page)
{
  studio_window_show_page (self, page);
  studio_page_ask_to_leave (page, leave_cb, NULL, self);
}

/* ---- several ------------------------------------------------------------------------------------- */

static void
stop_saving_cb (StudioPage *page, gpointer data)
{
  closing_free (data);
}

static void
save_next_cb (StudioPage *saved, gpointer data)
{
  Closing *closing = data;
  if (closing->next == closing->pages->len)
    {
      go (closing->window);
      closing_free (closing);
      return;
    }
  StudioPage *page = g_ptr_array_index (closing->pages, closing->next++);
  /* It may ask where to. */
  studio_window_show_page (closing->window, page);
  studio_page_save_then (page, save_next_cb, stop_saving_cb, closing);
}

static void
response_cb (AdwMessageDialog *dialog, const char *response, StudioWindow *self)
{
  if (g_str_equal (response, "save"))
    {
      Closing *closing = g_new0 (Closing, 1);
      *closing = (Closing){ .window = g_object_ref (self), .pages = pages_that (self, is_edited) };
      save_next_cb (NULL, closing);
    }
  else if (g_str_equal (response, "discard") || g_str_equal (response, "stop"))
    go (self);
}

/* Their names, and what will become of the runs. */
static char *
dup_body (GPtrArray *edited, GPtrArray *live)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < edited->len; i++)
    {
      g_string_append (names, i > 0 ? ", " : "");
      /* Translators: the name of a graph, in a list. */
      g_string_append_printf (names, _ ("“%s”"), studio_page_get_title (g_ptr_array_index (edited, i)));
    }
  if (edited->len > 0)
    g_string_append_printf (text,
                            ngettext ("%s has changes that are in no file. What is not saved will be lost.",
                                      "%s have changes that are in no file. What is not saved will be lost.",
                                      edited->len),
                            names->str);
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
ask_about_several (StudioWindow *self, GPtrArray *edited, GPtrArray *live)
{
  g_autofree char *body = dup_body (edited, live), *heading = NULL;
  if (edited->len == 0)
    heading = g_strdup_printf (ngettext ("Stop %u run and close?", "Stop %u runs and close?", live->len), live->len);
  else if (edited->len == 1)
    heading = g_strdup_printf (_ ("Save changes to “%s”?"), studio_page_get_title (g_ptr_array_index (edited, 0)));
  else
    heading = g_strdup_printf (ngettext ("Save changes to %u graph?", "Save changes to %u graphs?", edited->len),
                               edited->len);
  AdwMessageDialog *dialog = studio_question_new (GTK_WINDOW (self), heading, body);
  g_set_weak_pointer (&self->question, GTK_WINDOW (dialog));
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
  g_signal_connect_object (dialog, "response", G_CALLBACK (response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- the close button ------------------------------------------------------------------------------ */

static gboolean
is_asking (StudioWindow *self)
{
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    if (studio_page_is_asking (studio_window_get_nth_page (self, i)))
      return TRUE;
  if (self->question == NULL || !gtk_widget_get_visible (GTK_WIDGET (self->question)))
    return FALSE;
  gtk_window_present (self->question);
  return TRUE;
}

gboolean
studio_window_ask_to_close (StudioWindow *self)
{
  if (is_asking (self))
    return TRUE;
  for (guint i = 0; i < studio_window_n_pages (self); i++)
    studio_page_commit (studio_window_get_nth_page (self, i));
  g_autoptr (GPtrArray) losing = pages_that (self, studio_page_would_lose);
  g_autoptr (GPtrArray) edited = pages_that (self, is_edited), live = pages_that (self, is_live);
  if (losing->len == 0)
    let_all_go (self);
  else if (losing->len == 1)
    ask_about_one (self, g_ptr_array_index (losing, 0));
  else
    ask_about_several (self, edited, live);
  return losing->len > 0;
}
