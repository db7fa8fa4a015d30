/* A finished run in a folder, which tests resume. */
#pragma once

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "engine/loom-lab.h"
#include "tests/scratch.h"
#include "tests/train/train-test.h"

static const char *const GRAPH = TRAIN_TEST_SPIRALS (
    "", "16") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"2\" seed=\"3\">"
              "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

typedef struct
{
  char *folder, *run;
} Fixture;

static inline LoomTrainer *
begin (const char *out)
{
  return train_test_new (GRAPH, (LoomTrainerOptions){ .out = out });
}

/* A finished run of two epochs of 11 steps, with checkpoints at 11 and 22. */
static inline void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("gradloom-resume-XXXXXX", NULL);
  f->run = g_build_filename (f->folder, "run", NULL);
  g_autoptr (LoomTrainer) trainer = begin (f->run);
  train_test_run (trainer);
}

static inline void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->run);
  g_free (f->folder);
}

static inline LoomTrainerOptions
again (Fixture *f)
{
  return (LoomTrainerOptions){ .lr = NAN, .seed = -1, .resume = f->run };
}

static inline char *
read_text (Fixture *f, const char *name)
{
  g_autofree char *path = g_build_filename (f->run, name, NULL);
  g_autoptr (GError) error = NULL;
  char *text;
  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static inline void
write_text (Fixture *f, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (f->run, name, NULL);
  g_autoptr (GError) error = NULL;
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static inline void
refuse (const LoomTrainerOptions *o, int status, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (NULL, o, &error);

  g_assert_null (trainer);
  g_assert_cmpint (loom_error_exit_status (error), ==, status);
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” does not say “%s”", error->message, part);
}

static inline LoomTrainer *
resume (const LoomTrainerOptions *o)
{
  g_autoptr (GError) error = NULL;
  LoomTrainer *trainer = loom_trainer_new (NULL, o, &error);
  g_assert_no_error (error);
  return trainer;
}

#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)
