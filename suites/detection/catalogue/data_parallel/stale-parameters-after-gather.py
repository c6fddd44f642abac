"""After an overlapped all-gather one rank computes with the parameters of the step before."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="After an overlapped all-gather one rank computes with the parameters of the step before.",
    on=On("tp2dp2", optimizer="distributed-overlap"),
    caught_by=("weights", "weight_replicas"),
    module="*",
    axis="dp",
    reference="TTrace, arXiv 2506.09280: parameters stale after an overlapped all-gather",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def start(original):
        def forgotten(self, *args, **kwargs):
            whole = self.buckets[0].param_data
            before = whole.clone()
            original(self, *args, **kwargs)
            if self.param_gather_handle is not None:
                self.param_gather_handle.wait()
            if parallel_state.get_data_parallel_rank() == 1 and not args and self.param_gather_handle is None:
                whole.copy_(before)

        return forgotten

    return replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_param_sync", start)
