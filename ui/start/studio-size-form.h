/* A form for open sizes: a row with a number for each name. */
#pragma once

#include <adwaita.h>

/* names: NULL-terminated. A row that is left empty leaves its size open. */
GtkWidget *studio_size_form_new (const char *const *names);
/* "height=224" for each row with a number, NULL-terminated. (transfer full) */
char **studio_size_form_get_sizes (GtkWidget *form);
