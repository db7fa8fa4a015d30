/* Joins the tables of commands, ranks commands for a search, and makes menus and accelerators of them. */
#include "ui/shell/studio-commands.h"

#include <glib/gi18n.h>
#include <string.h>

static const StudioCommandTable *tables[STUDIO_COMMANDS_N_TABLES];
static GArray *list; /* of all tables; NULL: to be made */

StudioCommand
studio_command_row_get (const StudioCommandRow *row)
{
  StudioCommand command = { .group = row->group, .title = row->title, .words = row->words };
  g_autofree char *action = g_strconcat ("win.", row->name, NULL);
  command.action = g_intern_string (action);
  memcpy (command.keys, row->keys, sizeof command.keys);
  return command;
}

static const char *const groups[]
    = { N_ ("File"), N_ ("Edit"), N_ ("Add"), N_ ("Arrange"), N_ ("Go"), N_ ("View"), N_ ("Training"), N_ ("Help") };

static guint
group_order (const StudioCommand *command)
{
  for (guint i = 0; command->group != NULL && i < G_N_ELEMENTS (groups); i++)
    if (g_str_equal (groups[i], command->group))
      return i;
  return G_N_ELEMENTS (groups);
}

/* Sorted by group; within a group in the order of the tables. */
static GArray *
make_list (void)
{
  GArray *sorted = g_array_new (FALSE, FALSE, sizeof (StudioCommand));
  for (guint order = 0; order <= G_N_ELEMENTS (groups); order++)
    for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
      for (guint i = 0; tables[t] != NULL && i < tables[t]->n; i++)
        {
          StudioCommand command = tables[t]->get (i);
          if (group_order (&command) == order)
            g_array_append_val (sorted, command);
        }
  return sorted;
}

void
studio_commands_add (StudioCommandOrder order, const StudioCommandTable *table)
{
  if (tables[order] == table)
    return;
  g_return_if_fail (tables[order] == NULL);
  tables[order] = table;
  g_clear_pointer (&list, g_array_unref);
}

const StudioCommand *
studio_commands (guint *n)
{
  if (list == NULL)
    list = make_list ();
  *n = list->len;
  return (const StudioCommand *)(gpointer)list->data;
}

const StudioCommand *
studio_command_find (const char *action)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);
  for (guint i = 0; i < n; i++)
    if (g_str_equal (all[i].action, action))
      return &all[i];
  return NULL;
}

char *
studio_command_dup_title (const StudioCommand *command)
{
  g_auto (GStrv) parts = g_strsplit (_ (command->title), "_", -1);
  return g_strjoinv (NULL, parts);
}

char *
studio_command_dup_keys (const StudioCommand *command)
{
  guint key;
  GdkModifierType mods;
  if (command->keys[0] == NULL || !gtk_accelerator_parse (command->keys[0], &key, &mods))
    return NULL;
  return gtk_accelerator_get_label (key, mods);
}

/* ---- search ------------------------------------------------------------------------------- */

/* 4: the text begins with the typed text; 3: one of its words does; 1: it contains it. */
static guint
rank_word (const char *text, const char *word)
{
  const char *at = strstr (text, word);
  if (at == text)
    return 4;
  for (; at != NULL; at = strstr (at + 1, word))
    if (at[-1] == ' ')
      return 3;
  return strstr (text, word) != NULL ? 1 : 0;
}

/* Every typed word must match; matches in the title count most. */
guint
studio_command_rank (const StudioCommand *command, const char *typed)
{
  g_autofree char *title = studio_command_dup_title (command), *other = NULL;
  g_autofree char *low = g_utf8_casefold (title, -1), *wanted = g_utf8_casefold (typed, -1);
  g_auto (GStrv) words = g_strsplit_set (wanted, " \t", -1);
  guint rank = 1;
  /* Most books use the English name, so the search finds it in every language. */
  other
      = g_strdup_printf ("%s %s %s", _ (command->group), command->title, command->words != NULL ? command->words : "");
  g_autofree char *low_other = g_utf8_casefold (other, -1);
  for (guint i = 0; words[i] != NULL; i++)
    {
      if (*words[i] == '\0')
        continue;
      guint in_title = rank_word (low, words[i]), in_other = rank_word (low_other, words[i]);
      if (in_title == 0 && in_other == 0)
        return 0;
      rank += in_title > 0 ? 4 * in_title : in_other;
    }
  return rank;
}

/* ---- activation --------------------------------------------------------------------------- */

static GActionGroup *
group_of (GtkWidget *widget, const char *action)
{
  GtkWindow *window = GTK_WINDOW (gtk_widget_get_root (widget));
  if (g_str_has_prefix (action, "win."))
    return G_ACTION_GROUP (window);
  return g_str_has_prefix (action, "app.") ? G_ACTION_GROUP (gtk_window_get_application (window)) : NULL;
}

gboolean
studio_command_is_possible (const StudioCommand *command, GtkWidget *canvas)
{
  GActionGroup *group = group_of (canvas, command->action);
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;
  for (guint t = 0; group == NULL && t < G_N_ELEMENTS (tables); t++)
    if (tables[t] != NULL && tables[t]->is_possible != NULL && g_str_has_prefix (command->action, "canvas."))
      return tables[t]->is_possible (canvas, command->action);
  if (group == NULL || !g_action_parse_detailed_name (strchr (command->action, '.') + 1, &name, &target, NULL))
    return TRUE;
  return g_action_group_get_action_enabled (group, name);
}

void
studio_command_run (const StudioCommand *command, GtkWidget *canvas)
{
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;
  if (g_action_parse_detailed_name (command->action, &name, &target, NULL))
    gtk_widget_activate_action_variant (canvas, name, target);
}

/* ---- keys and menus ------------------------------------------------------------------------ */

void
studio_commands_set_keys (GtkApplication *application)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);
  for (guint i = 0; i < n; i++)
    {
      const char *keys[STUDIO_COMMAND_KEYS + 1] = { NULL };
      memcpy (keys, all[i].keys, sizeof all[i].keys);
      /* The canvas binds its own keys, which work only while it has the focus. */
      if (keys[0] != NULL && !g_str_has_prefix (all[i].action, "canvas."))
        gtk_application_set_accels_for_action (application, all[i].action, keys);
    }
}

static void
append_item (GMenu *section, const char *action)
{
  const StudioCommand *command = studio_command_find (action);
  g_return_if_fail (command != NULL && command->title != NULL);
  g_autoptr (GMenuItem) item = g_menu_item_new (_ (command->title), command->action);
  if (g_str_has_prefix (action, "canvas."))
    {
      g_menu_item_set_action_and_target (item, "win.canvas", "s", action);
      if (command->keys[0] != NULL)
        g_menu_item_set_attribute (item, "accel", "s", command->keys[0]);
    }
  g_menu_append_item (section, item);
}

GMenuModel *
studio_commands_menu (const char *const *actions)
{
  GMenu *menu = g_menu_new ();
  for (guint i = 0; actions[i] != NULL; i++)
    {
      g_autoptr (GMenu) section = g_menu_new ();
      for (; actions[i] != NULL; i++)
        append_item (section, actions[i]);
      g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
    }
  return G_MENU_MODEL (menu);
}

/* ---- rows ----------------------------------------------------------------------------------- */

typedef struct
{
  const StudioCommandRow *row;
  const StudioCommandTarget *target;
} Activation;

static void
activation_free (gpointer data, GClosure *closure)
{
  g_free (data);
}

static void
activate_cb (GSimpleAction *action, GVariant *parameter, Activation *activation)
{
  const StudioCommandRow *row = activation->row;
  const StudioCommandTarget *target = activation->target;
  if (target->before != NULL)
    target->before (row->name, target->data);
  gpointer part = target->parts[row->part];
  if (row->parameter == NULL)
    ((void (*) (gpointer part))row->run) (part);
  else if (g_str_equal (row->parameter, "s"))
    ((void (*) (gpointer part, const char *parameter))row->run) (part, g_variant_get_string (parameter, NULL));
  else
    ((void (*) (gpointer part, int parameter))row->run) (part, g_variant_get_int32 (parameter));
}

void
studio_command_rows_install (const StudioCommandRow *rows, guint n, GActionMap *map, const StudioCommandTarget *target)
{
  for (guint i = 0; i < n; i++)
    {
      const GVariantType *type = rows[i].parameter != NULL ? G_VARIANT_TYPE (rows[i].parameter) : NULL;
      g_autoptr (GVariant) state
          = rows[i].state != NULL ? g_variant_ref_sink (g_variant_new_string (rows[i].state)) : NULL;
      g_autoptr (GSimpleAction) action = state != NULL ? g_simple_action_new_stateful (rows[i].name, type, state)
                                                       : g_simple_action_new (rows[i].name, type);
      Activation *activation = g_new0 (Activation, 1);
      *activation = (Activation){ &rows[i], target };
      g_signal_connect_data (action, "activate", G_CALLBACK (activate_cb), activation, activation_free, 0);
      g_action_map_add_action (map, G_ACTION (action));
    }
}

static void
disconnect (GAction *action, const char *signal)
{
  const guint id = g_signal_lookup (signal, G_TYPE_SIMPLE_ACTION);
  gulong handler;
  while ((handler = g_signal_handler_find (action, G_SIGNAL_MATCH_ID, id, 0, NULL, NULL, NULL)) != 0)
    g_signal_handler_disconnect (action, handler);
}

void
studio_command_rows_disconnect (GActionMap *map)
{
  g_auto (GStrv) names = g_action_group_list_actions (G_ACTION_GROUP (map));
  for (guint i = 0; names[i] != NULL; i++)
    {
      GAction *action = g_action_map_lookup_action (map, names[i]);
      if (!G_IS_SIMPLE_ACTION (action))
        continue;
      disconnect (action, "activate");
      disconnect (action, "change-state");
    }
}
