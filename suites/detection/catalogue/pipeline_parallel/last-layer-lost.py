"""The last stage of an uneven pipeline is built without its last layer."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, together

FAULT = Fault(
    area="pipeline parallel",
    wrong="The last stage of an uneven pipeline is built without its last layer.",
    on=On("pp2@5+3"),
    caught_by=("coverage",),
    says=("decoder.layers.7",),
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def fewer(result, *_args, **_kwargs):
        return result - 1 if parallel_state.get_pipeline_model_parallel_rank() == 1 else result

    return together(
        changed("megatron.core.transformer.transformer_block:get_num_layers_to_build", fewer),
        changed("megatron.core.models.gpt.gpt_layer_specs:get_num_layers_to_build", fewer),
    )
