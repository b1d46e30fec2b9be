"""d2s: dynamic to static, with gradient hooks that mean the same in both modes."""

from d2s import autograd, io, nn, ops, optimizer
from d2s.autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from d2s.core.spec import default_dtype as get_default_dtype
from d2s.core.spec import set_default_dtype
from d2s.device import CPUPlace, get_device, is_compiled_with_cuda, set_device
from d2s.dtypes import *  # noqa: F403
from d2s.eager.creation import to_tensor
from d2s.eager.tensor import Tensor
from d2s.errors import *  # noqa: F403
from d2s.io.saving import load, save
from d2s.nn.layer import Layer
from d2s.nn.parameter import ParamAttr
from d2s.ops import *  # noqa: F403
from d2s.ops.random import seed

__version__ = "0.1.0.dev0"
