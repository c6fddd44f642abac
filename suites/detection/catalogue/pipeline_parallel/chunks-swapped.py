"""A stage of an interleaved pipeline runs its two chunks in the wrong order."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace, together

FAULT = Fault(
    area="pipeline parallel",
    wrong="A stage of an interleaved pipeline runs its two chunks in the wrong order.",
    on=On("pp2dp2vpp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.[2-6]*",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def make(original):
        def other(config, vp_stage=None, *args, **kwargs):
            if parallel_state.get_pipeline_model_parallel_rank() == 1:
                vp_stage = 1 - vp_stage
            return original(config, vp_stage, *args, **kwargs)

        return other

    return together(
        replace("megatron.core.transformer.transformer_block:get_transformer_layer_offset", make),
        replace("megatron.core.transformer.transformer_layer:get_transformer_layer_offset", make),
    )
