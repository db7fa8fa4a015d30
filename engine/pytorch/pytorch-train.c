/* Writes the data set, the training loop and the command line of the file. */
#include "engine/pytorch/pytorch-recipe.h"

#include <math.h>
#include <string.h>

/* Lines of a text, each with `indent` more levels. */
static void
add_text (PyWriter *w, guint indent, guint64 serial, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL && (*lines[i] != 0 || lines[i + 1] != NULL); i++)
    {
      gsize spaces = strspn (lines[i], " ");
      gboolean blank = lines[i][spaces] == 0;

      loom_pytorch_add_line (w->lines, blank ? 0 : indent + (guint)(spaces / 4), serial,
                             g_strdup_printf ("%*s%s", (int)(spaces % 4), "", lines[i] + spaces));
    }
}

static void G_GNUC_PRINTF (4, 5) add (PyWriter *w, guint indent, guint64 serial, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  add_text (w, indent, serial, text);
}

static void
gap (PyWriter *w)
{
  add_text (w, 0, 0, "\n\n");
}

static const LoomElement *
train_element (const PyWriter *w)
{
  return loom_element_find (loom_graph_root (w->graph), LOOM_TAG_TRAIN);
}

/* ---- data ------------------------------------------------------------------------ */

/* The source that a data set is, in words: its attributes are those of the graph. */
static void
write_source (PyWriter *w, guint64 *serial)
{
  const LoomNetInstance *root = loom_net_tree (w->net);

  for (guint k = 0; k < loom_net_instance_n_locals (root); k++)
    {
      LoomNetLocal local = loom_net_instance_local (root, k);
      g_autoptr (GString) s = g_string_new (NULL);

      if (local.op == NULL || local.op->role != LOOM_ROLE_DATASET)
        continue;
      *serial = loom_element_serial (local.element);
      for (guint i = 0; i < loom_element_n_attributes (local.element); i++)
        {
          const char *name, *value;

          loom_element_attribute (local.element, i, &name, &value);
          if (strcmp (name, "id") != 0 && strcmp (name, "op") != 0)
            g_string_append_printf (s, " %s=%s", name, value);
        }
      g_autofree char *comment = loom_pytorch_comment (s->str);
      add (w, 0, *serial, "# %s: %s", local.id, comment);
    }
}

static void
write_data (PyWriter *w)
{
  guint64 serial = 0;
  g_autoptr (GString) ports = g_string_new (NULL);
  g_autofree char *samples = loom_pytorch_quote (w->samples);

  for (guint i = 0; i + 1 < w->ports->len; i += 2)
    g_string_append_printf (ports, "%s\"%s\": \"%s\"", i > 0 ? ", " : "", (char *)w->ports->pdata[i + 1],
                            (char *)w->ports->pdata[i]);
  write_source (w, &serial);
  add (w, 0, serial, "SAMPLES = %s", samples);
  add (w, 0, serial, "# Arguments of Model.forward, and the graph's ports that they come from.");
  add (w, 0, serial, "PORTS = {%s}", ports->str);
  gap (w);
  add_text (w, 0, serial,
            "def load_samples(path):\n"
            "    \"\"\"{\"train\": {\"data.x\": tensor, ...}, ...}: the splits of the data set, from a .safetensors "
            "file.\"\"\"\n"
            "    splits = {}\n"
            "    for name, tensor in load_file(path).items():\n"
            "        split, port = name.split(\".\", 1)\n"
            "        splits.setdefault(split, {})[port] = tensor\n"
            "    return splits\n");
  if (w->spec != NULL && w->spec->precision == LOOM_F64)
    {
      PyLine *line = w->lines->pdata[w->lines->len - 2];
      g_free (line->text);
      line->text
          = g_strdup ("splits.setdefault(split, {})[port] = tensor.double() if tensor.is_floating_point() else tensor");
    }
  gap (w);
  add_text (
      w, 0, serial,
      "def batches(samples, size, generator=None, rank=0, ranks=1, streams=False, drop_last=False, n=None):\n"
      "    \"\"\"Batches as arguments of Model.forward: shuffled with a generator, else in order.\"\"\"\n"
      "    if not PORTS:\n"
      "        yield {}\n"
      "        return\n"
      "    all_samples = len(next(iter(samples.values())))\n"
      "    n = n or all_samples  # how many of them an epoch has\n"
      "    if streams:  # a text in order, as `size` streams\n"
      "        order = torch.arange(n // size * size, device=\"cpu\").view(size, -1).t().flatten()\n"
      "    elif generator is not None:\n"
      "        order = torch.randperm(all_samples, generator=generator, device=\"cpu\")[:n]\n"
      "    else:\n"
      "        order = torch.arange(n, device=\"cpu\")\n"
      "    for rows in order.split(size):\n"
      "        if drop_last and len(rows) < size:\n"
      "            return\n"
      "        rows = rows[:len(rows) // ranks * ranks]  # ranks have equally many\n"
      "        if not len(rows):\n"
      "            return\n"
      "        rows = rows[rank::ranks]\n"
      "        yield {name: samples[port][rows].to(torch.get_default_device()) for name, port in PORTS.items()}\n");
  gap (w);
}

/* ---- optimiser --------------------------------------------------------------------- */

static void
write_optimizer (PyWriter *w, guint64 serial)
{
  const LoomTrainSpec *spec = w->spec;
  const char *text, *class = loom_pytorch_optimizer_class (spec->optimizer, &text);
  g_autofree char *hyper = loom_pytorch_hyper (spec->optimizer, spec->hyper, G_MAXUINT64, FALSE);

  if (text != NULL)
    {
      add_text (w, 0, serial, text);
      gap (w);
    }
  if (spec->groups->len > 0)
    {
      add (w, 0, serial, "# Weights by name: the first pattern that fits decides; None: they are not trained.");
      add (w, 0, serial, "GROUPS = [");
      for (guint i = 0; i < spec->groups->len; i++)
        {
          const LoomTrainGroup *group = spec->groups->pdata[i];
          g_autofree char *pattern = loom_pytorch_pattern (group->match);
          g_autofree char *own = loom_pytorch_hyper (spec->optimizer, group->hyper, group->own, TRUE);

          if (group->frozen)
            add (w, 1, serial, "(%s, None),", pattern);
          else
            add (w, 1, serial, "(%s, {%s}),", pattern, own);
        }
      add (w, 0, serial, "]");
      gap (w);
    }
  add (w, 0, serial, "def make_optimizer(model):");
  if (class == NULL)
    {
      add (w, 1, serial, "return None  # assignments in the graph change the weights");
      gap (w);
      return;
    }
  if (spec->groups->len > 0)
    add_text (w, 1, serial,
              "groups = [{\"params\": [], **(own or {})} for _, own in GROUPS] + [{\"params\": []}]\n"
              "for name, parameter in model.named_parameters():\n"
              "    which = next((i for i, (pattern, _) in enumerate(GROUPS) if re.fullmatch(pattern, name)), -1)\n"
              "    if which >= 0 and GROUPS[which][1] is None:\n"
              "        parameter.requires_grad_(False)\n"
              "    elif parameter.requires_grad:\n"
              "        groups[which][\"params\"].append(parameter)\n"
              "groups = [group for group in groups if group[\"params\"]]\n");
  else
    add (w, 1, serial, "groups = [p for p in model.parameters() if p.requires_grad]");
  add (w, 1, serial, "return %s(groups, %s)", class, hyper);
  gap (w);
}

static void
write_schedule (PyWriter *w)
{
  const LoomSchedule *s = &w->spec->schedule;
  const LoomElement *element = loom_element_find (train_element (w), LOOM_TAG_SCHEDULE);
  guint64 serial = element != NULL ? loom_element_serial (element) : 0;
  g_autofree char *factor = loom_pytorch_schedule (s), *momentum = loom_pytorch_momentum (s);
  gboolean is_plateau = s->klass != NULL && s->klass->watches_loss;

  if (s->klass != NULL && factor == NULL && !is_plateau)
    loom_faults_add (w->faults, LOOM_ERROR_USAGE, loom_element_line (element), NULL, NULL,
                     "The schedule “%s” cannot be written for PyTorch.", s->klass->name);
  /* A formula may read the epoch. */
  const char *each = factor != NULL && strstr (factor, " each") != NULL ? ", each" : "";
  const char *of_epoch = *each != 0 ? ", steps_per_epoch" : "";
  g_autofree char *late = g_strdup_printf ("max(step - %" G_GINT64_FORMAT ", 0)", s->warmup_steps);
  g_autofree char *rest = g_strdup_printf ("max(total - %" G_GINT64_FORMAT ", 1)", s->warmup_steps);
  const char *t = s->by_epoch ? "step // steps_per_epoch" : s->warmup_steps > 0 ? late : "step";
  const char *length = s->by_epoch ? "-(-total // steps_per_epoch)" : s->warmup_steps > 0 ? rest : "total";
  if (factor != NULL)
    {
      add (w, 0, serial, "def factor(t, total, lr%s):", each);
      add (w, 1, serial, "\"\"\"The learning rate after t of `total` %s, divided by lr.\"\"\"",
           s->by_epoch ? "epochs" : "steps");
      add_text (w, 1, serial, factor);
      gap (w);
    }
  if (momentum != NULL)
    {
      add (w, 0, serial, "def momentum(t, total):");
      add_text (w, 1, serial, momentum);
      gap (w);
    }
  add (w, 0, serial, "def set_rates(optimizer, step, total, steps_per_epoch):");
  add (w, 1, serial, "\"\"\"Of the step with this number, from 0.\"\"\"");
  if (factor == NULL && s->warmup_steps == 0)
    add (w, 1, serial, "return");
  else
    {
      add_text (w, 1, serial,
                "for group in optimizer.param_groups:\n"
                "    first = group.setdefault(\"first_lr\", group[\"lr\"])\n");
      if (is_plateau)
        add (w, 2, serial, "group[\"lr\"] = group.setdefault(\"full_lr\", first)");
      else if (factor == NULL)
        add (w, 2, serial, "group[\"lr\"] = first");
      else
        add (w, 2, serial, "group[\"lr\"] = first * factor(%s, %s, first%s)", t, length, of_epoch);
      if (s->warmup_steps > 0)
        add (w, 2, serial, "group[\"lr\"] *= min((step + 1) / %" G_GINT64_FORMAT ", 1)", s->warmup_steps);
      if (momentum != NULL)
        {
          add (w, 2, serial, "now = momentum(%s, %s)", t, length);
          add_text (w, 2, serial,
                    "if now is not None and \"betas\" in group:\n"
                    "    group[\"betas\"] = (now, group[\"betas\"][1])\n"
                    "elif now is not None and group.get(\"momentum\"):\n"
                    "    group[\"momentum\"] = now\n");
        }
    }
  gap (w);
}

/* ---- evaluation ----------------------------------------------------------------------- */

static void
write_evaluation (PyWriter *w, guint64 serial)
{
  const LoomTrainSpec *spec = w->spec;
  g_autoptr (GString) values = g_string_new (NULL);
  gboolean of_classes = FALSE;

  for (guint i = 0; i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *metric = spec->metrics->pdata[i];
      g_autofree char *text = loom_pytorch_metric (metric), *name = loom_pytorch_quote (metric->name);
      const char *x = w->metric_keys->pdata[2 * i], *y = w->metric_keys->pdata[2 * i + 1];

      if (text == NULL)
        continue;
      of_classes |= strstr (text, "threshold") != NULL || strstr (text, "confusion") != NULL
                    || strstr (text, "correct") != NULL;
      g_string_append_printf (values, "%s: (\"%s\", \"%s\", lambda x, y: %s),\n", name, x, y, text);
    }
  if (of_classes)
    {
      add_text (w, 0, serial, loom_pytorch_metric_helpers ());
      gap (w);
    }
  add (w, 0, serial, "# Metrics: what is compared, and how, over all samples of a split.");
  add (w, 0, serial, "METRICS = {");
  add_text (w, 1, serial, values->str);
  add (w, 0, serial, "}");
  gap (w);
  w->count = loom_pytorch_count (w);
  add (w, 0, serial, "def count(batch):");
  add (w, 1, serial, "\"\"\"The number of samples or targets that the loss is a mean over.\"\"\"");
  add (w, 1, serial, "return %s", w->count);
  gap (w);
  /* A graph with a gradient needs one in evaluation, too. */
  if (!w->has_gradient)
    add_text (w, 0, serial, "@torch.no_grad()");
  add_text (w, 0, serial,
            "def evaluate(model, samples, batch_size):\n"
            "    \"\"\"The mean loss and the metrics of a split.\"\"\"\n"
            "    model.eval()\n"
            "    loss, n, compared = 0.0, 0, {name: ([], []) for name in METRICS}\n"
            "    for batch in batches(samples, batch_size):\n"
            "        out, size = model(**batch), count(batch)\n"
            "        loss, n = loss + (out[LOSS].item() * size if size else 0.0), n + size\n"
            "        for name, (x, y, _) in METRICS.items():\n"
            "            compared[name][0].append(out[x].detach())\n"
            "            compared[name][1].append(out[y].detach())\n"
            "    model.train()\n"
            "    values = {\"loss\": loss / n if n else math.nan}\n"
            "    for name, (xs, ys) in compared.items():\n"
            "        value = METRICS[name][2](torch.cat(xs), torch.cat(ys))\n"
            "        values[name] = float(value) if torch.is_tensor(value) else value\n"
            "    return values\n");
  gap (w);
}

/* ---- the loop ---------------------------------------------------------------------------- */

/* The values of op="scheduled" nodes at a step. */
static void
write_scheduled (PyWriter *w)
{
  for (guint i = 0; i < w->spec->scheduled->len && i < w->scheduled->len; i++)
    {
      const LoomScheduled *s = w->spec->scheduled->pdata[i];
      g_autofree char *start = loom_pytorch_float (s->start), *end = loom_pytorch_float (s->end);
      g_autofree char *k = loom_pytorch_float (s->k), *left = NULL, *path = g_strdup (s->slot);
      char *dot = strrchr (path, '.');

      if (dot != NULL)
        *dot = 0;
      if (s->kind == LOOM_SCHEDULED_LINEAR && s->steps > 0)
        left = g_strdup_printf ("max(1 - step / %" G_GINT64_FORMAT ", 0)", s->steps);
      else if (s->kind == LOOM_SCHEDULED_LINEAR)
        left = g_strdup ("max(1 - step / total, 0)");
      else if (s->kind == LOOM_SCHEDULED_EXPONENTIAL)
        left = g_strdup_printf ("%s ** step", k);
      else
        left = g_strdup_printf ("%s / (%s + math.exp(min(step / %s, 700)))", k, k, k);
      add (w, 2, 0, "model.get_buffer(\"%s\").fill_(%s + (%s - %s) * %s)", path, end, start, end, left);
    }
}

/* The end of an epoch: evaluation, schedule, best weights and early stopping. */
static void
write_epoch_end (PyWriter *w, guint64 serial)
{
  const LoomTrainSpec *spec = w->spec;
  const LoomMetricSpec *metric = spec->monitor >= 0 ? spec->metrics->pdata[spec->monitor] : NULL;
  g_autofree char *least = loom_pytorch_float (spec->min_delta);
  g_autofree char *formula = metric != NULL ? loom_pytorch_metric (metric) : NULL;
  const char *model = spec->ema > 0 ? "average" : "model";

  if (spec->keep_best && metric != NULL && formula == NULL)
    loom_faults_add (w->faults, LOOM_ERROR_USAGE, loom_element_line (train_element (w)), NULL, "monitor",
                     "monitor is “%s”, which cannot be written for PyTorch.", metric->name);
  add (w, 2, serial, "values = {\"loss\": sum(losses[-steps_per_epoch:]) / steps_per_epoch}");
  add (w, 2, serial, "if validation:");
  add (w, 3, serial, "values = evaluate(%s, validation, batch_size)", model);
  if (spec->keep_best && metric != NULL)
    {
      add (w, 2, serial, "else:");
      add (w, 3, serial, "values[WATCHED] = evaluate(%s, samples, batch_size)[WATCHED]", model);
    }
  if (spec->schedule.klass != NULL && spec->schedule.klass->watches_loss)
    {
      gboolean warm = spec->schedule.warmup_steps > 0;

      if (warm)
        add_text (w, 2, serial, "for group in optimizer.param_groups:\n    group[\"lr\"] = group[\"full_lr\"]");
      add (w, 2, serial, "plateau.step(values[\"loss\"])");
      if (warm)
        add_text (w, 2, serial, "for group in optimizer.param_groups:\n    group[\"full_lr\"] = group[\"lr\"]");
    }
  add (w, 2, serial, "if rank == 0:");
  add (w, 3, serial, "report(f\"epoch {epoch + 1}\", values)");
  if (!spec->keep_best)
    return;
  add (w, 2, serial, "gain = %s",
       metric != NULL && metric->metric->higher_is_better ? "values[WATCHED] - best" : "best - values[WATCHED]");
  add (w, 2, serial, "if not math.isnan(values[WATCHED]) and (math.isnan(best) or gain > %s):", least);
  add_text (w, 3, serial, "best, waited = values[WATCHED], 0\nBEST.update(weights_of(model))");
  add (w, 2, serial, "else:");
  add (w, 3, serial, "waited += 1");
  if (spec->patience > 0)
    {
      add (w, 2, serial, "if waited >= %" G_GINT64_FORMAT ":", spec->patience);
      add (w, 3, serial, "break");
    }
}

static void
write_loop (PyWriter *w, guint64 serial)
{
  const LoomTrainSpec *spec = w->spec;
  gboolean autocast = spec->precision == LOOM_BF16 || spec->precision == LOOM_F16, scaled = spec->precision == LOOM_F16;
  gboolean closure = strcmp (spec->optimizer->name, "lbfgs") == 0 || strcmp (spec->optimizer->name, "newton") == 0;
  gboolean newton = strcmp (spec->optimizer->name, "newton") == 0;
  gboolean plateau = spec->schedule.klass != NULL && spec->schedule.klass->watches_loss;
  g_autofree char *dtype = loom_pytorch_dtype (spec->precision);
  g_autofree char *clip_norm = loom_pytorch_float (spec->clip_norm),
                  *clip_value = loom_pytorch_float (spec->clip_value);
  g_autofree char *bucket = loom_pytorch_float (MAX (spec->parallel.bucket_mb, 1e-3));
  const LoomElement *clip = loom_element_find (train_element (w), LOOM_TAG_CLIP);
  guint64 clip_serial = clip != NULL ? loom_element_serial (clip) : 0;
  gboolean sharded = spec->parallel.shards == LOOM_SHARDS_PARAMETERS;
  guint64 parallel_serial = 0;
  const LoomElement *parallel = loom_element_find (train_element (w), LOOM_TAG_PARALLEL);

  if (parallel != NULL)
    parallel_serial = loom_element_serial (parallel);
  add (w, 0, parallel_serial, "def distribute(model):");
  add (w, 1, parallel_serial,
       "\"\"\"Of several ranks, each computes a part of the batch: torchrun --nproc-per-node=4 FILE.py\"\"\"");
  add_text (w, 1, parallel_serial,
            "if int(os.environ.get(\"WORLD_SIZE\", 1)) == 1:\n"
            "    return model, 0, 1\n"
            "torch.distributed.init_process_group()\n");
  if (spec->parallel.sync_batch_norm)
    add (w, 1, parallel_serial, "model = nn.SyncBatchNorm.convert_sync_batchnorm(model)");
  if (sharded)
    {
      add (w, 1, parallel_serial, "from torch.distributed.fsdp import fully_shard");
      add (w, 1, parallel_serial, "fully_shard(model)");
      add (w, 1, parallel_serial, "return model, torch.distributed.get_rank(), torch.distributed.get_world_size()");
    }
  else
    {
      add (w, 1, parallel_serial, "parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=%s)", bucket);
      add (w, 1, parallel_serial, "return parallel, torch.distributed.get_rank(), torch.distributed.get_world_size()");
    }
  gap (w);
  add_text (
      w, 0, parallel_serial,
      "def share_of_rank(batch, ranks):\n"
      "    \"\"\"The weight of this rank's batch, whose gradients are averaged: 1 if all ranks count equally "
      "many.\"\"\"\n"
      "    own = float(count(batch))\n"
      "    total = mean_of_ranks(own, ranks)\n"
      "    return own / total if total else 1.0\n"
      "\n"
      "\n"
      "def mean_of_ranks(value, ranks):\n"
      "    value = torch.as_tensor(value).detach().clone()\n"
      "    if ranks > 1:\n"
      "        torch.distributed.all_reduce(value)\n"
      "    return value.item() / ranks\n"
      "\n"
      "\n"
      "def weights_of(model):\n"
      "    \"\"\"The weights of the model, whole if ranks have shards of them.\"\"\"\n"
      "    whole = {k: v.full_tensor() if hasattr(v, \"full_tensor\") else v for k, v in model.state_dict().items()}\n"
      "    return {k: v.detach().clone().contiguous() for k, v in whole.items()}\n");
  gap (w);
  if (spec->keep_best)
    {
      const LoomMetricSpec *metric = spec->monitor >= 0 ? spec->metrics->pdata[spec->monitor] : NULL;
      g_autofree char *name = loom_pytorch_quote (metric != NULL ? metric->name : "loss");

      add (w, 0, serial, "WATCHED = %s", name);
      add (w, 0, serial, "BEST = {}  # the weights of the best epoch");
      gap (w);
    }
  add (w, 0, serial,
       "def train(model, samples, epochs=%" G_GINT64_FORMAT ", batch_size=%" G_GINT64_FORMAT
       ", validation=None, max_steps=None, report=print):",
       spec->epochs, spec->batch_size);
  add (w, 1, serial, "\"\"\"Trains the model; returns the loss of every step.\"\"\"");
  add (w, 1, serial, "torch.manual_seed(%" G_GUINT64_FORMAT ")", spec->seed);
  add (w, 1, serial, "torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = %s",
       spec->tf32 ? "True" : "False");
  add (w, 1, serial, "generator = torch.Generator(device=\"cpu\").manual_seed(%" G_GUINT64_FORMAT ")", spec->seed);
  add (w, 1, serial, "parallel, rank, ranks = distribute(model)");
  add (w, 1, serial, "optimizer = make_optimizer(model)");
  if (plateau)
    {
      g_autofree char *arguments = loom_pytorch_plateau (&spec->schedule);
      add (w, 1, serial, "plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer%s)", arguments);
    }
  if (scaled)
    add (w, 1, serial, "scaler = torch.amp.GradScaler()");
  if (spec->ema > 0)
    {
      g_autofree char *decay = loom_pytorch_float (spec->ema);
      add (w, 1, serial, "average = torch.optim.swa_utils.AveragedModel(");
      add (w, 2, serial, "model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(%s))", decay);
    }
  add (w, 1, serial, "n = len(next(iter(samples.values()))) if PORTS else 1");
  add (w, 1, serial, "size = batch_size * %" G_GINT64_FORMAT, spec->accumulate);
  add (w, 1, serial,
       spec->drop_last == LOOM_DROP_LAST_TRUE || spec->stateful ? "steps_per_epoch = max(n // size, 1)"
                                                                : "steps_per_epoch = max(-(-n // size), 1)");
  if (spec->drop_last == LOOM_DROP_LAST_AUTO && !spec->stateful)
    {
      add_text (w, 1, serial,
                "norms = any(isinstance(m, (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm))\n"
                "            for m in model.modules())\n"
                "if n > 1 and n % batch_size == 1 and norms:  # one sample has no variance\n"
                "    n -= 1\n"
                "    steps_per_epoch = max(-(-n // size), 1)\n");
    }
  add (w, 1, serial, "total, losses = epochs * steps_per_epoch, []");
  if (spec->keep_best)
    add (w, 1, serial, "best, waited = math.nan, 0");
  add (w, 1, serial, "model.train()");
  add (w, 1, serial, "for epoch in range(epochs):");
  if (spec->stateful)
    add_text (w, 2, serial,
              "for module in model.modules():  # an epoch starts without a state\n"
              "    module.__dict__.pop(\"kept\", None)\n");
  add (w, 2, serial, "for batch in batches(samples, size, generator, rank, ranks, streams=%s, drop_last=%s%s):",
       spec->stateful ? "True" : "False", spec->drop_last == LOOM_DROP_LAST_TRUE ? "True" : "False",
       spec->drop_last == LOOM_DROP_LAST_AUTO && !spec->stateful ? ", n=n" : "");
  add (w, 3, serial, "step = len(losses)");
  add (w, 3, serial, "if step == max_steps:");
  add (w, 4, serial, "return losses");
  if (spec->optimizer->takes_no_gradients)
    ;
  else
    add (w, 3, serial, "set_rates(optimizer, step, total, steps_per_epoch)");
  /* write_scheduled() indents by two for the loop of a test of its own, so it is moved here. */
  guint before = w->lines->len;
  write_scheduled (w);
  for (guint i = before; i < w->lines->len; i++)
    ((PyLine *)w->lines->pdata[i])->indent++;
  if (spec->optimizer->takes_no_gradients)
    {
      add (w, 3, serial, "out = parallel(**batch)");
      add (w, 3, serial, "loss = out[LOSS]");
    }
  else if (closure)
    {
      add (w, 3, serial, "def closure():");
      if (!newton)
        add (w, 4, serial, "optimizer.zero_grad()");
      if (autocast)
        add (w, 4, serial, "with torch.autocast(torch.get_default_device().type, dtype=%s):", dtype);
      add (w, autocast ? 5 : 4, serial, "loss = parallel(**batch)[LOSS]");
      if (!newton)
        add (w, 4, serial, "loss.backward()");
      add (w, 4, serial, "return loss");
      add_text (w, 3, serial, "\nloss = optimizer.step(closure)");
    }
  else
    {
      add (w, 3, serial, "optimizer.zero_grad()");
      if (spec->accumulate > 1)
        {
          add (w, 3, serial, "loss, rows, whole = 0.0, len(next(iter(batch.values()))), max(count(batch), 1)");
          add (w, 3, serial, "own = share_of_rank(batch, ranks)");
          add (w, 3, serial,
               "for part in range(0, rows, batch_size):  # contributions by what the loss is a mean over");
          add (w, 4, serial, "few = {name: value[part:part + batch_size] for name, value in batch.items()}");
        }
      guint at = spec->accumulate > 1 ? 4 : 3;
      const char *call = spec->accumulate > 1 ? "parallel(**few)" : "parallel(**batch)";
      if (autocast)
        {
          add (w, at, serial, "with torch.autocast(torch.get_default_device().type, dtype=%s):", dtype);
          add (w, at + 1, serial, "out = %s", call);
        }
      else
        add (w, at, serial, "out = %s", call);
      if (spec->accumulate > 1)
        {
          add (w, at, serial,
               "share = (out[LOSS] if count(few) else torch.nan_to_num(out[LOSS])) * (count(few) / whole * own)");
          add (w, at, serial, scaled ? "scaler.scale(share).backward()" : "share.backward()");
          add (w, at, serial, "loss = loss + share.detach()");
        }
      else
        {
          add (w, at, serial, "loss = out[LOSS] * share_of_rank(batch, ranks)");
          add (w, at, serial, scaled ? "scaler.scale(loss).backward()" : "loss.backward()");
        }
      if (scaled && (spec->clip_norm > 0 || spec->clip_value > 0))
        add (w, 3, clip_serial, "scaler.unscale_(optimizer)");
      if (spec->clip_value > 0)
        add (w, 3, clip_serial, "nn.utils.clip_grad_value_(model.parameters(), %s)", clip_value);
      if (spec->clip_norm > 0)
        add (w, 3, clip_serial, "nn.utils.clip_grad_norm_(model.parameters(), %s)", clip_norm);
      add_text (w, 3, serial, scaled ? "scaler.step(optimizer)\nscaler.update()" : "optimizer.step()");
    }
  if (loom_pytorch_needs (w, "assign"))
    add (w, 3, serial, "do_assignments(model)");
  if (spec->ema > 0)
    add (w, 3, serial, "average.update_parameters(model)");
  add (w, 3, serial, "losses.append(mean_of_ranks(loss, ranks))");
  write_epoch_end (w, serial);
  add (w, 1, serial, "return losses");
  gap (w);
}

static void
write_frozen (PyWriter *w)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < loom_net_n_weights (w->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (w->net, i);
      const gboolean is_base = w->spec != NULL && loom_train_spec_group_of (w->spec, weight->name) == 0
                               && loom_train_spec_freezes (w->spec, weight->name);

      if ((weight->frozen || is_base) && !weight->is_buffer)
        g_string_append_printf (names, "    \"%s\",\n", weight->name);
    }
  if (names->len == 0)
    return;
  add (w, 0, 0, "# Weights that the graph freezes.");
  add_text (w, 0, 0, "FROZEN = [");
  add_text (w, 0, 0, names->str);
  add_text (w, 0, 0, "]");
  gap (w);
  w->has_frozen = TRUE;
}

static void
write_main (PyWriter *w, guint64 serial)
{
  add_text (w, 0, serial,
            "def make_model(weights=None):\n"
            "    \"\"\"The model, with the weights of a .safetensors file or new ones.\"\"\"\n");
  if (w->spec != NULL && w->spec->precision == LOOM_F64)
    add (w, 1, serial, "torch.set_default_dtype(torch.float64)");
  add (w, 1, serial, "model = Model()");
  if (w->has_frozen)
    add_text (w, 1, serial, "for name in FROZEN:\n    model.get_parameter(name).requires_grad_(False)\n");
  if (w->spec != NULL && w->spec->weights != NULL)
    {
      g_autofree char *path = loom_pytorch_quote (w->spec->weights);
      g_auto (GStrv) matches = g_strsplit (w->spec->match != NULL ? w->spec->match : "**", ",", -1);
      g_autoptr (GString) list = g_string_new (NULL);

      for (guint i = 0; matches[i] != NULL; i++)
        {
          g_autofree char *pattern = loom_pytorch_pattern (g_strstrip (matches[i]));
          g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", pattern);
        }
      add (w, 1, serial, "begin = load_file(%s) if weights is None else {}  # <train weights>", path);
      add (w, 1, serial, "begin = {k: v for k, v in begin.items() if any(re.fullmatch(p, k) for p in [%s])}",
           list->str);
      add_text (w, 1, serial,
                "have = model.state_dict()\n"
                "begin = {k: v for k, v in begin.items() if k in have and have[k].shape == v.shape}\n");
      add_text (w, 1, serial, "model.load_state_dict(begin, strict=False)\n");
    }
  /* DoRA's magnitudes begin with the norms of the rows that are there now. */
  if (loom_pytorch_needs (w, "LoraLinear"))
    {
      add_text (w, 1, serial, "for name, module in model.named_modules():\n");
      add (w, 2, serial, "if isinstance(module, LoraLinear) and module.dora%s:",
           w->spec != NULL && w->spec->weights != NULL ? " and f\"{name}.lora_magnitude_vector\" not in begin" : "");
      add_text (w, 3, serial, "module.lora_magnitude_vector.data = module.norms()\n");
    }
  add_text (w, 1, serial,
            "if weights is not None:\n"
            "    model.load_state_dict(load_file(weights), strict=True)\n"
            "return model\n");
  gap (w);
  add_text (w, 0, serial, "if __name__ == \"__main__\":");
  add (w, 1, serial, "parser = argparse.ArgumentParser()");
  add (w, 1, serial, "parser.add_argument(\"--weights\", help=\"start from this .safetensors file\")");
  add (w, 1, serial, "parser.add_argument(\"--samples\", default=SAMPLES)");
  add (w, 1, serial, "parser.add_argument(\"--save\", help=\"write the weights to this .safetensors file\")");
  add (w, 1, serial, "parser.add_argument(\"--device\", default=\"cuda\" if torch.cuda.is_available() else \"cpu\")");
  if (w->spec != NULL)
    add (w, 1, serial, "parser.add_argument(\"--epochs\", type=int, default=%" G_GINT64_FORMAT ")", w->spec->epochs);
  add_text (w, 1, serial,
            "args = parser.parse_args()\n"
            "if args.device == \"cuda\":\n"
            "    args.device = f\"cuda:{os.environ.get('LOCAL_RANK', 0)}\"\n"
            "    torch.cuda.set_device(args.device)\n"
            "torch.set_default_device(args.device)\n");
  if (w->spec != NULL)
    add (w, 1, serial, "torch.manual_seed(%" G_GUINT64_FORMAT ")", w->spec->seed);
  add (w, 1, serial, "model = make_model(args.weights)");
  if (w->spec != NULL)
    {
      add_text (w, 1, serial, "splits = load_samples(args.samples) if PORTS else {\"train\": {}}\n");
      add (w, 1, serial,
           "train(model, splits[\"train\"], epochs=args.epochs, validation=splits.get(\"val\") or "
           "splits.get(\"test\"))");
      add_text (w, 1, serial,
                "weights = weights_of(model)  # by all ranks, which have shards\n"
                "if args.save and int(os.environ.get(\"RANK\", 0)) == 0:\n"
                "    save_file(weights, args.save)\n");
      if (w->spec->keep_best)
        add_text (w, 2, serial,
                  "if BEST:\n    save_file(BEST, args.save.removesuffix(\".safetensors\") + \".best.safetensors\")\n");
    }
  else
    add_text (w, 1, serial, "print(model)");
}

void
loom_pytorch_write_training (PyWriter *w)
{
  const LoomElement *element = train_element (w);
  guint64 serial = element != NULL ? loom_element_serial (element) : 0;

  write_data (w);
  write_frozen (w);
  if (w->spec != NULL)
    {
      add (w, 0, serial, "LOSS = \"%s\"", w->loss_key);
      gap (w);
      write_optimizer (w, serial);
      if (!w->spec->optimizer->takes_no_gradients)
        write_schedule (w);
      write_evaluation (w, serial);
      write_loop (w, serial);
    }
  write_main (w, serial);
}
