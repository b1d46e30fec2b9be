"""The names that small models of PaddlePaddle use are there.

That they take Paddle's arguments, with Paddle's defaults, is compared by `tests/oracle/test_signatures.py`.
"""

from __future__ import annotations

from operator import attrgetter

import pytest

import d2s

NAMES = {
    "": """
        to_tensor as_tensor asarray zeros ones full empty zeros_like ones_like full_like empty_like arange linspace eye
        tril triu diag meshgrid assign clone rand randn randint randperm normal uniform bernoulli multinomial seed
        add subtract multiply divide floor_divide mod remainder neg equal not_equal less_than less_equal greater_than
        greater_equal logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not
        maximum minimum clip where round floor ceil pow exp expm1 log log1p log2 sqrt rsqrt square reciprocal
        sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf isnan isinf isfinite allclose equal_all
        abs sign sum mean max min prod var std logsumexp argmax argmin any all cumsum cumprod logcumsumexp norm median
        mode topk sort argsort unique nonzero masked_select searchsorted bincount reshape flatten squeeze unsqueeze
        transpose t concat stack split chunk unbind tile expand broadcast_to flip roll gather gather_nd index_select
        scatter take_along_axis put_along_axis cast matmul mm bmm dot outer einsum addmm inverse cholesky
        increment strided_slice summary save load grad no_grad enable_grad set_grad_enabled is_grad_enabled
        float32 float64 float16 bool int8 int16 int32 int64 uint8 complex64 complex128 set_default_dtype
        get_default_dtype is_compiled_with_cuda is_compiled_with_rocm is_compiled_with_xpu is_compiled_with_distribute
        CPUPlace CUDAPlace ParamAttr enable_static disable_static in_dynamic_mode Tensor
        """,
    "Tensor.": """
        add subtract multiply divide floor_divide mod equal not_equal less_than less_equal greater_than greater_equal
        logical_and logical_or logical_not logical_xor maximum minimum clip where round floor ceil pow exp expm1 log
        log1p log2 sqrt rsqrt square reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf isnan
        isinf isfinite allclose equal_all sum mean max min prod var std logsumexp argmax argmin any all cumsum cumprod
        logcumsumexp norm median mode topk sort argsort unique nonzero masked_select bincount reshape flatten squeeze
        unsqueeze transpose t split chunk unbind tile expand broadcast_to flip roll gather gather_nd index_select
        scatter take_along_axis put_along_axis cast astype matmul mm bmm dot outer addmm inverse cholesky qr
        register_hook _register_backward_hook backward detach clone numpy item tolist clear_grad set_value add_
        subtract_ multiply_ clip_ scale_ exp_ sqrt_ tanh_ zero_ fill_ reshape_ squeeze_ unsqueeze_ flatten_ scatter_
        put_along_axis_ place dim ndim shape dtype grad stop_gradient is_leaf name
        __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __mod__ __pow__
        __rpow__ __matmul__ __neg__ __abs__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__
        __getitem__ __setitem__ __array__ __array_priority__ __array_ufunc__ __len__ __iter__ __float__ __int__ __bool__
        __format__ __index__ __dlpack__ __dlpack_device__ __deepcopy__ __reduce__ __hash__
        """,
    "linalg.": "inv solve cholesky qr svd eigh det",
    "nn.": """
        Layer Parameter Linear Conv1D Conv2D Conv2DTranspose MaxPool1D MaxPool2D AvgPool1D AvgPool2D AdaptiveAvgPool1D
        AdaptiveAvgPool2D BatchNorm BatchNorm1D BatchNorm2D LayerNorm GroupNorm InstanceNorm1D InstanceNorm2D RMSNorm
        Dropout Embedding Bilinear Flatten Identity Sequential LayerList LayerDict ParameterList SimpleRNN LSTM GRU
        SimpleRNNCell LSTMCell GRUCell MultiHeadAttention TransformerEncoder TransformerEncoderLayer TransformerDecoder
        TransformerDecoderLayer Transformer CrossEntropyLoss MSELoss L1Loss SmoothL1Loss BCELoss BCEWithLogitsLoss
        NLLLoss KLDivLoss CosineEmbeddingLoss ClipGradByValue ClipGradByNorm ClipGradByGlobalNorm ReLU ReLU6 GELU
        Sigmoid Tanh Softmax LogSoftmax LeakyReLU ELU SELU CELU Hardswish Hardsigmoid Hardtanh Hardshrink Softplus
        Softshrink Softsign Swish Silu Mish Tanhshrink PReLU LogSigmoid Maxout GLU
        """,
    "nn.Layer.": """
        forward register_forward_pre_hook register_forward_post_hook register_buffer add_sublayer add_parameter
        create_parameter get_sublayer sublayers named_sublayers parameters named_parameters buffers named_buffers
        children named_children apply to astype state_dict set_state_dict load_dict set_dict train eval full_name
        clear_gradients extra_repr
        """,
    "nn.functional.": """
        linear conv1d conv2d conv2d_transpose max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d
        adaptive_avg_pool2d batch_norm layer_norm group_norm instance_norm rms_norm dropout embedding relu gelu sigmoid
        tanh softmax log_softmax leaky_relu elu selu silu swish mish softplus softsign hardswish hardsigmoid hardtanh
        scaled_dot_product_attention cross_entropy mse_loss l1_loss smooth_l1_loss binary_cross_entropy
        binary_cross_entropy_with_logits nll_loss kl_div cosine_embedding_loss one_hot pad
        """,
    "nn.initializer.": """
        Constant Normal Uniform TruncatedNormal XavierNormal XavierUniform KaimingNormal KaimingUniform Assign
        Orthogonal set_global_initializer
        """,
    "optimizer.": """
        SGD Momentum Adam AdamW Adamax RMSProp Adagrad Adadelta Lamb Optimizer.state_dict Optimizer.set_state_dict
        Optimizer.step Optimizer.clear_grad Optimizer.minimize Optimizer.get_lr Optimizer.set_lr
        """,
    "optimizer.lr.": """
        StepDecay MultiStepDecay LambdaDecay MultiplicativeDecay CosineAnnealingDecay CosineAnnealingWarmRestarts
        LinearWarmup LinearLR ExponentialDecay NaturalExpDecay InverseTimeDecay PiecewiseDecay PolynomialDecay NoamDecay
        CyclicLR OneCycleLR ReduceOnPlateau
        """,
    "io.": """
        Dataset IterableDataset TensorDataset Subset random_split Sampler SequenceSampler RandomSampler
        WeightedRandomSampler SubsetRandomSampler BatchSampler DataLoader get_worker_info
        """,
    "autograd.": "backward grad PyLayer PyLayerContext jacobian hessian recompute detect_anomaly",
    "static.": """
        nn.cond nn.while_loop nn.case nn.switch_case gradients append_backward InputSpec Program program_guard data
        Executor py_func default_main_program default_startup_program
        """,
}


def names() -> list[str]:
    return [prefix + name for prefix, words in NAMES.items() for name in words.split()] + [
        "metric.Accuracy", "metric.Auc", "tensor.array_write", "tensor.array_read", "tensor.create_array",
        "tensor.fill_constant", "jit.ignore_module", "jit.to_static", "jit.not_to_static", "jit.save", "jit.load"]


@pytest.mark.parametrize("name", names())
def test_the_name_is_there(name: str) -> None:
    attrgetter(name)(d2s)
