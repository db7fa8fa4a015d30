/* Recovers unsaved work after a crash: a bar offers the journals, one at a time or all at once; each opens in a page.
 */
#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include "ui/document/studio-journal.h"
#include "ui/window/studio-window-private.h"

static void
update_actions (StudioWindow *self)
{
  static const char *const actions[] = { "recover", "recover-all", "discard-recovery" };
  gboolean offered = gtk_revealer_get_reveal_child (GTK_REVEALER (self->recover_bar));
  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    studio_window_enable (self, actions[i], offered);
}

/* Paths of journals that could not be read completely in this process. */
static GHashTable *
damaged_journals (void)
{
  static GHashTable *damaged;

  if (damaged == NULL)
    damaged = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return damaged;
}

/* Returns journals that no running Studio uses and that are not known to be damaged; free with g_strfreev(). */
static char **
find_orphans (void)
{
  g_autofree char *folder = studio_journal_default_folder ();
  g_auto (GStrv) all = studio_journal_orphans (folder);
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();

  for (guint i = 0; all[i] != NULL; i++)
    if (!g_hash_table_contains (damaged_journals (), all[i]))
      g_strv_builder_add (found, all[i]);
  return g_strv_builder_end (found);
}

static void
offer (StudioWindow *self)
{
  g_clear_pointer (&self->orphans, g_strfreev);
  self->orphans = find_orphans ();
  g_autoptr (StudioJournalContent) content
      = self->orphans[0] != NULL ? studio_journal_read (self->orphans[0], NULL) : NULL;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->recover_bar), content != NULL);
  if (content == NULL)
    return;
  guint others = g_strv_length (self->orphans) - 1;
  g_autofree char *name
      = content->path != NULL ? g_path_get_basename (content->path) : g_strdup (_ ("an unsaved graph"));
  g_autoptr (GString) text = g_string_new (NULL);
  g_string_append_printf (text,
                          ngettext ("Studio ended before %u change to %s was saved.",
                                    "Studio ended before %u changes to %s were saved.", content->n_transactions),
                          content->n_transactions, name);
  if (others > 0)
    {
      g_string_append_c (text, ' ');
      g_string_append_printf (
          text, ngettext ("%u other graph has unsaved changes.", "%u other graphs have unsaved changes.", others),
          others);
    }
  gtk_label_set_label (GTK_LABEL (self->recover_label), text->str);
  gtk_widget_set_visible (self->recover_all, others > 0);
}

/* Makes every window offer the next journal, or hide the bar. */
static void
offer_the_next (StudioWindow *self)
{
  for (GList *l = gtk_application_get_windows (gtk_window_get_application (GTK_WINDOW (self))); l != NULL; l = l->next)
    if (STUDIO_IS_WINDOW (l->data))
      offer (l->data);
}

/* The page for a journal: the one that already shows its file, if it is unedited, because a second page could not save
 * to that file; else a new one. */
static StudioPage *
page_for (StudioWindow *self, const char *journal)
{
  g_autoptr (StudioJournalContent) content = studio_journal_read (journal, NULL);
  g_autoptr (GFile) file = content != NULL && content->path != NULL ? g_file_new_for_path (content->path) : NULL;
  StudioPage *has = file != NULL ? studio_window_find_page (file) : NULL;

  if (has == NULL || gtk_widget_get_root (GTK_WIDGET (has)) != GTK_ROOT (self)
      || studio_document_is_edited (studio_page_get_document (has)) || studio_run_is_live (studio_page_get_run (has)))
    return studio_window_get_free_page (self);
  studio_window_show_page (self, has);
  return has;
}

/* A damaged journal is kept, but not offered again before the next start. */
static void
recover_first (StudioWindow *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *journal = g_strdup (self->orphans[0]);

  if (!studio_page_recover (page_for (self, journal), journal, &error))
    {
      g_hash_table_add (damaged_journals (), g_steal_pointer (&journal));
      studio_window_toast (self, error->message);
    }
  offer_the_next (self);
}

void
studio_window_recover (StudioWindow *self)
{
  if (self->orphans != NULL && self->orphans[0] != NULL)
    recover_first (self);
}

void
studio_window_recover_all (StudioWindow *self)
{
  while (self->orphans != NULL && self->orphans[0] != NULL)
    recover_first (self);
}

void
studio_window_discard_recovery (StudioWindow *self)
{
  if (self->orphans != NULL && self->orphans[0] != NULL)
    g_unlink (self->orphans[0]);
  offer_the_next (self);
}

void
studio_window_setup_recovery (StudioWindow *self)
{
  g_signal_connect_swapped (self->recover_bar, "notify::reveal-child", G_CALLBACK (update_actions), self);
  offer (self);
  update_actions (self);
}
