/* The window of shortcuts, from the list of commands and from what keys do that are no commands. */
#include "ui/window/studio-commands.h"

static const struct
{
  const char *group, *title, *keys;
} others[] = {
  { "Add", "Search for a layer and add it: just type its name", "a" },
  { "Go", "Follow the wires", "Left Right" },
  { "Go", "Go to the neighbour above or below", "Up Down" },
  { "Arrange", "Move the card", "<alt>Left <alt>Right" },
  { "Presentation", "Follow the wires", "Left Right" },
  { "Presentation", "Pause, or train one batch", "space" },
  { "Presentation", "Change the learning rate", "l" },
  { "Presentation", "Leave the presentation", "Escape" },
};

static void
append_shortcut (GString *xml, const char *title, const char *keys)
{
  char *text
      = g_markup_printf_escaped ("<child><object class='GtkShortcutsShortcut'><property name='title'>%s</property>"
                                 "<property name='accelerator'>%s</property></object></child>",
                                 title, keys != NULL ? keys : "");
  g_string_append (xml, text);
  g_free (text);
}

static void
append_group (GString *xml, const char *group, const StudioCommand *all, guint n)
{
  char *head = g_markup_printf_escaped ("<child><object class='GtkShortcutsGroup'><property name='title'>%s</property>",
                                        group);
  g_string_append (xml, head);
  g_free (head);
  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL && g_strcmp0 (all[i].group, group) == 0)
      {
        g_autofree char *title = studio_command_dup_title (&all[i]);
        append_shortcut (xml, title, all[i].keys[0]);
      }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (others[i].group, group))
      append_shortcut (xml, others[i].title, others[i].keys);
  g_string_append (xml, "</object></child>");
}

GtkShortcutsWindow *
studio_commands_shortcuts (void)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);
  const char *group = NULL;
  g_autoptr (GString) xml
      = g_string_new ("<interface><object class='GtkShortcutsWindow' id='window'><property name='modal'>1</property>"
                      "<child><object class='GtkShortcutsSection'><property name='section-name'>all</property>"
                      "<property name='max-height'>14</property>");
  for (guint i = 0; i < n && all[i].group != NULL; i++)
    if (g_strcmp0 (group, all[i].group) != 0)
      append_group (xml, group = all[i].group, all, n);
  append_group (xml, "Presentation", all, n);
  g_string_append (xml, "</object></child></object></interface>");
  g_autoptr (GtkBuilder) builder = gtk_builder_new_from_string (xml->str, (gssize)xml->len);
  return GTK_SHORTCUTS_WINDOW (gtk_builder_get_object (builder, "window"));
}
