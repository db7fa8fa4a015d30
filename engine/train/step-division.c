/* Divides the programs of a step among ranks (step-division.h). */
#include "engine/train/step-division.h"

#include "engine/train/loom-stages.h"

gboolean
step_divide (LoomStep *step, const TrainModel *model, const RankGroup *group, GError **error)
{
  LoomParallel *parallel = &model->spec->parallel;

  if (!rank_group_has_several (group))
    return TRUE;
  if (parallel->pipeline > 1 && parallel->stages == NULL)
    {
      parallel->stages = loom_stages_choose (step, parallel->pipeline, model->devices, model->device, NULL, error);
      if (parallel->stages == NULL)
        return FALSE;
    }
  return loom_step_divide (step, model->spec, &group->mesh, error);
}
