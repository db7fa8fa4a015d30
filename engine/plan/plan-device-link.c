/* Opens and shares device links. Opening one takes a library a large part of a second and memory, so all plans of a run
 * share it. */
#include "engine/plan/plan-device-link.h"

#include "engine/core/loom-module.h"

typedef struct
{
  PlanLink base;
  const LoomPlanDevice *device;
  LoomComm *ranks;
  guint users;
} Link;

static GMutex lock;
static GPtrArray *links;

/* The entry of the back end's module, which is open already. */
static LoomDeviceCommEntry
entry_of (const LoomBackend *backend)
{
  g_autofree char *why = NULL;
  GModule *module = loom_module_open (backend->name, backend->name, &why);
  gpointer entry = NULL;

  return module != NULL && g_module_symbol (module, LOOM_DEVICE_COMM_ENTRY, &entry) ? (LoomDeviceCommEntry)entry : NULL;
}

static Link *
link_new (const LoomPlanDevice *device, LoomComm *ranks, LoomMessage *message)
{
  const LoomBackend *b = device->backend;
  LoomDeviceCommEntry entry = entry_of (b);
  Link *link = g_new0 (Link, 1);
  LoomStatus status = LOOM_STATUS_UNSUPPORTED;

  link->device = device;
  link->ranks = ranks;
  if (entry == NULL)
    g_snprintf (message->text, sizeof message->text,
                "this build lacks NCCL, with which ranks exchange values between GPUs");
  else
    status = b->stream_new (device->device, &link->base.stream, message);
  if (status == LOOM_STATUS_OK)
    status = entry (device->device, link->base.stream, ranks, &link->base.comm, message);
  if (status == LOOM_STATUS_OK)
    return link;
  if (link->base.stream != NULL)
    b->stream_free (device->device, link->base.stream);
  link->base.stream = NULL;
  if (status == LOOM_STATUS_UNSUPPORTED)
    {
      link->base.why_not = *message;
      return link;
    }
  g_free (link);
  return NULL;
}

/* The lock is released while ranks wait for each other, because ranks may be threads of one process. */
PlanLink *
plan_link_get (const LoomPlanDevice *device, LoomComm *ranks, LoomMessage *message)
{
  Link *link = NULL;

  g_mutex_lock (&lock);
  for (guint i = 0; links != NULL && i < links->len && link == NULL; i++)
    {
      Link *known = g_ptr_array_index (links, i);

      if (known->device == device && known->ranks == ranks)
        link = known;
    }
  if (link != NULL)
    link->users++;
  g_mutex_unlock (&lock);
  if (link != NULL)
    return &link->base;
  link = link_new (device, ranks, message);
  if (link == NULL)
    return NULL;
  link->users = 1;
  g_mutex_lock (&lock);
  if (links == NULL)
    links = g_ptr_array_new ();
  g_ptr_array_add (links, link);
  g_mutex_unlock (&lock);
  return &link->base;
}

void
plan_link_put_back (PlanLink *base)
{
  Link *link = (Link *)base;
  gboolean last;

  if (link == NULL)
    return;
  g_mutex_lock (&lock);
  last = --link->users == 0;
  if (last)
    g_ptr_array_remove_fast (links, link);
  if (last && links->len == 0)
    g_clear_pointer (&links, g_ptr_array_unref);
  g_mutex_unlock (&lock);
  if (!last)
    return;
  if (link->base.comm != NULL)
    {
      link->base.comm->free (link->base.comm);
      link->device->backend->stream_free (link->device->device, link->base.stream);
    }
  g_free (link);
}
