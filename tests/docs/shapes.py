"""What shapes go into each function on tensors and come out: example calls, and their results.

A call is text in which ``float32[2, 3]`` stands for a tensor.  Functions that are not in the table get a matrix for
each argument that has no default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import d2s
from d2s import ops

_CALLS = """
adaptive_avg_pool1d(float32[2, 3, 8], 4)
adaptive_avg_pool2d(float32[2, 3, 8, 8], [4, 2])
adaptive_max_pool2d(float32[2, 3, 8, 8], [4, 2])
add(float32[2, 3], float32[3])
add_n([float32[2, 3], float32[2, 3]])
addmm(float32[2, 4], float32[2, 3], float32[3, 4])
argmax(float32[2, 3], 1)
argwhere(int64[5])
as_complex(float32[3, 2])
atleast_2d(float32[3])
avg_pool1d(float32[2, 3, 8], 2)
avg_pool2d(float32[2, 3, 8, 8], 2)
baddbmm(float32[5, 2, 4], float32[5, 2, 3], float32[5, 3, 4])
batch_norm(float32[2, 3, 8, 8], float32[3], float32[3])
binary_cross_entropy(float32[2, 3], float32[2, 3])
binary_cross_entropy_with_logits(float32[2, 3], float32[2, 3])
bincount(int64[5])
bitwise_and(int64[2, 3], int64[3])
bitwise_invert(int64[2, 3])
bitwise_left_shift(int64[2, 3], int64[3])
bitwise_not(int64[2, 3])
bitwise_or(int64[2, 3], int64[3])
bitwise_right_shift(int64[2, 3], int64[3])
bitwise_xor(int64[2, 3], int64[3])
block_diag([float32[2, 2], float32[1, 3]])
bmm(float32[5, 2, 3], float32[5, 3, 4])
broadcast_shape([2, 1], [3])
broadcast_tensors([float32[2, 1], float32[3]])
broadcast_to(float32[3], [2, 3])
bucketize(float32[2, 3], float32[4])
cartesian_prod([float32[2], float32[3]])
cast(float32[2, 3], "int64")
cdist(float32[2, 3], float32[4, 3])
cholesky(float32[3, 3])
chunk(float32[4, 3], 2)
column_stack([float32[3], float32[3]])
combinations(float32[4], 2)
concat([float32[2, 3], float32[4, 3]])
conv1d(float32[2, 3, 8], float32[4, 3, 3])
conv2d(float32[2, 3, 8, 8], float32[4, 3, 3, 3])
conv2d_transpose(float32[2, 3, 8, 8], float32[3, 4, 3, 3])
cosine_embedding_loss(float32[2, 3], float32[2, 3], int64[2])
cosine_similarity(float32[2, 3], float32[2, 3])
cross(float32[2, 3], float32[2, 3])
cross_entropy(float32[2, 3], int64[2])
det(float32[5, 3, 3])
diagflat(float32[3])
divide(float32[2, 3], float32[3])
dot(float32[3], float32[3])
dsplit(float32[2, 3, 4], 2)
dstack([float32[2, 3], float32[2, 3]])
eigh(float32[3, 3])
eigvalsh(float32[3, 3])
einsum("ij,jk->ik", float32[2, 3], float32[3, 4])
embedding(int64[2, 5], float32[10, 4])
empty([2, 3])
expand(float32[3], [2, 3])
eye(3)
flatten(float32[2, 3, 4], 1)
flip(float32[2, 3], 0)
full([2, 3], 1.5)
full_like(float32[2, 3], 1.5)
gather(float32[4, 3], int64[2])
gather_nd(float32[4, 3], int64[5, 2])
gaussian([2, 3])
gcd(int64[2, 3], int64[3])
glu(float32[2, 6])
group_norm(float32[2, 6, 8, 8], 3)
heaviside(float32[2, 3], float32[3])
histogram(float32[2, 3], 4)
hsplit(float32[2, 4], 2)
hstack([float32[2, 3], float32[2, 4]])
instance_norm(float32[2, 3, 8])
index_add(float32[4, 3], int64[2], 0, float32[2, 3])
index_fill(float32[2, 3], int64[1], 0, 1.5)
index_put(float32[2, 3], [int64[1]], float32[3])
index_sample(float32[2, 3], int64[2, 1])
index_select(float32[4, 3], int64[2])
inner(float32[2, 3], float32[4, 3])
inv(float32[3, 3])
inverse(float32[3, 3])
isin(int64[2, 3], int64[2])
kl_div(float32[2, 3], float32[2, 3])
kron(float32[2, 3], float32[1, 2])
kthvalue(float32[2, 3], 2)
l1_loss(float32[2, 3], float32[2, 3])
label_smooth(float32[2, 3])
layer_norm(float32[2, 3, 4], [4])
lcm(int64[2, 3], int64[3])
lerp(float32[2, 3], float32[2, 3], 0.5)
linear(float32[2, 3], float32[3, 4], float32[4])
linspace(0.0, 1.0, 5)
logspace(0.0, 2.0, 5)
margin_ranking_loss(float32[2], float32[2], float32[2])
masked_fill(float32[2, 3], bool[2, 3], 0.0)
masked_scatter(float32[2, 3], bool[2, 3], float32[6])
masked_select(float32[2, 3], bool[2, 3])
matmul(float32[5, 2, 3], float32[3, 4])
matrix_power(float32[3, 3], 2)
max(float32[2, 3], 1)
max_pool1d(float32[2, 3, 8], 2)
max_pool2d(float32[2, 3, 8, 8], 2)
mean(float32[2, 3], 1)
meshgrid(float32[2], float32[3])
min(float32[2, 3], 1)
mm(float32[2, 3], float32[3, 4])
moveaxis(float32[2, 3, 4], 0, 2)
multigammaln(float32[2, 3], 2)
mse_loss(float32[2, 3], float32[2, 3])
multiplex([float32[2, 3], float32[2, 3]], int64[2, 1])
multiply(float32[2, 3], float32[3])
mv(float32[2, 3], float32[3])
nanquantile(float32[2, 3], 0.25, 1)
narrow(float32[4, 3], 0, 1, 2)
nll_loss(float32[2, 3], int64[2])
one_hot(int64[2], 4)
ones([2, 3])
outer(float32[2], float32[3])
permute(float32[2, 3, 4], [2, 0, 1])
pad(float32[2, 3, 8, 8], [1, 1, 2, 2])
pow(float32[2, 3], 2)
polygamma(float32[2, 3], 1)
prelu(float32[2, 3, 8, 8], float32[3])
put_along_axis(float32[4, 3], int64[1, 3], 0.0, 0)
quantile(float32[2, 3], 0.5, 1)
rand([2, 3])
rand_like(float32[2, 3])
randint(0, 10, [2, 3])
randint_like(int64[2, 3], 0, 5)
randn([2, 3])
randperm(5)
repeat_interleave(float32[2, 3], 2, 1)
reshape(float32[2, 3], [3, -1])
rms_norm(float32[2, 3, 4], [4])
roll(float32[2, 3], 1, 0)
row_stack([float32[3], float32[3]])
scaled_dot_product_attention(float32[2, 5, 4, 8], float32[2, 7, 4, 8], float32[2, 7, 4, 8])
scatter(float32[4, 3], int64[2], float32[2, 3])
scatter_nd(int64[2, 1], float32[2, 3], [4, 3])
scatter_nd_add(float32[4, 3], int64[2, 1], float32[2, 3])
searchsorted(float32[4], float32[2, 3])
select_scatter(float32[2, 3], float32[3], 0, 1)
slice(float32[4, 5], [0], [1], [3])
slogdet(float32[3, 3])
smooth_l1_loss(float32[2, 3], float32[2, 3])
softmax_with_cross_entropy(float32[2, 3], int64[2, 1])
solve(float32[3, 3], float32[3, 2])
split(float32[4, 3], 2)
square_error_cost(float32[2, 3], float32[2, 3])
squeeze(float32[2, 1, 3], 1)
stack([float32[2, 3], float32[2, 3]])
standard_normal([2, 3])
strided_slice(float32[4, 6], [0, 1], [0, 1], [4, 6], [2, 1])
subtract(float32[2, 3], float32[3])
sum(float32[2, 3], 1)
swapaxes(float32[2, 3, 4], 0, 2)
take(float32[2, 3], int64[2])
take_along_axis(float32[4, 3], int64[1, 3], 0)
tensor_split(float32[5, 3], 2)
tensordot(float32[2, 3], float32[3, 4], 1)
tile(float32[2, 3], [1, 2])
topk(float32[2, 5], 3)
transpose(float32[2, 3, 4], [2, 0, 1])
tril_indices(3, 3)
triu_indices(3, 3)
unbind(float32[2, 3], 1)
unflatten(float32[2, 6], 1, [2, 3])
uniform([2, 3])
unique_consecutive(int64[5])
unsqueeze(float32[2, 3], 0)
vander(float32[3])
vecdot(float32[2, 3], float32[2, 3])
view(float32[2, 3], [6])
view_as(float32[2, 3], float32[6])
view_as_complex(float32[3, 2])
vsplit(float32[4, 3], 2)
vstack([float32[2, 3], float32[1, 3]])
where(bool[2, 3], float32[2, 3], 0.0)
zeros([2, 3])
"""
_CALL = {call.partition("(")[0]: call for call in _CALLS.split("\n") if call}
NOT_ON_TENSORS = frozenset({"seed", "arange", "get_rng_state", "set_rng_state", "finfo", "iinfo"})


class _Maker:
    """``float32[2, 3]`` makes a tensor: numbers that suit all domains, ones for the other dtypes."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __getitem__(self, sizes: Any) -> Any:
        shape = sizes if isinstance(sizes, tuple) else (sizes,)
        if self.dtype != "float32":
            return d2s.ones(list(shape), self.dtype)
        values = np.linspace(0.1, 0.9, int(np.prod(shape)), dtype="float32").reshape(shape)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            # Positive definite, for those that need a square matrix.
            values = (values @ values.swapaxes(-1, -2) + np.eye(shape[-1])).astype("float32")
        return d2s.to_tensor(values)


_NAMES = {dtype: _Maker(dtype) for dtype in ("float32", "int64", "bool")}


def call_of(name: str) -> str:
    """The example call of a function on tensors."""
    # The writes in place, and second names, are called as the functions themselves.
    for known in (name, name.rstrip("_"), getattr(ops, name).__name__):
        if known in _CALL:
            return f"{name}({_CALL[known].partition('(')[2]}"
    parameters = inspect.signature(getattr(ops, name)).parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    return f"{name}({', '.join(['float32[2, 3]'] * len(needed))})"


def result_of(call: str, function: Callable[..., Any]) -> str:
    """Dtype and shape of what a call gives."""
    return _shown(eval(call, {**_NAMES, call.partition("(")[0]: function}))


def _shown(result: Any) -> str:
    if isinstance(result, list | tuple):
        return ", ".join(map(_shown, result))
    if isinstance(result, d2s.Tensor):
        return f"{result.dtype.name}{result.shape}"
    return repr(result)
