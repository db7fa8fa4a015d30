/* The help window: the pages of docs/guide, which are compiled into the program, and the list of keys. Pictures of the
 * guide are left out here, because Studio itself is on the screen. */
#include "ui/help/studio-help.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-tool-window.h"
#include "ui/lesson/studio-markdown.h"

#define FOLDER "/org/gradloom/Studio/help/"
#define WIDTH  760
#define HEIGHT 560

static const struct
{
  const char *name, *title; /* the file name without extension */
} pages[] = {
  { "1-first-steps", N_ ("First steps") },
  { "2-drawing", N_ ("Building a graph") },
  { "3-looking-around", N_ ("Looking around") },
  { "4-shapes-and-faults", N_ ("Shapes and faults") },
  { "5-training", N_ ("Training") },
  { "6-watching", N_ ("Watching") },
  { "7-modules", N_ ("Modules") },
  { "8-teaching", N_ ("Teaching") },
  { "9-files-and-export", N_ ("Files and export") },
  { "10-without-a-mouse", N_ ("Without a mouse") },
};

/* A link to another page shows that page; other links do nothing. */
static void
follow_cb (const char *address, gpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    if (g_str_has_prefix (address, pages[i].name) && g_str_equal (address + strlen (pages[i].name), ".md"))
      gtk_stack_set_visible_child_name (data, pages[i].name);
}

static char *
without_pictures (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *rest = g_string_new (NULL);

  for (char **line = lines; *line != NULL; line++)
    if (!g_str_has_prefix (*line, "!["))
      g_string_append_printf (rest, "%s\n", *line);
  return g_string_free (rest, FALSE);
}

static GtkWidget *
new_page (const char *name, GtkWidget *stack)
{
  g_autofree char *path = g_strconcat (FOLDER, name, ".md", NULL);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  g_return_val_if_fail (bytes != NULL, NULL);
  g_autofree char *whole = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_autofree char *text = without_pictures (whole);
  return studio_markdown_new (text, NULL, follow_cb, stack);
}

static void
add_page (GtkWidget *stack, GtkWidget *content, const char *name, const char *title)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new ();
  gtk_widget_add_css_class (content, "help-page");
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), (int)(WIDTH * studio_text_scale (stack)));
  adw_clamp_set_child (ADW_CLAMP (clamp), content);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  gtk_stack_add_titled (GTK_STACK (stack), scroller, name, title);
}

static GtkWidget *
new_window (GtkWindow *parent)
{
  GtkWidget *split = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0), *stack = gtk_stack_new ();
  GtkWidget *side = gtk_stack_sidebar_new (), *window;
  const double scale = studio_text_scale (GTK_WIDGET (parent));
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    add_page (stack, new_page (pages[i].name, stack), pages[i].name, _ (pages[i].title));
  add_page (stack, studio_help_keys_new (), STUDIO_HELP_KEYS, _ ("Keys and actions"));
  gtk_stack_sidebar_set_stack (GTK_STACK_SIDEBAR (side), GTK_STACK (stack));
  gtk_widget_add_css_class (side, "help-side");
  gtk_widget_set_hexpand (stack, TRUE);
  gtk_box_append (GTK_BOX (split), side);
  gtk_box_append (GTK_BOX (split), stack);
  window = studio_tool_window_new (parent, _ ("Help"), (int)(WIDTH * scale), (int)(HEIGHT * scale), NULL, split);
  g_object_set_data (G_OBJECT (window), "pages", stack);
  g_object_set_data (G_OBJECT (window), "side", side);
  return window;
}

void
studio_help_present (GtkWindow *parent, GtkWidget **window, const char *page)
{
  if (*window == NULL)
    g_set_weak_pointer (window, new_window (parent));
  if (page != NULL)
    gtk_stack_set_visible_child_name (g_object_get_data (G_OBJECT (*window), "pages"), page);
  gtk_window_present (GTK_WINDOW (*window));
  gtk_widget_child_focus (g_object_get_data (G_OBJECT (*window), "side"), GTK_DIR_TAB_FORWARD);
}
