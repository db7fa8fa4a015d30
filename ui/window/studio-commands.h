/* The list of all commands, combined from the tables of window, page and canvas. Menus, the shortcuts window, the
 * command palette (Ctrl+Shift+P) and the application's accelerators are generated from it. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_COMMAND_KEYS 3

typedef struct
{
  const char *action; /* "win.save", "win.speed::full", "canvas.delete" */
  const char *group;  /* NULL: not listed */
  const char *title;  /* with a mnemonic underline */
  const char *words;  /* other words by which the search finds it; or NULL */
  const char *keys[STUDIO_COMMAND_KEYS];
} StudioCommand;

/* Makes a row from one of the tables of window and page; name is the action's name in the group "win". */
StudioCommand
studio_command_new (const char *name, const char *group, const char *title, const char *words, const char *const *keys);
/* The rows of studio-window-actions.c and studio-page-actions.c. */
guint studio_window_n_commands (void);
StudioCommand studio_window_get_command (guint i);
guint studio_page_n_commands (void);
StudioCommand studio_page_get_command (guint i);

/* All commands, sorted by group. */
const StudioCommand *studio_commands (guint *n);
const StudioCommand *studio_command_find (const char *action);
char *studio_command_dup_title (const StudioCommand *command); /* without the underline */
char *studio_command_dup_keys (const StudioCommand *command);  /* "Ctrl+Shift+P", the first accelerator; or NULL */

/* The quality of the match of the typed text with the command; 0: no match. */
guint studio_command_rank (const StudioCommand *command, const char *typed);

/* TRUE if its action is enabled on this canvas or in its window. */
gboolean studio_command_is_possible (const StudioCommand *command, GtkWidget *canvas);
void studio_command_run (const StudioCommand *command, GtkWidget *canvas);

/* Builds a menu from action names; NULL begins another section, two NULLs end the menu. */
GMenuModel *studio_commands_menu (const char *const *actions);
void studio_commands_set_keys (GtkApplication *application);

G_END_DECLS
