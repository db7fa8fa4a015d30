/* The memory of a run: planned bytes by owner, the figures of the device's driver, and the memory of each rank. The
 * number of ranks (of this run and of the next) is stored here too.
 *
 * A worker reports its ranks only while the run trains. So the newest report is stored; it is requested at the start
 * and every few seconds, even if it is not shown. */
#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/run/studio-run-private.h"

void
studio_run_take_memory (StudioRun *self, const char *device, GVariant *bytes)
{
  g_free (self->memory_device);
  self->memory_device = g_strdup (device);
  g_ptr_array_set_size (self->owners, 0);
  g_array_set_size (self->owner_bytes, 0);
  /* The display order; a D-Bus dictionary has none. */
  static const char *const order[]
      = { N_ ("parameters"), N_ ("gradients"), N_ ("optimizer"), N_ ("activations"), N_ ("workspace"), N_ ("data") };
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    {
      guint64 n;
      if (!g_variant_lookup (bytes, order[i], "t", &n))
        continue;
      g_ptr_array_add (self->owners, (gpointer)order[i]);
      g_array_append_val (self->owner_bytes, n);
    }
  self->driver = (StudioDriverMemory){ 0 };
  g_variant_lookup (bytes, "used", "t", &self->driver.used);
  g_variant_lookup (bytes, "total", "t", &self->driver.total);
  g_variant_lookup (bytes, "peak", "t", &self->driver.peak);
  g_variant_lookup (bytes, "before", "t", &self->driver.before);
  g_variant_lookup (bytes, "first", "t", &self->driver.first);
  g_variant_lookup (bytes, "last", "t", &self->driver.last);
  g_signal_emit_by_name (self, "memory-changed");
}

/* A killed worker reports no final memory; the newest report is used. */
void
studio_run_close_memory (StudioRun *self)
{
  if (self->driver.total == 0 || self->driver.last != 0)
    return;
  self->driver.last = self->driver.peak;
  g_signal_emit_by_name (self, "memory-changed");
}

/* ---- ranks --------------------------------------------------------------------------------- */

#define RANK_MEMORY_BYTES  (64 * 1024)
#define RANK_MEMORY_PERIOD 5 /* in ticks of a second */

void
studio_run_set_ranks (StudioRun *self, int ranks)
{
  if (self->ranks == ranks)
    return;
  self->ranks = ranks;
  g_signal_emit_by_name (self, "ranks-changed");
}

int
studio_run_get_ranks (StudioRun *self)
{
  return MAX (self->ranks, 1);
}

int
studio_run_get_live_ranks (StudioRun *self)
{
  return MAX (self->live_ranks, 1);
}

void
studio_run_take_rank_memory (StudioRun *self, GVariant *text)
{
  gsize n;
  const char *bytes = g_variant_get_fixed_array (text, &n, 1);
  if (n == 0)
    return;
  g_clear_pointer (&self->rank_memory, g_bytes_unref);
  self->rank_memory = g_bytes_new (bytes, n);
  g_signal_emit_by_name (self, "memory-changed");
}

static void
rank_memory_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioRun) self = data;
  g_autoptr (GVariant) shape = NULL, full_shape = NULL, text = NULL;
  gint64 step;
  gboolean ok = loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (source), &step, &shape, &full_shape, &text,
                                                           result, NULL);
  if (self->worker != NULL && G_OBJECT (studio_worker_get_proxy (self->worker)) != source)
    return;
  self->rank_memory_asked = FALSE;
  if (ok && self->worker != NULL)
    studio_run_take_rank_memory (self, text);
  /* Before their first step ranks report nothing. */
  if (self->rank_memory == NULL)
    self->rank_memory_wait = 0;
}

void
studio_run_request_rank_memory (StudioRun *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self);
  if (proxy == NULL || self->rank_memory_asked || self->live_ranks < 2 || self->state == STUDIO_RUN_STARTING)
    return;
  self->rank_memory_asked = TRUE;
  loom_bus_worker1_call_get_snapshot (proxy, LOOM_SNAPSHOT_RANKS, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0),
                                      RANK_MEMORY_BYTES, NULL, rank_memory_cb, g_object_ref (self));
}

void
studio_run_tick_rank_memory (StudioRun *self)
{
  if (self->rank_memory_wait == 0)
    {
      self->rank_memory_wait = RANK_MEMORY_PERIOD;
      studio_run_request_rank_memory (self);
    }
  self->rank_memory_wait--;
}

GBytes *
studio_run_get_rank_memory (StudioRun *self)
{
  return self->rank_memory;
}

/* ---- accessors ----------------------------------------------------------------------------- */

guint
studio_run_n_owners (StudioRun *self)
{
  return self->owners->len;
}

const char *const *
studio_run_get_owners (StudioRun *self)
{
  return (const char *const *)self->owners->pdata;
}

const guint64 *
studio_run_get_owner_bytes (StudioRun *self)
{
  return (const guint64 *)(void *)self->owner_bytes->data;
}

const char *
studio_run_get_memory_device (StudioRun *self)
{
  return self->memory_device;
}

const StudioDriverMemory *
studio_run_get_driver_memory (StudioRun *self)
{
  return self->driver.total > 0 ? &self->driver : NULL;
}
