"""With overlap a bucket is reduced after the first microbatch, and what later ones add stays local."""

from suites.detection.fault import Fault, On
from suites.detection.planting import Done, reached, replace, together

FAULT = Fault(
    area="data parallel",
    wrong="With overlap a bucket is reduced after the first microbatch, and what later ones add stays local.",
    on=On("tp2dp2", optimizer="adam-overlap"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="*",
    axis="dp",
    reference="TTrace, arXiv 2506.09280: gradients reduced before the last microbatch with overlap",
)


def plant(ctx):
    """See the first line."""
    early = {}

    def ready(original):
        def note(self, parameter, *args, **kwargs):
            seen = early.setdefault(id(self), set())
            if not self.is_last_microbatch and len(seen) < len(self.params):
                seen.add(parameter)
                if len(seen) == len(self.params):
                    self.start_grad_sync()
                    self.grad_reduce_handle.wait()
                    self.grad_reduce_handle = None
            return original(self, parameter, *args, **kwargs)

        return note

    def start(original):
        def once(self, *args, **kwargs):
            if not self.is_last_microbatch:
                reached()
                return original(self, *args, **kwargs)
            if len(early.get(id(self), ())) < len(self.params):
                return original(self, *args, **kwargs)
            self.grad_reduce_handle = Done()  # was sent already

        return once

    def finish(original):
        def finished(self, *args, **kwargs):
            original(self, *args, **kwargs)
            early.pop(id(self), None)

        return finished

    return together(
        replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.register_grad_ready", ready),
        replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", start),
        replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.finish_grad_sync", finish),
    )
