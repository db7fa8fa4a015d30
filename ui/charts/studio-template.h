/* Templates of widgets: a class names its file, the children that are fields of its struct, and the functions that its
 * signals name; studio_template_new() reads a widget that has no class. A list has at most 27 names, because the
 * preprocessor reads a result again and does not loop. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-type.h"

/* STUDIO_TEMPLATE (klass, "studio-disk-bar.ui"); */
#define STUDIO_TEMPLATE(klass, file)                                                                                   \
  gtk_widget_class_set_template_from_resource (GTK_WIDGET_CLASS (klass), "/org/gradloom/Studio/" file)
/* STUDIO_TEMPLATE_CHILDREN (klass, StudioDiskBar, revealer, notice); */
#define STUDIO_TEMPLATE_CHILDREN(klass, Type, ...) STUDIO_READ_27 (STUDIO_TEMPLATE_CHILD (klass, Type, __VA_ARGS__))
/* STUDIO_TEMPLATE_CALLBACKS (klass, save_cb, dismiss_cb); */
#define STUDIO_TEMPLATE_CALLBACKS(klass, ...) STUDIO_READ_27 (STUDIO_TEMPLATE_CALLBACK (klass, __VA_ARGS__))

/* The object "root" of such a file. The others that have a name are data of it, by that name. */
GtkWidget *studio_template_new (const char *file);
/* STUDIO_TEMPLATE_FIELDS (root, self, revealer, notice); sets fields of a struct to these data. */
#define STUDIO_TEMPLATE_FIELDS(root, self, ...) STUDIO_READ_27 (STUDIO_TEMPLATE_FIELD (root, self, __VA_ARGS__))

#define STUDIO_TEMPLATE_FIELD(root, self, name, ...)                                                                   \
  (self)->name = g_object_get_data (G_OBJECT (root), #name);                                                           \
  __VA_OPT__ (STUDIO_FIELD_AGAIN STUDIO_PARENTHESES (root, self, __VA_ARGS__))
#define STUDIO_FIELD_AGAIN() STUDIO_TEMPLATE_FIELD
#define STUDIO_TEMPLATE_CHILD(klass, Type, name, ...)                                                                  \
  gtk_widget_class_bind_template_child (GTK_WIDGET_CLASS (klass), Type, name);                                         \
  __VA_OPT__ (STUDIO_CHILD_AGAIN STUDIO_PARENTHESES (klass, Type, __VA_ARGS__))
#define STUDIO_CHILD_AGAIN() STUDIO_TEMPLATE_CHILD
#define STUDIO_TEMPLATE_CALLBACK(klass, name, ...)                                                                     \
  gtk_widget_class_bind_template_callback (GTK_WIDGET_CLASS (klass), name);                                            \
  __VA_OPT__ (STUDIO_CALLBACK_AGAIN STUDIO_PARENTHESES (klass, __VA_ARGS__))
#define STUDIO_CALLBACK_AGAIN() STUDIO_TEMPLATE_CALLBACK
#define STUDIO_PARENTHESES      ()
#define STUDIO_READ_27(...)     STUDIO_READ_9 (STUDIO_READ_9 (STUDIO_READ_9 (__VA_ARGS__)))
#define STUDIO_READ_9(...)      STUDIO_READ_3 (STUDIO_READ_3 (STUDIO_READ_3 (__VA_ARGS__)))
#define STUDIO_READ_3(...)      STUDIO_READ (STUDIO_READ (STUDIO_READ (__VA_ARGS__)))
#define STUDIO_READ(...)        __VA_ARGS__
