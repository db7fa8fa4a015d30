/* Prints the lines of --json: the members of each event, from the table below. tests/cli/test-json.py compares the
 * table with the lines that the commands print, and finds an event of the sources that is not in it. */
#include "app/manual.h"

#include <stdio.h>
#include <string.h>

/* Members are separated by blanks, each NAME:TYPE with the types of introduction(), and NAME?:TYPE if the member may be
 * absent. */
typedef struct
{
  const char *commands; /* separated by commas */
  const char *event;
  const char *members;
  const char *doc;
} Event;

#define TYPE   "dtype:s shape:[n]"
#define OWNERS "parameters:n gradients:n optimizer:n activations:n workspace:n data:n"

static const Event events[] = {
  { "check", "node", "node:s op:s loop?:s device:s outputs:[{port:s,dtype:s,shape:s}] parameters:n flops:x bytes:n",
    "a node, the loop whose body it is in, and its cost" },
  { "check", "total", "parameters:n flops:x bytes:n", "the sum" },
  { "check", "memory", "device:s " OWNERS " total:n", "bytes of a training step by kind" },
  { "check", "copy", "tensor:s from:s to:s bytes:n gradient:b", "a copy between devices" },
  { "check", "fix", "node:s port:s text:s", "with --fix: a change of the graph" },
  { "check", "stop", "stop:n graph:s title:s slides:n pages:n", "a stop of a lecture" },
  { "check", "gradcheck", "node:s difference:x agrees:b input?:s place?:[n] gradient?:x numeric?:x why?:s",
    "with --gradcheck: the worst input of a node; null: not compared, for the reason why" },
  { "check", "gradcheck_input",
    "node:s difference:x agrees:b input:s place:[n] gradient:x numeric:x shape:[n] compared:n",
    "with --gradcheck: each input and weight of a node; compared: elements" },
  { "check,train,plan", "fault", "code:s line:n node:s port:s message:s fix:s", "a fault; the status is 1" },
  { "check,train,plan", "warning", "code:s line:n node:s port:s message:s fix:s", "a warning" },
  { "train", "step", "step:n epoch:n loss:x time:x items_per_second:x",
    "time in seconds from the start of training; items_per_second is null until it is measured" },
  { "train,eval", "eval", "split:s step:n loss:x metrics:{} time:x",
    "split is val or test, or train for a loss without data; metrics by name, a confusion matrix as a list of rows; "
    "step "
    "is that of the weights, null if unknown" },
  { "attach", "step", "step:n epoch:n loss:x", "the steps so far, thinned evenly, and those that follow" },
  { "attach", "eval", "split:s step:n loss:x metrics:{}", "an evaluation since the command was started" },
  { "attach", "done", "", "the end" },
  { "train", "weights", "file:s loaded:[{name:s,shape:s,file_shape:s}] missing:[{}] unused:[{}] mismatched:[{}]",
    "initial weights of a file" },
  { "train", "early_stop", "step:n epoch:n monitor:s best:x best_epoch:n", "the end by patience" },
  { "train", "memory", "device:s total:n used:n before:n peak_first_step?:n peak_last_step:n",
    "bytes by the driver: at the end, before the run, and the peaks of the first and of all steps" },
  { "train", "waits", "steps:n data:x compute:x rest:x threads:n", "with --waits, in seconds" },
  { "train", "health", "step:n node:s verdict:s weight?:x gradient?:x update?:x units?:n dead?:n saturated?:x wires:{}",
    "with --health, for each node; wires by port" },
  { "train", "done", "step:n parameters:n pushes?:n staleness_mean?:x staleness_most?:n time:x", "the end" },
  { "eval", "samples",
    "split:s samples:n loss:x accuracy?:x mean_iou?:x map?:x map_50?:x classes?:[s] confusion?:[[n]] "
    "per_class?:[{samples?:n,accuracy?:x,precision?:x,iou?:x,boxes?:n,ap?:x,ap_50?:x}] "
    "calibration?:{error:x,bins:[{samples:n,confidence:x,accuracy:x}]}",
    "with --confusion, --per-class or --calibration; confusion has rows of true classes; classes of boxes have their "
    "number and average precisions instead" },
  { "eval", "translation", "beam:n sentences:n bleu:x exact:x", "with --beam; bleu and exact from 0 to 1" },
  { "predict", "prediction",
    "file:s row?:n classes?:[{class:n,name?:s,probability?:x,score?:x}] positions?:[[{}]] values?:[x] "
    "probabilities?:[x] shape?:[n] areas?:[{class:n,name?:s,fraction:x}] "
    "boxes?:[{class:n,name?:s,score:x,box:[x]}] mask?:s text?:s score?:x note?:s",
    "classes, or a list of them for each position, or their areas in a picture and with --masks a file, or values; "
    "probabilities are those of yes and no; score replaces "
    "probability for margins; text and score are those of a net that writes" },
  { "predict", "error", "file:s message:s", "a file that cannot be read; the status is 1" },
  { "generate", "generation", "prompt:s text:s tokens:n seconds:x tokens_per_second?:x",
    "the speed is measured from the second token on" },
  { "run", "output", "port:s " TYPE " file?:s values?:[x]", "a requested port: its file, or with --print its values" },
  { "runs", "run",
    "folder:s name:s note:s star:b sweep:s error:s graph?:s device?:s training?:b attachable?:b end?:s message?:s "
    "nan_step?:n "
    "begun?:x seconds?:x step?:n epoch?:n "
    "epochs?:n parameters?:x train_loss?:x loss?:x split?:s metric?:s value?:x change?:s "
    "settings?:[{name:s,value:s}] curve?:[[x]]",
    "a run; of a damaged one everything up to error. end: done, stopped, failed or killed; nan_step: the step whose "
    "numbers were not finite. curve has pairs of step and loss" },
  { "queue", "queued", "number:n name:s title:s document:s sweep:s",
    "a run that waits, or was added; --run prints the events of train" },
  { "hand-in", "handed_in", "file:s name:s step:n answers:n", "step: of the checkpoint; 0 without a run" },
  { "grade", "graded",
    "file:s name:s verdict:s compared:s steps:n checked:n goals:n met:n questions:n right:n unmet:[s] answers:[s] "
    "findings:[s] run:s training:s",
    "a hand-in. verdict: holds, untrained, shared, changed or refused; compared: bits, curve or null. run is equal for "
    "the same run, training for runs with the same graph and log; null: none" },
  { "export", "progress", "done:x", "the fraction of a picture or report that is finished" },
  { "export", "wrote", "file:s", "a file is complete" },
  { "diff", "added", "what:s module:s name:s old_name?:s type?:s cosmetic?:b changes:[{}]",
    "also removed, changed and renamed; changes have attribute, before, after, and default if one is a default. The "
    "name "
    "of a wire is the end it leads to, its attribute is from. cosmetic: no number changes" },
  { "diff", "total", "differences:n", "the number of lines" },
  { "devices", "device", "name:s title:s memory_total:n memory_free:n threads:n", "a device" },
  { "devices", "no_device", "name:s reason:s", "a device that cannot be used" },
  { "program", "program", "part:s values:n instructions:n",
    "part is step, or update for the end of a step that accumulates; numbers of values belong to the part; node is a "
    "path, null for the optimiser" },
  { "program", "input", "part:s name:s value:n", "" },
  { "program", "slot", "part:s name:s kind:s " TYPE " trainable:b read:n commit:n",
    "kind is parameter, buffer, optimizer or scalar; read and commit are values" },
  { "program", "value", "part:s value:n " TYPE " region:s node:s device:s",
    "region is forward, backward or update; device null: the graph's" },
  { "program", "instruction",
    "part:s index:n primitive:s attributes:s in:[n] out:[n] region:s node:s device:s recomputation:n",
    "null in a list is an absent operand or an unused result" },
  { "program", "output", "part:s name:s value:n", "" },
  { "plan", "plan", "part:s instructions:n setup:n devices:[s]", "setup: the instructions before the first step" },
  { "plan", "value",
    "part:s value:n " TYPE " layout:s bytes:n device:s place:s offset?:n name?:s owner:s node:s first:n last:n",
    "shape is the logical one; layout is plain or nhwc, place is arena, once, slot or input, owner the kind of memory; "
    "first and last are the instructions between which it is live" },
  { "plan", "instruction",
    "part:s index:n setup:b primitive:s label:s algorithm:s kernel:s device:s region:s node:s in:[n] out:[n] "
    "scratch_offset?:n scratch_bytes?:n until?:n flops:x bytes:x",
    "label names what was fused; kernel null: a copy to device; until: the instruction that waits for it" },
  { "plan", "input", "part:s name:s value:n", "value null: unused" },
  { "plan", "output", "part:s name:s value:n", "" },
  { "plan", "memory", "part:s device:s " OWNERS " total:n arena?:n lower_bound?:n",
    "bytes by kind; lower_bound: the most bytes that are live at once" },
  { "plan", "lane", "part:s device:s lane:s bytes:n inputs?:[s] outputs?:[s]", "copies next to the instructions" },
  { "plan", "recomputation", "device:s saved:n arena_without:n", "bytes, if the graph recomputes" },
  { "plan", "pass", "part:s name:s doc:s ran:b instructions:n bytes:n", "with --passes, instead of the others" },
  { "plan", "parameter", "rank?:n name:s " TYPE " whole?:[n] trainable:b device:s bytes:n", "with --parameters" },
  { "plan", "node", "rank?:n node:s device:s " OWNERS " bytes:n", "with --memory" },
  { "plan", "step",
    "part:s phase:s index:n depth:n node:s nodes:[s] purpose:s label:s kernel:s algorithm:s device:s reads:[s] "
    "writes:[s] bytes:n flops:n seconds:x seconds_from:s parameters?:n gradients?:n optimizer?:n activations?:n "
    "workspace?:n data?:n",
    "with --steps; depth: of loops around it; seconds_from: run, bench or estimate; bytes by kind are alive while it "
    "runs" },
  { "plan", "storage", "part:s device:s node:s name:s owner:s bytes:n first:n last:n",
    "with --steps: a block of memory, alive from the step first to the step last; name: a parameter's" },
  { "plan", "fits",
    "device:s needed:n available?:n batch_size:n largest_batch:n ranks:n rank:n rank_needed:n strategy?:s",
    "with --fits; rank: the one that needs most; strategy: one with which the batch fits" },
  { "plan", "source", "nodes:[s] label:s region:s device:s algorithm:s kernel:s source:s why:s", "with --source" },
  { "plan", "strategy", "strategy:s chosen:b memory:n " OWNERS " sent:n calls:n", "with --ranks: bytes of a rank" },
  { "plan", "stage", "stage:n first:s last:s nodes:n ms:x paths:[s]", "of a pipeline" },
  { "plan", "schedule", "schedule:s chosen:b microbatches:n bubble:x in_flight:n", "of a pipeline" },
  { "plan", "check_fault", "plan:s rule:s text:s", "with --check; rule: memory order state random forecast meaning" },
  { "plan", "check_pass", "plan:s pass:s", "the guilty pass; program: no pass that can be left out" },
  { "plan", "check",
    "ok:b faults:n plans:n instructions:n values:n pairs:n pieces:n equal_by_rule:n equal_by_evaluation:n too_large:n "
    "not_evaluated:n exchanges:n",
    "pairs of accesses across lanes, pieces of the program" },
  { "bench", "bench",
    "graph:s device:s executor:s batch_size:n steps_per_second:x min:x max:x items_per_second:x planned_bytes:n "
    "arena_bytes:n peak_resident_bytes:n ready_ms:x plan_ms:x check_ms:x loss:x",
    "peak_resident_bytes is the peak of the process so far; loss is null for a graph without a loss, of which "
    "predictions are timed" },
  { "bench", "replicas", "graph:s how:s replicas:n steps_per_second:x speedup:x copies:n copied_bytes:n loss:x",
    "with --replicas; the loss of the first step" },
  { "bench", "strategy",
    "graph:s strategy:s ranks:n batch_size:n steps_per_second:x items_per_second:x planned_bytes:n held_bytes:n "
    "limit_bytes:n largest_batch:n",
    "with --ranks" },
  { "bench", "collective",
    "over:s ranks:n collective:s bytes:n seconds:x min:x max:x bytes_per_second:x bus_bytes_per_second:x",
    "bench comm; over is threads or mpi" },
  { "bench", "line", "over:s ranks:n collective:s seconds_per_call:x seconds_per_byte:x", "bench comm: the fit" },
  { "bench", "device", "device:s what:s size:n unit:s median:x min:x max:x", "bench devices" },
  { "bench", "layer", "device:s what:s algorithm:s size:n seconds:x gflops:x", "bench devices: convolutions" },
  { "bench", "machine", "what:s device:s value:x unit:s lecture:s", "bench machine" },
  { "bench", "tuned", "call:s fastest:s seconds:x", "with --tune, for each call" },
  { "bench", "tune", "calls:n skipped:n file:s cost_table:s", "with --tune" },
  { "sweep", "run", "case?:s by?:s settings:{} seed?:n fold?:n step:n train_loss:x loss:x value:x failure:s", "a run" },
  { "sweep", "sweep",
    "case?:s by?:s settings:{} runs:n steps:x parameters:x failed:n loss:x loss_spread:x metric:s value:x "
    "value_spread:x",
    "a row of the table" },
  { "simulate", "simulate",
    "gpus:n replicas:n step_seconds:x samples_per_second:x exchange_seconds:x exposed_seconds:x bubble:x efficiency:x "
    "memory_bytes:n fits:b measured_seconds?:x error?:x",
    "the last two if it was run, too" },
  { "simulate", "published", "what:s unit:s published:x predicted:x error:x source:s", "with --published" },
  { "transfer", "transfer", "graph:s samples:n trained:s steps:n loss:x metric?:s value?:x",
    "trained is scratch, head, last or all; samples null: all" },
};

static const char introduction[]
    = "With --json a command prints one JSON object per line on standard output and nothing else. Each has `event` and "
      "these members: n is a whole number, x a number, s text, b true or false, [ ] a list, { } an object; ? marks "
      "members that are left out if they do not apply. n, x and s can be null: a number that is not finite, unknown or "
      "absent. New versions may add members and events.";

/* The commands in the order of --help, each with its events in the order of the table. */
void
manual_print_json (const Command *const *commands, guint n)
{
  printf ("# The lines of --json, Gradloom %s\n\nMade by `gradloom help json`. ", LOOM_VERSION);
  manual_print_cell (introduction);
  printf ("\n");
  for (guint i = 0; i < n; i++)
    {
      gboolean begun = FALSE;

      for (guint e = 0; e < G_N_ELEMENTS (events); e++)
        {
          g_auto (GStrv) names = g_strsplit (events[e].commands, ",", -1);

          if (!g_strv_contains ((const char *const *)names, commands[i]->name))
            continue;
          if (!begun)
            printf ("\n## gradloom %s\n\n| event | members | meaning |\n|---|---|---|\n", commands[i]->name);
          begun = TRUE;
          printf ("| `%s` | `%s` | ", events[e].event, events[e].members);
          manual_print_cell (events[e].doc);
          printf (" |\n");
        }
    }
}
