/* Everything that can be done, by name: one list, made of the window's table and the canvas's. Menus, the window of
 * shortcuts, the list of actions (Ctrl+Shift+P) and the keys of the application are made from it. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_COMMAND_KEYS 3

typedef struct
{
  const char *action; /* "win.save", "win.speed::full", "canvas.delete" */
  const char *group;  /* NULL: not offered by itself */
  const char *title;  /* with an underline before the letter that a menu takes for it */
  const char *words;  /* other words to find it by; or NULL */
  const char *keys[STUDIO_COMMAND_KEYS];
} StudioCommand;

/* For a row of the table of a window or a page: name is the action's in "win". */
StudioCommand
studio_command_new (const char *name, const char *group, const char *title, const char *words, const char *const *keys);
/* The rows themselves: studio-window-actions.c and studio-page-actions.c. */
guint studio_window_n_commands (void);
StudioCommand studio_window_get_command (guint i);
guint studio_page_n_commands (void);
StudioCommand studio_page_get_command (guint i);

/* All of them, groups together. */
const StudioCommand *studio_commands (guint *n);
const StudioCommand *studio_command_find (const char *action);
char *studio_command_dup_title (const StudioCommand *command); /* without the underline */
char *studio_command_dup_keys (const StudioCommand *command);  /* "Ctrl+Shift+P", the first; or NULL */

/* How well what is typed names the command: 0 not at all. */
guint studio_command_rank (const StudioCommand *command, const char *typed);

/* For actions that widget or its window has. */
gboolean studio_command_is_possible (const StudioCommand *command, GtkWidget *canvas);
void studio_command_run (const StudioCommand *command, GtkWidget *canvas);

/* Actions by name; NULL begins another section, and a second one in a row ends the menu. */
GMenuModel *studio_commands_menu (const char *const *actions);
void studio_commands_set_keys (GtkApplication *application);

G_END_DECLS
