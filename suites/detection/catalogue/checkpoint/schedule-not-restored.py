"""The schedule of learning rate and weight decay starts from its beginning."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, replace

FAULT = Fault(
    area="checkpoint",
    wrong="The schedule of learning rate and weight decay starts from its beginning.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("progress_restored",),
    says=("scheduler_steps",),
    kind="pair",
    options={"target": "pp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    return replace("megatron.core.optimizer_param_scheduler:OptimizerParamScheduler.load_state_dict", does_nothing)
