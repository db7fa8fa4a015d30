/* Defines types of Studio, and signals of them. */
#pragma once

#include <glib-object.h>

/* Defines a final type whose objects begin as zeros. */
#define STUDIO_DEFINE_TYPE(Type, type, PARENT)                                                                         \
  G_DEFINE_FINAL_TYPE (Type, type, PARENT)                                                                             \
  static void type##_init (Type *self)                                                                                 \
  {                                                                                                                    \
  }

/* A signal without a return value. The types of its n arguments follow. */
guint studio_signal_new (const char *name, GType type, guint n, ...);
