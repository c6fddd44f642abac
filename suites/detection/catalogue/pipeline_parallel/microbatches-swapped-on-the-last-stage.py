"""The last stage takes the labels of microbatches in another order."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="pipeline parallel",
    wrong="The last stage takes the labels of microbatches in another order.",
    on=On("pp2dp2"),
    caught_by=("loss", "gradients"),
    module="loss",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def make(original):
        def get(*options, **more):
            schedule = original(*options, **more)

            def run(*args, data_iterator, **kwargs):
                if parallel_state.is_pipeline_last_stage():
                    data_iterator = iter(list(data_iterator)[::-1])
                return schedule(*args, data_iterator=data_iterator, **kwargs)

            return run

        return get

    return replace("fixtures.stacks.megatron.model:get_forward_backward_func", make)
