/* The accessible name of a drop-down list, and the items of a menu that are data. */
#pragma once

#include <gtk/gtk.h>

/* The list is read aloud as "name: chosen item". Its items are strings. Its model may be replaced later. */
void studio_choice_set_name (GtkDropDown *choice, const char *name);
/* The same where a label or the title of a row names the list already: only the button inside it gets the name. */
void studio_choice_name_button (GtkDropDown *choice, const char *name);
/* An item with the text as it is: in a menu's own texts an underscore marks a key. (transfer full) */
GMenuItem *studio_choice_item_new (const char *text);
/* Appends such an item, which chooses its text from the list of studio_suggestions_new(). */
void studio_suggestions_append (GMenu *menu, const char *text);
/* A button next to an entry whose list is filled when it opens; chosen (action, text, row) is called with a text from
 * it. title: of the entry. */
GtkWidget *
studio_suggestions_new (const char *title, GtkMenuButtonCreatePopupFunc fill, GCallback chosen, gpointer row);
