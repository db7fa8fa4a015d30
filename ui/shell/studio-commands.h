/* The list of all commands. The classes that have commands add their tables; menus, the page of shortcuts, the command
 * palette (Ctrl+Shift+P) and the application's accelerators are generated from the list. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_COMMAND_KEYS 3

typedef struct
{
  const char *action; /* "win.save", "win.speed::full", "canvas.delete" */
  const char *group;  /* NULL: not listed */
  const char *title;  /* with a mnemonic underline */
  const char *words;  /* other words by which the search finds it; or NULL */
  const char *keys[STUDIO_COMMAND_KEYS];
} StudioCommand;

/* A table of commands. get returns row i. is_possible says whether an action that is in no group of the window would
 * do something on this canvas; NULL: all of them are in groups. */
typedef struct
{
  guint n;
  StudioCommand (*get) (guint i);
  gboolean (*is_possible) (GtkWidget *canvas, const char *action);
} StudioCommandTable;

/* Within a group, commands are listed by the order of their tables. Each order is used once. The table is not copied.
 */
typedef enum
{
  STUDIO_COMMANDS_OF_WINDOW,
  STUDIO_COMMANDS_OF_PAGE,
  STUDIO_COMMANDS_OF_CANVAS,
  STUDIO_COMMANDS_EXAMPLES,
  STUDIO_COMMANDS_MORE_OF_PAGE, /* commands with a parameter, and states */
  STUDIO_COMMANDS_MORE_OF_WINDOW,
  STUDIO_COMMANDS_N_TABLES
} StudioCommandOrder;
void studio_commands_add (StudioCommandOrder order, const StudioCommandTable *table);

/* A command of an object: the action "NAME" of the group "win", and how menus and lists show it. A command without a
 * title is not listed: it needs a parameter, or is for tests. */
typedef struct
{
  const char *name;
  const char *parameter; /* its type, "s" or "i"; or NULL */
  guint part;            /* the index of the object in the parts of its owner */
  GCallback run;         /* void (*) (OBJECT *), or with the parameter: (OBJECT *, const char *), (OBJECT *, int) */
  const char *group, *title;
  const char *keys[STUDIO_COMMAND_KEYS];
  const char *words;
  const char *state; /* the text of its first state; NULL: it has none */
} StudioCommandRow;

/* The row of a command that is listed, without a parameter or a state. Its keys follow; NULL: it has none. */
#define STUDIO_COMMAND(name, part, function, group, title, words, ...)                                                 \
  {                                                                                                                    \
    name, NULL, part, G_CALLBACK (function), group, title, { __VA_ARGS__ }, words                                      \
  }

StudioCommand studio_command_row_get (const StudioCommandRow *row);
/* Adds an action for each row to the map. parts are read when an action is activated, after a call of before, which may
 * be NULL. */
typedef struct
{
  gpointer const *parts;
  void (*before) (const char *name, gpointer data);
  gpointer data;
} StudioCommandTarget;
void
studio_command_rows_install (const StudioCommandRow *rows, guint n, GActionMap *map, const StudioCommandTarget *target);
/* Disconnects all handlers of the actions of the map, for an owner that is freed earlier. */
void studio_command_rows_disconnect (GActionMap *map);

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
