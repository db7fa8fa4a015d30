/* Joins the tables of commands, ranks them for a search, and makes menus and accelerators of them. */
#include "ui/window/studio-commands.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/studio-canvas.h"

/* Commands that are implemented elsewhere, or a command with a fixed parameter. */
static const StudioCommand others[] = {
  { "win.example::models/fashion-lenet", N_ ("File"), N_ ("Open the Example LeNet"), "fashion mnist images", { NULL } },
  { "win.example::lessons/spirals", N_ ("File"), N_ ("Open the Example Two spirals"), "lesson", { NULL } },
  { "win.export-chart::loss.svg", N_ ("File"), N_ ("Save the Loss Chart as SVG"), "export picture curve", { NULL } },
  { "win.export-chart::loss.csv", N_ ("File"), N_ ("Save the Loss Chart as CSV"), "export table numbers", { NULL } },
  { "win.export-chart::metric.svg",
    N_ ("File"),
    N_ ("Save the Metric Chart as SVG"),
    "export picture curve",
    { NULL } },
  { "win.export-chart::metric.csv",
    N_ ("File"),
    N_ ("Save the Metric Chart as CSV"),
    "export table numbers",
    { NULL } },
  { "win.left-pane", N_ ("View"), N_ ("_Layers and Outline"), "left pane palette fold side bar", { "F9" } },
  { "win.right-pane",
    N_ ("View"),
    N_ ("_Parameters and Training"),
    "right pane inspector fold side bar",
    { "<Shift>F9" } },
  { "win.run-panel", N_ ("View"), N_ ("_Curves of the Run"), "training panel fold charts", { "<Control>F9" } },
  { "canvas.show-cost", N_ ("View"), N_ ("Show Costs on Cards"), "flops parameters bar", { "<Control><Shift>c" } },
  { "win.minimap", N_ ("View"), N_ ("_Minimap"), "overview map", { NULL } },
  { "win.wires::curved", N_ ("View"), N_ ("C_urved Wires"), "lines links edges splines bezier", { NULL } },
  { "win.wires::right-angles",
    N_ ("View"),
    N_ ("_Right Angles"),
    "wires lines links edges orthogonal straight",
    { NULL } },
  { "win.shapes::sizes", N_ ("View"), N_ ("Shapes as _Sizes"), "dimensions wires tensors batch", { NULL } },
  { "win.shapes::names",
    N_ ("View"),
    N_ ("Shapes With _Names"),
    "dimensions axes wires tensors channels height width",
    { NULL } },
  { "win.shapes::numbers",
    N_ ("View"),
    N_ ("Shapes of _One Batch"),
    "dimensions wires tensors numbers size",
    { NULL } },
  { "win.types", N_ ("View"), N_ ("_Legend of Types"), "dtype float integer colours patterns wires", { NULL } },
  { "win.cost::none", N_ ("View"), N_ ("No Costs on _Cards"), "hide", { NULL } },
  { "win.cost::parameters", N_ ("View"), N_ ("_Parameters on Cards"), "cost weights bar", { NULL } },
  { "win.cost::operations", N_ ("View"), N_ ("Op_erations on Cards"), "cost flops bar", { NULL } },
  { "win.cost::activations", N_ ("View"), N_ ("_Activations on Cards"), "cost memory bytes bar", { NULL } },
  { "win.cost::time", N_ ("View"), N_ ("Measured _Time on Cards"), "cost seconds speed bar profile", { NULL } },
  { "win.speed::watch", N_ ("Training"), N_ ("_Stretch Short Runs to 30 Seconds"), "slow watch speed", { NULL } },
  { "win.speed::full", N_ ("Training"), N_ ("Train at Full Sp_eed"), "fast", { NULL } },
  { "win.tab(1)", N_ ("Go"), N_ ("First Tab"), "page document", { "<Alt>1" } },
  { "win.tab(2)", NULL, NULL, NULL, { "<Alt>2" } },
  { "win.tab(3)", NULL, NULL, NULL, { "<Alt>3" } },
  { "win.tab(4)", NULL, NULL, NULL, { "<Alt>4" } },
  { "win.tab(5)", NULL, NULL, NULL, { "<Alt>5" } },
  { "win.tab(6)", NULL, NULL, NULL, { "<Alt>6" } },
  { "win.tab(7)", NULL, NULL, NULL, { "<Alt>7" } },
  { "win.tab(8)", NULL, NULL, NULL, { "<Alt>8" } },
  { "win.tab(9)", NULL, NULL, NULL, { "<Alt>9" } },
  { "app.about", N_ ("Help"), N_ ("_About Gradloom"), "version licence", { NULL } },
  { "window.close", N_ ("File"), N_ ("Close the Window"), "tabs", { "<Control><Shift>q" } },
  { "app.quit", N_ ("File"), N_ ("_Quit"), "exit end", { "<Control>q" } },
};

StudioCommand
studio_command_new (const char *name, const char *group, const char *title, const char *words, const char *const *keys)
{
  StudioCommand command = { .group = group, .title = title, .words = words };
  g_autofree char *action = g_strconcat ("win.", name, NULL);
  command.action = g_intern_string (action);
  memcpy (command.keys, keys, sizeof command.keys);
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

static void
add_canvas_commands (GArray *all)
{
  for (guint i = 0; i < studio_canvas_n_commands (); i++)
    {
      StudioCanvasCommand c = studio_canvas_get_command (i);
      StudioCommand command = { .action = c.name, .group = c.group, .title = c.title, .keys = { c.key } };
      g_array_append_val (all, command);
    }
}

/* Sorted by group; within a group in the order of the tables. */
static GArray *
make_list (void)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (StudioCommand));
  GArray *sorted = g_array_new (FALSE, FALSE, sizeof (StudioCommand));
  for (guint i = 0; i < studio_window_n_commands (); i++)
    {
      StudioCommand command = studio_window_get_command (i);
      g_array_append_val (all, command);
    }
  for (guint i = 0; i < studio_page_n_commands (); i++)
    {
      StudioCommand command = studio_page_get_command (i);
      g_array_append_val (all, command);
    }
  add_canvas_commands (all);
  g_array_append_vals (all, others, G_N_ELEMENTS (others));
  for (guint order = 0; order <= G_N_ELEMENTS (groups); order++)
    for (guint i = 0; i < all->len; i++)
      if (group_order (&g_array_index (all, StudioCommand, i)) == order)
        g_array_append_vals (sorted, &g_array_index (all, StudioCommand, i), 1);
  return sorted;
}

const StudioCommand *
studio_commands (guint *n)
{
  static GArray *list;
  if (list == NULL)
    list = make_list ();
  *n = list->len;
  return &g_array_index (list, StudioCommand, 0);
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
  if (g_str_has_prefix (command->action, "canvas."))
    return studio_canvas_can (STUDIO_CANVAS (canvas), command->action);
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
