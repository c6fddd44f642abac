"""The last stage has another tied embedding than the first one after the load."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="checkpoint",
    wrong="The last stage has another tied embedding than the first one after the load.",
    on=On("tp2dp2", "gpt-tied", precision="float32"),
    caught_by=("weights_restored",),
    module="*embedding.word_embeddings*",
    says=("rank 2",),
    kind="pair",
    options={"target": "pp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    def change(_result, state, *_args):
        import torch
        from megatron.core import parallel_state

        if not parallel_state.is_pipeline_first_stage(ignore_virtual=True):
            _name, weight = next(item for item in state.model.parameters().items() if "output_layer" in item[0])
            with torch.no_grad():
                weight.mul_(1.01)

    return changed("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", change)
