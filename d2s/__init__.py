"""d2s: dynamic to static, with gradient hooks that mean the same in both modes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from d2s import (
    amp,
    autograd,
    constants,
    device,
    distribution,
    dtypes,
    errors,
    fft,
    io,
    linalg,
    metric,
    nn,
    ops,
    optimizer,
    regularizer,
    tensor,
)
from d2s.autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from d2s.constants import *  # noqa: F403
from d2s.core.spec import default_dtype as get_default_dtype
from d2s.core.spec import set_default_dtype
from d2s.device import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    get_device,
    is_compiled_with_cuda,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from d2s.dtypes import *  # noqa: F403
from d2s.eager.creation import as_tensor, asarray, to_tensor
from d2s.eager.dlpack import from_dlpack, to_dlpack
from d2s.eager.printing import set_printoptions
from d2s.eager.tensor import Tensor
from d2s.errors import (
    AnomalyError,
    ArgumentError,
    D2SError,
    DTypeError,
    ExecutionError,
    GradientError,
    GuardError,
    HookError,
    IndexOutOfRangeError,
    KeyNameError,
    LeafError,
    MatrixError,
    MemberError,
    NotSupportedError,
    NumberError,
    ProgramError,
    ShapeError,
    SourceError,
    StateError,
    TracingError,
    UnsupportedSyntaxError,
)
from d2s.io.saving import load, save
from d2s.nn.new_parameter import create_parameter
from d2s.nn.parameter import ParamAttr
from d2s.ops import *  # noqa: F403
from d2s.ops.queries import shape_of as shape

if TYPE_CHECKING:
    from d2s import jit, profiler, static, testing
    from d2s.jit import to_static
    from d2s.layer_table import summary
    from d2s.static.default_programs import disable_static, enable_static, in_dynamic_mode

# Static mode takes as long to import as everything else; eager programs do without.  Name -> where it is found.
_ON_DEMAND = {
    "jit": "d2s.jit",
    "static": "d2s.static",
    "to_static": "d2s.jit",
    "profiler": "d2s.profiler",
    "summary": "d2s.layer_table",
    "testing": "d2s.testing",
    "disable_static": "d2s.static.default_programs",
    "enable_static": "d2s.static.default_programs",
    "in_dynamic_mode": "d2s.static.default_programs",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_ON_DEMAND[name])
    found = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__ = "0.1.0.dev0"

__all__ = [
    "AnomalyError",
    "ArgumentError",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "D2SError",
    "DTypeError",
    "ExecutionError",
    "GradientError",
    "GuardError",
    "HookError",
    "IndexOutOfRangeError",
    "KeyNameError",
    "LeafError",
    "MatrixError",
    "MemberError",
    "NotSupportedError",
    "NumberError",
    "ParamAttr",
    "ProgramError",
    "ShapeError",
    "SourceError",
    "StateError",
    "Tensor",
    "TracingError",
    "UnsupportedSyntaxError",
    "amp",
    "as_tensor",
    "asarray",
    "autograd",
    "create_parameter",
    "device",
    "disable_static",
    "distribution",
    "enable_grad",
    "enable_static",
    "errors",
    "fft",
    "from_dlpack",
    "get_default_dtype",
    "get_device",
    "grad",
    "in_dynamic_mode",
    "io",
    "is_compiled_with_cuda",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_grad_enabled",
    "jit",
    "linalg",
    "load",
    "metric",
    "nn",
    "no_grad",
    "optimizer",
    "profiler",
    "regularizer",
    "save",
    "set_default_dtype",
    "set_device",
    "set_grad_enabled",
    "set_printoptions",
    "shape",
    "static",
    "summary",
    "tensor",
    "testing",
    "to_dlpack",
    "to_static",
    "to_tensor",
]
__all__ += constants.__all__
__all__ += dtypes.__all__
__all__ += ops.__all__
