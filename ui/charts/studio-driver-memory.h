/* What a device's driver says is in use there, by whomever. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes: now, as a run began, after its first and its last step (0: not yet), and how much there is. */
typedef struct
{
  guint64 used, total, before, first, last;
} StudioDriverMemory;

G_END_DECLS
