/* Implements studio-recovery-bar.h. */
#include "ui/window/studio-recovery-bar.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include "ui/charts/studio-template.h"
#include "ui/document/studio-journal.h"

struct _StudioRecoveryBar
{
  AdwBin parent_instance;
  GtkWidget *revealer, *notice, *label, *all;
  char **orphans; /* paths of journals left by crashes, newest first */
};

G_DEFINE_FINAL_TYPE (StudioRecoveryBar, studio_recovery_bar, ADW_TYPE_BIN)

enum
{
  PROP_SHOWN = 1,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];

static GPtrArray *bars; /* of the process; not owned */

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
offer (StudioRecoveryBar *self)
{
  g_clear_pointer (&self->orphans, g_strfreev);
  self->orphans = find_orphans ();
  g_autoptr (StudioJournalContent) content
      = self->orphans[0] != NULL ? studio_journal_read (self->orphans[0], NULL) : NULL;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->revealer), content != NULL);
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
  gtk_label_set_label (GTK_LABEL (self->label), text->str);
  gtk_widget_set_visible (self->all, others > 0);
}

void
studio_recovery_bar_offer_next (void)
{
  for (guint i = 0; bars != NULL && i < bars->len; i++)
    offer (bars->pdata[i]);
}

void
studio_recovery_bar_set_damaged (const char *journal)
{
  g_hash_table_add (damaged_journals (), g_strdup (journal));
}

void
studio_recovery_bar_discard (StudioRecoveryBar *self)
{
  if (studio_recovery_bar_get_journal (self) != NULL)
    g_unlink (studio_recovery_bar_get_journal (self));
  studio_recovery_bar_offer_next ();
}

const char *
studio_recovery_bar_get_journal (StudioRecoveryBar *self)
{
  return self->orphans != NULL ? self->orphans[0] : NULL;
}

gboolean
studio_recovery_bar_is_shown (StudioRecoveryBar *self)
{
  return gtk_revealer_get_reveal_child (GTK_REVEALER (self->revealer));
}

void
studio_recovery_bar_set_narrow (StudioRecoveryBar *self, gboolean narrow)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->notice),
                                  narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
}

/* ---- widget ------------------------------------------------------------------------------------- */

static void
revealed_cb (StudioRecoveryBar *self)
{
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SHOWN]);
}

static void
recovery_bar_get_property (GObject *object, guint property, GValue *value, GParamSpec *spec)
{
  g_value_set_boolean (value, studio_recovery_bar_is_shown (STUDIO_RECOVERY_BAR (object)));
}

static void
recovery_bar_dispose (GObject *object)
{
  StudioRecoveryBar *self = STUDIO_RECOVERY_BAR (object);
  g_ptr_array_remove (bars, self);
  g_clear_pointer (&self->orphans, g_strfreev);
  G_OBJECT_CLASS (studio_recovery_bar_parent_class)->dispose (object);
}

static void
studio_recovery_bar_class_init (StudioRecoveryBarClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = recovery_bar_dispose;
  G_OBJECT_CLASS (klass)->get_property = recovery_bar_get_property;
  properties[PROP_SHOWN] = g_param_spec_boolean ("shown", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (klass), N_PROPERTIES, properties);
  STUDIO_TEMPLATE (klass, "studio-recovery-bar.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRecoveryBar, revealer, notice, label, all);
}

static void
studio_recovery_bar_init (StudioRecoveryBar *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect_swapped (self->revealer, "notify::reveal-child", G_CALLBACK (revealed_cb), self);
  if (bars == NULL)
    bars = g_ptr_array_new ();
  g_ptr_array_add (bars, self);
  offer (self);
}
