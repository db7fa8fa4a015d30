/* What a device's driver says is in use there, by whomever. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes: in use when the driver was asked last, how much there is, the most that was in use so far; in use before
 * anything of the run was there; the most until its first and its last step was over (0: it is not). */
typedef struct
{
  guint64 used, total, peak, before, first, last;
} StudioDriverMemory;

G_END_DECLS
