/* Implements studio-after.h. */
#include "ui/page/studio-after.h"

struct StudioAfter
{
  gpointer owner, data;
  StudioThen then, otherwise;
};

StudioAfter *
studio_after_new (gpointer owner, StudioThen then, StudioThen otherwise, gpointer data)
{
  StudioAfter *after = g_new0 (StudioAfter, 1);
  *after = (StudioAfter){ .owner = g_object_ref (owner), .then = then, .otherwise = otherwise, .data = data };
  return after;
}

static void
finish (StudioAfter *after, StudioThen how)
{
  if (how != NULL)
    how (after->owner, after->data);
  g_object_unref (after->owner);
  g_free (after);
}

void
studio_after_do (StudioAfter *after)
{
  finish (after, after->then);
}

void
studio_after_cancel (gpointer after)
{
  if (after != NULL)
    finish (after, ((StudioAfter *)after)->otherwise);
}
