/* Shards of tensors: along an axis a rank stores a part of each block, so its elements are runs that are not adjacent
 * in the whole tensor. */
#include "engine/run/run-private.h"

#include <string.h>

StatePart
state_part (const LoomSlotPart *part, const LoomTensorDesc *own)
{
  StatePart self = { .run = 1 };

  if (part->of == 0)
    return self;
  self.index = part->index;
  self.of = part->of;
  self.run = own->dim[part->axis] / part->blocks;
  for (int i = part->axis + 1; i < own->rank; i++)
    self.run *= own->dim[i];
  return self;
}

gint64
state_part_place (const StatePart *part, gint64 i)
{
  return part->of == 0 ? i : (i / part->run * part->of + part->index) * part->run + i % part->run;
}

void
state_part_take (const StatePart *part, void *own, const void *whole, gint64 count, gsize bytes)
{
  for (gint64 i = 0; i < count; i += part->run)
    memcpy ((char *)own + (gsize)i * bytes, (const char *)whole + (gsize)state_part_place (part, i) * bytes,
            (gsize)part->run * bytes);
}

void
state_part_put (const StatePart *part, void *whole, const void *own, gint64 count, gsize bytes)
{
  for (gint64 i = 0; i < count; i += part->run)
    memcpy ((char *)whole + (gsize)state_part_place (part, i) * bytes, (const char *)own + (gsize)i * bytes,
            (gsize)part->run * bytes);
}
