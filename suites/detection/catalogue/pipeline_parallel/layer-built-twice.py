"""A stage begins with the last layer of the stage before, once more."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, together

FAULT = Fault(
    area="pipeline parallel",
    wrong="A stage begins with the last layer of the stage before, once more.",
    on=On("pp2dp2"),
    caught_by=("coverage",),
    says=("decoder.layers.3",),
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def earlier(result, *_args, **_kwargs):
        return result - 1 if parallel_state.get_pipeline_model_parallel_rank() == 1 else result

    return together(
        changed("megatron.core.transformer.transformer_block:get_transformer_layer_offset", earlier),
        changed("megatron.core.transformer.transformer_layer:get_transformer_layer_offset", earlier),
    )
